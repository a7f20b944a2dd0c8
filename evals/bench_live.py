"""What the live service costs: CPU of OpenBus and of the tmux server, and paint to published.

`python -m evals bench live [--panes 100,1000] [--share 0,0.05,0.5] [--seconds 15] [--agents]
[--beside] [--json]`. Panes are `sleep` processes on a tmux server of the bench's own; one writer
writes to their terminals, so the cost of the writing alone (*baseline*) is measured first and taken
off. Each write changes the title as well, which publishes a state: the delay is from the write to
the arrival of the event at a reader of the local socket. `--agents`: 20 panes whose process is
called `codex` repaint recorded frames of a working Codex ten times a second. `--beside` runs a
naive loop (one `tmux capture-pane` per pane per second) and a libtmux loop in the same way.

CPU is in points of a core (100 = one core), children included, taken from the scheduler; delays
depend on what else the machine does, so the load average is printed with them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from evals.report import percentile
from openbus.client import fetch_panes, stream
from openbus.replay import load_sequence

HERE = Path(__file__).parent
WIDTH, HEIGHT = 120, 40
AGENTS, AGENT_HZ = 20, 10
RECORDING = HERE / "sequences" / "codex" / "0.171.0" / "01-plain-long-answer.jsonl"
WARM_UP = 4.0
NAIVE = """
import subprocess, sys, time
socket, panes = sys.argv[1], sys.argv[2:]
while True:
    began = time.monotonic()
    for pane in panes:
        command = ["tmux", "-S", socket, "capture-pane", "-p", "-t", pane]
        subprocess.run(command, capture_output=True)
    time.sleep(max(0, 1 - (time.monotonic() - began)))
"""
LIBTMUX = """
import sys, time, libtmux
server = libtmux.Server(socket_path=sys.argv[1])
while True:
    began = time.monotonic()
    for pane in server.panes:
        pane.capture_pane()
    time.sleep(max(0, 1 - (time.monotonic() - began)))
"""


class Fleet:
    """A tmux server with many panes, and ways to write to them."""

    def __init__(self, folder: Path, panes: int, agents: int = 0) -> None:
        self.socket = str(folder / "fleet")
        agent = folder / "codex"
        agent.write_text("#!/bin/sh\nstty -echo\nwhile :; do sleep 1000; done\n")
        agent.chmod(0o755)
        commands = ["set -g history-limit 200"]
        size = f"-x {WIDTH} -y {HEIGHT}"
        for number in range(panes + agents):
            program = "exec sleep 100000" if number < panes else f"exec {agent}"
            if number % 10 == 0:
                commands.append(f"new-session -d {size} -s s{number} '{program}'")
            else:
                commands.append(f"new-window -d '{program}'")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TMUX")}
        self._tmux = ["tmux", "-u", "-f", "/dev/null", "-S", self.socket]
        self._environment = environment
        self._run("new-session", "-d", "-s", "first", "exec sleep 100000")
        subprocess.run(
            [*self._tmux, "source-file", "-"],
            input="\n".join(commands).encode(),
            env=environment,
            check=True,
            capture_output=True,
        )
        rows = [
            line.split(" ")
            for line in self._run("list-panes", "-a", "-F", "#{pane_id} #{pane_tty}").splitlines()
        ]
        self.ids = [row[0] for row in rows]
        self.ttys = [row[1] for row in rows]
        self.agents = self.ttys[len(self.ttys) - agents :] if agents else []
        self.plain = self.ttys[: len(self.ttys) - agents]
        self.pid = int(self._run("display-message", "-p", "#{pid}"))

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._tmux, *arguments],
            env=self._environment,
            capture_output=True,
            check=True,
            text=True,
        )
        return done.stdout

    def close(self) -> None:
        self._run("kill-server")

    def server_cpu(self) -> float:
        """Seconds the tmux server has run, from the scheduler."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) / 1e9


