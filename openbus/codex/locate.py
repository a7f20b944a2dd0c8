"""Where a Codex app-server listens, and whether that socket may be trusted.

In this order: sockets named in the configuration, the stable path under a home named in the
opt-in, and what `codex app-server daemon version` of the executable in the pane says. Nothing is
searched for, nothing is started. Layout as of Codex 0.159.2 to 0.171.0: the stable path is a
symbolic link into a private directory, both belong to the user and to nobody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
import struct
from pathlib import Path
from typing import Any, Literal

import msgspec

STABLE = Path("app-server-control") / "app-server-control.sock"
PATH_LIMIT = 107
"""Bytes of a Unix socket path that the kernel takes."""

VERSION_TIMEOUT = 3.0
"""Seconds for `daemon version`, which took 0.07 s."""

Reason = Literal[
    "missing",
    "dangling",
    "not_ours",
    "mode",
    "not_a_socket",
    "too_long",
    "unreadable",
]

_WHY: dict[str, str] = {
    "missing": "no socket there: no Codex server runs for this home",
    "dangling": "the link points to nothing: the server has ended",
    "not_ours": "it belongs to another user",
    "mode": "other users may open it: only a private socket in a private directory is trusted",
    "not_a_socket": "it is not a socket",
    "too_long": "the path is longer than the system allows for a socket",
    "unreadable": "it cannot be read",
}


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A validated socket. `path` is what was asked for, `target` what it resolves to.

    `home` is the Codex home it must answer for, None for a socket that only the configuration
    names. `inode` and `born` (its modification time in nanoseconds, because inode numbers are used
    again) change when the server is replaced.
    """

    path: str
    target: str
    inode: int
    born: int
    home: str | None


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """No connection is tried. `reason` is a category for counters, `str()` a line for people."""

    path: str
    reason: Reason

    def __str__(self) -> str:
        return f"Codex server socket {self.path}: {_WHY[self.reason]}"


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Who is at the other end of a connected socket, from the kernel."""

    pid: int
    uid: int


def in_home(home: Path, uid: int) -> Endpoint | Rejected:
    """The stable socket of one Codex home."""
    return validate(home / STABLE, uid, home=home)


def validate(path: Path, uid: int, home: Path | None = None) -> Endpoint | Rejected:
    """Check owner and modes of the directory, the link, its target and the target's directory."""

    def no(reason: Reason) -> Rejected:
        return Rejected(path=str(path), reason=reason)

    try:
        try:
            given = path.lstat()
        except FileNotFoundError:
            return no("missing")
        folder = _folder(path.parent, uid)
        if folder is not None:
            return no(folder)
        if given.st_uid != uid:
            return no("not_ours")
        target = path
        if stat.S_ISLNK(given.st_mode):
            target = path.parent / path.readlink()
            folder = _folder(target.parent, uid)
            if folder is not None:
                return no(folder)
            given = target.lstat()
    except FileNotFoundError:
        return no("dangling")
    except OSError:
        return no("unreadable")
    if given.st_uid != uid:
        return no("not_ours")
    if not stat.S_ISSOCK(given.st_mode):
        return no("not_a_socket")
    if given.st_mode & 0o077:
        return no("mode")
    if len(os.fsencode(target)) > PATH_LIMIT:
        return no("too_long")
    return Endpoint(
        path=str(path),
        target=str(target),
        inode=given.st_ino,
        born=given.st_mtime_ns,
        home=None if home is None else str(home),
    )


def _folder(path: Path, uid: int) -> Reason | None:
    """Why this directory cannot be trusted to hold the socket; None when it can."""
    given = path.stat()
    if given.st_uid != uid:
        return "not_ours"
    return "mode" if given.st_mode & 0o077 else None


async def supported_path(executable: str, home: str) -> str | None:
    """The socket path by `codex app-server daemon version`, Codex's own metadata.

    Starts no daemon and creates nothing but the empty `tmp` folder in the home that every start of
    the program makes; exit status 1 with empty output means that no daemon runs.
    """
    environment = {"CODEX_HOME": home, "HOME": str(Path(home).parent), "PATH": os.defpath}
    try:
        process = await asyncio.create_subprocess_exec(
            executable,
            *("app-server", "daemon", "version"),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(VERSION_TIMEOUT):
            out, _ = await process.communicate()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        return None
    return _socket_path(out) if process.returncode == 0 else None


def _socket_path(out: bytes) -> str | None:
    try:
        said: Any = msgspec.json.decode(out)
    except msgspec.DecodeError:
        return None
    path = said.get("socketPath") if isinstance(said, dict) else None
    return path if isinstance(path, str) and path.startswith("/") else None


def daemon_pid(home: str) -> int | None:
    """The process that the managed daemon's own pid file names; None when there is none alive."""
    try:
        said = msgspec.json.decode(
            (Path(home) / "app-server-daemon" / "daemon.pid").read_bytes()[:4096]
        )
    except (OSError, msgspec.DecodeError):
        return None
    pid = said.get("pid") if isinstance(said, dict) else None
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0:
        return None
    try:
        os.kill(pid, 0)  # signal 0 only asks whether it is there
    except ProcessLookupError:
        return None
    except OSError:
        return pid
    return pid


def peer_of(connection: socket.socket) -> Peer | None:
    """Process and user at the other end (`SO_PEERCRED`); None where the system has no such call."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, 12))
    return Peer(pid=pid, uid=uid)


def shorten(path: str) -> str:
    """With `~` for the user's home."""
    home = str(Path.home())
    return "~" + path[len(home) :] if path == home or path.startswith(home + "/") else path
