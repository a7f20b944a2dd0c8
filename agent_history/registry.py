"""The one list of harnesses, behind one small interface, each failing alone.

A new harness is one class with these methods and one line in `HARNESSES`. Its id is part of every
session id and must never change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from agent_history.cache import TotalsCache
from agent_history.claude.reader import ClaudeCode
from agent_history.codex.reader import Codex
from agent_history.homes import Homes
from agent_history.options import Options
from agent_history.records import Detail, FilesOnly, PlanItem, Session

Progress = Callable[[int, int], None]


class Harness(Protocol):
    """Reads one harness's session files. Not thread-safe: one owner at a time."""

    id: str
    name: str
    warnings: list[str]
    """What the last scan could not read, one sentence each."""
    progress: Progress | None
    """Called with (files done, files in all) during a scan."""

    def detect(self) -> bool:
        """Is this harness on this machine at all? Cheap: it is asked on every scan."""

    def watch_roots(self) -> list[str]:
        """Folders to watch recursively; a change below them asks for a scan."""

    def owners(self) -> dict[str, int]:
        """Session ids to the process that runs them now; 0 where only its existence is known."""

    def plan(self, session_id: str) -> tuple[PlanItem, ...]:
        """The plan of a session the last scan listed, from memory."""

    def tick(self, keys: frozenset[str]) -> None:
        """The plan steps the user ticked, from the next scan on."""

    def ids(self) -> list[str]:
        """The session ids of every age, from file names alone; children are not in it."""

    def unknown(self) -> dict[str, int]:
        """Record types that the last scan met and does not know, with their counts."""

    def scan(self, now: int) -> list[Session]:
        """The sessions worth showing at `now` (epoch milliseconds)."""

    def detail(
        self, session_id: str, now: int, subagent: str | None = None, files_only: bool = False
    ) -> Detail | FilesOnly | None:
        """Details of a session the last scan listed; None for any other id."""

    def read_session(
        self, session_id: str, now: int, subagent: str | None = None
    ) -> tuple[Session, Detail] | None:
        """One session of any age, read whole."""


HARNESSES: tuple[Callable[[Homes, Options, TotalsCache | None], Harness], ...] = (
    ClaudeCode,
    Codex,
)


class Scan(msgspec.Struct, frozen=True):
    """What one scan over all harnesses gave."""

    sessions: list[Session]
    errors: dict[str, str]
    """Harness id to the one-line reason why nothing of it could be read."""
    warnings: list[str]
    read: int
    """How many harnesses were there and could be read."""


class Monitor:
    """All readers of one user. Readers keep their state: a second scan reads only what is new."""

    def __init__(
        self,
        homes: Homes,
        options: Options,
        cache: TotalsCache | None = None,
        only: Iterable[str] | None = None,
        harnesses: Iterable[Callable[[Homes, Options, TotalsCache | None], Harness]] = HARNESSES,
    ) -> None:
        made = [harness(homes, options, cache) for harness in harnesses]
        wanted = None if only is None else set(only)
        self.readers = [reader for reader in made if wanted is None or reader.id in wanted]

    def scan(self, now: int, progress: Progress | None = None) -> Scan:
        """Scan every harness that is here; one that throws is named and the others go on."""
        sessions: list[Session] = []
        errors: dict[str, str] = {}
        warnings: list[str] = []
        read = 0
        for reader in self.readers:
            reader.progress = progress
            try:
                if not reader.detect():
                    continue
                sessions += reader.scan(now)
                warnings += reader.warnings
                read += 1
            except Exception as error:  # one harness must never take the others down
                errors[reader.id] = f"{reader.name}: {type(error).__name__}: {error}"
        sessions.sort(key=lambda session: -(session.last_activity_at or 0))
        return Scan(sessions=sessions, errors=errors, warnings=warnings, read=read)

    def reader_of(self, session_id: str) -> Harness | None:
        """The reader whose id begins this session id."""
        harness = session_id.partition(":")[0]
        return next((reader for reader in self.readers if reader.id == harness), None)

    def detail(
        self, session_id: str, now: int, subagent: str | None = None, files_only: bool = False
    ) -> Detail | FilesOnly | None:
        """Details of a session the last scan listed."""
        reader = self.reader_of(session_id)
        return reader.detail(session_id, now, subagent, files_only) if reader else None

    def read_session(
        self, session_id: str, now: int, subagent: str | None = None
    ) -> tuple[Session, Detail] | None:
        """One session of any age."""
        reader = self.reader_of(session_id)
        return reader.read_session(session_id, now, subagent) if reader else None

    def owners(self) -> dict[str, int]:
        """Session ids to the process that runs them now, over all harnesses that are here."""
        return {
            session: pid
            for reader in self.readers
            if reader.detect()
            for session, pid in reader.owners().items()
        }

    def plan(self, session_id: str) -> tuple[PlanItem, ...]:
        """The plan of a session the last scan listed, from memory."""
        reader = self.reader_of(session_id)
        return reader.plan(session_id) if reader else ()

    def tick(self, keys: frozenset[str]) -> None:
        """The plan steps the user ticked, from the next scan on."""
        for reader in self.readers:
            reader.tick(keys)

    def watch_roots(self) -> list[str]:
        """All folders to watch."""
        return [root for reader in self.readers for root in reader.watch_roots()]
