from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openbus.doctor import (
    Check,
    check_inotify,
    check_state_dir,
    check_terminals,
    check_tmux,
    diagnose,
)
from tests.openbus.tmux.lab import SHOWN, Lab


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    with Lab() as servers:
        monkeypatch.setenv("TMUX_TMPDIR", str(servers.folder))
        monkeypatch.delenv("TMUX", raising=False)
        yield servers


def _named(checks: list[Check], name: str) -> Check:
    (check,) = [check for check in checks if check.name == name]
    return check


async def test_a_healthy_machine_is_told_so_and_left_alone(lab: Lab, tmp_path: Path) -> None:
    lab.start(SHOWN)
    state = tmp_path / "state" / "openbus"
    checks = await diagnose(state_dir=state)
    assert _named(checks, "tmux").ok
    assert _named(checks, "tmux servers").detail.startswith("work (1 panes, ")
    assert _named(checks, "hooks of work").ok
    assert _named(checks, "processes").ok
    assert _named(checks, "pane terminals").detail == "all 1 can be watched"
    assert "would be created" in _named(checks, "state directory").detail
    assert not state.parent.exists()


async def test_each_bad_socket_is_a_check_with_a_way_out(lab: Lab, tmp_path: Path) -> None:
    lab.start(SHOWN)
    lab.kill()
    checks = await diagnose(state_dir=tmp_path)
    assert not _named(checks, "tmux servers").ok
    socket = _named(checks, "tmux socket")
    assert not socket.ok
    assert socket.way_out == f"remove it with `rm {lab.path()}`"


async def test_hooks_that_reading_would_run_are_named(lab: Lab, tmp_path: Path) -> None:
    lab.start(SHOWN)
    lab.tmux("set-hook", "-g", "after-capture-pane", "run-shell true")
    hooks = _named(await diagnose(state_dir=tmp_path), "hooks of work")
    assert not hooks.ok
    assert hooks.detail == "each reading runs your after-capture-pane"


async def test_every_check_that_fails_has_a_way_out(lab: Lab, tmp_path: Path) -> None:
    checks = await diagnose(state_dir=tmp_path / "x", binary="no-tmux-here")
    assert [check.name for check in checks if not check.ok][:2] == ["tmux", "tmux servers"]
    assert all(check.ok or check.way_out for check in checks)


async def test_an_old_tmux_is_not_ok_and_a_newer_one_is(tmp_path: Path) -> None:
    program = tmp_path / "tmux"
    program.write_text('#!/bin/sh\necho "tmux $FAKE"\n')
    program.chmod(0o755)
    for version, ok in (("3.1c", False), ("3.2a", True), ("9.0", True), ("openbsd-7.6", True)):
        program.write_text(f"#!/bin/sh\necho tmux {version}\n")
        check = await check_tmux(str(program))
        assert (check.ok, version in check.detail) == (ok, True)


@pytest.mark.parametrize(("watches", "ok"), [("192536\n", True), ("100\n", False)])
def test_inotify_limits_are_compared_with_the_panes(tmp_path: Path, watches: str, ok: bool) -> None:
    (tmp_path / "max_user_watches").write_text(watches)
    (tmp_path / "max_user_instances").write_text("128\n")
    assert check_inotify(160, tmp_path).ok is ok


def test_without_inotify_the_other_way_is_named(tmp_path: Path) -> None:
    check = check_inotify(1, tmp_path)
    assert check.ok
    assert "list of active windows" in check.detail


def test_terminals_of_another_container_are_named() -> None:
    check = check_terminals(["/dev/null", "/dev/pts/none-such"])
    assert not check.ok
    assert "1 of 2 cannot be watched" in check.detail


def test_a_state_directory_must_be_ours_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert check_state_dir(tmp_path).way_out == f"chmod 700 {tmp_path}"
    tmp_path.chmod(0o700)
    assert check_state_dir(tmp_path).ok
    (tmp_path / "file").touch()
    assert not check_state_dir(tmp_path / "file").ok
