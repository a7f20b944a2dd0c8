"""The app-server protocol as a read-only observer speaks it. No socket, no clock, no thread.

`Protocol` turns intentions into text frames and received frames into events. It can emit nothing
but `initialize`, `initialized` and the reads in `ALLOWED_METHODS`, each with fixed parameters, and
`thread/read` only for an id that this server announced on this connection.

**It has no way to answer.** A connected observer is handed approval requests of sub-agents, and any
reply, an error included, acts for the user (Codex 0.159.2 to 0.171.0). A frame with both `id` and
`method` is counted and dropped; no method of this class produces a frame with `result` or `error`.

Source of facts: Codex 0.159.2, 0.165.0 and 0.171.0, observed 2026-11-30.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from openbus.codex import notifications, wire
from openbus.codex.wire import (
    PAGE_LIMIT,
    Capabilities,
    Changed,
    Dropped,
    Event,
    Expired,
    Frame,
    Initialized,
    Loaded,
    Page,
    Read,
    Refused,
    ThreadRecord,
    decode,
)
from openbus.evidence import Health

READS: Final = frozenset({"thread/loaded/list", "thread/read", "thread/list"})
ALLOWED_METHODS: Final = frozenset({"initialize", "initialized"}) | READS
"""Every method this adapter can ever send."""

CLIENT_NAME: Final = "openbus"
"""Honest: this name is what Codex puts into its User-Agent while we are the latest client."""

LOADED_LIMIT: Final = 200
FRAME_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of one frame that we accept; previews are unbounded and repeat in every row."""

IN_FLIGHT: Final = 1
"""One request at a time: answers take a millisecond or two, and a busy server sets the pace."""

ANNOUNCED_LIMIT: Final = 5_000
"""Ids remembered per connection; a server that names more is not followed further."""


class ProtocolError(Exception):
    """The caller asked for something this observer must not or cannot send."""


class _Pending(msgspec.Struct, frozen=True):
    id: int
    method: str
    thread: str | None
    sent_at: int


