from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from openbus.tmux.connection import Connection
from openbus.tmux.errors import (
    ServerAbsent,
    ServerGone,
    ServerSilent,
    SocketForeign,
    SocketStale,
    TmuxFailed,
    TmuxMissing,
    TmuxTooOld,
)
from tests.openbus.tmux.lab import SHOWN, Lab


def _program(folder: Path, script: str) -> str:
    """A stand-in for tmux that says what old or failing ones say."""
    path = folder / "tmux-stand-in"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


async def test_each_line_stands_alone(lab: Lab) -> None:
    lab.start(SHOWN)
    output = await Connection(lab.path()).run(
        ["display-message -p one", "capture-pane -p -t %99", "display-message -p two"]
    )
    assert output.stdout == b"one\ntwo\n"
    assert b"%99" in output.stderr


async def test_the_locale_we_run_in_does_not_matter(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("LANG", "C")
    lab.start("-n", "漢字", SHOWN)
    output = await Connection(lab.path()).run(["display-message -p '#{window_name}'"])
    assert output.stdout.decode() == "漢字\n"


async def test_the_tmux_we_run_in_does_not_matter(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.start("-s", "right", SHOWN)
    lab.start("-s", "wrong", SHOWN, name="other")
    monkeypatch.setenv("TMUX", f"{lab.path('other')},1,0")
    monkeypatch.setenv("TMUX_PANE", "%0")
    output = await Connection(lab.path()).run(["display-message -p '#{session_name}'"])
    assert output.stdout == b"right\n"


async def test_reading_never_starts_a_server(lab: Lab) -> None:
    with pytest.raises(ServerAbsent, match=r"no tmux server at .*; start tmux there"):
        await Connection(lab.path("nobody")).run(["list-panes -a"])
    assert not list(lab.sockets.iterdir())


async def test_a_server_that_was_killed_leaves_a_stale_socket(lab: Lab) -> None:
    lab.start(SHOWN)
    lab.kill()
    with pytest.raises(SocketStale, match="left over from one that ended; remove it with"):
        await Connection(lab.path()).run(["list-panes -a"])
    assert [path.name for path in lab.sockets.iterdir()] == ["work"]


async def test_a_stopped_server_is_silent_and_no_process_of_ours_stays(lab: Lab) -> None:
    pid = lab.start(SHOWN)
    os.kill(pid, signal.SIGSTOP)
    conn = Connection(lab.path(), timeout=0.3)
    with pytest.raises(ServerSilent, match=r"did not answer within 0\.3.* s: it is stopped"):
        await conn.run(["list-panes -a"])
    assert not _clients_of(lab.path())
    os.kill(pid, signal.SIGCONT)
    assert (await Connection(lab.path()).run(["display-message -p yes"])).stdout == b"yes\n"


async def test_giving_up_early_leaves_no_process_either(lab: Lab) -> None:
    pid = lab.start(SHOWN)
    os.kill(pid, signal.SIGSTOP)
    task = asyncio.create_task(Connection(lab.path()).run(["list-panes -a"]))
    await asyncio.to_thread(lab.until, lambda: _clients_of(lab.path()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not _clients_of(lab.path())


async def test_a_server_that_ends_while_it_is_asked_is_gone(lab: Lab) -> None:
    pid = lab.start(SHOWN)
    os.kill(pid, signal.SIGSTOP)
    task = asyncio.create_task(Connection(lab.path(), timeout=20).run(["list-panes -a"]))
    await asyncio.to_thread(lab.until, lambda: _clients_of(lab.path()))
    os.kill(pid, signal.SIGKILL)
    with pytest.raises((ServerGone, SocketStale)):
        await task


async def test_something_else_behind_the_socket_is_no_server_of_ours(lab: Lab) -> None:
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(lab.path("stranger"))
        stranger.listen()
        with pytest.raises(ServerSilent):
            await Connection(lab.path("stranger"), timeout=0.3).run(["list-panes -a"])


async def test_without_a_tmux_program_the_way_out_is_named(lab: Lab) -> None:
    with pytest.raises(TmuxMissing, match="'no-tmux-here' is not on PATH; install tmux"):
        await Connection(lab.path(), binary="no-tmux-here").run(["list-panes -a"])


async def test_a_tmux_program_that_cannot_read_commands_is_too_old(tmp_path: Path) -> None:
    old = _program(
        tmp_path, '[ "$1" = -V ] && echo tmux 3.0a && exit; echo "No such file: -" >&2; exit 1'
    )
    with pytest.raises(TmuxTooOld, match=r"tmux program is too old: version 3\.0a"):
        await Connection("/x", binary=old).run(["list-panes -a"])


@pytest.mark.parametrize(
    ("complaint", "error"),
    [
        ("error connecting to /x (Permission denied)", SocketForeign),
        ("access not allowed", SocketForeign),
        ("protocol version mismatch (client 8, server 7)", TmuxFailed),
        ("server exited unexpectedly", ServerGone),
        ("lost server", ServerGone),
    ],
)
async def test_what_tmux_says_becomes_one_clear_line(
    tmp_path: Path, complaint: str, error: type[Exception]
) -> None:
    said = _program(
        tmp_path, f"[ \"$1\" = -V ] && echo tmux 3.6 && exit; echo '{complaint}' >&2; exit 1"
    )
    with pytest.raises(error, match=r"^[^\n]*; [^\n]*$"):
        await Connection("/x", binary=said).run(["list-panes -a"])


async def test_a_failing_hook_of_the_user_does_not_blind_us(lab: Lab) -> None:
    lab.start(SHOWN)
    lab.tmux("set-hook", "-g", "after-list-panes", "select-pane -t %77")
    output = await Connection(lab.path()).run(["list-panes -a -F '#{pane_id}'"])
    assert output.stdout == b"%0\n"


def _clients_of(path: str) -> list[str]:
    """Processes that talk to this socket, other than the server itself."""
    assert sys.platform == "linux"
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                line = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if os.fsencode(path) in line and b"source-file" in line:
                found.append(folder.name)
    return found
