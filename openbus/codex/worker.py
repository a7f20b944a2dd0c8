"""The Codex evidence source: panes on one side, local app-servers on the other, shadow between.

Runs beside the capture loop and never calls into it: panes are handed over by `observe`, everything
else is read from memory. In this phase it only compares and counts.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog

from openbus.codex import binding, processes
from openbus.codex.binding import Held, ServerFacts, Shown
from openbus.codex.link import Link
from openbus.codex.processes import ProcessFacts, Tui, UnixSocket
from openbus.codex.shadow import Shadow, compare, percentiles
from openbus.evidence import (
    Binding,
    Envelope,
    EvidenceCache,
    PaneView,
    SourceReport,
    incarnation,
)

NAME: Final = "codex-app-server/1"
PROGRAM: Final = "codex"
LOOK_EVERY: Final = 1.0
FACTS_EVERY: Final = 30_000
FACTS_AFTER_CHANGE: Final = 3_000
"""Milliseconds between two reads of a TUI's files and sockets: on a still and a moving screen."""

OPT_IN: Final = """\
Codex evidence connects OpenBus, as a read-only client, to the Codex app-server of this user.
What that changes in Codex: every model request of that server names the client that introduced
itself last, so its User-Agent ends in "(openbus; VERSION)" until another client connects. OpenBus
gives its own name, and connects only while a Codex terminal is connected to that same server, so
that it never becomes the recorded originator of your threads. It resumes nothing, answers nothing,
starts and stops no server, and reads no account data. Sub-agents that start while it is connected
send it their approval requests; it leaves them to you.
Published states and notifications stay what they are: this phase only compares."""

CONFIG_LINES: Final = """\
[tui]
status_line = ["model-with-reasoning", "current-dir", "thread-id"]
terminal_title = ["activity", "thread-id"]"""
"""Lines for `config.toml` in the Codex home; they let panes be bound exactly."""

