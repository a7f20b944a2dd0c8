"""A stage for tests of the live service: real tmux, real service, and panes that play an agent.

The player is a shell script called `codex` that paints recorded screens on cue, so the process is
what the readers look for and the screens are what a real Codex showed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openbus.client import ServerSent, fetch_panes, find, stream
from openbus.model import PaneState
from openbus.pairing import Pairing
from tests.openbus.tmux.lab import Lab

SCREENS = {"idle": "idle_empty", "working": "working_tool"}
"""Short names of the recorded screens that tests use most."""

CORPUS = Path(__file__).parents[2] / "evals" / "corpus" / "codex" / "0.171.0"
OPENBUS = [sys.executable, "-c", "from openbus.cli import main; main()"]

PLAYER = """#!/bin/sh
stty -echo
while :; do
  printf '\\033[H\\033[2J'
  cat "$1/now"
  read -r cue || exit 0
done
"""


class Player:
    """One pane that plays Codex. Cues are lines typed into the pane, as keys would be."""

    def __init__(self, lab: Lab, folder: Path, name: str, server: str) -> None:
        self._lab = lab
        self._server = server
        self.folder = folder / name
        self.folder.mkdir()
        program = self.folder / "codex"
        program.write_text(PLAYER)
        program.chmod(0o755)
        self._paint("idle")
        self.name = name
        self.command = f"exec {program} {self.folder}"

    def _paint(self, state: str) -> None:
        frame = json.loads((CORPUS / f"{SCREENS.get(state, state)}--80x24.json").read_text())
        rows = frame["ansi"].rstrip("\n").split("\n")
        body = "\r\n".join(rows)
        cursor = frame["pane"]
        place = f"\033[0m\033[{cursor['cursor_y'] + 1};{cursor['cursor_x'] + 1}H"
        shown = "\033[?25h" if cursor["cursor_visible"] else "\033[?25l"
        fresh = self.folder / "next"
        fresh.write_text(body + place + shown)
        fresh.replace(self.folder / "now")

    def show(self, state: str) -> None:
        """Paint one of Codex's recorded screens (`idle`, `working`, `approval_shell`…)."""
        self._paint(state)
        self._lab.tmux("send-keys", "-t", f"={self.name}:", "Enter", name=self._server)


class Stage:
    """tmux servers, players and one service with folders of its own."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder
        self.state = folder / "state"
        self.config = folder / "config"
        self.config.mkdir(parents=True, exist_ok=True)
        self.service: subprocess.Popen[str] | None = None
        self._count = 0

    def player(self, name: str, server: str = "work") -> Player:
        """A new session with a player in it."""
        player = Player(self.lab, self.folder, name, server)
        self.lab.start("-s", name, player.command, name=server)
        return player

    def environment(self) -> dict[str, str]:
        return self.lab.environment(
            OPENBUS_STATE_DIR=str(self.state), OPENBUS_CONFIG_DIR=str(self.config)
        )

    def run(self, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run an openbus command to its end."""
        return subprocess.run(
            [*OPENBUS, *arguments],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def up(self, *arguments: str) -> None:
        """Start the service and wait until it answers."""
        self._count += 1
        log = (self.folder / f"log-{self._count}").open("w")
        self.service = subprocess.Popen(
            [*OPENBUS, "up", "--listen", "127.0.0.1:0", "--json-log", *arguments],
            env=self.environment(),
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        )
        log.close()
        Lab.until(lambda: fetch_panes(self.state) is not None, seconds=30)

    def log(self) -> str:
        """What all runs of the service printed."""
        return "".join(
            (self.folder / f"log-{number}").read_text() for number in range(1, self._count + 1)
        )

    def stop(self, number: int = signal.SIGTERM) -> float:
        """End the service; the seconds that it took."""
        assert self.service is not None
        began = time.monotonic()
        self.service.send_signal(number)
        self.service.wait(timeout=30)
        self.service = None
        return time.monotonic() - began

    def close(self) -> None:
        if self.service is not None:
            self.service.kill()
            self.service.wait(timeout=30)

    # --- looking --------------------------------------------------------------------------------

    def panes(self) -> list[PaneState]:
        return fetch_panes(self.state) or []

    def pane(self, session: str) -> PaneState | None:
        return next((p for p in self.panes() if p.pane.session == session), None)

    def wait_for(self, session: str, activity: str, seconds: float = 20) -> PaneState:
        """Until the pane of this session is published so."""

        def there() -> bool:
            state = self.pane(session)
            return state is not None and state.activity == activity

        Lab.until(there, seconds)
        state = self.pane(session)
        assert state is not None
        return state

    def events(self) -> Iterator[ServerSent]:
        """Everything that was ever published in this run of the service, then what follows."""
        epoch = self._epoch()
        found = stream({"last_event_id": f"{epoch}-0"}, self.state, heartbeat=1)
        assert found is not None
        return (event for event in found if event is not None)

    def told(self) -> list[tuple[str, str]]:
        """Announcements and withdrawals so far: event and attention."""
        found = stream({"last_event_id": f"{self._epoch()}-0"}, self.state, heartbeat=1)
        assert found is not None
        told: list[tuple[str, str]] = []
        for event in found:
            if event is None:
                break
            if event.event in ("announce", "withdraw"):
                told.append((event.event, event.data["attention"]))
        return told

    def _epoch(self) -> str:
        found = stream({}, self.state, heartbeat=1)
        assert found is not None
        first = next(event for event in found if event is not None)
        return first.id.rpartition("-")[0]

    def resident(self) -> int:
        """Resident memory of the service in bytes."""
        assert self.service is not None
        fields = Path(f"/proc/{self.service.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self) -> int:
        """Open file descriptors of the service."""
        assert self.service is not None
        return len(list(Path(f"/proc/{self.service.pid}/fd").iterdir()))

    def events_request(self) -> bytes:
        """A raw request for the event stream."""
        host, _, token = self.url()
        lines = ("GET /api/events HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {token}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def url(self) -> tuple[str, int, str]:
        """Host, port and token of the web page."""
        running: Any = find(self.state)
        assert running is not None
        assert running.url is not None
        host, _, port = running.url.removeprefix("http://").rstrip("/").rpartition(":")
        return host, int(port), Pairing(self.state).issue("view", "a test", 0)
