"""One bounded connection to one app-server: WebSocket over a Unix socket.

A thin shell around `Protocol`: it moves frames, keeps time and closes. Everything that goes wrong
becomes a `ClientError` with a health value and a category; no message text is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

import websockets.exceptions
from websockets.asyncio.client import ClientConnection, unix_connect

from openbus.codex.locate import Endpoint, Peer, peer_of
from openbus.codex.protocol import FRAME_LIMIT, Protocol
from openbus.codex.wire import Changed, Dropped, Event, Expired, Initialized
from openbus.evidence import Health

OPEN_TIMEOUT: Final = 2.0
CLOSE_TIMEOUT: Final = 1.0
REQUEST_TIMEOUT: Final = 2.0
"""Seconds for one answer. The server does not reply at all to what it cannot read."""

FLOOD_FRAMES: Final = 400
FLOOD_SECONDS: Final = 1.0
"""More frames than this in this time and the connection is given up: the capture loop shares our
processor. A busy server sends a few frames a second to a passive connection."""


class ClientError(Exception):
    """The connection cannot be used (any more). `health` for users, `category` for counters."""

    def __init__(self, health: Health, category: str) -> None:
        super().__init__(category)
        self.health: Health = health
        self.category = category


class Client:
    """Connect, shake hands, ask one thing at a time.

    `now` gives epoch milliseconds. `changed` is called for every event that asks for a re-read.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        protocol: Protocol,
        now: Callable[[], int],
        changed: Callable[[Changed], None],
    ) -> None:
        self.endpoint = endpoint
        self.protocol = protocol
        self._now = now
        self._changed = changed
        self._connection: ClientConnection | None = None
        self._receiver: asyncio.Task[None] | None = None
        self._answer: asyncio.Future[Event] | None = None
        self._ended: ClientError | None = None
        self.peer: Peer | None = None
        self.received = 0
        """Frames received."""
        self.garbage = 0
        """Frames that were no message of the protocol."""

    async def open(self, uid: int) -> Initialized:
        """Connect and introduce ourselves. Raises `ClientError`.

        The peer must be a process of our own user: checked with the kernel before the first frame.
        """
        try:
            self._connection = await unix_connect(
                self.endpoint.target,
                uri="ws://localhost/",
                compression=None,
                max_size=FRAME_LIMIT,
                open_timeout=OPEN_TIMEOUT,
                close_timeout=CLOSE_TIMEOUT,
                ping_interval=None,
                user_agent_header=None,
            )
        except Exception as error:
            raise trouble(error) from None
        raw = self._connection.transport.get_extra_info("socket")
        self.peer = peer_of(raw)
        if self.peer is None or self.peer.uid != uid:
            await self.close()
            raise ClientError("unavailable", "peer_not_ours")
        self._receiver = asyncio.create_task(self._receive())
        try:
            answer = await self.ask(self.protocol.initialize(self._now()))
            if isinstance(answer, Expired):
                raise ClientError("timeout", "handshake_timeout")
            if not isinstance(answer, Initialized):
                raise ClientError("unavailable", "handshake_refused")
            await self._send(self.protocol.initialized())
        except ClientError:
            await self.close()
            raise
        return answer

    async def ask(self, frame: str) -> Event | Expired:
        """Send one request frame of the protocol and wait for its answer or its time-out."""
        answer: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        self._answer = answer
        try:
            await self._send(frame)
            async with asyncio.timeout(REQUEST_TIMEOUT):
                return await answer
        except TimeoutError:
            expired = self.protocol.abandon()
            return expired[0] if expired else Expired(method="", thread=None)
        finally:
            self._answer = None
            if answer.done() and not answer.cancelled():
                answer.exception()  # seen, also when sending failed first

    def check(self) -> None:
        """Raise `ClientError` when the connection has ended."""
        if self._ended is not None:
            raise self._ended

    async def close(self) -> None:
        if self._receiver is not None:
            self._receiver.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._receiver
        if self._connection is not None:
            await self._connection.close()

    async def _send(self, frame: str) -> None:
        self.check()
        if self._connection is None:
            raise ClientError("unavailable", "not_connected")
        try:
            await self._connection.send(frame)
        except websockets.exceptions.ConnectionClosed as error:
            raise trouble(error) from None

    async def _receive(self) -> None:
        try:
            await self._pump()
        except ClientError as end:
            self._end(end)
        except (websockets.exceptions.WebSocketException, OSError) as error:
            self._end(trouble(error))

    async def _pump(self) -> None:
        if self._connection is None:
            return
        loop = asyncio.get_running_loop()
        window, frames = loop.time(), 0
        while True:
            data = await self._connection.recv(decode=False)
            if loop.time() - window > FLOOD_SECONDS:
                window, frames = loop.time(), 0
            frames += 1
            if frames > FLOOD_FRAMES:
                raise ClientError("unavailable", "flood")
            self.received += 1
            self._take(self.protocol.receive(data, self._now()))

    def _take(self, event: Event) -> None:
        if isinstance(event, Changed):
            self._changed(event)
        elif isinstance(event, Dropped):
            self.garbage += event.reason in ("garbage", "drift")
        elif self._answer is not None and not self._answer.done():
            self._answer.set_result(event)

    def _end(self, end: ClientError) -> None:
        self._ended = end
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(end)


def trouble(error: BaseException) -> ClientError:
    """What a failed or ended connection means, by kind of exception (websockets 14 to 16)."""
    match error:
        case ClientError():
            return error
        case FileNotFoundError():
            return ClientError("unavailable", "missing")
        case ConnectionRefusedError():
            return ClientError("unavailable", "refused")
        case PermissionError():
            return ClientError("unavailable", "denied")
        case TimeoutError():
            return ClientError("timeout", "handshake_timeout")
        case websockets.exceptions.ConnectionClosed():
            sent = error.sent.code if error.sent is not None else None
            if sent == 1009:
                return ClientError("truncated", "frame_too_big")
            return ClientError("unavailable", "closed")
        case websockets.exceptions.InvalidHandshake() | websockets.exceptions.InvalidMessage():
            return ClientError("unavailable", "not_websocket")
        case _:
            return ClientError("unavailable", "connection_failed")
