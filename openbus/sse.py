"""The event stream of the HTTP API: one subscriber of the bus, written as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from openbus.bus import Bus, Filter
from openbus.events import Event

WRITE_LIMIT = 20.0
"""Seconds after which a reader that takes nothing is given up."""

BATCH = 50
"""So many events that are ready are written one after the other before we wait for one again."""

_HEAD: list[tuple[bytes, bytes]] = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventStream(Response):
    """Streams until the reader leaves, the bus closes, or nothing is taken for too long.

    The bus never waits for it: what does not fit into the subscription's queue is replaced by a
    `reset` and a snapshot.
    """

    def __init__(
        self, bus: Bus, wanted: Filter, since: str | None, heartbeat: float, head_only: bool
    ) -> None:
        super().__init__()
        self._bus = bus
        self._wanted = wanted
        self._since = since
        self._heartbeat = heartbeat
        self._head_only = head_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": list(_HEAD)})
        if self._head_only:
            await send({"type": "http.response.body", "body": b""})
            return
        left = asyncio.create_task(_gone(receive))
        writer = asyncio.create_task(self._write(send))
        try:
            await asyncio.wait((left, writer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (left, writer):
                task.cancel()
            await asyncio.gather(left, writer, return_exceptions=True)

    async def _write(self, send: Send) -> None:
        with self._bus.subscribe(self._wanted, self._since) as subscription:
            await _send(send, b"retry: 2000\n\n")
            reading = asyncio.ensure_future(subscription.get())
            try:
                while True:
                    done, _ = await asyncio.wait((reading,), timeout=self._heartbeat)
                    if not done:
                        await _send(send, b": heartbeat\n\n")
                        continue
                    event = reading.result()
                    if event is None:
                        break
                    for ready in (event, *subscription.more(BATCH - 1)):
                        await _send(send, frame(ready))
                    reading = asyncio.ensure_future(subscription.get())
            finally:
                reading.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WRITE_LIMIT):
                await send({"type": "http.response.body", "body": b"", "more_body": False})


def frame(event: Event) -> bytes:
    """One event on the wire."""
    # The struct itself: a dictionary made of it first would cost four times as much.
    data = msgspec.json.encode(event.state or event.intent or event.payload())
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (
        event.id.encode(),
        event.event.encode(),
        data,
    )


async def _send(send: Send, body: bytes) -> None:
    """Write, or give the reader up."""
    message: dict[str, Any] = {"type": "http.response.body", "body": body, "more_body": True}
    async with asyncio.timeout(WRITE_LIMIT):
        await send(message)


async def _gone(receive: Receive) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
