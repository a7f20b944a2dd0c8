"""Speed of `agent_history` on generated homes, beside ccusage on the same files.

Run it as `python -m evals bench history [--dir DIR] [--scale F] [--ccusage BINARY]`. It writes a
Claude Code home (2,000 transcripts) and a Codex home (500 rollouts, one of 150 MB) of 1 GB each
below DIR once, and prints CPU time and peak memory beside their limits. Every
measurement runs in a process of its own, on files that were read before. ccusage
(npm `ccusage@20.0.24`, its platform binary) is measured in the same run when its binary is named;
without it nothing is said about the ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from agent_history.cache import TotalsCache
from agent_history.homes import homes_of
from agent_history.options import Options
from agent_history.records import Session
from agent_history.registry import Monitor
from evals.history_homes import (
    BIG_ROLLOUT_BYTES,
    CLAUDE_FILES,
    CODEX_FILES,
    HOME_BYTES,
    write_claude_home,
    write_codex_home,
)


def make_homes(folder: Path, scale: float) -> int:
    """The homes below `folder`, written once; gives the moment they were made for."""
    mark = folder / "made-at"
    if not mark.exists():
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time_ns() // 1_000_000
        size, big = int(HOME_BYTES * scale), int(BIG_ROLLOUT_BYTES * scale)
        claude, codex = max(20, int(CLAUDE_FILES * scale)), max(10, int(CODEX_FILES * scale))
        write_claude_home(folder / "claude", size, claude, now)
        write_codex_home(folder / "codex", size, codex, big, now)
        mark.write_text(str(now))
    return int(mark.read_text())


def monitor_of(folder: Path, harness: str, options: Options, cache: str | None) -> Monitor:
    """A monitor over one of the generated homes."""
    env = {
        "HOME": str(folder / "none"),
        "CLAUDE_CONFIG_DIR": str(folder / "claude"),
        "CODEX_HOME": str(folder / "codex"),
    }
    totals = TotalsCache(cache) if cache else None
    return Monitor(homes_of(env), options, totals, only=[harness])


def seconds(work: Callable[[], Any]) -> float:
    """How much of the processor it takes; the clock would measure whatever else runs here."""
    began = time.process_time()
    work()
    return time.process_time() - began


def sums(sessions: list[Session]) -> list[int]:
    """Token totals, to be compared with what ccusage says."""
    parts = [session.tokens for session in sessions if session.tokens]
    return [
        sum(part.input for part in parts),
        sum(part.output for part in parts),
        sum(part.cache_read for part in parts),
        sum(part.cache_write for part in parts),
    ]


def work(folder: Path, harness: str, what: str, now: int, cache: str) -> dict[str, Any]:
    """One measurement, in this process."""
    if what == "exact":
        monitor = monitor_of(folder, harness, Options(every_age=True, exact=True), None)
        before = time.process_time()
        found = monitor.scan(now)
        cpu = time.process_time() - before
        return {"cpu": cpu, "tokens": sums(found.sessions), "sessions": len(found.sessions)}
    monitor = monitor_of(folder, harness, Options(), cache if what == "day" else None)
    if what == "day":
        return {"cpu": seconds(lambda: monitor.scan(now))}
    sessions = monitor.scan(now).sessions
    if what == "again":
        return {"cpu": min(seconds(lambda: monitor.scan(now)) for _ in range(5))}
    big = max(sessions, key=lambda session: sum(sums([session])))
    if what == "detail":
        return {"cpu": seconds(lambda: monitor.detail(big.id, now))}
    detail = monitor.detail(big.id, now)
    source = Path(getattr(detail, "source", ""))
    last = source.read_bytes().splitlines()[-1] + b"\n"
    times = []
    for _ in range(5):
        with source.open("ab") as file:
            file.write(last)
        times.append(seconds(lambda: monitor.scan(now)))
    os.utime(source, (now / 1000, now / 1000))
    return {"cpu": min(times)}


def measured(command: list[str], env: dict[str, str]) -> tuple[dict[str, Any], float, float]:
    """A command's JSON, its CPU seconds and its peak memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=os.environ | env, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer, cpu, answer.get("rss", 0.0)


