"""The Claude Code reader: lists transcripts, keeps their folds, answers scan, detail and read."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec

from agent_history.cache import TotalsCache
from agent_history.claude.files import Found, list_homes
from agent_history.claude.fold import ClaudeFold
from agent_history.claude.live import AppRecord, AppRecords, LiveRecord, live_records, read_json
from agent_history.claude.rows import Row
from agent_history.claude.sessions import HARNESS, Agent, Totals, detail, seed, session, totals_of
from agent_history.claude.words import ClaudeWords, WordRow
from agent_history.fields import DAY_MS, added
from agent_history.homes import Homes
from agent_history.options import Options
from agent_history.reading.decode import LineDecoder
from agent_history.reading.files import Fingerprint, fingerprint, last_line_with
from agent_history.reading.processes import Processes
from agent_history.reading.transcript import AGENT_HEAD, AGENT_TAIL, HEAD, TAIL, Transcript
from agent_history.records import Detail, FilesOnly, PlanItem, Session
from agent_history.said import KEPT_SESSIONS, Opened, SaidReader


class _Entry:
    """One session's files between two scans."""

    def __init__(self) -> None:
        self.main: Transcript[ClaudeFold] | None = None
        self.agents: dict[str, Transcript[ClaudeFold]] = {}
        self.metas: dict[str, tuple[Fingerprint | None, str, str]] = {}
        """Per subagent: its transcript when its `.meta.json` was read, description and type."""
        self.totals: Totals | None = None
        self.exact = True
        self.seeded = False
        """The totals came from an earlier run; the fold counts on from them."""
        self.settled: tuple[object, Session | None] | None = None
        """An older session's record, with everything it depends on; its folds are gone."""

    def let_go(self) -> None:
        """Drop what only a session of the last day needs."""
        self.main, self.agents, self.totals, self.seeded = None, {}, None, False


