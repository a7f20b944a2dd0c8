"""OpenBus's own folder: private, one instance, and no text of a screen."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from openbus.push import PushManager, Remembered
from openbus.state import Running, StateError, StateFolder
from tests.openbus.live_support import Script, asking


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_and_its_files_are_private(tmp_path: Path) -> None:
    with StateFolder(tmp_path / "deep" / "state") as folder:
        folder.save_memory([Remembered(key="k", activity="idle", since=1)])
        folder.announce(Running(pid=1, socket="s", url=None, version="0", started=1))
        assert mode(folder.path) == 0o700
        assert {mode(path) for path in folder.path.iterdir()} == {0o600}


def test_a_folder_that_was_open_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.mkdir(mode=0o755)
    StateFolder(path).prepare()
    assert mode(path) == 0o700


def test_there_is_one_instance(tmp_path: Path) -> None:
    with StateFolder(tmp_path) as first:
        first.announce(Running(pid=77, socket="s", url="http://x/", version="0", started=1))
        with pytest.raises(StateError, match=r"already running \(pid 77, http://x/\)"):
            StateFolder(tmp_path).acquire()
        assert first.running() is not None
    assert StateFolder(tmp_path).running() is None
    with StateFolder(tmp_path):
        pass


def test_memory_goes_round_and_holds_no_text(tmp_path: Path) -> None:
    script = Script()
    script.sees(asking(command="a-secret-command"))
    script.wait(1000)
    folder = StateFolder(tmp_path)
    folder.save_memory(script.manager.remember())
    assert b"secret" not in (tmp_path / "panes.json").read_bytes()
    after = Script(PushManager("box", memory=folder.load_memory()), now=script.now + 1000)
    after.sees(asking(command="a-secret-command"))
    after.wait(2000)
    assert after.told() == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version":9,"panes":[]}', b"\xff\xfe"])
def test_a_damaged_memory_is_no_memory(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "panes.json").write_bytes(content)
    assert StateFolder(tmp_path).load_memory() == ()


def test_a_place_that_cannot_be_a_folder_says_so(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(StateError, match="cannot write the state folder"):
        StateFolder(path).prepare()


def test_a_long_path_does_not_make_a_long_socket(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / ("x" * 120))
    assert len(os.fsencode(folder.socket)) < 100