class Writer(threading.Thread):
    """Writes to random panes at a rate, and recorded frames to the agents."""

    def __init__(self, fleet: Fleet, per_second: float) -> None:
        super().__init__(daemon=True)
        self._fleet = fleet
        self._rate = per_second
        self._name = f"w{time.monotonic_ns()}"
        self._stopped = threading.Event()
        self.written: dict[str, float] = {}
        """Title -> time of the write."""

    def run(self) -> None:
        frames = [f.capture for f in load_sequence(RECORDING).frames if f.capture.title >= "⠋"]
        files = {tty: os.open(tty, os.O_WRONLY | os.O_NOCTTY) for tty in self._fleet.ttys}
        rng = random.Random(7)
        count = 0
        next_plain = next_agent = time.monotonic()
        while not self._stopped.is_set():
            now = time.monotonic()
            if self._rate and now >= next_plain:
                next_plain = max(now - 0.5, next_plain + 1 / self._rate)
                count += 1
                title = f"{self._name}-{count}x"
                text = f"\033[{rng.randint(1, HEIGHT)};1H row {count} {'x' * 60}"
                self.written[title] = time.monotonic()
                os.write(files[rng.choice(self._fleet.plain)], f"\033]2;{title}\a{text}".encode())
            if self._fleet.agents and now >= next_agent:
                next_agent += 1 / AGENT_HZ
                for number, tty in enumerate(self._fleet.agents):
                    shot = frames[(count + number * 7) % len(frames)]
                    body = shot.ansi.rstrip("\n").replace("\n", "\r\n")
                    os.write(files[tty], f"\033]2;{shot.title}\a\033[H{body}".encode())
                count += 1
            due = min(
                next_plain if self._rate else now + 0.05,
                next_agent if self._fleet.agents else now + 0.05,
            )
            time.sleep(max(0.0005, due - time.monotonic()))
        for file in files.values():
            os.close(file)

    def stop(self) -> None:
        self._stopped.set()
        self.join()


class Listener(threading.Thread):
    """Notes when each title arrives."""

    def __init__(self, state: Path) -> None:
        super().__init__(daemon=True)
        self._state = state
        self.arrived: dict[str, float] = {}

    def run(self) -> None:
        for event in stream({}, self._state, heartbeat=1) or ():
            if event is not None and event.event == "pane":
                title = event.data["pane"]["title"]
                self.arrived.setdefault(title, time.monotonic())


