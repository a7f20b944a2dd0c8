"""One configured local server: wait for a TUI, connect, ask, keep snapshots, come back.

Connects only while a Codex TUI is connected to that very socket: the first client of a server names
it in everything the server sends upstream, and that must be the user's TUI, never the observer.
The module is a little above the usual length, so that a connection's whole life is in one place.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import structlog

from openbus import __version__
from openbus.codex import locate
from openbus.codex.binding import Thread
from openbus.codex.client import Client, ClientError
from openbus.codex.locate import Endpoint, Rejected, shorten
from openbus.codex.processes import Tui
from openbus.codex.protocol import Protocol, health_of, worst
from openbus.codex.schedule import Ask, Backoff, Schedule
from openbus.codex.shadow import percentiles
from openbus.codex.wire import (
    Capabilities,
    Changed,
    Event,
    Expired,
    Initialized,
    Loaded,
    Page,
    Read,
    Refused,
    ThreadRecord,
)
from openbus.evidence import EvidenceCache, Generation, Health, Scope, Snapshot

EXPIRES: Final = 90_000
"""Milliseconds that a snapshot is fresh: three times the interval of a bound thread."""
LOADED_PAGES: Final = 5
DRIFT_LIMIT: Final = 50
"""Misfits remembered by name, of fields and rules in our own schemas."""
TIMEOUTS: Final = 3
"""Requests in a row without an answer, then the connection is given up."""
LONELY: Final = 300_000
"""Milliseconds without any TUI on this server, then the connection is closed."""
HEAD_START: Final = 2_000
"""Milliseconds that a TUI is connected before we connect: it must be the first to greet."""
WAIT: Final = 1.0
"""Seconds between two looks for a socket and a TUI on it."""
STEP: Final = 0.2
"""Seconds between two looks at the schedule."""

log = structlog.get_logger(source="codex")


class Link:
    """The observer's side of one server. `home` or `socket` names it in the configuration.

    The owner tells `place` which TUIs are connected to `endpoint` right now, and sets `local_tuis`,
    those that name this home.
    """

    def __init__(
        self,
        *,
        host: str,
        uid: int,
        cache: EvidenceCache,
        now: Callable[[], int],
        home: str | None = None,
        socket: str | None = None,
        spread: Callable[[], float] = random.random,
    ) -> None:
        self.home = home
        self.socket = socket
        self.tuis: tuple[Tui, ...] = ()
        self._placed_at = 0
        self.local_tuis: tuple[Tui, ...] = ()
        self.endpoint: Endpoint | None = None
        self.scope: Scope | None = None
        self.generation: Generation | None = None
        self.capabilities = Capabilities(version=None, events=False)
        self.connected = False
        self.revision = 0
        """Grows whenever something that a binding depends on has changed."""
        self.loaded_at = 0
        self.reason = "starting"
        self._host, self._uid, self._cache = host, uid, cache
        self._now, self._spread = now, spread
        self._schedule: Schedule | None = None
        self._client: Client | None = None
        self._loaded: tuple[str, ...] = ()
        self._watched: set[str] = set()
        self._health: dict[str, Health] = {}
        self._down: Health = "unavailable"
        self._backoff = Backoff()
        self._asked_executables: set[tuple[int, int]] = set()
        self._supported: str | None = None
        self._tui_seen_at = 0
        self.connections = 0
        self.troubles: Counter[str] = Counter()
        self._sent: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._drift: set[str] = set()
        self._connected_at = 0

    # --- life

    async def run(self) -> None:
        """Until cancelled. Trouble becomes health."""
        while True:
            tried: Endpoint | None = None
            try:
                tried = await self._once()
            except Exception as error:
                # one bad round must not end the observer; the type says enough without payload
                log.error("round failed", error=type(error).__name__)
                self._fail("unavailable", "internal")
            if tried is not None:
                await self._rest(self._backoff.next(self._spread()), tried)
            else:
                await asyncio.sleep(WAIT)

    async def _once(self) -> Endpoint | None:
        """One attempt; the socket on which a connection was tried."""
        found = await self._locate()
        if isinstance(found, Rejected):
            self._fail("unavailable", found.reason)
            self.endpoint = None
            return None
        if self.endpoint != found:
            self.endpoint = found
            self.tuis = ()  # they were seen on another socket
        # a TUI that has only just connected may not have introduced itself yet
        if not self.tuis or self._now() - self._placed_at < HEAD_START:
            self._fail("unavailable", "no_tui")
            return None
        protocol = Protocol(__version__)
        client = Client(found, protocol, self._now, self._changed)
        try:
            self._accept(client, await client.open(self._uid), found)
            await self._serve(client)
        except ClientError as error:
            self._fail(error.health, error.category)
        finally:
            self._sent.update(protocol.sent)
            self._dropped.update(protocol.dropped)
            self._client = self._schedule = None
            self._lose()
            await client.close()
        return found

    async def _rest(self, seconds: float, tried: Endpoint) -> None:
        """Back off, but not from a server that has replaced the one that failed."""
        end = self._now() + int(seconds * 1000)
        while self._now() < end:
            await asyncio.sleep(min(WAIT, seconds))
            found = await self._locate()
            if isinstance(found, Endpoint) and found != tried:
                self._backoff.reset()
                return

    async def _locate(self) -> Endpoint | Rejected:
        if self.socket is not None:
            return locate.validate(Path(self.socket), self._uid)
        home = Path(self.home or "")
        found = locate.in_home(home, self._uid)
        if not isinstance(found, Rejected) or found.reason != "missing":
            return found
        for tui in self.local_tuis:
            # its own metadata, once for each TUI process
            if tui.executable is not None and (tui.pid, tui.ticks) not in self._asked_executables:
                self._asked_executables.add((tui.pid, tui.ticks))
                self._supported = await locate.supported_path(tui.executable, str(home))
        if self._supported is not None:
            return locate.validate(Path(self._supported), self._uid, home)
        return found

    def _accept(self, client: Client, hello: Initialized, endpoint: Endpoint) -> None:
        """Check who answered; from here on the link is connected."""
        health = health_of(hello)
        if health != "ok" or hello.codex_home is None:
            raise ClientError(health, "handshake")
        home = os.path.realpath(hello.codex_home)
        if endpoint.home is not None and home != os.path.realpath(endpoint.home):
            raise ClientError("unavailable", "other_home")
        peer = client.peer
        managed = locate.daemon_pid(home) if endpoint.home is not None else None
        if peer is None or (managed is not None and managed != peer.pid):
            raise ClientError("unavailable", "other_process")
        now = self._now()
        self._client = client
        self._schedule = Schedule(now, events=hello.capabilities.events)
        self.capabilities = hello.capabilities
        self.scope = Scope(host=self._host, uid=self._uid, endpoint=endpoint.path, home=home)
        self.generation = Generation(server_pid=peer.pid, inode=endpoint.inode, born=endpoint.born)
        self._cache.begin(self.scope, self.generation)
        self._health, self._loaded, self.loaded_at = {}, (), 0
        self._tui_seen_at = self._connected_at = now
        self.connected, self.reason = True, "connected"
        self.connections += 1
        self.revision += 1
        self._backoff.reset()
        log.info("connected", version=self.capabilities.version, events=self.capabilities.events)

    async def _serve(self, client: Client) -> None:
        silent = 0
        while True:
            client.check()
            now = self._now()
            if self.tuis:
                self._tui_seen_at = now
            elif now - self._tui_seen_at > LONELY:
                raise ClientError("unavailable", "no_tui")
            ask = self._schedule.next(now) if self._schedule is not None else None
            if ask is None:
                await asyncio.sleep(STEP)
                continue
            answer = await self._ask(client, ask)
            silent = silent + 1 if isinstance(answer, Expired) else 0
            if silent >= TIMEOUTS:
                raise ClientError("timeout", "requests")

    # --- asking

    async def _ask(self, client: Client, ask: Ask) -> Event | Expired:
        protocol, now = client.protocol, self._now()
        match ask.what:
            case "loaded":
                return await self._ask_loaded(client)
            case "page":
                answer = await client.ask(protocol.list_page(now))
            case _:
                answer = await client.ask(protocol.read(ask.thread or "", now))
        self._take(ask, answer)
        return answer

    async def _ask_loaded(self, client: Client) -> Event | Expired:
        ids: list[str] = []
        cursor: str | None = None
        for _ in range(LOADED_PAGES):
            started = self._now()
            answer = await client.ask(client.protocol.loaded_list(started, cursor))
            if not isinstance(answer, Loaded) or answer.drift:
                self._take(Ask(what="loaded"), answer)
                return answer
            ids += answer.ids
            cursor = answer.cursor
            if cursor is None:
                break
        self._health["loaded"] = "ok" if cursor is None else "truncated"
        if tuple(ids) != self._loaded:
            self.revision += 1
        self._loaded, self.loaded_at = tuple(ids), self._now()
        self._health = {
            key: value
            for key, value in self._health.items()
            if not key.startswith("read ") or key[5:] in set(ids)
        }
        if self._schedule is not None:
            self._schedule.loaded(ids)
        return answer

    def _take(self, ask: Ask, answer: Event | Expired) -> None:
        key = ask.what if ask.thread is None else f"read {ask.thread}"
        self._health[key] = health_of(answer)
        if isinstance(answer, Loaded | Page | Read) and len(self._drift) < DRIFT_LIMIT:
            self._drift.update(answer.drift)
        match answer:
            case Read(record=ThreadRecord() as record):
                self._keep(record)
            case Page(threads=records):
                # of stored threads only those that a pane shows (an embedded TUI's) are kept
                for record in records:
                    if record.id in self._loaded or record.id in self._watched:
                        self._keep(record)
                        if self._schedule is not None:
                            self._schedule.have(record.id, self._now())
            case Refused(kind="unsupported_method"):
                log.warning("unsupported", method=answer.method, version=self.capabilities.version)
                if self._schedule is not None:
                    self._schedule.unsupported(ask.what)
            case Refused(kind="not_found") if self.scope is not None and ask.thread is not None:
                self._cache.drop(self.scope, ask.thread)
                self._health[key] = "ok"  # it was closed between two requests
                self.revision += 1

    def _keep(self, record: ThreadRecord) -> None:
        if self.scope is None or self.generation is None:
            return
        now = self._now()
        new = self._cache.put(
            Snapshot(
                scope=self.scope,
                thread=record.id,
                server_version=self.capabilities.version,
                generation=self.generation,
                observed_at=now,
                expires_at=now + EXPIRES,
                values=record.values,
                native_status=record.status,
                completeness=record.completeness,
            )
        )
        self.revision += new

    def _changed(self, event: Changed) -> None:
        if self._schedule is not None:
            self._schedule.changed(event.thread, self._now())

    # --- what the owner tells and sees

    def place(self, tuis: tuple[Tui, ...]) -> None:
        """These TUIs are connected to `endpoint`."""
        if tuis and not self.tuis:
            self._placed_at = self._now()
        self.tuis = tuis

    def want(self) -> None:
        """A pane shows an id for the first time: read every loaded thread's name anew."""
        if self._schedule is not None:
            self._schedule.refresh(self._now())

    def watch(self, threads: set[str]) -> None:
        """These are shown by panes."""
        self._watched = threads
        if self._schedule is not None:
            self._schedule.bound(threads)

    def settled(self, thread: str) -> bool:
        """The snapshot of this thread is as new as this server lets us have it."""
        snapshot = self.snapshot(thread)
        if snapshot is None or self._schedule is None:
            return False
        if self.capabilities.events:
            return not self._schedule.pending(thread) and snapshot.fresh(self._now())
        return self._now() - snapshot.observed_at <= 3_000

    def snapshot(self, thread: str) -> Snapshot | None:
        return None if self.scope is None else self._cache.get(self.scope, thread)

    def threads(self) -> Mapping[str, Thread]:
        """Loaded threads as binding needs them; one without a snapshot has no name yet."""
        found: dict[str, Thread] = {}
        for thread in self._loaded:
            snapshot = self.snapshot(thread)
            values = None if snapshot is None else snapshot.values
            found[thread] = Thread(
                id=thread,
                loaded=True,
                name=None if values is None else values.name,
                cwd=None if values is None else values.cwd,
                parent=None if values is None else values.parent,
                ephemeral=values is not None and bool(values.ephemeral),
            )
        return found

    def complete(self, since: int = 0) -> bool:
        """Every loaded thread has been read, and not before `since`."""
        if not self.connected or self.loaded_at < max(1, since):
            return False
        snapshots = [self.snapshot(thread) for thread in self._loaded]
        return all(s is not None and s.observed_at >= since for s in snapshots)

    @property
    def health(self) -> Health:
        if not self.connected:
            return self._down
        garbage = self._client is not None and self._client.garbage > 0
        return worst(*self._health.values(), "schema_drift" if garbage else "ok")

    def report(self, now: int) -> dict[str, Any]:
        """Counters and categories; no id, name or text."""
        sent, dropped = self._sent.copy(), self._dropped.copy()
        latency: dict[str, list[int]] = {}
        if self._client is not None:
            sent.update(self._client.protocol.sent)
            dropped.update(self._client.protocol.dropped)
            for method, ms in self._client.protocol.latency:
                latency.setdefault(method, []).append(ms)
        rate = 0.0
        if self._client is not None:
            seconds = max(1_000, now - self._connected_at) / 1000
            rate = sum(self._client.protocol.sent.values()) / seconds
        return {
            "home": shorten(self.home) if self.home else None,
            "socket": shorten(self.socket) if self.socket else None,
            "health": self.health,
            "reason": self.reason,
            "connected": self.connected,
            "version": self.capabilities.version,
            "events": self.capabilities.events,
            "tuis": len(self.tuis),
            "loaded": len(self._loaded),
            "connections": self.connections,
            "troubles": dict(self.troubles),
            "requests": dict(sent),
            "requests_per_second": round(rate, 3),
            "dropped": dict(dropped),
            "drift": sorted(self._drift),
            "latency_ms": {name: percentiles(values) for name, values in latency.items()},
        }

    def _fail(self, health: Health, category: str) -> None:
        if category != self.reason:
            log.info("not connected", health=health, reason=category)
        self._down, self.reason = health, category
        if category not in ("no_tui", "missing"):
            self.troubles[category] += 1

    def _lose(self) -> None:
        if self.connected:
            self.connected = False
            self._loaded = ()
            self.revision += 1
