"""The bus: retained states, an ordered log with replay, and readers that cannot stall it."""

from __future__ import annotations

import asyncio

from openbus.bus import Bus, Filter, Subscription
from openbus.events import Change, Event
from openbus.model import PaneState
from tests.openbus.live_support import KEY, Script, asking, pane, reading


def key(number: int) -> str:
    return f"box:default:100-1700000000:%{number}:201"


def change(number: int = 1, needs_you: bool = False) -> Change:
    read = reading()
    state = PaneState(
        host="box",
        pane=pane(key(number)),
        program=read.program,
        activity="waiting" if needs_you else "idle",
        needs_you=needs_you,
    )
    return Change(event="pane", key=key(number), at=1, state=state)


async def drain(subscription: Subscription) -> list[Event]:
    await asyncio.sleep(0)
    subscription.close()
    return [event async for event in subscription]


async def test_a_new_reader_gets_a_reset_and_everything_retained() -> None:
    bus = Bus()
    bus.publish([change(1), change(2), change(1)])
    events = await drain(bus.subscribe())
    assert [event.event for event in events] == ["reset", "pane", "pane"]
    assert {event.id for event in events} == {f"{bus.epoch}-3"}


async def test_a_known_id_replays_what_was_missed_in_order() -> None:
    bus = Bus()
    first, *_ = bus.publish([change(1), change(2), change(3)])
    events = await drain(bus.subscribe(last_event_id=first.id))
    assert [event.rev for event in events] == [2, 3]
    assert [event.state.rev for event in events if event.state] == [2, 3]


async def test_the_newest_id_replays_nothing() -> None:
    bus = Bus()
    [event] = bus.publish([change()])
    assert await drain(bus.subscribe(last_event_id=event.id)) == []


async def test_an_unknown_or_too_old_id_starts_again() -> None:
    bus = Bus(log_length=2)
    events = bus.publish([change(n) for n in range(1, 6)])
    for unknown in ("other-3", "nonsense", f"{bus.epoch}-99", f"{bus.epoch}-²", events[0].id):
        got = await drain(bus.subscribe(last_event_id=unknown))
        assert got[0].event == "reset", unknown
    assert [e.rev for e in await drain(bus.subscribe(last_event_id=events[2].id))] == [4, 5]


async def test_a_reader_that_does_not_read_is_reset_and_never_stalls_the_bus() -> None:
    bus = Bus()
    slow = bus.subscribe(limit=10)
    quick = bus.subscribe(limit=10)
    got: list[Event] = []
    for number in range(1000):
        bus.publish([change(1 + number % 3)])
        got.append(await anext(quick))
    assert slow.dropped > 0
    assert len(slow._queue) <= 14
    events = await drain(slow)
    assert events[0].event == "reset"
    assert {e.key for e in events if e.event == "pane"} == {key(1), key(2), key(3)}
    last = {e.key: e.state for e in events if e.state is not None}
    assert {k: s.rev for k, s in last.items()} == {s.pane.key: s.rev for s in bus.states}
    assert quick.dropped == 0


async def test_a_snapshot_larger_than_the_queue_still_arrives() -> None:
    bus = Bus()
    bus.publish([change(n) for n in range(1, 101)])
    subscription = bus.subscribe(limit=10)
    bus.publish([change(101)])
    events = await drain(subscription)
    assert len(events) == 102
    assert subscription.dropped == 0


async def test_the_needs_you_filter_shows_a_pane_until_it_no_longer_needs_you() -> None:
    bus = Bus()
    subscription = bus.subscribe(Filter(needs_you=True))
    bus.publish([change(1), change(1, needs_you=True), change(2), change(1), change(1)])
    events = await drain(subscription)
    assert [e.state.needs_you for e in events if e.state] == [True, False]


async def test_the_pane_filter_takes_full_keys_and_short_names() -> None:
    bus = Bus()
    for name in (key(2), "%2", "default:%2"):
        subscription = bus.subscribe(Filter(panes=frozenset({name})))
        bus.publish([change(1), change(2), Change(event="gone", key=key(1), at=2)])
        events = await drain(subscription)
        assert {e.key for e in events if e.event != "reset"} == {key(2)}, name
        bus.publish([Change(event="gone", key=key(2), at=2)])


async def test_a_gone_pane_is_no_longer_retained() -> None:
    bus = Bus()
    bus.publish([change(1), Change(event="gone", key=key(1), at=2)])
    assert bus.states == []
    assert bus.state(key(1)) is None


async def test_listeners_hear_everything_in_order() -> None:
    bus = Bus()
    heard: list[int] = []
    bus.listen(lambda event: heard.append(event.rev))
    bus.publish([change(1), change(2)])
    assert heard == [1, 2]


async def test_closing_the_bus_ends_every_reader() -> None:
    bus = Bus()
    subscription = bus.subscribe()
    bus.close()
    assert [event.event async for event in subscription] == ["reset"]
    assert bus.subscribers == 0


async def test_announcements_travel_with_the_ask_they_are_about() -> None:
    bus = Bus()
    script = Script()
    script.sees(asking(command="make deploy"))
    script.wait(1000)
    bus.publish(script.changes)
    events = await drain(bus.subscribe(last_event_id=f"{bus.epoch}-0"))
    assert [event.event for event in events] == ["pane", "announce"]
    payload = events[1].payload()
    assert payload["key"] == KEY
    assert payload["needs_you"] is True
    assert payload["question"]["command"] == "make deploy"
    assert payload["contract"] == payload["question"]["contract"]
