"""An accelerated life of the service: `python -m evals.soak [--seconds 180] [--panes 40] [--json]`.

Panes come, write, ask, answer and go; one floods; readers of the event stream come and leave, one
never reads; the tmux server is killed and started again. Resident memory and open descriptors are
sampled after a warm-up. Passes when memory grew by no more than 5 MB, descriptors did not grow, and
every pane that stands at the end is published.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from openbus.client import fetch_panes, find, stream
from openbus.replay import Frame, load_sequence

HERE = Path(__file__).parent
RECORDING = HERE / "sequences" / "codex" / "0.171.0" / "13-resizes.jsonl"
GROWTH_LIMIT = 5 * 1024 * 1024


class Soak:
    """One run: a tmux server of its own, the service, and a random life from a fixed seed."""

    def __init__(self, folder: Path, panes: int) -> None:
        self._folder = folder
        self._socket = str(folder / "soak")
        self._panes = panes
        self._rng = random.Random(11)
        self._frames: tuple[Frame, ...] = load_sequence(RECORDING).frames
        self._environment = {k: v for k, v in os.environ.items() if not k.startswith("TMUX")}
        self._environment |= {
            "OPENBUS_STATE_DIR": str(folder / "state"),
            "OPENBUS_CONFIG_DIR": str(folder / "config"),
        }
        self._agent = folder / "codex"
        self._agent.write_text("#!/bin/sh\nstty -echo\nwhile :; do sleep 1000; done\n")
        self._agent.chmod(0o755)
        self._readers: list[socket.socket] = []
        self.actions = 0

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-f", "/dev/null", "-S", self._socket, *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def fill(self) -> None:
        """A server with one flooding pane and as many agents as asked for."""
        self.tmux("new-session", "-d", "-x", "120", "-y", "40", "-s", "flood", "exec yes flood")
        for _ in range(self._panes):
            self.tmux("new-session", "-d", "-x", "120", "-y", "40", f"exec {self._agent}")

    def act(self) -> None:
        """One random thing happens."""
        self.actions += 1
        listed = self.tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_tty} #{session_name}")
        rows = [row for row in map(str.split, listed.splitlines()) if row[2] != "flood"]
        kind = self._rng.random()
        if kind < 0.02 or not rows:
            self.tmux("kill-server")
            self.fill()
        elif kind < 0.08:
            self.tmux("kill-pane", "-t", self._rng.choice(rows)[0])
            self.tmux("new-session", "-d", "-x", "120", "-y", "40", f"exec {self._agent}")
        elif kind < 0.12:
            self._reader()
        else:
            for _, tty, _ in self._rng.sample(rows, min(10, len(rows))):
                self._paint(tty)

    def _paint(self, tty: str) -> None:
        shot = self._rng.choice(self._frames).capture
        body = shot.ansi.rstrip("\n").replace("\n", "\r\n")
        try:
            with open(os.open(tty, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK), "wb") as terminal:
                terminal.write(f"\033]2;{shot.title}\a\033[H\033[2J{body}".encode())
        except OSError:
            return  # the pane went meanwhile

    def _reader(self) -> None:
        """A reader comes and leaves; up to three stay and never read."""
        running = find(self._folder / "state")
        if running is None:
            return
        deaf = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        deaf.connect(running.socket)
        deaf.sendall(b"GET /api/events HTTP/1.1\r\nHost: x\r\n\r\n")
        self._readers.append(deaf)
        if len(self._readers) > 3:
            self._readers.pop(0).close()
        for number, _ in enumerate(stream({}, self._folder / "state", heartbeat=1) or ()):
            if number > 20:
                break

    def run(self, seconds: float) -> dict[str, object]:
        """Live for so long; the figures."""
        self.fill()
        arguments = ["up", "--no-web", "-S", self._socket]
        service = subprocess.Popen(
            [sys.executable, "-c", "from openbus.cli import main; main()", *arguments],
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while not fetch_panes(self._folder / "state"):
                time.sleep(0.2)
            process = psutil.Process(service.pid)
            samples: list[tuple[int, int]] = []
            began = time.monotonic()
            while (age := time.monotonic() - began) < seconds:
                self.act()
                time.sleep(0.1)
                if age > seconds / 3:
                    samples.append((process.memory_info().rss, process.num_fds()))
            for reader in self._readers:
                reader.close()
            alive = set(self.tmux("list-panes", "-a", "-F", "#{pane_id}").split())
            seen: set[str] = set()
            for _ in range(100):
                seen = {state.pane.id for state in fetch_panes(self._folder / "state") or ()}
                if seen == alive:
                    break
                time.sleep(0.2)
            return self._figures(samples, alive == seen, process)
        finally:
            service.terminate()
            service.wait(timeout=20)
            self.tmux("kill-server")

    def _figures(
        self, samples: list[tuple[int, int]], complete: bool, process: psutil.Process
    ) -> dict[str, object]:
        tenth = max(1, len(samples) // 10)
        first, last = samples[:tenth], samples[-tenth:]
        growth = sum(rss for rss, _ in last) / tenth - sum(rss for rss, _ in first) / tenth
        descriptors = max(fds for _, fds in last) - max(fds for _, fds in first)
        return {
            "actions": self.actions,
            "rss_mb": round(process.memory_info().rss / 1e6, 1),
            "growth_mb": round(growth / 1024 / 1024, 2),
            "descriptor_growth": descriptors,
            "all_panes_published": complete,
            "passed": growth <= GROWTH_LIMIT and descriptors <= 3 and complete,
        }


def main(argv: Sequence[str] | None = None) -> int:
    """The command. Exit status 0 when it passed."""
    parser = argparse.ArgumentParser(prog="python -m evals.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--panes", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(prefix="obsoak-", dir="/tmp"))
    try:
        figures = Soak(folder, given.panes).run(given.seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name.replace('_', ' '):22} {value}")
    return 0 if figures["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
