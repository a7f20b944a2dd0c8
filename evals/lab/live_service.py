"""The real service beside a lab: `openbus up` as a process, and everything that it publishes.

It reaches tmux through a small program that writes down each request, so that a run can prove that
nothing but looking was asked for.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from evals.lab.errors import LabError
from evals.lab.live_score import Shown, Told
from openbus.client import ServerSent, ServiceError, fetch_panes, stream

START_TIMEOUT = 30.0
END_TIMEOUT = 5.0

LOOKING = frozenset({"capture-pane", "display-message", "list-clients", "list-panes", "show-hooks"})
"""The tmux commands that change nothing and that OpenBus needs."""

CHILDREN = frozenset({"sh", "tee", "tmux", "tmux: client"})
"""What the service may start here: the witness below and what it is made of."""

_WITNESS = """#!/bin/sh
case "$*" in
*source-file*) tee -a "{log}" | "{tmux}" "$@" ;;
*) echo "$*" >> "{log}"; exec "{tmux}" "$@" ;;
esac
"""
_COMMAND = re.compile(r"^(?:-\S+ (?:/\S+ )?)*([a-z]+(?:-[a-z]+)+)(?: |$)", re.MULTILINE)


class LiveService:
    """The service for one tmux server, while the `with` block lasts. `session` names the pane that
    the flow drives."""

    def __init__(self, folder: Path, socket: Path, session: str) -> None:
        self.shown: list[Shown] = []
        self.told: list[Told] = []
        self.children: set[str] = set()
        self._folder = folder
        self._socket = socket
        self._session = session
        self._state = folder / "state"
        self._log = folder / "tmux.log"
        self._keys: set[str] = set()
        self._thread = threading.Thread(target=self._listen, name="events", daemon=True)

    def __enter__(self) -> Self:
        tmux = shutil.which("tmux")
        assert tmux is not None
        config = self._folder / "config"
        config.mkdir(parents=True)
        witness = self._folder / "tmux"
        witness.write_text(_WITNESS.format(log=self._log, tmux=tmux))
        witness.chmod(0o755)
        (config / "config.toml").write_text(f'[tmux]\nbinary = "{witness}"\n')
        self._log.touch()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
        with (self._folder / "service.log").open("w") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-c", "from openbus.cli import main; main()"),
                    *("up", "--no-web", "--json-log", "-S", str(self._socket)),
                ],
                env={
                    **kept,
                    "HOME": str(self._folder),
                    "OPENBUS_STATE_DIR": str(self._state),
                    "OPENBUS_CONFIG_DIR": str(config),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + START_TIMEOUT
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._end()
                lines = (self._folder / "service.log").read_text().splitlines() or ["no word"]
                raise LabError(f"the service did not start: {lines[-1]}")
            time.sleep(0.1)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()
        if self._thread.is_alive():
            self._thread.join(END_TIMEOUT)

    def commands(self) -> set[str]:
        """Names of the tmux commands that were asked for."""
        return set(_COMMAND.findall(self._log.read_text()))

    def look_at_children(self) -> None:
        """Note what the service has started and what runs just now."""
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(self._process.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    self.children.add(process.name())

    def _answers(self) -> bool:
        try:
            return fetch_panes(self._state) is not None
        except ServiceError:
            return False

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _listen(self) -> None:
        with contextlib.suppress(ServiceError):
            for event in stream({}, self._state) or ():
                if event is not None:
                    self.take(event, time.monotonic())

    def take(self, event: ServerSent, at: float) -> None:
        """Note one event that arrived at `at`."""
        data: dict[str, Any] = event.data
        if event.event == "pane" and data["pane"]["session"] == self._session:
            self._keys.add(data["pane"]["key"])
            self.shown.append(
                Shown(
                    at=at,
                    activity=data["activity"],
                    needs_you=bool(data["needs_you"]),
                    why=" ".join(reason["rule"] for reason in data.get("why", ())),
                )
            )
        elif event.event in ("announce", "withdraw"):
            contract = data["contract"]
            self.told.append(
                Told(
                    at=at,
                    event=event.event,
                    attention=data["attention"],
                    contract=f"{contract['key']}/{contract['episode']}",
                    ours=data["key"] in self._keys,
                )
            )
