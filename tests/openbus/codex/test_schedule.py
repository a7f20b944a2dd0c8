"""What is asked when: slow polls, events that only ask for one read, a firm budget."""

from __future__ import annotations

import itertools
from collections import Counter

from openbus.codex.schedule import Ask, Backoff, Schedule

START = 1_796_000_000_000


def run(schedule: Schedule, begin: int, end: int, step: int = 200) -> list[tuple[int, Ask]]:
    """Everything asked between two moments, one look every `step` ms; loads as asked."""
    asked: list[tuple[int, Ask]] = []
    for now in range(begin, end, step):
        while (ask := schedule.next(now)) is not None:
            asked.append((now, ask))
    return asked


def ids(number: int) -> tuple[str, ...]:
    return tuple(f"t{i}" for i in range(number))


def test_a_connection_begins_with_the_inventory_and_one_page() -> None:
    schedule = Schedule(START, events=True)
    assert [ask.what for _, ask in run(schedule, START, START + 1_000)] == ["loaded", "page"]


def test_every_loaded_thread_is_read_once() -> None:
    schedule = Schedule(START, events=True)
    schedule.loaded(ids(3))
    asked = [ask.thread for _, ask in run(schedule, START, START + 1_000) if ask.what == "read"]
    assert sorted(asked) == ["t0", "t1", "t2"]  # type: ignore[type-var]


def test_fifty_bound_threads_stay_below_two_requests_a_second() -> None:
    for events in (False, True):
        schedule = Schedule(START, events=events)
        schedule.loaded(ids(50))
        schedule.bound(ids(50))
        run(schedule, START, START + 120_000)
        asked = run(schedule, START + 120_000, START + 720_000)
        assert len(asked) / 600 <= 2.0
        reads = Counter(ask.thread for _, ask in asked if ask.what == "read")
        assert len(reads) == 50 and min(reads.values()) >= 5


def test_the_page_comes_at_most_once_a_minute() -> None:
    schedule = Schedule(START, events=True)
    pages = [at for at, ask in run(schedule, START, START + 600_000) if ask.what == "page"]
    assert len(pages) == 10
    assert all(later - at >= 60_000 for at, later in itertools.pairwise(pages))


def test_an_event_storm_on_one_thread_costs_one_read_a_second() -> None:
    schedule = Schedule(START, events=True)
    schedule.loaded(ids(1))
    run(schedule, START, START + 5_000)
    reads = 0
    for now in range(START + 5_000, START + 15_000, 10):
        schedule.changed("t0", now)
        ask = schedule.next(now)
        reads += ask is not None and ask.what == "read"
    assert 9 <= reads <= 10


def test_events_of_a_version_without_proof_are_ignored() -> None:
    schedule = Schedule(START, events=False)
    schedule.loaded(ids(1))
    run(schedule, START, START + 1_000)
    schedule.changed("t0", START + 1_000)
    assert not schedule.pending("t0")


def test_an_event_of_an_unknown_thread_asks_for_the_inventory() -> None:
    schedule = Schedule(START, events=True)
    run(schedule, START, START + 2_000)
    schedule.changed("new", START + 2_000)
    assert [ask.what for _, ask in run(schedule, START + 2_000, START + 3_000)] == ["loaded"]


def test_bound_threads_are_polled_more_often_where_events_are_not_proved() -> None:
    for events, expected in ((False, 20), (True, 10)):
        schedule = Schedule(START, events=events)
        schedule.loaded(ids(1))
        schedule.bound(ids(1))
        asked = run(schedule, START, START + 600_000)
        assert sum(ask.what == "read" for _, ask in asked) == expected


def test_a_request_that_the_server_does_not_know_is_not_repeated() -> None:
    schedule = Schedule(START, events=True)
    schedule.unsupported("page")
    schedule.unsupported("loaded")
    assert run(schedule, START, START + 300_000) == []


def test_a_refresh_lists_and_reads_everything_again() -> None:
    schedule = Schedule(START, events=True)
    schedule.loaded(ids(2))
    run(schedule, START, START + 2_000)
    schedule.refresh(START + 2_000)
    asked = [ask.what for _, ask in run(schedule, START + 2_000, START + 2_200)]
    assert sorted(asked) == ["loaded", "read", "read"]


def test_what_a_page_told_need_not_be_read() -> None:
    schedule = Schedule(START, events=True)
    schedule.loaded(ids(1))
    schedule.have("t0", START)
    assert [ask.what for _, ask in run(schedule, START, START + 1_000)] == ["loaded", "page"]


def test_pauses_double_up_to_a_minute_and_are_spread() -> None:
    backoff = Backoff()
    assert [backoff.next(1.0) for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    backoff.reset()
    assert backoff.next(0.0) == 0.5
