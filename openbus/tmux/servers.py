"""Which tmux servers this user has: sockets found, tested and named, without asking any server.

Sockets live in `$TMUX_TMPDIR/tmux-UID` (`/tmp` without the variable); `-L` names one there, `-S`
gives any path, `$TMUX` names the one we run in. A socket that is listened to is connected to and
closed at once, which tmux takes as a client that left (tried on 3.2a to 3.7c).
"""

from __future__ import annotations

import errno
import hashlib
import os
import pwd
import shutil
import socket
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from openbus.tmux.errors import (
    NotASocket,
    ServerAbsent,
    SocketForeign,
    SocketStale,
    TmuxError,
    TmuxFailed,
    TmuxMissing,
    Trouble,
)


class ServerRef(msgspec.Struct, frozen=True, kw_only=True):
    """A socket somebody listens on. `label` stands for it in pane keys."""

    socket: str
    label: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that could not be read; `text` is the whole line with what, why and way out."""

    kind: Trouble
    what: str
    way_out: str
    socket: str | None = None

    @classmethod
    def of(cls, error: TmuxError) -> Problem:
        return cls(kind=error.kind, what=error.what, way_out=error.way_out, socket=error.socket)

    @property
    def text(self) -> str:
        return f"{self.what}; {self.way_out}"


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    servers: tuple[ServerRef, ...] = ()
    problems: tuple[Problem, ...] = ()


def socket_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of tmux's named sockets, by tmux's own rule (the first base that exists)."""
    for base in (environ.get("TMUX_TMPDIR"), "/tmp"):  # noqa: S108 - tmux's own default
        if base and Path(base).exists():
            return Path(base).resolve() / f"tmux-{os.geteuid()}"
    return Path("/tmp") / f"tmux-{os.geteuid()}"  # noqa: S108


def discover(
    socket_names: Sequence[str] = (),
    socket_paths: Sequence[str] = (),
    *,
    binary: str = "tmux",
    environ: Mapping[str, str] = os.environ,
) -> Discovery:
    """Find the servers named (`-L` names, `-S` paths), or, with neither, all of this user.

    Never raises for a bad socket: it becomes a `Problem` and the others are still given.
    """
    if shutil.which(binary) is None:
        return Discovery(problems=(Problem.of(TmuxMissing(binary)),))
    folder = socket_folder(environ)
    named = bool(socket_names or socket_paths)
    wanted = (
        [folder / name for name in socket_names] + [Path(path) for path in socket_paths]
        if named
        else _found(folder, environ)
    )
    paths = list(dict.fromkeys(Path(os.path.realpath(path)) for path in wanted))
    servers: list[ServerRef] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            _check(path)
        except TmuxError as error:
            problems.append(Problem.of(error))
        else:
            servers.append(ServerRef(socket=str(path), label=_label(path, paths, folder)))
    if not paths:
        problems.append(
            Problem(
                kind="absent",
                what=f"no tmux server is running: nothing in {folder}",
                way_out="start one with `tmux`, or name its socket",
            )
        )
    return Discovery(servers=tuple(servers), problems=tuple(problems))


def _found(folder: Path, environ: Mapping[str, str]) -> list[Path]:
    """Everything in the socket folder, the default first, and the server that we run in."""
    try:
        found = sorted(folder.iterdir(), key=lambda path: (path.name != "default", path.name))
    except OSError:
        found = []
    own = environ.get("TMUX", "").partition(",")[0]
    if own:
        found.append(Path(own))
    return found


def _check(path: Path) -> None:
    """Raise unless this is a socket of ours that somebody listens on."""
    name = str(path)
    if not name.isprintable():
        raise TmuxFailed(ascii(name)[1:-1], "the name of the socket is not printable text")
    try:
        info = path.stat()
    except FileNotFoundError as error:
        raise ServerAbsent(name) from error
    except OSError as error:
        raise SocketForeign(name, (error.strerror or "unreadable").lower()) from error
    if not stat.S_ISSOCK(info.st_mode):
        raise NotASocket(name)
    if info.st_uid != os.geteuid():
        raise SocketForeign(name, f"it belongs to {_user(info.st_uid)}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            code = probe.connect_ex(name)
        except OSError as error:  # the path is longer than a socket address may be
            raise TmuxFailed(name, str(error)) from error
    if code == errno.ECONNREFUSED:
        raise SocketStale(name)
    if code in (errno.EACCES, errno.EPERM):
        raise SocketForeign(name, "permission denied")
    if code == errno.ENOENT:
        raise ServerAbsent(name)
    # EAGAIN: the queue of a stopped server is full. It is there; asking it will say it is silent.
    if code not in (0, errno.EAGAIN, errno.EINPROGRESS):
        raise TmuxFailed(name, os.strerror(code))


def _user(uid: int) -> str:
    try:
        return f"uid {uid} ({pwd.getpwuid(uid).pw_name})"
    except KeyError:
        return f"uid {uid}"


def _label(path: Path, paths: Sequence[Path], folder: Path) -> str:
    """The file name; a socket outside tmux's own folder gets a short hash where names meet."""
    rivals = {other for other in paths if other.name == path.name} | {folder / path.name}
    clash = any(other != path and other.exists() for other in rivals)
    if path.parent == folder or not clash:
        return path.name
    digest = hashlib.blake2s(os.fsencode(path.parent), digest_size=3).hexdigest()
    return f"{path.name}~{digest}"