class Protocol:
    """One connection's state. Feed frames in, take events out. Times are epoch milliseconds."""

    def __init__(self, client_version: str) -> None:
        self._client_version = client_version
        self._next_id = 1
        self._pending: dict[int, _Pending] = {}
        self._announced: set[str] = set()
        self._phase: Literal["new", "greeting", "ready"] = "new"
        self.sent: Counter[str] = Counter()
        """Requests by method."""
        self.dropped: Counter[str] = Counter()
        """Frames without effect, by reason."""
        self.latency: deque[tuple[str, int]] = deque(maxlen=500)
        """Method and milliseconds of the latest answered requests."""

    @property
    def pending(self) -> int:
        return len(self._pending)

    @property
    def announced(self) -> frozenset[str]:
        """Ids this server has named on this connection."""
        return frozenset(self._announced)

    # --- out

    def initialize(self, now: int) -> str:
        """The first frame. No capability beyond the two that ask for less."""
        if self._phase != "new":
            raise ProtocolError("initialize is sent once per connection")
        self._phase = "greeting"
        return self._request(
            "initialize",
            {
                "clientInfo": {
                    "name": CLIENT_NAME,
                    "title": "OpenBus, read-only observer",
                    "version": self._client_version,
                },
                "capabilities": {
                    "experimentalApi": False,
                    "optOutNotificationMethods": list(notifications.OPTED_OUT),
                },
            },
            now,
        )

    def initialized(self) -> str:
        if self._phase != "ready":
            raise ProtocolError("initialized follows the answer to initialize")
        self.sent["initialized"] += 1
        return '{"method":"initialized"}'

    def loaded_list(self, now: int, cursor: str | None = None) -> str:
        params: dict[str, object] = {"limit": LOADED_LIMIT}
        if cursor is not None:
            params["cursor"] = cursor
        return self._request("thread/loaded/list", params, now)

    def list_page(self, now: int) -> str:
        """The newest threads from the state database alone: other listings scan and repair it.

        `modelProviders` empty means all; left out it would mean the server's current default.
        """
        return self._request(
            "thread/list",
            {
                "limit": PAGE_LIMIT,
                "sortKey": "updated_at",
                "useStateDbOnly": True,
                "modelProviders": [],
            },
            now,
        )

    def read(self, thread: str, now: int) -> str:
        if thread not in self._announced:
            raise ProtocolError("thread/read is for ids that this server announced")
        return self._request("thread/read", {"threadId": thread, "includeTurns": False}, now)

    def abandon(self) -> list[Expired]:
        """Stop waiting for what is in flight; its answers are dropped if they still come."""
        late = list(self._pending.values())
        self._pending.clear()
        return [Expired(method=p.method, thread=p.thread) for p in late]

    def _request(self, method: str, params: dict[str, object], now: int) -> str:
        if method not in ALLOWED_METHODS:
            raise ProtocolError(f"{method} is not on the allow-list")
        if method != "initialize" and self._phase != "ready":
            raise ProtocolError("not initialized")
        if len(self._pending) >= IN_FLIGHT:
            raise ProtocolError("too many requests in flight")
        pending = _Pending(self._next_id, method, _text(params.get("threadId")), now)
        self._next_id += 1
        self._pending[pending.id] = pending
        self.sent[method] += 1
        return msgspec.json.encode({"id": pending.id, "method": method, "params": params}).decode()

    # --- in

    def receive(self, data: bytes | str, now: int) -> Event:
        """One text frame in, one event out. Never raises for what a server can send."""
        event = self._receive(data, now)
        if isinstance(event, Dropped):
            self.dropped[event.reason] += 1
        return event

    def _receive(self, data: bytes | str, now: int) -> Event:
        frame = decode(data, Frame)
        if frame is None:
            return Dropped(reason="garbage")
        has_method = frame.method is not msgspec.UNSET
        if frame.id is not msgspec.UNSET:
            if has_method:
                return Dropped(reason="server_request", method=_known(frame.method))
            return self._response(frame, now)
        if not has_method:
            return Dropped(reason="garbage")
        return self._notification(frame)

    def _response(self, frame: Frame, now: int) -> Event:
        pending = None
        # bool is an int in Python: `true` must not pass for request 1
        if isinstance(frame.id, int) and not isinstance(frame.id, bool):
            pending = self._pending.pop(frame.id, None)
        if pending is None:
            return Dropped(reason="late")
        self.latency.append((pending.method, max(0, now - pending.sent_at)))
        if isinstance(frame.error, msgspec.Raw) and bytes(frame.error) != b"null":
            return wire.refused(pending.method, pending.thread, frame.error)
        result = frame.result if isinstance(frame.result, msgspec.Raw) else msgspec.Raw(b"null")
        match pending.method:
            case "initialize":
                self._phase = "ready"
                return wire.initialized(result)
            case "thread/loaded/list":
                loaded = wire.loaded(result)
                self._announce(loaded.ids)
                return loaded
            case "thread/list":
                page = wire.page(result)
                self._announce(record.id for record in page.threads)
                return page
            case _:
                return wire.read(result, pending.thread or "")

    def _notification(self, frame: Frame) -> Event:
        method = frame.method
        if method not in notifications.KEPT or not isinstance(method, str):
            return Dropped(reason="notification", method=_known(method))
        if self._phase != "ready":
            return Dropped(reason="early", method=method)
        raw = frame.params if isinstance(frame.params, msgspec.Raw) else msgspec.Raw(b"null")
        if method == "thread/started":
            started = decode(bytes(raw), wire.StartedEvent)
            name = None if started is None else started.thread.id
        else:
            event = decode(bytes(raw), wire.ThreadEvent)
            name = None if event is None else event.threadId
        if name is None:
            return Dropped(reason="drift", method=method)
        self._announce((name,))
        return Changed(method=method, thread=name)

    def _announce(self, ids: Iterable[str]) -> None:
        for thread in ids:
            if len(self._announced) < ANNOUNCED_LIMIT:
                self._announced.add(thread)


def worst(*healths: Health) -> Health:
    """The one to show when several hold."""
    order: tuple[Health, ...] = (
        "unavailable",
        "timeout",
        "unsupported_method",
        "null_capability",
        "schema_drift",
        "truncated",
        "unknown_variant",
        "ok",
    )
    return min(healths, key=order.index, default="ok")


def health_of(event: Event | Expired) -> Health:
    """What this event says about the adapter's health."""
    match event:
        case Expired():
            return "timeout"
        case Initialized(drift=d) if d:
            return "schema_drift"
        case Initialized(codex_home=None) | Initialized(capabilities=Capabilities(version=None)):
            return "null_capability"
        case Loaded(drift=d) if d:
            return "schema_drift"
        case Read(drift=d, record=record):
            return _record_health(d, () if record is None else (record,))
        case Page(drift=d, threads=threads):
            return _record_health(d, threads)
        case Refused(kind="unsupported_method"):
            return "unsupported_method"
        case Refused(kind="overloaded"):
            return "unavailable"
        case Dropped(reason="garbage" | "drift"):
            return "schema_drift"
        case _:
            return "ok"


def _record_health(drifted: tuple[str, ...], threads: tuple[ThreadRecord, ...]) -> Health:
    if drifted:
        return "schema_drift"
    if any(record.unknown for record in threads):
        return "unknown_variant"
    return "ok"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _known(method: object) -> str | None:
    """A method name may be logged when it is one we know; others could carry anything."""
    if not isinstance(method, str):
        return None
    if method in notifications.KEPT or method in notifications.OPTED_OUT:
        return method
    return method if method in notifications.SERVER_REQUESTS else None