log = structlog.get_logger(source="codex")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the user has opted in to: Codex homes, and server sockets outside of them."""

    homes: tuple[str, ...] = ("~/.codex",)
    sockets: tuple[str, ...] = ()


class _Seat(msgspec.Struct):
    """One pane with Codex in it."""

    view: PaneView
    tui: Tui | None = None
    facts_at: int = 0
    shown: Shown | None = None
    binding: Binding = Binding()
    held: Held | None = None
    link: Link | None = None
    inputs: object = None
    cleared: set[str] = msgspec.field(default_factory=set)
    asked: str | None = None
    asked_at: int = 0


class CodexSource:
    """Implements `openbus.evidence.EvidenceSource` for Codex.

    `now` gives epoch milliseconds. `facts` and `sockets` read the system's process and socket
    tables; tests pass their own.
    """

    def __init__(
        self,
        options: Options,
        *,
        host: str,
        now: Callable[[], int],
        uid: int | None = None,
        facts: ProcessFacts | None = None,
        sockets: Callable[[], list[UnixSocket] | None] = processes.unix_sockets,
        spread: Callable[[], float] = random.random,
    ) -> None:
        self._now = now
        self._facts = facts or ProcessFacts()
        self._sockets = sockets
        self._cache = EvidenceCache()
        self._seats: dict[str, _Seat] = {}
        self._shadow = Shadow()
        self._elsewhere = 0
        self._can_see_peers = True
        self._failures: Counter[str] = Counter()
        user = os.getuid() if uid is None else uid
        homes = [os.path.realpath(Path(home).expanduser()) for home in options.homes]
        paths = [str(Path(path).expanduser()) for path in options.sockets]

        def link(home: str | None, socket: str | None) -> Link:
            return Link(
                host=host,
                uid=user,
                cache=self._cache,
                now=now,
                spread=spread,
                home=home,
                socket=socket,
            )

        self._links = [
            *(link(home, None) for home in dict.fromkeys(homes)),
            *(link(None, path) for path in dict.fromkeys(paths)),
        ]

    @property
    def name(self) -> str:
        return NAME

    @property
    def programs(self) -> frozenset[str]:
        return frozenset({PROGRAM})

    # --- running

    async def run(self) -> None:
        tasks = [asyncio.create_task(link.run()) for link in self._links]
        try:
            while True:
                try:
                    await self.look()
                except Exception as error:
                    # one bad look must not end the source; the type says enough without payload
                    self._failures[type(error).__name__] += 1
                    log.error("look failed", error=type(error).__name__)
                await asyncio.sleep(LOOK_EVERY)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def observe(self, panes: Sequence[PaneView], now: int) -> None:
        views = {view.pane.key: view for view in panes if view.program == PROGRAM}
        for key in [key for key in self._seats if key not in views]:
            del self._seats[key]  # the pane died, was respawned, or runs something else
        for key, view in views.items():
            seat = self._seats.get(key)
            if seat is None:
                self._seats[key] = _Seat(view=view)
            else:
                seat.view = view
        self._shadow.keep(views)

    async def look(self) -> None:
        """One round: process facts, bindings, comparison."""
        now = self._now()
        stale = [seat for seat in self._seats.values() if self._facts_due(seat, now)]
        if stale:
            await asyncio.to_thread(self._read_facts, stale, now)
        if stale or self._links_waiting():
            tuis = [seat.tui for seat in self._seats.values() if seat.tui is not None]
            found = await asyncio.to_thread(self._sockets) if tuis else []
            self._match_peers(tuis, found)
        for key, seat in self._seats.items():
            self._bind(seat, now)
            self._compare(key, seat, now)
        for link in self._links:
            link.watch(
                {
                    seat.binding.thread
                    for seat in self._seats.values()
                    if seat.link is link and seat.binding.thread is not None
                }
            )

    def _facts_due(self, seat: _Seat, now: int) -> bool:
        process = processes.tui_process(seat.view.processes)
        pid = None if process is None else process.pid
        if (seat.tui.pid if seat.tui else None) != pid:
            return True
        if seat.tui is None:
            return False
        moved = seat.view.seen_at > seat.facts_at
        return now - seat.facts_at >= (FACTS_AFTER_CHANGE if moved else FACTS_EVERY)

    def _read_facts(self, seats: list[_Seat], now: int) -> None:
        for seat in seats:
            process = processes.tui_process(seat.view.processes)
            pid = None if process is None else process.pid
            seat.tui = None if pid is None else self._facts.tui(pid)
            seat.facts_at = now

    def _links_waiting(self) -> bool:
        return any(link.endpoint is not None and not link.tuis for link in self._links)

    def _match_peers(self, tuis: list[Tui], found: list[UnixSocket] | None) -> None:
        """Which TUI is a client of which server, by the kernel's socket table."""
        self._can_see_peers = found is not None
        clients = found or []
        placed: set[int] = set()
        for link in self._links:
            link.local_tuis = tuple(t for t in tuis if t.home == link.home and not t.embedded)
            if link.endpoint is None:
                link.place(())
                continue
            inodes = processes.clients_of(link.endpoint.inode, clients)
            link.place(
                tuple(
                    tui
                    for tui in tuis
                    if tui.sockets & inodes and (link.home is None or tui.home == link.home)
                )
            )
            placed.update(tui.pid for tui in link.tuis)
        self._elsewhere = sum(1 for t in tuis if t.pid not in placed and not t.embedded)

    # --- binding

    def _bind(self, seat: _Seat, now: int) -> None:
        tui, view = seat.tui, seat.view
        if tui is None:
            seat.binding, seat.held, seat.link = Binding(how="no Codex process"), None, None
            return
        if seat.held is not None and seat.held.tui != (tui.pid, tui.ticks):
            seat.held = None
        link = self._link_of(tui)
        if tui.embedded and not any(tui.home == known.home for known in self._links):
            seat.binding, seat.link = Binding(how="its home is not in the opt-in"), None
            seat.inputs = None
            return
        server_state = None if link is None else (link, link.revision, link.tuis)
        inputs = (view.rows, view.title, view.dialog, tui, server_state, seat.asked_at)
        checking = seat.binding.how == "checking names"
        if inputs == seat.inputs and not checking:
            return
        seat.inputs, seat.link = inputs, link
        seat.shown = binding.shown(view.rows, view.title, dialog=view.dialog, cwd=view.pane.cwd)
        server = self._server_facts(seat, tui, link, now)
        rivals = () if link is None else link.tuis
        seat.binding = binding.decide(tui, seat.shown, server, seat.held, rivals)
        seat.held = binding.remember(seat.binding, tui, server, seat.held)
        if seat.held is not None and not seat.binding.held:
            seat.cleared |= _ids(seat.shown)

    def _link_of(self, tui: Tui) -> Link | None:
        """The server this TUI is a client of; for an embedded one the server of its home."""
        for link in self._links:
            if tui in link.tuis or (tui.embedded and tui.home == link.home):
                return link
        return None

    def _server_facts(
        self, seat: _Seat, tui: Tui, link: Link | None, now: int
    ) -> ServerFacts | None:
        if link is None or not link.connected or not link.loaded_at:
            return None
        if link.scope is None or link.generation is None:
            return None
        generation = (link.scope, link.generation)
        if seat.held is not None and (seat.held.scope, seat.held.generation) != generation:
            seat.held, seat.cleared = None, set()
        return ServerFacts(
            scope=link.scope,
            generation=link.generation,
            peer=tui in link.tuis,
            complete=link.complete(self._names_since(seat, link, now)),
            threads=link.threads(),
        )

    def _names_since(self, seat: _Seat, link: Link, now: int) -> int:
        """Since when names must have been read before a visible id may be believed.

        An id that this pane has not shown before may be the name that its user has just given to
        another thread, so the names are read once more after it appeared.
        """
        fresh = _ids(seat.shown) - seat.cleared
        if not fresh:
            return 0
        mark = " ".join(sorted(fresh))
        if seat.asked != mark:
            seat.asked, seat.asked_at = mark, now
            link.want()
        return seat.asked_at

    # --- comparing and reporting

    def _compare(self, key: str, seat: _Seat, now: int) -> None:
        thread, link = seat.binding.thread, seat.link
        status = None
        if seat.binding.verdict == "bound" and thread and link is not None:
            snapshot = link.snapshot(thread)
            if snapshot is not None and link.settled(thread):
                status = snapshot.native_status
        self._shadow.note(key, compare(seat.view, status), now)

    def evidence(self, pane_key: str, now: int) -> Envelope | None:
        seat = self._seats.get(pane_key)
        if seat is None:
            return None
        thread, link = seat.binding.thread, seat.link
        snapshot = link.snapshot(thread) if link is not None and thread is not None else None
        return Envelope(
            source=NAME,
            pane=pane_key,
            incarnation=incarnation(pane_key),
            binding=seat.binding,
            snapshot=snapshot,
        )

    def report(self, now: int) -> SourceReport:
        verdicts = Counter(seat.binding.verdict for seat in self._seats.values())
        bound = [s.binding.thread for s in self._seats.values() if s.binding.verdict == "bound"]
        shared = sum(1 for thread, panes in Counter(bound).items() if thread and panes > 1)
        detail: dict[str, Any] = {
            "servers": [link.report(now) for link in self._links],
            "panes": {"codex": len(self._seats), "shared_threads": shared, **verdicts},
            "other_servers": self._elsewhere,
            "peers_visible": self._can_see_peers,
            "cache": {"threads": len(self._cache), "age_ms": percentiles(self._cache.ages(now))},
            "agreement": self._shadow.agreement(),
            "comparison": {
                "episodes": dict(self._shadow.episodes),
                "milliseconds": dict(self._shadow.milliseconds),
            },
            "bindings": [self._row(key, seat) for key, seat in sorted(self._seats.items())],
            "failures": dict(self._failures),
        }
        health = Counter(str(link.health) for link in self._links)
        return SourceReport(
            source=NAME,
            health=health,
            verdicts={str(verdict): count for verdict, count in verdicts.items()},
            counters=self._counters(detail["servers"]),
            detail=detail,
        )

    def _counters(self, servers: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
        counted = {
            name: sum((Counter(server[name]) for server in servers), Counter[str]())
            for name in ("requests", "dropped", "troubles")
        }
        found: dict[str, dict[str, float]] = {name: dict(c) for name, c in counted.items()}
        found["episodes"] = dict(self._shadow.episodes)
        found["compared_seconds"] = {
            kind: ms / 1000 for kind, ms in self._shadow.milliseconds.items()
        }
        return found

    def _row(self, key: str, seat: _Seat) -> dict[str, Any]:
        """One pane, with thread ids cut to their last characters."""
        thread = seat.binding.thread
        snapshot = seat.link.snapshot(thread) if seat.link is not None and thread else None
        return {
            "pane": key,
            "verdict": seat.binding.verdict,
            "how": seat.binding.how,
            "held": seat.binding.held,
            "thread": thread[-8:] if thread else None,
            "candidates": [candidate[-8:] for candidate in seat.binding.candidates],
            "native": None if snapshot is None else snapshot.native_status.activity,
            "native_waiting": None if snapshot is None else snapshot.native_status.waiting,
            "screen": seat.view.activity,
            "needs_you": seat.view.needs_you,
            "comparison": self._shadow.current(key),
        }


def _ids(seen: Shown | None) -> set[str]:
    """The ids, or beginnings of ids, that a pane shows."""
    return set() if seen is None else {found for found in (seen.status, seen.title) if found}