def ours(folder: Path, harness: str, what: str, now: int, cache: str) -> dict[str, Any]:
    """One measurement in a process of its own."""
    command = [
        sys.executable, "-m", "evals.bench_history", "--dir", str(folder),
        "--work", harness, what, str(now), cache,
    ]  # fmt: skip
    return measured(command, {})[0]


def theirs(binary: str, folder: Path, harness: str) -> tuple[float, list[int]]:
    """ccusage's CPU seconds and totals on the same home."""
    name, variable = {
        "claude-code": ("claude", "CLAUDE_CONFIG_DIR"),
        "codex": ("codex", "CODEX_HOME"),
    }[harness]
    env = {variable: str(folder / name), "HOME": str(folder / "none")}
    found, cpu, _ = measured([binary, name, "session", "--json", "--offline"], env)
    total = found["totals"]
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")
    return cpu, [total[name] for name in names]


def verdict(value: float, limit: float) -> str:
    """`ok`, or by how much the limit is passed."""
    return "[green]ok[/]" if value <= limit else f"[red]over by {value / limit - 1:.0%}[/]"


def report(folder: Path, now: int, binary: str | None) -> Table:
    """All measurements, beside their limits."""
    table = Table("home", "measured", "value", "limit", "", title="agent_history")
    with tempfile.TemporaryDirectory() as caches:
        for harness, factor in (("claude-code", 1.6), ("codex", 2.0)):
            cache = str(Path(caches) / harness)
            if binary:
                theirs(binary, folder, harness)
            runs = [ours(folder, harness, "exact", now, cache) for _ in range(3)]
            cpu, rss = min(run["cpu"] for run in runs), max(run["rss"] for run in runs)
            if binary:
                others = [theirs(binary, folder, harness) for _ in range(3)]
                base = min(other[0] for other in others)
                equal = others[0][1] == runs[0]["tokens"]
                table.add_row(
                    harness, "full exact scan, CPU", f"{cpu:.2f} s ({cpu / base:.2f} x)",
                    f"{factor} x ccusage's {base:.2f} s", verdict(cpu / base, factor),
                )  # fmt: skip
                table.add_row(
                    harness, "tokens", "equal" if equal else "differ", "ccusage's totals",
                    "[green]ok[/]" if equal else "[red]differ[/]",
                )  # fmt: skip
            else:
                table.add_row(harness, "full exact scan, CPU", f"{cpu:.2f} s", "no ccusage", "")
            table.add_row(
                harness, "peak memory of it", f"{rss:.0f} MB", "100 MB", verdict(rss, 100)
            )
            ours(folder, harness, "day", now, cache)
            for what, said, limit in (
                ("day", "last-day scan, new process, CPU", 0.25),
                ("again", "scan with nothing changed, CPU", 0.06),
                ("append", "scan after one more record, CPU", 0.07),
                ("detail", "detail of the longest session, CPU", 0.05),
            ):
                cpu = ours(folder, harness, what, now, cache)["cpu"]
                table.add_row(
                    harness, said, f"{cpu * 1000:.0f} ms", f"{limit * 1000:.0f} ms",
                    verdict(cpu, limit),
                )  # fmt: skip
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """The command; gives its exit status."""
    parser = argparse.ArgumentParser(prog="evals bench history", description=__doc__)
    parser.add_argument("--dir", type=Path, help="where the homes are kept (2 GB)")
    parser.add_argument("--scale", type=float, default=1.0, help="make smaller homes")
    parser.add_argument("--ccusage", default=os.environ.get("CCUSAGE"), help="its binary")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    folder = options.dir or Path(tempfile.gettempdir()) / f"agent-history-homes-{options.scale}"
    if options.work:
        harness, what, now, cache = options.work
        answer = work(folder, harness, what, int(now), cache)
        answer["rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(answer))
        return 0
    now = make_homes(folder, options.scale)
    Console().print(report(folder, now, options.ccusage))
    return 0


if __name__ == "__main__":
    sys.exit(main())
