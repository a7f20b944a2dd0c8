"""The watcher: finds the tmux servers of this user, runs one loop for each, publishes on the bus.

Everything that decides about a state is in `pipeline`; the loops (`server_watch`) do the I/O; here
they are brought together with time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from openbus.bus import Bus
from openbus.clock import Clock
from openbus.events import Change
from openbus.model import Capture, Pane
from openbus.pipeline import Pipeline
from openbus.server_watch import Plan, ServerWatch
from openbus.signals import NoSignals, TtySignals, signals_for
from openbus.stats import Stats
from openbus.tmux.servers import discover, socket_folder

DISCOVER_EVERY = 15.0
FOLDER_EVERY = 1.0


class Watcher:
    """All servers, one pipeline, one bus. `tell(event, server, kind)` is for the log."""

    def __init__(
        self,
        plan: Plan,
        pipeline: Pipeline,
        bus: Bus,
        stats: Stats | None = None,
        tell: Callable[[str, str, str], None] | None = None,
    ) -> None:
        self.plan = plan
        self.pipeline = pipeline
        self.bus = bus
        self.clock = Clock()
        self.stats = stats or Stats()
        self.signals: TtySignals | NoSignals = signals_for(self._written, self._ended)
        self.problems: tuple[str, ...] = ()
        """Servers that cannot be watched, one line each."""
        self._tell = tell
        self._servers: dict[str, ServerWatch] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._timer_wake = asyncio.Event()
        self._discover_due = 0.0
        self._signal_problem: str | None = None
        self._settled = False

    # --- life -----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Watch until cancelled."""
        await self.signals.start()
        timers = asyncio.create_task(self._timers())
        try:
            await self._find_servers()
        finally:
            tasks = [timers, *self._tasks.values()]
            self._tasks.clear()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.signals.stop()

    async def _find_servers(self) -> None:
        folder = socket_folder()
        modified = -1.0
        while True:
            if self.clock.jumped():
                for server in self._servers.values():
                    server.look_again()
            stamp = _modified(folder)
            if time.monotonic() >= self._discover_due or stamp != modified:
                modified = stamp
                await self._discover()
            await asyncio.sleep(FOLDER_EVERY)

    async def _discover(self) -> None:
        plan = self.plan
        found = await asyncio.to_thread(
            discover, plan.socket_names, plan.socket_paths, binary=plan.binary
        )
        self._discover_due = time.monotonic() + DISCOVER_EVERY
        self.problems = tuple(problem.text for problem in found.problems)
        for ref in found.servers:
            if ref.socket not in self._tasks:
                server = self._servers[ref.socket] = ServerWatch(ref, self)
                self._tasks[ref.socket] = asyncio.create_task(server.run())
                self.tell("server found", ref.label, "")
        if not found.servers:
            self.forget_absent_once()

    async def _timers(self) -> None:
        """What falls due without a capture, and the second look that an ended ask needs."""
        while True:
            now = self.clock.now()
            self._publish(self.pipeline.advance(now))
            recheck = self.pipeline.push.recheck()
            for key, due in recheck.items():
                if due <= now:
                    self._want(key)
            # A recheck that is due stays listed until its capture came: do not spin on it.
            dues = [due if due > now else now + 50 for due in recheck.values()]
            timed = self.pipeline.next_due()
            if timed is not None:
                dues.append(timed)
            self._timer_wake.clear()
            try:
                async with asyncio.timeout(max(0.005, (min(dues) - now) / 1000) if dues else None):
                    await self._timer_wake.wait()
            except TimeoutError:
                continue

    # --- what the servers' loops report ---------------------------------------------------------

    def see(self, pane: Pane, seen: Capture) -> bool:
        """A pane was captured; True when a new state was published."""
        events = self._publish(self.pipeline.see(pane, seen, self.clock.now()))
        self._timer_wake.set()
        return events > 0

    def refresh(self, pane: Pane) -> None:
        """tmux lists a pane differently though its screen did not change."""
        self._publish(self.pipeline.push.refresh(pane, self.clock.now()))

    def gone(self, key: str) -> None:
        """A pane has ended."""
        self._publish(self.pipeline.gone(key, self.clock.now()))

    def mark_stale(self, keys: Iterable[str]) -> None:
        self._publish(self.pipeline.push.mark_stale(keys, self.clock.now()))

    def drop(self, server: ServerWatch) -> None:
        """A server has ended."""
        self.signals.watch(server.ref.socket, ())
        if self._servers.get(server.ref.socket) is server:
            del self._servers[server.ref.socket]
            self._tasks.pop(server.ref.socket, None)
        self._discover_due = time.monotonic() + 1.0
        self.tell("server ended", server.ref.label, "")

    def forget_absent_once(self) -> None:
        """After the first look at every server: what was remembered and is gone is withdrawn."""
        if self._settled or any(server.server is None for server in self._servers.values()):
            return
        self._settled = True
        live = frozenset(key for server in self._servers.values() for key in server.keys)
        self._publish(self.pipeline.push.forget_absent(live, self.clock.now()))

    def note_signals(self) -> None:
        """Say once when terminals can no longer be watched, and when they can again."""
        problem = self.signals.problem
        if problem != self._signal_problem:
            self._signal_problem = problem
            self.tell("signals lost" if problem else "signals back", "", problem or "")

    def tell(self, event: str, server: str, kind: str) -> None:
        if self._tell is not None:
            self._tell(event, server, kind)

    @property
    def servers(self) -> list[ServerWatch]:
        return list(self._servers.values())

    def capture(self, key: str) -> Capture | None:
        """The last screen of a pane."""
        for server in self._servers.values():
            found = server.capture(key)
            if found is not None:
                return found
        return None

    def _want(self, key: str) -> None:
        for server in self._servers.values():
            if key in server.keys:
                server.want(key.rsplit(":", 2)[1])

    def _publish(self, changes: Sequence[Change]) -> int:
        for change in changes:
            self.stats.events[change.event] += 1
        return len(self.bus.publish(changes)) if changes else 0

    def _written(self, ttys: set[str]) -> None:
        for server in self._servers.values():
            server.written(ttys)

    def _ended(self, ttys: set[str]) -> None:
        for server in self._servers.values():
            server.ended(ttys)


def _modified(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
