"""The seam to the `agent_history` package: sessions on disk, joined to the panes that show them.

Sessions are evidence beside the line from screen to state. A binding names a pane's session and
its plan; it never moves a pane's activity, its question or its attention. Excerpts, plan text and
prompts stay in memory: they go to the API behind the token, and nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import msgspec
from watchfiles import awatch

from agent_history import Monitor, Options, monitor
from agent_history.records import Detail, PlanItem, Session
from agent_history.registry import Scan
from openbus.evidence import Binding, Envelope, PaneView, SourceReport, incarnation
from openbus.model import PaneState, Plan
from openbus.model import Session as PaneSession

SOURCE: Final = "agent-history/1"
PROGRAMS: Final = frozenset({"claude-code", "codex"})
RELIST_MS: Final = 2_000
DEBOUNCE_MS: Final = 1_000


class Joined(msgspec.Struct, frozen=True, kw_only=True):
    """A pane's binding; `session` and `plan` are set when it is bound."""

    binding: Binding
    session: PaneSession | None = None
    plan: Plan | None = None


def bind(
    view: PaneView,
    sessions: Mapping[str, Session],
    owners: Mapping[str, int],
    alone: bool,
    claimed: Binding | None = None,
) -> Binding:
    """Which session a pane shows, by the strongest evidence there is. Pure.

    1. The process that the agent itself recorded (Claude Code's registry, the holder of a Codex
       writer lock) is one of the pane's processes: bound, if it is so for one session only. With
       a Codex app-server the locks are the server's, which is in no pane.
    2. Another source (`claimed`) bound the pane to a thread that is on disk: bound by that.
    3. The only session of that program in the pane's folder, while no other pane runs the program
       there (`alone`), and the terminal's title names it: a candidate, for comparison only.
    """
    pids = {process.pid for process in view.processes if process.pid}
    prefix = f"{view.program}:"
    owned = tuple(
        sorted(name for name, pid in owners.items() if pid in pids and name.startswith(prefix))
    )
    if len(owned) == 1:
        return Binding(verdict="bound", how="process", thread=owned[0], candidates=owned)
    if owned:
        return Binding(verdict="ambiguous", how="process", candidates=owned)
    if claimed is not None and claimed.usable and f"{prefix}{claimed.thread}" in sessions:
        thread = f"{prefix}{claimed.thread}"
        return Binding(
            verdict="bound", how=claimed.how, thread=thread, candidates=(thread,), held=False
        )
    here = tuple(
        sorted(
            session.id
            for session in sessions.values()
            if session.harness == view.program and session.cwd == view.pane.cwd
        )
    )
    if len(here) == 1 and alone:
        title = sessions[here[0]].title
        if title and title.casefold() in view.title.casefold():
            return Binding(verdict="candidate", how="folder and title", candidates=here)
        return Binding(verdict="none", how="folder", candidates=here)
    return Binding(verdict="ambiguous" if here else "none", how="folder", candidates=here)


def progress(items: Sequence[PlanItem]) -> Plan | None:
    """A plan as a pane shows it: numbers only. The user's ticks count as done."""
    if not items:
        return None
    done = [item.ticked or item.status == "completed" for item in items]
    current = next(
        (
            index
            for index, item in enumerate(items)
            if item.status == "in_progress" and not done[index]
        ),
        None,
    )
    return Plan(done=sum(done), total=len(items), current=current)


