"""When to ask the app-server what. Pure: time comes in, the next request comes out.

Snapshots decide, events only ask for one more read. In steady state the sum stays below two
requests a second for one server, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

RATE: Final = 1.8
"""Requests a second in steady state."""
BURST: Final = 20
"""Requests that may follow each other at once after a connection or a new visible id."""

LOADED_EVERY: Final = 15_000
PAGE_EVERY: Final = 60_000
BOUND_EVERY: Final = 30_000
BOUND_EVERY_WITH_EVENTS: Final = 60_000
OTHERS_EVERY: Final = 300_000
SETTLE: Final = 1_000
"""Events about one thread within this time ask for one read together."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """The next request."""

    what: Literal["loaded", "page", "read"]
    thread: str | None = None


class Schedule:
    """The plan for one connection. All times in milliseconds."""

    def __init__(self, now: int, *, events: bool) -> None:
        self._events = events
        self._tokens = float(BURST)
        self._filled = now
        self._loaded_at: int | None = None
        self._page_at: int | None = None
        self._read_at: dict[str, int] = {}
        self._wanted: dict[str, int] = {}
        self._loaded: tuple[str, ...] = ()
        self._bound: frozenset[str] = frozenset()
        self._off: set[str] = set()
        self._loaded_wanted = False

    # --- what is known

    def loaded(self, ids: Iterable[str]) -> None:
        """The server's loaded threads; plans for others are forgotten."""
        self._loaded = tuple(ids)
        known = set(self._loaded)
        self._read_at = {t: at for t, at in self._read_at.items() if t in known}
        self._wanted = {t: at for t, at in self._wanted.items() if t in known}

    def bound(self, ids: Iterable[str]) -> None:
        """Threads that panes show: they are read more often."""
        self._bound = frozenset(ids)

    def changed(self, thread: str, now: int) -> None:
        """An event named this thread. Versions without proved events are polled instead."""
        if self._events:
            self._wanted.setdefault(thread, now + SETTLE)
            self._loaded_wanted = self._loaded_wanted or thread not in self._loaded

    def refresh(self, now: int) -> None:
        """List and read every loaded thread as soon as the budget allows."""
        self._loaded_at = None
        for thread in self._loaded:
            self._wanted[thread] = now

    def pending(self, thread: str) -> bool:
        """A read of this thread has been asked for and has not been sent yet."""
        return thread in self._wanted

    def have(self, thread: str, now: int) -> None:
        """A page told about this thread as well as a read would have."""
        if thread in self._loaded:
            self._read_at[thread] = now

    def unsupported(self, what: str) -> None:
        """The server does not know this request: it is not asked again on this connection."""
        self._off.add(what)

    # --- what to do

    def next(self, now: int) -> Ask | None:
        """The request to send now, or None when nothing is due or the budget is used up."""
        self._tokens = min(BURST, self._tokens + max(0, now - self._filled) * RATE / 1000)
        self._filled = now
        if self._tokens < 1:
            return None
        ask = self._due(now)
        if ask is None:
            return None
        self._tokens -= 1
        self._done(ask, now)
        return ask

    def _due(self, now: int) -> Ask | None:
        if "loaded" not in self._off and (
            self._over(self._loaded_at, LOADED_EVERY, now)
            or (self._loaded_wanted and self._over(self._loaded_at, SETTLE, now))
        ):
            return Ask(what="loaded")
        if "page" not in self._off and self._over(self._page_at, PAGE_EVERY, now):
            return Ask(what="page")
        if "read" in self._off:
            return None
        urgent = [t for t in self._loaded if self._wanted.get(t, now + 1) <= now]
        if urgent:
            return Ask(what="read", thread=min(urgent, key=lambda t: self._wanted[t]))
        late = [(self._lateness(t, now), t) for t in self._loaded]
        lateness, thread = max(late, default=(-1, ""))
        return Ask(what="read", thread=thread) if lateness >= 0 else None

    def _lateness(self, thread: str, now: int) -> int:
        """Milliseconds over its time; never read is the latest of all."""
        every = OTHERS_EVERY
        if thread in self._bound:
            every = BOUND_EVERY_WITH_EVENTS if self._events else BOUND_EVERY
        return now - self._read_at.get(thread, -OTHERS_EVERY * 10) - every

    def _done(self, ask: Ask, now: int) -> None:
        match ask:
            case Ask(what="loaded"):
                self._loaded_at = now
                self._loaded_wanted = False
            case Ask(what="page"):
                self._page_at = now
            case Ask(thread=str(thread)):
                self._read_at[thread] = now
                self._wanted.pop(thread, None)

    @staticmethod
    def _over(at: int | None, every: int, now: int) -> bool:
        return at is None or now - at >= every


class Backoff:
    """Seconds until the next connection attempt: doubling from 1 to 60, with jitter.

    `spread` is a number from 0 to 1 drawn by the caller; at 0 the pause is half as long.
    """

    def __init__(self) -> None:
        self._failures = 0

    def reset(self) -> None:
        self._failures = 0

    def next(self, spread: float) -> float:
        pause = float(min(60, 2 ** min(self._failures, 6)))
        self._failures += 1
        return pause * (0.5 + spread / 2)
