"""`openbus up` on a real tmux, really killed: a person is told once, and the end is told too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.openbus.tmux.lab import Lab

ASKS = "printf 'Overwrite the file? [y/N] '; read answer; clear; printf done; sleep 1000"


class Machine:
    """One user's folders, a tmux server with a pane that asks, and the service."""

    def __init__(self, folder: Path, lab: Lab) -> None:
        self.folder = folder
        self.lab = lab
        self.told = folder / "told"
        config = folder / "config"
        config.mkdir()
        settings = config / "notify.toml"
        settings.write_text(f"[channels.hook]\ncommand = ['sh', '-c', 'cat >> {self.told}']\n")
        settings.chmod(0o600)
        self.process: subprocess.Popen[bytes] | None = None

    def up(self) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from openbus.cli import main; main()",
                *("up", "--no-web", "-S", self.lab.path()),
            ],
            env=self.lab.environment(
                OPENBUS_STATE_DIR=str(self.folder / "state"),
                OPENBUS_CONFIG_DIR=str(self.folder / "config"),
                LC_ALL="C.UTF-8",
            ),
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("ab"),
        )

    def end(self, how: signal.Signals) -> None:
        if self.process is not None:
            os.kill(self.process.pid, how)
            self.process.wait(timeout=20)
            self.process = None

    def calls(self) -> list[tuple[str, str]]:
        """Verb and tag of everything the command was told."""
        text = self.told.read_text() if self.told.exists() else ""
        decoder, found, at = json.JSONDecoder(), [], 0
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            found.append((value["verb"], value["tag"]))
        return found

    def wait_for(self, verbs: list[str]) -> None:
        self.lab.until(lambda: [verb for verb, _ in self.calls()] == verbs, seconds=40)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with Lab() as lab:
        lab.start("-s", "work", f'sh -c "{ASKS}"')
        machine = Machine(tmp_path, lab)
        yield machine
        machine.end(signal.SIGKILL)


def test_told_once_across_a_kill_and_taken_back_after_the_answer(machine: Machine) -> None:
    machine.up()
    machine.wait_for(["announce"])
    machine.end(signal.SIGKILL)
    machine.up()
    time.sleep(6)  # long enough for a second announcement, if there were one
    assert [verb for verb, _ in machine.calls()] == ["announce"]
    machine.lab.tmux("send-keys", "-t", "work", "y", "Enter")
    machine.wait_for(["announce", "withdraw"])
    assert len({tag for _, tag in machine.calls()}) == 1
    machine.end(signal.SIGTERM)


def test_what_was_answered_while_it_was_down_is_taken_back(machine: Machine) -> None:
    machine.up()
    machine.wait_for(["announce"])
    machine.end(signal.SIGKILL)
    machine.lab.tmux("send-keys", "-t", "work", "y", "Enter")
    machine.up()
    machine.wait_for(["announce", "withdraw"])
    machine.end(signal.SIGTERM)
    kept = [path for path in machine.folder.rglob("*") if path.is_file() and path != machine.told]
    assert not [path for path in kept if b"Overwrite" in path.read_bytes()]
