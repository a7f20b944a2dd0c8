"""What reading tmux costs: one sweep, its parts, and the two ways people use instead.

Run it as `python -m evals bench tmux [--panes 160] [--rounds 5] [--no-naive] [--json]`. It starts
a tmux server of its own with panes of 120x40, each showing a recorded agent screen, and ends it
after. The loops beside it ask tmux once per pane: `tmux capture-pane` by subprocess, and libtmux.
Times depend on the machine: compare them with the calibration loop and with each other.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import shlex
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import libtmux

from evals.bench_reading import calibrate
from openbus.classify import classify
from openbus.screen.manifest import load_library
from openbus.sweep import sweep
from openbus.tmux.capture import capture
from openbus.tmux.connection import Connection
from openbus.tmux.inventory import active_since, census, inventory
from openbus.tmux.processes import ProcessTable

CORPUS = Path(__file__).parent / "corpus"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="evals bench tmux", description=__doc__)
    parser.add_argument("--panes", type=int, default=160)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-naive", action="store_true", help="leave out the loops per pane")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    with server(args.panes) as socket:
        figures = measure(socket, args.panes, args.rounds, naive=not args.no_naive)
    if args.json:
        print(json.dumps(figures))
        return 0
    print(f"{args.panes} panes of 120x40, median of {args.rounds}; load {os.getloadavg()[0]:.1f}")
    print(f"calibration loop: {figures['calibration_us']:.0f} µs")
    base = figures["ms"]["sweep"]
    for name, milliseconds in figures["ms"].items():
        print(f"{name:<34} {milliseconds:9.1f} ms   {milliseconds / base:6.2f} x a sweep")
    cold = figures["ms"]["sweep and read, cold"]
    print(f"one sweep with its readings, cold: {cold:.0f} ms, target 400 ms")
    return 0


def measure(socket: str, panes: int, rounds: int, *, naive: bool) -> dict[str, Any]:
    """All figures, in milliseconds of wall time. The first sweep and reading are really cold: no
    manifest is loaded and no row is known before."""
    conn = Connection(socket, timeout=30)
    ids = [row.pane.id for row in asyncio.run(inventory(conn)).panes]
    assert len(ids) == panes
    before = calibrate()
    milliseconds: dict[str, float] = {"sweep and read, cold": once(lambda: read_all(socket))}
    now = int(time.time()) + 1000
    parts: dict[str, Callable[[], Awaitable[Any]]] = {
        "sweep": lambda: sweep(socket_paths=[socket]),
        "listing": lambda: inventory(conn),
        "census": lambda: census(conn),
        "active windows, none": lambda: active_since(conn, now),
        "batched capture": lambda: capture(conn, ids),
    }
    for name, ask in parts.items():
        milliseconds[name] = median(rounds, lambda ask=ask: asyncio.run(_wait(ask)))  # type: ignore[misc]
    milliseconds["process table"] = median(rounds, ProcessTable.take)
    if naive:
        milliseconds["loop: tmux capture-pane each"] = once(lambda: by_subprocess(socket, ids))
        milliseconds["loop: libtmux capture_pane each"] = once(lambda: by_libtmux(socket))
    return {
        "panes": panes,
        "calibration_us": round(before, 1),
        "calibration_after_us": round(calibrate(), 1),
        "load": os.getloadavg()[0],
        "ms": {name: round(value, 2) for name, value in milliseconds.items()},
    }


def read_all(socket: str) -> None:
    """What `openbus ls` does without a running service."""
    library = load_library()
    for _, captured in asyncio.run(sweep(socket_paths=[socket])).panes:
        classify(captured, library)


def by_subprocess(socket: str, ids: list[str]) -> None:
    for pane in ids:
        subprocess.run(
            ["tmux", "-S", socket, "capture-pane", "-p", "-e", "-t", pane],
            capture_output=True,
            check=True,
        )


def by_libtmux(socket: str) -> None:
    for pane in libtmux.Server(socket_path=socket).panes:
        pane.capture_pane()


def once(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def median(rounds: int, work: Callable[[], Any]) -> float:
    return statistics.median(once(work) for _ in range(rounds))


async def _wait(ask: Callable[[], Awaitable[Any]]) -> Any:
    return await ask()


@contextlib.contextmanager
def server(panes: int) -> Iterator[str]:
    """A private tmux server whose panes show recorded 120x40 screens; ended on the way out."""
    with tempfile.TemporaryDirectory(prefix="obbench-", dir="/tmp") as folder:
        socket = f"{folder}/bench"
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "HOME": folder}
        tmux = ["tmux", "-u", "-f", "/dev/null", "-S", socket]

        def run(*words: str) -> None:
            subprocess.run([*tmux, *words], env=environment, check=True, capture_output=True)

        screens = _screens(Path(folder))
        try:
            for number in range(panes):
                # Ten windows a session, as people have them.
                place = (
                    ["new-session", "-d", "-s", f"s{number // 10}", "-x", "120", "-y", "40"]
                    if number % 10 == 0
                    else ["new-window", "-d", "-t", f"s{number // 10}"]
                )
                run(*place, f"cat {shlex.quote(str(next(screens)))}; exec sleep 10000")
            time.sleep(1)
            yield socket
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):
                run("kill-server")


def _screens(folder: Path) -> Iterator[Path]:
    files = sorted(CORPUS.rglob("*--120x40.json"))[:40]
    shown = []
    for number, file in enumerate(files):
        screen = folder / f"{number}.ansi"
        rows = json.loads(file.read_text())["ansi"].rstrip("\n").split("\n")
        screen.write_text("\r\n".join(rows), encoding="utf-8")
        shown.append(screen)
    return itertools.cycle(shown)
