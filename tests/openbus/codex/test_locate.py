"""A server socket is trusted only when it is this user's and private, at every step."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from openbus.codex import locate
from openbus.codex.locate import Endpoint, Rejected

UID = os.getuid()


@pytest.fixture
def bound(tmp_path: Path) -> Iterator[Path]:
    """The real layout: stable link in the home, socket in a private directory."""
    home = tmp_path / "h"
    (home / "app-server-control").mkdir(mode=0o700, parents=True)
    private = tmp_path / "p"
    private.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(private / "s"))
    os.chmod(private / "s", 0o600)
    (home / locate.STABLE).symlink_to(private / "s")
    yield home
    listener.close()


def target(home: Path) -> Path:
    return (home / locate.STABLE).readlink()


def reason(home: Path, uid: int = UID) -> str | None:
    found = locate.in_home(home, uid)
    return found.reason if isinstance(found, Rejected) else None


def test_the_real_layout_is_accepted(bound: Path) -> None:
    found = locate.in_home(bound, UID)
    assert isinstance(found, Endpoint)
    assert found.target == str(target(bound))
    assert found.inode == target(bound).stat().st_ino
    assert found.home == str(bound)


def test_a_plain_socket_in_a_private_directory_is_accepted(bound: Path) -> None:
    found = locate.validate(target(bound), UID)
    assert isinstance(found, Endpoint) and found.home is None


def test_a_missing_socket_is_missing(tmp_path: Path) -> None:
    assert reason(tmp_path) == "missing"


def test_a_link_to_nothing_is_dangling(bound: Path) -> None:
    target(bound).unlink()
    assert reason(bound) == "dangling"


def test_a_socket_of_another_user_is_not_ours(bound: Path) -> None:
    assert reason(bound, UID + 1) == "not_ours"


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o755, 0o777])
def test_a_directory_that_others_may_enter_is_refused(bound: Path, mode: int) -> None:
    target(bound).parent.chmod(mode)
    assert reason(bound) == "mode"


def test_a_control_directory_that_others_may_enter_is_refused(bound: Path) -> None:
    (bound / "app-server-control").chmod(0o755)
    assert reason(bound) == "mode"


def test_a_socket_that_others_may_open_is_refused(bound: Path) -> None:
    target(bound).chmod(0o666)
    assert reason(bound) == "mode"


@pytest.mark.parametrize("kind", ["file", "folder", "fifo", "link"])
def test_anything_but_a_socket_is_refused(bound: Path, kind: str) -> None:
    path = target(bound)
    path.unlink()
    match kind:
        case "file":
            path.touch(mode=0o600)
        case "folder":
            path.mkdir(mode=0o700)
        case "fifo":
            os.mkfifo(path, 0o600)
        case _:
            path.symlink_to("/dev/null")
    assert reason(bound) == "not_a_socket"


def test_a_path_longer_than_a_socket_address_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 100)
    folder.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(folder)
    try:
        listener.bind("s")
    finally:
        os.chdir(here)
    os.chmod(folder / "s", 0o600)
    found = locate.validate(folder / "s", UID)
    listener.close()
    assert isinstance(found, Rejected) and found.reason == "too_long"


def test_a_rejection_says_what_and_why(tmp_path: Path) -> None:
    found = locate.in_home(tmp_path, UID)
    assert str(found).endswith("no socket there: no Codex server runs for this home")


def program(folder: Path, body: str) -> str:
    path = folder / "codex"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return str(path)


async def test_supported_metadata_names_the_socket(tmp_path: Path) -> None:
    said = '{"status":"running","socketPath":"/home/dev/.codex/x.sock","cliVersion":"0.171.0"}'
    body = f'[ "$*" = "app-server daemon version" ] && echo \'{said}\''
    found = await locate.supported_path(program(tmp_path, body), "/home/dev/.codex")
    assert found == "/home/dev/.codex/x.sock"


async def test_supported_metadata_is_asked_with_nothing_but_the_home(tmp_path: Path) -> None:
    out = tmp_path / "env"
    await locate.supported_path(program(tmp_path, f"env > {out}; exit 1"), "/home/dev/.codex")
    names = {line.split("=")[0] for line in out.read_text().splitlines()}
    assert {"CODEX_HOME", "HOME", "PATH"} <= names <= {"CODEX_HOME", "HOME", "PATH", "PWD", "_",
                                                       "SHLVL", "OLDPWD"}  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        "exit 1",
        "echo no json",
        "echo '[]'",
        "echo '{\"socketPath\":7}'",
        'echo \'{"socketPath":"relative"}\'',
        'echo \'{"socketPath":"/x"}\'; exit 1',
    ],
)
async def test_other_output_names_nothing(tmp_path: Path, body: str) -> None:
    assert await locate.supported_path(program(tmp_path, body), "/h") is None


async def test_a_program_that_hangs_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locate, "VERSION_TIMEOUT", 0.2)
    assert await locate.supported_path(program(tmp_path, "exec sleep 60"), "/h") is None


async def test_a_program_that_is_not_there_names_nothing() -> None:
    assert await locate.supported_path("/nowhere/codex", "/h") is None


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"pid":"7"}', '{"pid":true}', '{"pid":-1}'])
def test_a_pid_file_of_another_shape_names_nobody(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "app-server-daemon"
    folder.mkdir()
    (folder / "daemon.pid").write_text(text)
    assert locate.daemon_pid(str(tmp_path)) is None


def test_the_pid_file_names_a_living_daemon(tmp_path: Path) -> None:
    folder = tmp_path / "app-server-daemon"
    folder.mkdir()
    (folder / "daemon.pid").write_text(f'{{"pid":{os.getpid()},"processStartTime":"x"}}')
    assert locate.daemon_pid(str(tmp_path)) == os.getpid()
    (folder / "daemon.pid").write_text('{"pid":4194999}')
    assert locate.daemon_pid(str(tmp_path)) is None


def test_the_kernel_names_the_peer() -> None:
    one, other = socket.socketpair()
    with one, other:
        found = locate.peer_of(one)
    assert found is not None and found.pid == os.getpid() and found.uid == UID
