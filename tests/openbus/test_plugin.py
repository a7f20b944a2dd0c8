"""The tmux plugin file on a real tmux."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.openbus.tmux.lab import Lab

PLUGIN = Path(__file__).parents[2] / "tmux-plugin" / "openbus.tmux"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as servers:
        yield servers


def load(lab: Lab) -> None:
    done = subprocess.run(
        ["bash", str(PLUGIN)],
        env=lab.environment(TMUX=f"{lab.path()},1,0"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_it_binds_a_key_and_fills_the_segment(lab: Lab) -> None:
    lab.start("exec sleep 1000")
    lab.tmux("set-option", "-g", "status-right", "#{openbus} %H:%M")
    load(lab)
    assert lab.tmux("show-option", "-gv", "status-right") == "#(openbus statusline) %H:%M"
    assert "openbus next" in lab.tmux("list-keys", "-T", "prefix", "O")


def test_its_options_are_honoured(lab: Lab) -> None:
    lab.start("exec sleep 1000")
    lab.tmux("set-option", "-g", "@openbus-key", "none")
    lab.tmux("set-option", "-g", "@openbus-command", "/opt/openbus")
    lab.tmux("set-option", "-g", "status-left", "[#{openbus}]")
    before = lab.tmux("list-keys")
    load(lab)
    assert lab.tmux("show-option", "-gv", "status-left") == "[#(/opt/openbus statusline)]"
    assert lab.tmux("list-keys") == before


def test_a_status_line_without_the_segment_stays_as_it_is(lab: Lab) -> None:
    lab.start("exec sleep 1000")
    lab.tmux("set-option", "-g", "status-right", "%H:%M")
    load(lab)
    assert lab.tmux("show-option", "-gv", "status-right") == "%H:%M"