@contextmanager
def service(fleet: Fleet, folder: Path) -> Iterator[psutil.Process]:
    """`openbus up` on this fleet, settled."""
    environment = {
        **os.environ,
        "OPENBUS_STATE_DIR": str(folder / "state"),
        "OPENBUS_CONFIG_DIR": str(folder / "config"),
    }
    arguments = ["up", "--no-web", "-S", fleet.socket]
    started = subprocess.Popen(
        [sys.executable, "-c", "from openbus.cli import main; main()", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 120
        while len(fetch_panes(folder / "state") or ()) < len(fleet.ids):
            if time.monotonic() > end or started.poll() is not None:
                raise RuntimeError("the service did not see the whole fleet within 120 s")
            time.sleep(0.2)
        yield psutil.Process(started.pid)
    finally:
        started.terminate()
        started.wait(timeout=20)


@contextmanager
def loop(source: str, fleet: Fleet) -> Iterator[psutil.Process]:
    """A loop to compare with, in a process of its own."""
    started = subprocess.Popen(
        [sys.executable, "-c", source, fleet.socket, *fleet.ids],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield psutil.Process(started.pid)
    finally:
        started.kill()
        started.wait(timeout=20)


def cpu(process: psutil.Process) -> float:
    """Seconds a process and the children it waited for have run."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def measure(
    fleet: Fleet, rate: float, seconds: float, process: psutil.Process | None, state: Path | None
) -> dict[str, Any]:
    """Write at a rate for some seconds and see what it costs."""
    listener = Listener(state) if state is not None else None
    if listener is not None:
        listener.start()
    writer = Writer(fleet, rate)
    writer.start()
    time.sleep(WARM_UP)
    writer.written.clear()
    began = time.monotonic()
    server, client = fleet.server_cpu(), cpu(process) if process is not None else 0.0
    time.sleep(seconds)
    took = time.monotonic() - began
    result: dict[str, Any] = {
        "server": 100 * (fleet.server_cpu() - server) / took,
        "client": 100 * ((cpu(process) if process is not None else 0.0) - client) / took,
        "load": round(os.getloadavg()[0], 1),
    }
    written = dict(writer.written)
    time.sleep(1.5)
    writer.stop()
    if listener is not None and written:
        delays = sorted(
            (listener.arrived[title] - at) * 1000
            for title, at in written.items()
            if title in listener.arrived
        )
        result |= {
            "p50_ms": percentile(delays, 0.5),
            "p95_ms": percentile(delays, 0.95),
            "writes": len(written),
            "seen": len(delays),
        }
    return result


def scenario(
    panes: int, share: float, seconds: float, agents: int, beside: bool
) -> list[dict[str, Any]]:
    """One fleet, one rate, every way."""
    folder = Path(tempfile.mkdtemp(prefix="obbench-", dir="/tmp"))
    rows: list[dict[str, Any]] = []
    fleet = Fleet(folder, panes, agents)
    rate = panes * share
    try:
        base = measure(fleet, rate, seconds, None, None)
        rows.append({"way": "baseline", **base})
        with service(fleet, folder) as process:
            mine = measure(fleet, rate, seconds, process, folder / "state")
            mine["rss_mb"] = round(process.memory_info().rss / 1e6, 1)
            rows.append({"way": "openbus", **mine})
        if beside:
            for way, source in (("naive", NAIVE), ("libtmux", LIBTMUX)):
                with loop(source, fleet) as process:
                    rows.append({"way": way, **measure(fleet, rate, seconds, process, None)})
        for row in rows:
            row["points"] = row["client"] + row["server"] - base["server"]
            row |= {"panes": panes, "share": share, "agents": agents}
    finally:
        fleet.close()
        shutil.rmtree(folder, ignore_errors=True)
    return rows


def show(row: dict[str, Any]) -> None:
    numbers = f"{row['panes']:5} {row['share']:5.2f} {row['agents']:3} {row['way']:9}"
    costs = f"client {row['client']:6.2f}  server {row['server']:6.2f}  points {row['points']:6.2f}"
    delay = (
        f"  p50 {row['p50_ms']:6.1f} ms  p95 {row['p95_ms']:6.1f} ms  "
        f"({row['seen']} of {row['writes']} writes seen)"
        if row.get("p50_ms") is not None
        else ""
    )
    rss = f"  rss {row['rss_mb']} MB" if "rss_mb" in row else ""
    print(f"{numbers} {costs}{delay}{rss}  load {row['load']}", flush=True)


def numbers(text: str, kind: type[int] | type[float]) -> list[Any]:
    if not re.fullmatch(r"[\d.]+(,[\d.]+)*", text):
        raise argparse.ArgumentTypeError("numbers separated by commas")
    return [kind(part) for part in text.split(",")]


def main(argv: Sequence[str] | None = None) -> int:
    """The command; exit status 0."""
    parser = argparse.ArgumentParser(prog="python -m evals bench live", description=__doc__)
    parser.add_argument("--panes", default="10,100,1000", type=lambda text: numbers(text, int))
    parser.add_argument("--share", default="0,0.05,0.5", type=lambda text: numbers(text, float))
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--agents", action="store_true", help="20 agents repainting at 10 Hz")
    parser.add_argument("--beside", action="store_true", help="a naive and a libtmux loop as well")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    rows: list[dict[str, Any]] = []
    if not given.json:
        print("panes share agents way; CPU in points of a core, points = above the baseline")
    plans = (
        [(1, 0.0, AGENTS)]
        if given.agents
        else [(panes, share, 0) for panes in given.panes for share in given.share]
    )
    for panes, share, agents in plans:
        for row in scenario(panes, share, given.seconds, agents, given.beside):
            rows.append(row)
            if not given.json:
                show(row)
    if given.json:
        print(json.dumps(rows))
    return 0
