"""The Codex reader: groups rollouts by thread, keeps their folds, answers scan, detail and read."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec

from agent_history.cache import TotalsCache
from agent_history.codex.files import ThreadFiles, list_threads
from agent_history.codex.fold import CodexFold
from agent_history.codex.rows import Row
from agent_history.codex.sessions import (
    HARNESS,
    Thread,
    Totals,
    detail,
    seed,
    session,
    totals_of,
)
from agent_history.codex.sieve import TotalsSieve
from agent_history.codex.state import Known, StateDatabase, ThreadIndex, Writers
from agent_history.codex.words import CodexWords, WordRow
from agent_history.fields import DAY_MS, HALF_HOUR_MS, added
from agent_history.homes import Homes
from agent_history.options import Options
from agent_history.reading.decode import LineDecoder
from agent_history.reading.files import Fingerprint
from agent_history.reading.processes import Processes
from agent_history.reading.transcript import HEAD, TAIL, Transcript
from agent_history.records import Detail, FilesOnly, PlanItem, Session
from agent_history.said import KEPT_SESSIONS, Opened, SaidReader

Prints = tuple[tuple[str, Fingerprint], ...]


class _Entry:
    """One thread's rollouts between two scans. All files feed one fold, oldest first."""

    def __init__(self) -> None:
        self.transcripts: list[Transcript[CodexFold]] = []
        self.fold: CodexFold | None = None
        self.totals: Totals | None = None
        self.exact = True
        self.parent = ""
        self.hidden = False
        self.last_at = 0
        self.settled: tuple[object, Session] | None = None
        self.prints: Prints = ()


