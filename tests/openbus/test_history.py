"""The timeline: what panes went through, kept as identities and times."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import msgspec

from openbus.events import Event
from openbus.history import FILE, History, Row, spans
from openbus.model import Attention, Pane, PaneState, Program, Server, Window

KEY = "here:work:7-1:%1:9"


def state(activity: str, attention: Attention = "none") -> PaneState:
    pane = Pane(
        key=KEY,
        id="%1",
        server=Server(socket="/s/work", pid=7, started=1),
        pid=9,
        session="alice",
        window=Window(index=0, name="sh"),
        index=0,
    )
    idle = PaneState(host="here", pane=pane, program=Program(name="codex"), activity="idle")
    return msgspec.structs.replace(
        idle, activity=activity, attention=attention, headline="secret words"
    )


def event(at: int, activity: str, attention: Attention = "none") -> Event:
    return Event(epoch="e", rev=at, event="pane", key=KEY, at=at, state=state(activity, attention))


def row(at: int, activity: str) -> Row:
    return Row(
        at=at,
        key=KEY,
        session="alice",
        program="codex",
        activity=activity,
        waiting_on=None,
        attention="none",
    )


class Now:
    def __init__(self) -> None:
        self.at = 1_790_000_000_000

    def __call__(self) -> int:
        return self.at


async def test_spans_are_cut_to_what_is_asked(tmp_path: Path) -> None:
    now = Now()
    history = History(tmp_path, now, lambda line: None)
    start = now.at
    history.hear(event(start, "working"))
    history.hear(event(start + 10_000, "waiting", "needs_you"))
    history.hear(event(start + 11_000, "waiting", "needs_you"))
    history.hear(event(start + 40_000, "idle", "done"))
    now.at = start + 50_000
    found = await history.spans(start + 5_000, start + 60_000)
    assert [(one.activity, one.attention, one.from_ - start, one.to - start, one.open)
            for one in found] == [
        ("working", "none", 5_000, 10_000, False),
        ("waiting", "needs_you", 10_000, 40_000, False),
        ("idle", "done", 40_000, 50_000, True),
    ]  # fmt: skip
    assert await history.spans(start, start + 60_000, key="another") == []


async def test_a_pane_that_is_gone_ends_its_span(tmp_path: Path) -> None:
    now = Now()
    history = History(tmp_path, now, lambda line: None)
    history.hear(event(now.at, "working"))
    history.hear(Event(epoch="e", rev=2, event="gone", key=KEY, at=now.at + 5_000))
    now.at += 60_000
    (one,) = await history.spans(now.at - 60_000, now.at)
    assert one.to - one.from_ == 5_000 and not one.open


async def test_a_clean_end_and_a_restart_leave_a_gap(tmp_path: Path) -> None:
    now = Now()
    start = now.at
    first = History(tmp_path, now, lambda line: None)
    first.hear(event(start, "working"))
    running = asyncio.create_task(first.run())
    await asyncio.sleep(0)
    now.at = start + 20_000
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    now.at = start + 90_000
    second = History(tmp_path, now, lambda line: None)
    second.hear(event(start + 80_000, "idle"))
    found = await second.spans(start, start + 100_000)
    assert [(one.activity, one.from_ - start, one.to - start) for one in found] == [
        ("working", 0, 20_000),
        ("idle", 80_000, 90_000),
    ]


async def test_after_an_end_by_force_nothing_is_invented(tmp_path: Path) -> None:
    now = Now()
    start = now.at
    killed = History(tmp_path, now, lambda line: None)
    killed.hear(event(start, "waiting", "needs_you"))
    now.at = start + 30_000
    await killed.flush()
    now.at = start + 3_600_000
    (one,) = await History(tmp_path, now, lambda line: None).spans(start, now.at)
    assert one.to - start == 30_000


async def test_no_text_of_a_screen_is_kept_and_nobody_else_reads_it(tmp_path: Path) -> None:
    history = History(tmp_path, Now(), lambda line: None)
    history.hear(event(1, "working"))
    await history.flush()
    assert b"secret words" not in (tmp_path / FILE).read_bytes()
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


async def test_a_damaged_file_is_said_once_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("no database, but long enough to be taken for one" * 50)
    said: list[str] = []
    history = History(tmp_path, Now(), said.append)
    for at in range(3):
        history.hear(event(at + 1, ("working", "idle")[at % 2]))
        await history.flush()
    assert len(said) == 1 and "move" in said[0]
    assert await history.spans(0, 10) == []


def test_spans_of_rows_are_pure() -> None:
    rows = [row(10, "working"), row(20, "unwatched"), row(50, "idle")]
    found = spans(rows, 0, 60)
    assert [(one.from_, one.to, one.open) for one in found] == [(10, 20, False), (50, 60, True)]


async def test_old_changes_are_forgotten(tmp_path: Path) -> None:
    now = Now()
    first = History(tmp_path, now, lambda line: None)
    first.hear(event(now.at, "working"))
    await first.flush()
    now.at += 40 * 24 * 3600 * 1000
    await History(tmp_path, now, lambda line: None).flush()
    with sqlite3.connect(tmp_path / FILE) as database:
        assert database.execute("select count(*) from change").fetchone() == (0,)
