"""Time of one reading of a 120x40 screen, cold and over the frames of recorded sequences.

`python -m evals bench reading [--json] [--rounds N]`. *Cold*: each corpus screen with an empty row
memo. *Frames*: recordings read frame by frame with one memo per recording, as the watcher does.
Both are printed beside a calibration loop (fixed pure-Python work), because machines differ: the
ratio to it is what can be compared. Budgets: 700 µs p50 cold, 300 µs p50 over frames.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from evals.report import percentile
from openbus.classify import classify
from openbus.corpus import paths_below, read
from openbus.model import Capture
from openbus.replay import load_sequence
from openbus.screen.grid import Memo
from openbus.screen.manifest import Library, load_library

HERE = Path(__file__).parent
SIZE = (120, 40)
BUDGET_US = {"cold": 700.0, "frames": 300.0}


def calibrate() -> float:
    """Microseconds of a fixed piece of pure-Python work: the best of 30 runs."""
    best = float("inf")
    for _ in range(30):
        start = time.perf_counter_ns()
        total = 0
        for number in range(5_000):
            total += len(str(number)) * (number & 7)
        best = min(best, (time.perf_counter_ns() - start) / 1000)
    return best


def timed(work: Callable[[], Any]) -> float:
    """Microseconds that `work` takes."""
    start = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - start) / 1000


def cold(library: Library, rounds: int) -> list[float]:
    """Best time of each corpus screen of the size, read with nothing remembered."""
    captures = [
        file.capture
        for file in map(read, paths_below([HERE / "corpus"]))
        if (file.capture.width, file.capture.height) == SIZE
    ]
    return [
        min(timed(partial(classify, capture, library)) for _ in range(rounds))
        for capture in captures
    ]


def frames(library: Library, rounds: int) -> list[float]:
    """Time of each frame of the size in all recordings; the best of `rounds` passes over them."""
    best: list[float] = []
    for file in sorted((HERE / "sequences").rglob("*.jsonl")):
        shots = list(_changed_frames(file))
        passes = []
        for _ in range(rounds):
            memo = Memo()
            passes.append([timed(partial(classify, shot, library, memo)) for shot in shots])
        best += [min(times) for times in zip(*passes, strict=True)]
    return best


def _changed_frames(file: Path) -> Iterator[Capture]:
    """Frames that differ from the one before: an unchanged pane is not read."""
    before: Capture | None = None
    for frame in load_sequence(file).frames:
        capture = frame.capture
        if capture != before and (capture.width, capture.height) == SIZE:
            yield capture
        before = capture


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="evals bench reading", description=__doc__)
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    parser.add_argument("--rounds", type=int, default=3, help="best of N for each screen")
    options = parser.parse_args(argv)
    library = load_library()
    gc.collect()
    gc.disable()
    loop = calibrate()
    figures: dict[str, Any] = {"calibration_us": round(loop, 1), "size": "120x40"}
    for name, measure in (("cold", cold), ("frames", frames)):
        times = sorted(measure(library, options.rounds))
        middle = percentile(times, 0.5)
        figures[name] = {
            "n": len(times),
            "p50_us": middle,
            "p99_us": percentile(times, 0.99),
            "budget_p50_us": BUDGET_US[name],
            "p50_in_loops": round(middle / loop, 2) if middle is not None else None,
        }
    figures["calibration_after_us"] = round(calibrate(), 1)
    if options.json:
        print(json.dumps(figures))
        return 0
    print(f"calibration loop: {loop:.0f} µs before, {figures['calibration_after_us']:.0f} µs after")
    for name in ("cold", "frames"):
        row = figures[name]
        print(
            f"{name:7} {row['n']:5} readings of 120x40: p50 {row['p50_us']} µs, "
            f"p99 {row['p99_us']} µs; p50 = {row['p50_in_loops']} loops; "
            f"budget p50 {row['budget_p50_us']:.0f} µs"
        )
    return 0