class SessionSource:
    """Scans in a thread of its own, beside the capture loop; everything else is from memory.

    It is an `EvidenceSource` and also answers `/api/sessions`. `now` gives epoch milliseconds.
    """

    name = SOURCE
    programs = PROGRAMS

    def __init__(
        self,
        now: Callable[[], int],
        home: str | None = None,
        excerpts: bool = True,
        plans: bool = True,
        sessions: Monitor | None = None,
        claims: Callable[[str, int], Envelope | None] = lambda pane, now: None,
    ) -> None:
        """`claims` is another source's `evidence`, such as the Codex adapter's."""
        self._now = now
        self._claims = claims
        self._monitor = sessions or monitor(home, Options(excerpts=excerpts, plans=plans))
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sessions")
        self._scan = Scan(sessions=[], errors={}, warnings=[], read=0)
        self._sessions: dict[str, Session] = {}
        self._owners: dict[str, int] = {}
        self._plans: dict[str, Plan] = {}
        self._views: tuple[PaneView, ...] = ()
        self._joined: dict[str, Joined] = {}
        self._roots: tuple[str, ...] = ()
        self._scans = 0

    async def run(self) -> None:
        """Scan until cancelled: when a folder changes, and every two seconds."""
        try:
            while True:
                await self.scan()
                if self._roots:
                    await self._follow(self._roots)
                else:
                    await asyncio.sleep(RELIST_MS / 1000)
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    async def _follow(self, roots: tuple[str, ...]) -> None:
        """Scan at each notice or time-out until the folders to watch are others."""
        changes = awatch(
            *roots, debounce=DEBOUNCE_MS, rust_timeout=RELIST_MS, yield_on_timeout=True
        )
        # A watcher that breaks (too many watches) is begun anew; the timer goes on meanwhile.
        with contextlib.suppress(OSError):
            async for _ in changes:
                await self.scan()
                if self._roots != roots:
                    return
            return
        await asyncio.sleep(RELIST_MS / 1000)

    async def scan(self) -> None:
        """One scan in the thread, and the panes joined anew."""
        pids = {process.pid for view in self._views for process in view.processes if process.pid}
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._pool, self._read, self._now(), pids)
        self._scan, self._sessions, self._owners, self._plans, self._roots = found
        self._scans += 1
        self._join()

    def _read(
        self, now: int, pids: set[int]
    ) -> tuple[Scan, dict[str, Session], dict[str, int], dict[str, Plan], tuple[str, ...]]:
        """In the thread: the scan, who runs what, plans of sessions in a pane, what to watch."""
        found = self._monitor.scan(now)
        sessions = {session.id: session for session in found.sessions}
        owners = self._monitor.owners()
        plans: dict[str, Plan] = {}
        for session, pid in owners.items():
            if pid not in pids:
                continue
            items = self._monitor.plan(session)
            if session not in sessions:
                # Its process still runs although nothing happened for a day.
                old = self._monitor.read_session(session, now)
                if old is None:
                    continue
                sessions[session], items = old[0], old[1].plan
            if (plan := progress(items)) is not None:
                plans[session] = plan
        roots = tuple(root for root in self._monitor.watch_roots() if Path(root).is_dir())
        return found, sessions, owners, plans, roots

    def observe(self, panes: Sequence[PaneView], now: int) -> None:
        """Take the panes as they are now; joining is a look into dictionaries."""
        self._views = tuple(panes)
        self._join()

    def _join(self) -> None:
        places = Counter((view.program, view.pane.cwd) for view in self._views)
        self._joined = {
            view.pane.key: self._one(view, places[view.program, view.pane.cwd] == 1)
            for view in self._views
        }

    def _one(self, view: PaneView, alone: bool) -> Joined:
        claim = self._claims(view.pane.key, self._now())
        claimed = claim.binding if claim is not None else None
        binding = bind(view, self._sessions, self._owners, alone, claimed)
        if not binding.usable or binding.thread is None:
            return Joined(binding=binding)
        session = PaneSession(id=binding.thread, harness=view.program, binding=binding.verdict)
        return Joined(binding=binding, session=session, plan=self._plans.get(binding.thread))

    def joined(self, pane_key: str) -> Joined | None:
        """What is known of a pane's session; None for a pane that runs none of the programs."""
        return self._joined.get(pane_key)

    def decorate(self, state: PaneState) -> PaneState:
        """The state with its session and plan; nothing else in it changes."""
        joined = self._joined.get(state.pane.key)
        if joined is None or (joined.session, joined.plan) == (state.session, state.plan):
            return state
        return msgspec.structs.replace(state, session=joined.session, plan=joined.plan)

    def evidence(self, pane_key: str, now: int) -> Envelope | None:
        """The binding as evidence. Sessions on disk carry no snapshot of a server."""
        joined = self._joined.get(pane_key)
        if joined is None:
            return None
        return Envelope(
            source=SOURCE,
            pane=pane_key,
            incarnation=incarnation(pane_key),
            binding=joined.binding,
        )

    def report(self, now: int) -> SourceReport:
        """Counters and health; no text of a session."""
        health = {"ok": self._scan.read, "unavailable": len(self._scan.errors)}
        verdicts = Counter[str](joined.binding.verdict for joined in self._joined.values())
        statuses = Counter[str](session.status for session in self._sessions.values())
        return SourceReport(
            source=SOURCE,
            health={name: count for name, count in health.items() if count},
            verdicts=dict(verdicts),
            counters={"sessions": dict(statuses), "scans": {"done": self._scans}},
            detail={"warnings": len(self._scan.warnings)},
        )

    def tick(self, keys: frozenset[str]) -> None:
        """The plan steps the user ticked, by key."""
        self._pool.submit(self._monitor.tick, keys)

    def sessions(self) -> list[dict[str, Any]]:
        """Every session for the API, excerpt included, each with the panes that show it."""
        panes: dict[str, list[str]] = {}
        for key, joined in self._joined.items():
            if joined.session is not None:
                panes.setdefault(joined.session.id, []).append(key)
        return [
            {**msgspec.to_builtins(session), "panes": panes.get(session.id, [])}
            for session in self._sessions.values()
        ]

    async def session(self, session_id: str, subagent: str | None = None) -> dict[str, Any] | None:
        """One session with its details for the API, of any age; None when there is none."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self._pool, self._monitor.read_session, session_id, self._now(), subagent
        )
        if found is None:
            return None
        session, detail = found
        answer: dict[str, Any] = {
            "session": msgspec.to_builtins(session),
            "detail": _plain(detail),
        }
        return answer


def _plain(detail: Detail) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(detail)
    return data