class ClaudeCode:
    """Reads the Claude Code homes of one user. Not thread-safe: one owner at a time."""

    id = HARNESS
    name = "Claude Code"

    def __init__(self, homes: Homes, options: Options, cache: TotalsCache | None = None) -> None:
        self._homes = homes
        self._options = options
        self._cache = cache
        self._apps = AppRecords(homes.claude_app)
        self._processes = Processes(homes.proc)
        self._rows: LineDecoder[Any] = LineDecoder(Row)
        self._entries: dict[str, _Entry] = {}
        self._owners: dict[str, tuple[Fingerprint, str]] = {}
        self._read: OrderedDict[str, _Entry] = OrderedDict()
        self._listed: set[str] = set()
        words: LineDecoder[Any] = LineDecoder(WordRow)
        self._opened = Opened(
            lambda path: SaidReader(
                path, words, lambda: ClaudeWords(os.path.basename(path).startswith("agent-"))
            )
        )
        self.warnings: list[str] = []
        self.progress: Callable[[int, int], None] | None = None

    def detect(self) -> bool:
        """Is there a Claude Code home?"""
        return any(os.path.isdir(home) for home in self._homes.claude)

    def watch_roots(self) -> list[str]:
        """The folders whose changes matter: transcripts, live records, the app's records."""
        return [
            *(
                os.path.join(home, name)
                for home in self._homes.claude
                for name in ("projects", "sessions")
            ),
            *self._homes.claude_app,
        ]

    def owners(self) -> dict[str, int]:
        """Session ids to the live process of each."""
        return {f"{HARNESS}:{name}": record.pid for name, record in self.live().items()}

    def plan(self, session_id: str) -> tuple[PlanItem, ...]:
        """The plan of a session the last scan listed, from memory."""
        name, _ = split_id(session_id, None)
        entries = (entry for path, entry in self._entries.items() if stem(path) == name)
        main = next((entry.main for entry in entries), None)
        return main.fold.plan.items(self._options.ticks) if main is not None else ()

    def tick(self, keys: frozenset[str]) -> None:
        """The plan steps the user ticked, from the next scan on."""
        self._options = msgspec.structs.replace(self._options, ticks=keys)

    def ids(self) -> list[str]:
        """The session ids of every age, from file names alone."""
        return [f"{HARNESS}:{found.name}" for found in list_homes(self._homes.claude).sessions]

    def unknown(self) -> dict[str, int]:
        """Record types that the last scan met and does not know, with their counts."""
        folds = [entry.main.fold for entry in self._entries.values() if entry.main is not None]
        return added(fold.unknown for fold in folds)

    def live(self) -> dict[str, LiveRecord]:
        """Running sessions by session id."""
        return {
            record.session_id: record
            for home in self._homes.claude
            for record in live_records(home, self._processes)
        }

    def scan(self, now: int) -> list[Session]:
        """The sessions of the last day, or of every age; see `Options`."""
        listing = list_homes(self._homes.claude)
        self.warnings = [f"cannot list {folder}" for folder in listing.unreadable]
        apps, live = self._apps.read(), self.live()
        agents: dict[str, list[Found]] = {}
        for found in listing.agents:
            owner = found.owner or self._owner_of(found)
            agents.setdefault(owner, []).append(found)
        out: list[Session] = []
        self._listed = set()
        kept: dict[str, _Entry] = {}
        for number, found in enumerate(listing.sessions):
            if self.progress is not None:
                self.progress(number, len(listing.sessions))
            app = apps.get(found.name)
            entry = self._entries.get(found.path) or _Entry()
            kept[found.path] = entry
            if app is not None and app.archived:
                continue
            if self._options.every_age or self._recent([found, *agents.get(found.name, [])], now):
                made = self._session(
                    entry, found, agents.get(found.name, []), live.get(found.name), app, now
                )
                if made is not None:
                    out.append(made)
                    self._listed.add(found.name)
            else:
                entry.let_go()
        self._entries = kept
        flat = {found.path for found in listing.agents}
        self._owners = {path: owner for path, owner in self._owners.items() if path in flat}
        if self._cache is not None:
            self._cache.save()
        return out

    def _recent(self, files: list[Found], now: int) -> bool:
        # A file is at least as new as its newest record; a folded one is asked again below.
        return any(found.print.mtime_ns // 1_000_000 >= now - DAY_MS for found in files)

    def _owner_of(self, found: Found) -> str:
        """The session of a subagent file that lies flat beside its session (before 2.1)."""
        known = self._owners.get(found.path)
        if known is None or known[0] != found.print:
            transcript = self._transcript(found.path, subagent=True)
            transcript.refresh(found.print, whole=False)
            known = self._owners[found.path] = (found.print, transcript.fold.session_id)
        return known[1]

    def _transcript(self, path: str, subagent: bool) -> Transcript[ClaudeFold]:
        ends = (AGENT_HEAD, AGENT_TAIL) if subagent else (HEAD, TAIL)
        return Transcript(path, self._rows, lambda: ClaudeFold(self._options, subagent), ends)

    def _session(
        self,
        entry: _Entry,
        found: Found,
        agents: list[Found],
        live: LiveRecord | None,
        app: AppRecord | None,
        now: int,
    ) -> Session | None:
        prints = (found.print, *(agent.print for agent in agents))
        key = (prints, live, app, self._options.ticks)
        if entry.settled is not None and entry.settled[0] == key:
            return entry.settled[1]
        old = not self._recent([found, *agents], now)
        main = self._load(entry, found, agents, whole=self._options.exact or not old)
        made = self._made(entry, found.name, main, live, app, now)
        if old:
            entry.settled = (key, made)
            entry.let_go()
        if made is None or self._options.every_age:
            return made
        return made if (made.last_activity_at or 0) >= now - DAY_MS else None

    def _made(
        self,
        entry: _Entry,
        name: str,
        main: Transcript[ClaudeFold],
        live: LiveRecord | None,
        app: AppRecord | None,
        now: int,
    ) -> Session | None:
        if main.fold.started_at is None or entry.totals is None:
            # Titles and snapshots without one conversation row: a file, but no session yet.
            return None
        return session(
            name,
            main.fold,
            self._agents(entry),
            entry.totals,
            live,
            app,
            self._options,
            now,
            partial=not entry.exact,
            notes=main.notes(),
        )

    def _load(
        self, entry: _Entry, found: Found, agents: list[Found], whole: bool
    ) -> Transcript[ClaudeFold]:
        """Bring an entry up to date; a long unchanged file gets its totals from the cache."""
        main = entry.main
        cached = None
        if main is None:
            main = entry.main = self._transcript(found.path, subagent=False)
            if self._cache is not None and found.print.size > HEAD + TAIL:
                cached = self._cache.get(found.path, found.print, Totals)
        if cached is not None:
            main.fold.recover_plan = cached.planned
            main.refresh(found.print, whole=False)
            main.feed_line_at(cached.title_at)
            seed(main.fold, cached)
            entry.totals, entry.seeded = cached, True
        elif main.refresh(found.print, whole and not entry.seeded) or entry.totals is None:
            entry.seeded = entry.seeded and not main.restarted
            entry.totals = totals_of(main.fold)
            if main.whole and self._cache is not None and found.print.size > HEAD + TAIL:
                title_at = last_title(found.path, found.print.size)
                self._cache.put(
                    found.path,
                    found.print,
                    msgspec.structs.replace(entry.totals, title_at=title_at),
                )
        entry.exact = main.whole or entry.seeded
        names = {agent.path for agent in agents}
        entry.agents = {path: kept for path, kept in entry.agents.items() if path in names}
        for agent in agents:
            transcript = entry.agents.get(agent.path)
            if transcript is None:
                transcript = entry.agents[agent.path] = self._transcript(agent.path, subagent=True)
            transcript.refresh(agent.print, whole)
            entry.exact = entry.exact and transcript.whole
        return main

    def _agents(self, entry: _Entry) -> list[Agent]:
        out = []
        for path, transcript in entry.agents.items():
            name = os.path.basename(path)[len("agent-") : -len(".jsonl")]
            known = entry.metas.get(path)
            if known is None or (not known[1] and known[0] != transcript.print):
                meta = read_json(path[: -len(".jsonl")] + ".meta.json")
                described = str(meta.get("description") or "")
                known = (transcript.print, described, str(meta.get("agentType") or ""))
                entry.metas[path] = known
            _, description, kind = known
            out.append(Agent(name, transcript.fold, path, description, kind))
        return out

    def detail(
        self, session_id: str, now: int, subagent: str | None = None, files_only: bool = False
    ) -> Detail | FilesOnly | None:
        """Details of a session the last scan listed; None for any other id."""
        name, subagent = split_id(session_id, subagent)
        if name not in self._listed:
            return None
        path = next((path for path in self._entries if stem(path) == name), None)
        if path is None:
            return None
        entry = self._entries[path]
        if files_only and entry.main is not None:
            fold = entry.main.fold
            return FilesOnly(
                id=f"{HARNESS}:{name}", session_id=name, files=fold.changes.paths(fold.cwd)
            )
        if entry.main is None:
            entry = self._reopened(path, name) or entry
        return self._detail(entry, name, path, subagent, now)

    def read_session(
        self, session_id: str, now: int, subagent: str | None = None
    ) -> tuple[Session, Detail] | None:
        """One session of any age, read whole; the last few files read are kept."""
        name, subagent = split_id(session_id, subagent)
        listing = list_homes(self._homes.claude)
        found = next((found for found in listing.sessions if found.name == name), None)
        entry = self._reopened(found.path, name) if found is not None else None
        if found is None or entry is None or entry.main is None:
            return None
        app = self._apps.read().get(name)
        made = self._made(entry, name, entry.main, self.live().get(name), app, now)
        detailed = self._detail(entry, name, found.path, subagent, now)
        return (made, detailed) if made is not None and detailed is not None else None

    def _reopened(self, path: str, name: str) -> _Entry | None:
        """An entry that holds whole folds, kept for the last few sessions asked for."""
        found = fingerprint(path)
        if found is None:
            return None
        entry = self._read.pop(path, None) or _Entry()
        self._read[path] = entry
        while len(self._read) > KEPT_SESSIONS:
            self._read.popitem(last=False)
        agents = [
            agent
            for agent in list_homes(self._homes.claude).agents
            if (agent.owner or self._owner_of(agent)) == name
        ]
        self._load(entry, Found(path, name, found, ""), agents, whole=True)
        return entry

    def _detail(
        self, entry: _Entry, name: str, path: str, subagent: str | None, now: int
    ) -> Detail | None:
        main = entry.main
        if main is None:
            return None
        if not main.whole:
            main.reread()
        agents = self._agents(entry)
        agent = next((agent for agent in agents if agent.agent_id == subagent), None)
        if subagent is not None and agent is None:
            return None
        for transcript in entry.agents.values():
            if not transcript.whole:
                transcript.reread()
        agents = self._agents(entry)
        agent = next((agent for agent in agents if agent.agent_id == subagent), None)
        shown = agent.fold if agent is not None else main.fold
        source = agent.path if agent is not None else path
        return detail(
            name,
            shown,
            agents,
            source,
            self._opened.read(source),
            self._options,
            name in self.live(),
            now,
            agent,
        )


def last_title(path: str, size: int) -> int | None:
    """The offset of the newest title record in a long transcript; None when it has none."""
    for needle in (b'"custom-title"', b'"ai-title"'):
        place = last_line_with(path, needle, size)
        if place is not None:
            return place
    return None


def stem(path: str) -> str:
    """A transcript's session id: its file name."""
    return os.path.basename(path)[: -len(".jsonl")]


def split_id(session_id: str, subagent: str | None) -> tuple[str, str | None]:
    """Session and subagent of an id; `<session>__agent-<agent>` names both."""
    name = session_id.removeprefix(f"{HARNESS}:")
    name, mark, agent = name.partition("__agent-")
    return name, (subagent or agent) if mark else subagent
