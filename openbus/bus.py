"""The bus: retained states and one ordered event log, in this process.

Nothing here waits. A subscriber that does not keep up loses its queue and is told so by a `reset`
followed by a full snapshot; publishing costs the same whether subscribers read or not. One event
loop, no threads: every method is called from the loop that owns the bus.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Self

import msgspec

from openbus.events import Change, Event
from openbus.model import PaneState

LOG_LENGTH = 4096
QUEUE_LENGTH = 512


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """What a subscriber wants. `panes` holds full keys, `%N` or `SOCKET:%N`; empty means all.

    With `needs_you` a pane's states pass while it needs you and once more when it no longer does.
    """

    needs_you: bool = False
    panes: frozenset[str] = frozenset()

    def wants_pane(self, key: str, names: frozenset[str]) -> bool:
        return not self.panes or key in self.panes or bool(self.panes & names)

    def shows(self, state: PaneState) -> bool:
        """Whether a list filtered so holds this state."""
        key = state.pane.key
        return self.wants_pane(key, pane_names(key)) and (state.needs_you or not self.needs_you)


def pane_names(key: str) -> frozenset[str]:
    """The short names of a pane key `HOST:SOCKET:PID-START:%N:PANEPID`: `%N` and `SOCKET:%N`."""
    parts = key.rsplit(":", 4)
    if len(parts) != 5:
        return frozenset()
    return frozenset({parts[3], f"{parts[1]}:{parts[3]}"})


class Subscription:
    """One reader's place on the bus: an asynchronous iterator of events.

    Starts with what `Last-Event-ID` asks for, else with a `reset` and a snapshot of everything.
    """

    def __init__(self, bus: Bus, wanted: Filter, limit: int) -> None:
        self._bus = bus
        self._filter = wanted
        self._limit = limit
        self._room = limit
        self._queue: deque[Event] = deque()
        self._shown: set[str] = set()
        self._ready = asyncio.Event()
        self._closed = False
        self.dropped = 0
        """How often the queue was thrown away because it was not read."""

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        event = await self.get()
        if event is None:
            raise StopAsyncIteration
        return event

    async def get(self) -> Event | None:
        """The next event, or None when the subscription is closed."""
        while not self._queue:
            if self._closed:
                return None
            self._ready.clear()
            await self._ready.wait()
        return self._queue.popleft()

    def more(self, most: int) -> list[Event]:
        """What is queued already, at most so many events; never waits."""
        return [self._queue.popleft() for _ in range(min(most, len(self._queue)))]

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Leave the bus. What is queued can still be read."""
        self._closed = True
        self._bus.leave(self)
        self._ready.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def offer(self, event: Event) -> None:
        """Queue an event if it passes the filter; never waits."""
        if not self._passes(event):
            return
        if len(self._queue) >= self._room:
            self.dropped += 1
            self.restart()
            return
        self._queue.append(event)
        self._ready.set()

    def restart(self) -> None:
        """Throw the queue away and begin again with a `reset` and a snapshot."""
        self._queue.clear()
        self._shown.clear()
        for event in self._bus.snapshot():
            if self._passes(event):
                self._queue.append(event)
        self._room = self._limit + len(self._queue)
        self._ready.set()

    def resume(self, missed: Iterable[Event]) -> None:
        """Begin with what was missed. Which panes the reader was shown before is not known, so
        each passes a `needs_you` filter once."""
        missed = list(missed)
        self._shown.update(event.key for event in missed)
        for event in missed:
            if self._passes(event):
                self._queue.append(event)
        self._room = self._limit + len(self._queue)
        self._ready.set()

    def _passes(self, event: Event) -> bool:
        if event.event == "reset":
            return True
        if not self._filter.wants_pane(event.key, pane_names(event.key)):
            return False
        if not self._filter.needs_you:
            return True
        if event.event == "pane":
            needs_you = event.state is not None and event.state.needs_you
            shown = event.key in self._shown
            if needs_you:
                self._shown.add(event.key)
            else:
                self._shown.discard(event.key)
            return needs_you or shown
        if event.event == "gone":
            shown = event.key in self._shown
            self._shown.discard(event.key)
            return shown
        return event.intent is not None and event.intent.attention == "needs_you"


class Bus:
    """Retained pane states and the event log. `epoch` names this run of the log."""

    def __init__(self, epoch: str | None = None, log_length: int = LOG_LENGTH) -> None:
        self.epoch = epoch or secrets.token_hex(4)
        self.rev = 0
        self._states: dict[str, PaneState] = {}
        self._log: deque[Event] = deque(maxlen=log_length)
        self._subscribers: set[Subscription] = set()
        self._listeners: list[Callable[[Event], None]] = []

    @property
    def states(self) -> list[PaneState]:
        """The retained states, in the order in which the panes were first seen."""
        return list(self._states.values())

    def state(self, key: str) -> PaneState | None:
        return self._states.get(key)

    @property
    def subscribers(self) -> int:
        return len(self._subscribers)

    def publish(self, changes: Iterable[Change]) -> list[Event]:
        """Number the changes, retain states, and offer the events to everybody at once."""
        events = [self._append(change) for change in changes]
        for event in events:
            for listener in self._listeners:
                listener(event)
            for subscriber in tuple(self._subscribers):
                subscriber.offer(event)
        return events

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event, in order, from within `publish`; it must not wait."""
        self._listeners.append(listener)

    def subscribe(
        self,
        wanted: Filter | None = None,
        last_event_id: str | None = None,
        limit: int = QUEUE_LENGTH,
    ) -> Subscription:
        """Join the bus. A `last_event_id` of this epoch that the log still reaches is replayed
        from; any other starts with a `reset` and a snapshot."""
        subscription = Subscription(self, wanted or Filter(), limit)
        missed = self.since(last_event_id) if last_event_id else None
        if missed is None:
            subscription.restart()
        else:
            subscription.resume(missed)
        self._subscribers.add(subscription)
        return subscription

    def leave(self, subscription: Subscription) -> None:
        self._subscribers.discard(subscription)

    def close(self) -> None:
        """End every subscription."""
        for subscription in tuple(self._subscribers):
            subscription.close()

    def since(self, last_event_id: str) -> list[Event] | None:
        """The events after that id, or None when it is of another epoch, unknown, or too old."""
        epoch, _, number = last_event_id.rpartition("-")
        if epoch != self.epoch or not number.isascii() or not number.isdigit():
            return None
        seen = int(number)
        oldest = self._log[0].rev if self._log else self.rev + 1
        if seen > self.rev or seen < oldest - 1:
            return None
        return [event for event in self._log if event.rev > seen]

    def snapshot(self) -> Iterator[Event]:
        """A `reset` and then every retained state, all at the present revision."""
        yield Event(epoch=self.epoch, rev=self.rev, event="reset")
        for key, state in self._states.items():
            yield Event(epoch=self.epoch, rev=self.rev, event="pane", key=key, state=state)

    def _append(self, change: Change) -> Event:
        self.rev += 1
        state = change.state
        if state is not None:
            state = msgspec.structs.replace(state, rev=self.rev)
            self._states[change.key] = state
        elif change.event == "gone":
            self._states.pop(change.key, None)
        event = Event(
            epoch=self.epoch,
            rev=self.rev,
            event=change.event,
            key=change.key,
            at=change.at,
            state=state,
            intent=change.intent,
        )
        self._log.append(event)
        return event