class Codex:
    """Reads the Codex home of one user. Not thread-safe: one owner at a time."""

    id = HARNESS
    name = "Codex"

    def __init__(self, homes: Homes, options: Options, cache: TotalsCache | None = None) -> None:
        self._homes = homes
        self._options = options
        self._cache = cache
        self._rows: LineDecoder[Any] = LineDecoder(Row)
        self._index = ThreadIndex(homes.codex)
        self._state = StateDatabase(homes.codex_sqlite)
        self._writers = Writers(homes.codex, Processes(homes.proc))
        self._held: dict[str, int] = {}
        self._entries: dict[str, _Entry] = {}
        self._files: dict[str, ThreadFiles] = {}
        self._children: dict[str, list[str]] = {}
        self._older: set[str] = set()
        self._read: OrderedDict[str, _Entry] = OrderedDict()
        self._listed: set[str] = set()
        words: LineDecoder[Any] = LineDecoder(WordRow)
        self._opened = Opened(lambda path: SaidReader(path, words, CodexWords))
        self.warnings: list[str] = []
        self.progress: Callable[[int, int], None] | None = None

    def detect(self) -> bool:
        """Is there a Codex home?"""
        return os.path.isdir(self._homes.codex)

    def watch_roots(self) -> list[str]:
        """Rollouts and locks. The index and the state database lie beside the agent's own logs
        and are looked at on the timer."""
        names = ("sessions", "archived_sessions", "thread-writer-locks")
        return [os.path.join(self._homes.codex, name) for name in names]

    def owners(self) -> dict[str, int]:
        """Thread ids to the process that holds each one's writer lock."""
        return {f"{HARNESS}:{thread}": pid for thread, pid in self._writers.held().items()}

    def plan(self, session_id: str) -> tuple[PlanItem, ...]:
        """The plan of a thread the last scan listed, from memory."""
        entry = self._entries.get(session_id.removeprefix(f"{HARNESS}:"))
        if entry is None or entry.fold is None:
            return ()
        return entry.fold.plan.items(self._options.ticks)

    def tick(self, keys: frozenset[str]) -> None:
        """The plan steps the user ticked, from the next scan on."""
        self._options = msgspec.structs.replace(self._options, ticks=keys)

    def ids(self) -> list[str]:
        """The thread ids of every age, from file names alone."""
        return [f"{HARNESS}:{found.thread}" for found in list_threads(self._homes.codex)[0]]

    def unknown(self) -> dict[str, int]:
        """Record types that the last scan met and does not know, with their counts."""
        folds = [entry.fold for entry in self._entries.values() if entry.fold is not None]
        return added(fold.unknown for fold in folds)

    def scan(self, now: int) -> list[Session]:
        """The threads of the last day, or of every age; see `Options`."""
        self._beside()
        threads, unreadable = list_threads(self._homes.codex)
        self.warnings = [f"cannot list {folder}" for folder in unreadable]
        if self._state.warning:
            self.warnings.append(self._state.warning)
        self._files = {found.thread: found for found in threads}
        entries = {thread: self._entries.get(thread) or _Entry() for thread in self._files}
        self._entries = entries
        wanted = self._wanted(now)
        out: list[Session] = []
        self._listed = set()
        for number, thread in enumerate(wanted):
            if self.progress is not None:
                self.progress(number, len(wanted))
            made = self._session(thread, now)
            if made is not None:
                out.append(made)
                self._listed.add(thread)
        if self._cache is not None:
            self._cache.save()
        return out

    def _beside(self) -> None:
        self._index.refresh()
        self._state.refresh()
        self._held = self._writers.held()

    def _wanted(self, now: int) -> list[str]:
        """Top-level threads to list. Children are read first: they say whose they are."""
        tops: list[str] = []
        children: dict[str, list[str]] = {}
        for thread, found in self._files.items():
            entry = self._entries[thread]
            old = not self._options.every_age and not self._recent(found, now)
            if old or found.archived or self._known(thread).archived:
                if thread not in self._older:
                    entry.transcripts, entry.fold, entry.prints = [], None, ()
                continue
            prints = tuple((file.path, file.print) for file in found.files)
            # A thread whose fold was let go and whose files did not change is known already.
            if entry.fold is not None or entry.prints != prints:
                self._refresh(entry, found, now)
            if entry.hidden:
                continue
            if entry.parent:
                children.setdefault(entry.parent, []).append(thread)
            else:
                tops.append(thread)
        self._children = children
        self._older = {child for top in tops for child in self._add_older(top)}
        return tops

    def _add_older(self, thread: str) -> list[str]:
        """Children that nothing happened to for a day, named by the database or the rollout."""
        fold = self._entries[thread].fold
        named = [*self._state.spawned.get(thread, ()), *(fold.agents if fold else ())]
        here = self._children.setdefault(thread, [])
        older = [
            child
            for child in dict.fromkeys(named)
            if child in self._files and child not in here and not self._files[child].archived
        ]
        here.extend(older)
        return older

    def _refresh(self, entry: _Entry, found: ThreadFiles, now: int) -> CodexFold:
        recent = self._recent(found, now)
        return self._load(entry, found, self._options.exact or recent, lean=not recent)

    def _recent(self, found: ThreadFiles, now: int) -> bool:
        return found.files[-1].print.mtime_ns // 1_000_000 >= now - DAY_MS

    def _known(self, thread: str) -> Known:
        return self._state.threads.get(thread, Known())

    def _load(self, entry: _Entry, found: ThreadFiles, whole: bool, lean: bool) -> CodexFold:
        """Bring an entry's fold up to date; `lean` reads totals and skips what a detail needs."""
        prints = tuple((file.path, file.print) for file in found.files)
        paths = [file.path for file in found.files]
        grown = [transcript.path for transcript in entry.transcripts] == paths
        older_same = grown and entry.prints[:-1] == prints[:-1]
        needs_whole = whole and any(not t.whole for t in entry.transcripts) and not entry.exact
        if entry.fold is None or not older_same or needs_whole:
            self._first(entry, found, whole, lean)
        elif entry.prints != prints:
            self._grow(entry, found)
        entry.prints = prints
        fold = entry.fold
        assert fold is not None
        entry.parent, entry.hidden = fold.parent, fold.hidden
        entry.last_at = fold.last_at or 0
        return fold

    def _first(self, entry: _Entry, found: ThreadFiles, whole: bool, lean: bool = False) -> None:
        fold = CodexFold(self._options)
        newest = found.files[-1]
        cached = None
        if self._cache is not None and len(found.files) == 1 and newest.print.size > HEAD + TAIL:
            cached = self._cache.get(newest.path, newest.print, Totals)
            fold.recover_plan = cached is None or cached.planned
        entry.transcripts = []
        for number, file in enumerate(found.files):
            if number:
                fold.next_file()
            sieve = TotalsSieve() if lean else None
            transcript = Transcript(file.path, self._rows, lambda: fold, sieve=sieve)
            transcript.refresh(file.print, whole and cached is None)
            if sieve is not None:
                fold.prompts += sieve.prompts
            entry.transcripts.append(transcript)
        entry.fold = fold
        read_whole = all(transcript.whole for transcript in entry.transcripts)
        entry.exact = read_whole or cached is not None
        if cached is not None:
            seed(fold, cached)
        entry.totals = totals_of(fold)
        single = len(found.files) == 1 and newest.print.size > HEAD + TAIL
        if self._cache is not None and read_whole and single and cached is None:
            self._cache.put(newest.path, newest.print, entry.totals)

    def _grow(self, entry: _Entry, found: ThreadFiles) -> None:
        last = entry.transcripts[-1]
        last.refresh(found.files[-1].print, last.whole)
        if last.restarted:
            self._first(entry, found, whole=True)
            return
        assert entry.fold is not None
        entry.totals = totals_of(entry.fold)

    def _thread(self, thread: str, entry: _Entry, path: str, now: int) -> Thread:
        fold = entry.fold
        assert fold is not None
        if self._writers.recorded:
            live = thread in self._held
        else:
            # Versions before writer locks: an open turn is all that speaks of a process.
            live = fold.open and now - (fold.last_at or 0) <= HALF_HOUR_MS
        return Thread(
            thread, fold, path, self._known(thread), self._index.names.get(thread, ""), live
        )

    def _session(self, thread: str, now: int) -> Session | None:
        entry, found = self._entries[thread], self._files[thread]
        children = self._children.get(thread, [])
        prints = tuple((file.path, file.print) for file in found.files)
        key = (
            prints,
            self._known(thread),
            self._index.names.get(thread),
            thread in self._held,
            self._options.ticks,
            tuple(self._entries[child].prints for child in children),
        )
        if entry.settled is not None and entry.settled[0] == key:
            return entry.settled[1]
        fold = self._refresh(entry, found, now)
        if fold.started_at is None or entry.totals is None:
            return None
        made = self._made(thread, entry, found, now)
        if not self._recent(found, now):
            entry.settled = (key, made)
            for member in (thread, *self._children.get(thread, ())):
                kin = self._entries[member]
                if not self._recent(self._files[member], now):
                    kin.transcripts, kin.fold = [], None
        listed = self._options.every_age or (made.last_activity_at or 0) >= now - DAY_MS
        return made if listed else None

    def _made(self, thread: str, entry: _Entry, found: ThreadFiles, now: int) -> Session:
        assert entry.totals is not None
        notes = tuple(note for part in entry.transcripts for note in part.notes())
        return session(
            self._thread(thread, entry, found.files[-1].path, now),
            self._kin(thread, now),
            entry.totals,
            self._options,
            now,
            partial=not entry.exact,
            notes=notes,
        )

    def _kin(self, thread: str, now: int) -> list[Thread]:
        """The direct children of a thread, as threads."""
        out = []
        for child in self._children.get(thread, []):
            entry, found = self._entries[child], self._files[child]
            if entry.fold is None:
                self._load(entry, found, whole=False, lean=True)
            out.append(self._thread(child, entry, found.files[-1].path, now))
        return out

    def detail(
        self, session_id: str, now: int, subagent: str | None = None, files_only: bool = False
    ) -> Detail | FilesOnly | None:
        """Details of a thread the last scan listed, or of a child of one; None for any other."""
        thread = subagent or session_id.removeprefix(f"{HARNESS}:")
        children = {child for top in self._listed for child in self._children.get(top, [])}
        if thread not in self._listed and thread not in children:
            return None
        entry = self._entries[thread]
        if files_only and entry.fold is not None:
            return FilesOnly(
                id=f"{HARNESS}:{thread}",
                session_id=thread,
                files=entry.fold.changes.paths(entry.fold.cwd),
            )
        if entry.fold is None or any(not part.whole for part in entry.transcripts):
            entry = self._reopened(thread)
        return self._detail(thread, entry, now)

    def _detail(self, thread: str, entry: _Entry, now: int) -> Detail:
        path = self._files[thread].files[-1].path
        return detail(
            self._thread(thread, entry, path, now),
            self._kin(thread, now),
            self._opened.read(path),
            self._options,
            now,
        )

    def _reopened(self, thread: str) -> _Entry:
        """An entry that was read whole, kept for the last few threads asked for."""
        entry = self._read.pop(thread, None) or _Entry()
        self._read[thread] = entry
        while len(self._read) > KEPT_SESSIONS:
            self._read.popitem(last=False)
        found = self._files[thread]
        if entry.fold is None or any(not part.whole for part in entry.transcripts):
            fold = CodexFold(self._options)
            entry.transcripts = []
            for number, file in enumerate(found.files):
                if number:
                    fold.next_file()
                transcript = Transcript(file.path, self._rows, lambda: fold)
                transcript.refresh(file.print, True)
                entry.transcripts.append(transcript)
            entry.fold, entry.totals, entry.exact = fold, totals_of(fold), True
            entry.prints = tuple((file.path, file.print) for file in found.files)
        else:
            self._load(entry, found, whole=True, lean=False)
        return entry

    def read_session(
        self, session_id: str, now: int, subagent: str | None = None
    ) -> tuple[Session, Detail] | None:
        """One thread of any age, archived ones too, read whole."""
        thread = subagent or session_id.removeprefix(f"{HARNESS}:")
        self._beside()
        threads, _ = list_threads(self._homes.codex)
        self._files = {found.thread: found for found in threads}
        if thread not in self._files:
            return None
        for found in self._files:
            self._entries.setdefault(found, _Entry())
        entry = self._reopened(thread)
        self._find_children(thread)
        made = self._made(thread, entry, self._files[thread], now)
        return made, self._detail(thread, entry, now)

    def _find_children(self, thread: str) -> None:
        """Children of one thread: those its rollout names, and those a scan found."""
        entry = self._read[thread]
        assert entry.fold is not None
        named = [child for child in entry.fold.agents if child in self._files]
        known = self._children.get(thread, [])
        self._children[thread] = list(dict.fromkeys((*known, *named)))
