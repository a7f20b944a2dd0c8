"""What panes went through: spans of one state each, for the timeline.

A listener on the bus keeps a row per change of activity or attention: identities, numbers and
times, never a text of a screen. The loop only appends to a list; a thread writes. A gap in
observation is a gap here too: what was open ends when the service was last known to live.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from openbus.events import Event
from openbus.model import PaneState

FILE = "history.sqlite3"
WRITE_EVERY = 1.0
KEEP_MS = 30 * 24 * 3600 * 1000
ALIVE_MS = 30_000
"""So often it is noted that the service lives; an end by force is known to this precision."""

SPANS_MOST = 20_000

_SCHEMA = """
create table if not exists change (
  at integer not null, key text not null, session text not null, program text not null,
  activity text not null, waiting_on text, attention text not null
);
create index if not exists change_at on change (at);
create table if not exists alive (id integer primary key check (id = 1), at integer not null);
"""
_NONE = "unwatched"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A pane is in this state from `at` (epoch ms) on; activity `unwatched` ends it."""

    at: int
    key: str
    session: str
    program: str
    activity: str
    waiting_on: str | None
    attention: str


class Span(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """A pane was in one state from `from` to `to`, epoch ms; `open` = it still is."""

    key: str
    session: str
    program: str
    activity: str
    waiting_on: str | None
    attention: str
    from_: int
    to: int
    open: bool


class History:
    """`now` gives epoch milliseconds, `warn` takes a line for the log."""

    def __init__(self, folder: Path, now: Callable[[], int], warn: Callable[[str], object]) -> None:
        self._path = folder / FILE
        self._now = now
        self._warn = warn
        self._last: dict[str, Row] = {}
        self._fresh: list[Row] = []
        self._opened = False
        self._failed = False
        self._alive_at = 0
        self._lock = asyncio.Lock()

    def hear(self, event: Event) -> None:
        """Take an event of the bus; never waits."""
        if event.event == "pane" and event.state is not None:
            row = _row(event.state, event.at or self._now())
            if _said(row) != _said(self._last.get(event.key)):
                self._last[event.key] = row
                self._fresh.append(row)
        elif event.event == "gone" and (last := self._last.pop(event.key, None)) is not None:
            self._fresh.append(_ended(last, event.at or self._now()))

    async def run(self) -> None:
        """Write until cancelled, then note that nothing is watched any more."""
        try:
            while True:
                await asyncio.sleep(WRITE_EVERY)
                await self.flush()
        finally:
            now = self._now()
            self._fresh += [_ended(row, now) for row in self._last.values()]
            self._last.clear()
            self._write(self._take(), now)

    async def flush(self) -> None:
        """Write what came."""
        now = self._now()
        async with self._lock:
            if self._fresh or now - self._alive_at >= ALIVE_MS:
                await asyncio.to_thread(self._write, self._take(), now)

    async def spans(self, start: int, end: int, key: str | None = None) -> list[Span]:
        """What was between these times, oldest first, cut to them."""
        await self.flush()
        async with self._lock:
            rows = await asyncio.to_thread(self._read, end, key)
        return spans(rows, start, min(end, self._now()))

    def _take(self) -> list[Row]:
        rows, self._fresh = self._fresh, []
        return rows

    def _connect(self) -> sqlite3.Connection:
        if not self._opened:
            self._path.touch(mode=0o600, exist_ok=True)
        database = sqlite3.connect(self._path, timeout=5)
        if not self._opened:
            database.executescript(_SCHEMA)
            self._end_open(database)
            self._opened = True
        return database

    def _end_open(self, database: sqlite3.Connection) -> None:
        """The run before ended by force: its spans end when it was last known to live."""
        found = database.execute("select at from alive").fetchone()
        database.execute("delete from change where at < ?", (self._now() - KEEP_MS,))
        if found is not None:
            last = {row.key: row for row in _all(database, self._now(), None)}
            ends = [_ended(row, found[0]) for row in last.values() if row.activity != _NONE]
            _insert(database, [row for row in ends if row.at >= last[row.key].at])
        database.commit()

    def _write(self, rows: list[Row], now: int) -> None:
        try:
            database = self._connect()
            try:
                _insert(database, rows)
                database.execute("insert or replace into alive values (1, ?)", (now,))
                database.commit()
            finally:
                database.close()
            self._alive_at = now
        except (sqlite3.Error, OSError) as error:
            if not self._failed:
                self._failed = True
                self._warn(f"the timeline is not kept: {error}; move {self._path} away")

    def _read(self, end: int, key: str | None) -> list[Row]:
        try:
            database = self._connect()
            try:
                return _all(database, end, key)
            finally:
                database.close()
        except (sqlite3.Error, OSError):
            return []


def spans(rows: Iterable[Row], start: int, end: int) -> list[Span]:
    """Rows in order of time as spans within `start` and `end`. Pure."""
    found: list[Span] = []
    open_rows: dict[str, Row] = {}

    def close(row: Row, at: int, still: bool) -> None:
        if row.activity != _NONE and at > start and row.at < end:
            found.append(
                Span(
                    key=row.key,
                    session=row.session,
                    program=row.program,
                    activity=row.activity,
                    waiting_on=row.waiting_on,
                    attention=row.attention,
                    from_=max(row.at, start),
                    to=min(at, end),
                    open=still,
                )
            )

    for row in rows:
        before = open_rows.get(row.key)
        if before is not None:
            close(before, row.at, False)
        open_rows[row.key] = row
    for row in open_rows.values():
        close(row, end, True)
    found.sort(key=lambda span: span.from_)
    return found[-SPANS_MOST:]


def _row(state: PaneState, at: int) -> Row:
    return Row(
        at=at,
        key=state.pane.key,
        session=state.pane.session,
        program=state.program.name,
        activity=state.activity,
        waiting_on=state.waiting_on,
        attention=state.attention,
    )


def _said(row: Row | None) -> tuple[str, str | None, str] | None:
    return None if row is None else (row.activity, row.waiting_on, row.attention)


def _ended(row: Row, at: int) -> Row:
    return msgspec.structs.replace(row, at=at, activity=_NONE, waiting_on=None, attention="none")


def _insert(database: sqlite3.Connection, rows: Iterable[Row]) -> None:
    database.executemany(
        "insert into change values (?, ?, ?, ?, ?, ?, ?)", map(msgspec.structs.astuple, rows)
    )


def _all(database: sqlite3.Connection, end: int, key: str | None) -> list[Row]:
    query = "select at, key, session, program, activity, waiting_on, attention from change"
    if key is None:
        found = database.execute(f"{query} where at <= ? order by at, rowid", (end,))
    else:
        found = database.execute(
            f"{query} where at <= ? and key = ? order by at, rowid",
            (end, key),
        )
    names = Row.__struct_fields__
    return [Row(**dict(zip(names, values, strict=True))) for values in found]
