"""What can go wrong between us and a tmux server: one line each, with what, why and the way out."""

# ruff: noqa: N818 - named after the state of the server, which is what a caller decides on

from __future__ import annotations

from typing import Literal

Trouble = Literal[
    "missing", "too_old", "absent", "gone", "stale", "silent", "foreign", "not_a_socket", "failed"
]


class TmuxError(Exception):
    """Base of all tmux errors. `str()` is the whole line to show: `what` and `way_out`.

    `socket` is the path it is about, None when it is about the tmux program.
    """

    kind: Trouble = "failed"

    def __init__(self, what: str, way_out: str, socket: str | None = None) -> None:
        super().__init__(f"{what}; {way_out}")
        self.what = what
        self.way_out = way_out
        self.socket = socket


class TmuxMissing(TmuxError):
    """There is no tmux program."""

    kind = "missing"

    def __init__(self, binary: str = "tmux") -> None:
        super().__init__(
            f"no tmux program: {binary!r} is not on PATH",
            "install tmux 3.2a or later (`apt install tmux`, `brew install tmux`)",
        )


class TmuxTooOld(TmuxError):
    """The program, or the server behind a socket, is older than 3.2a."""

    kind = "too_old"

    def __init__(self, version: str, socket: str | None = None) -> None:
        where = f"the tmux server at {socket}" if socket else "the tmux program"
        super().__init__(
            f"{where} is too old: version {version}, OpenBus needs 3.2a or later",
            "upgrade tmux and start that server anew",
            socket,
        )


class ServerAbsent(TmuxError):
    """Nothing is there: no socket at this path."""

    kind = "absent"

    def __init__(self, socket: str) -> None:
        super().__init__(
            f"no tmux server at {socket}: there is no such socket",
            "start tmux there or correct the name",
            socket,
        )


class ServerGone(TmuxError):
    """The server ended while it was asked."""

    kind = "gone"

    def __init__(self, socket: str) -> None:
        super().__init__(
            f"the tmux server at {socket} ended while it was asked",
            "look again; start it anew if it should run",
            socket,
        )


class ServerSilent(TmuxError):
    """The server took the connection but did not answer in time."""

    kind = "silent"

    def __init__(self, socket: str, seconds: float) -> None:
        super().__init__(
            f"the tmux server at {socket} did not answer within {seconds:.3g} s: "
            "it is stopped, overloaded or older than 3.2a",
            "find its process (`pgrep -a tmux`) and resume (`kill -CONT PID`) or end it",
            socket,
        )


class SocketForeign(TmuxError):
    """The socket belongs to another user, or its mode keeps us out."""

    kind = "foreign"

    def __init__(self, socket: str, why: str) -> None:
        super().__init__(
            f"cannot read the tmux server at {socket}: {why}",
            "run OpenBus as the user who owns it",
            socket,
        )


class SocketStale(TmuxError):
    """The socket file is there, but nobody listens."""

    kind = "stale"

    def __init__(self, socket: str) -> None:
        super().__init__(
            f"no tmux server at {socket}: the socket is left over from one that ended",
            f"remove it with `rm {socket}`",
            socket,
        )


class NotASocket(TmuxError):
    """A file of another sort stands where a socket is expected."""

    kind = "not_a_socket"

    def __init__(self, socket: str) -> None:
        super().__init__(
            f"no tmux server at {socket}: it is not a socket",
            "move it away or correct the path",
            socket,
        )


class TmuxFailed(TmuxError):
    """tmux refused for a reason of its own, quoted."""

    kind = "failed"

    def __init__(self, socket: str, reason: str) -> None:
        super().__init__(
            f"the tmux server at {socket} cannot be read: {reason}",
            f"see what `tmux -S {socket} list-panes -a` says",
            socket,
        )
