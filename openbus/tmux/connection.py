"""One request to one tmux server: `tmux -u -S SOCKET source-file -`, commands on stdin.

The stock program is the only transport. A batch costs the server one wake-up however many commands
it holds, each line stands alone (a vanished pane fails its own line only), and `source-file` never
starts a server. Measurements and reasons: `docs/proposals/0002-how-we-talk-to-tmux.md`.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

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
from openbus.tmux.version import too_old

PER_COMMAND = 0.005
"""Seconds added to the time limit for each command: a batch of 1000 screens is not silence."""

_VANISHED = re.compile(r"^(can't find (pane|window|session): .*|no current target)$")
_ENDED = ("lost server", "server exited", "server exited unexpectedly")


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What one request printed."""

    stdout: bytes
    stderr: bytes = b""


class Connection:
    """How to reach one server. Holds no open socket: each request is a short process of its own.

    `socket` is the absolute path, `label` the name that stands for it in pane keys (the socket's
    file name unless given), `timeout` the seconds after which a server counts as silent.
    """

    def __init__(
        self, socket: str, *, label: str | None = None, binary: str = "tmux", timeout: float = 2.0
    ) -> None:
        self.socket = socket
        self.label = Path(socket).name if label is None else label
        self.binary = binary
        self.timeout = timeout

    async def run(self, commands: Sequence[str]) -> Output:
        """Run tmux commands, one per line, in one request; returns what they printed.

        Lines must hold ids and fixed text only, never text of a user. Lines that name a pane,
        window or session that is gone print nothing. Raises a `TmuxError`.
        """
        request = "".join(f"{command}\n" for command in commands).encode("ascii")
        limit = self.timeout + PER_COMMAND * len(commands)
        status, stdout, stderr = await self._spawn(
            ("-u", "-S", self.socket, "source-file", "-"), request, limit
        )
        if status != 0:
            complaints = [
                line
                for line in stderr.decode("utf-8", "replace").splitlines()
                if not _VANISHED.match(line)
            ]
            ended = any(line.endswith(_ENDED) for line in complaints)
            if ended or not (stdout or (stderr and not complaints)):
                await self._fail(complaints)
        return Output(stdout=stdout, stderr=stderr)

    async def program_version(self) -> str:
        """`tmux -V` of the program itself, without the word tmux; asks no server."""
        _, stdout, _ = await self._spawn(("-V",), b"", self.timeout)
        return stdout.decode("utf-8", "replace").strip().removeprefix("tmux").strip()

    async def _spawn(
        self, arguments: tuple[str, ...], stdin: bytes, limit: float
    ) -> tuple[int, bytes, bytes]:
        loop = asyncio.get_running_loop()
        try:
            transport, request = await loop.subprocess_exec(
                lambda: _Request(loop), self.binary, *arguments, env=_environment()
            )
        except (FileNotFoundError, PermissionError) as error:
            raise TmuxMissing(self.binary) from error
        feed = transport.get_pipe_transport(0)
        assert isinstance(feed, asyncio.WriteTransport)
        try:
            feed.write(stdin)
            feed.write_eof()
            async with asyncio.timeout(limit):
                await asyncio.shield(request.finished)
        except TimeoutError as error:
            raise ServerSilent(self.socket, limit) from error
        finally:
            # A stopped server still holds the pipes, which the program passed to it: they would
            # never end, so they are given up and only the program, killed, is waited for.
            if feed.get_write_buffer_size():
                feed.abort()
            transport.close()
            await request.exited
        status = transport.get_returncode()
        assert status is not None
        return status, bytes(request.printed[1]), bytes(request.printed[2])

    async def _fail(self, complaints: Sequence[str]) -> None:
        """Turn what tmux printed into the error that says it best (messages of 3.2a to 3.7c)."""
        text = complaints[0] if complaints else ""
        if text.startswith("no server running"):
            raise SocketStale(self.socket)
        if text.startswith("error connecting"):
            if "No such file" in text:
                raise ServerAbsent(self.socket)
            if "ermission denied" in text or "not permitted" in text:
                raise SocketForeign(self.socket, "permission denied")
        if text.startswith("access not allowed"):
            raise SocketForeign(self.socket, "its server-access list does not name this user")
        if not text or text.endswith(_ENDED):
            raise ServerGone(self.socket)
        version = await self.program_version()
        if too_old(version):
            raise TmuxTooOld(version)
        raise TmuxFailed(self.socket, f"tmux says {text!r}")


class _Request(asyncio.SubprocessProtocol):
    """One run of the program: what it printed, when it exited, when its pipes ended too."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.printed = {1: bytearray(), 2: bytearray()}
        self.exited: asyncio.Future[None] = loop.create_future()
        self.finished: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.printed[fd] += data

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.finished.done():
            self.finished.set_result(None)


def _environment() -> dict[str, str]:
    """Ours without the tmux we may run in; a UTF-8 locale, else titles come back as underscores."""
    environment = {k: v for k, v in os.environ.items() if k not in ("TMUX", "TMUX_PANE")}
    environment["LC_ALL"] = "C.UTF-8"
    return environment
