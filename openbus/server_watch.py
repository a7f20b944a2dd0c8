"""The loop of one tmux server: signals and safety net in, batched captures out.

Screens are not polled: inotify on the panes' terminals says which panes wrote, and all of them are
captured in one request per tick. The activity list, the census and the full list are the safety net
for what inotify does not see; their intervals stretch with what they cost. Figures and reasons:
`docs/live.md`. The module is a little above the usual length: the loop, its net and its captures
share one set of clocks.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Awaitable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Protocol

import msgspec

from openbus.clock import Clock
from openbus.model import Capture, Pane, Process, Server
from openbus.pipeline import Pipeline
from openbus.signals import NoSignals, TtySignals
from openbus.stats import Stats
from openbus.tmux.capture import Captured, capture
from openbus.tmux.connection import Connection
from openbus.tmux.errors import ServerAbsent, ServerGone, ServerSilent, SocketStale, TmuxError
from openbus.tmux.inventory import (
    Inventory,
    PaneCensus,
    PaneRow,
    active_since,
    census,
    inventory,
)
from openbus.tmux.line_mode import line_mode
from openbus.tmux.processes import ProcessTable
from openbus.tmux.servers import ServerRef

TICK = 0.1
"""Seconds between two batches of one server."""

TICK_MANY = 0.25
"""The same from `MANY` panes on: each batch costs the server 4-6 ms there."""

MANY = 500
SETTLE = 0.02
"""Seconds from the first signal to the capture: a program has usually finished painting by then."""

BATCH_SHARE = 0.06
"""Share of a core that batches may take here; the tick grows, up to `TICK_MOST`, to keep it."""

TICK_MOST = 0.5
CENSUS_EVERY = 10.0
REQUEST = 0.003
"""Seconds that any request costs, client and server together (tmux 3.3a, 2026-11-30)."""

CHUNK = 200
"""Panes captured in one request at most: 200 screens are about 0.6 MB."""

PROCESSES_MS = 1000
"""Processes of a pane are inspected at most once in this time while its command stays the same."""

RETRY = 5.0
"""Seconds until a server that did not answer is asked again."""

_ENDED = (ServerGone, ServerAbsent, SocketStale)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to watch. `ignore`: shell patterns against the command and `session:window.pane`."""

    host: str
    socket_names: tuple[str, ...] = ()
    socket_paths: tuple[str, ...] = ()
    binary: str = "tmux"
    timeout: float = 2.0
    ignore: tuple[str, ...] = ()

    def ignores(self, pane: Pane) -> bool:
        place = f"{pane.session}:{pane.window.name}.{pane.index}"
        return any(
            fnmatchcase(pane.command, pattern) or fnmatchcase(place, pattern)
            for pattern in self.ignore
        )


class Hub(Protocol):
    """What a server's loop needs of the watcher."""

    plan: Plan
    pipeline: Pipeline
    clock: Clock
    stats: Stats
    signals: TtySignals | NoSignals

    def see(self, pane: Pane, seen: Capture) -> bool: ...
    def refresh(self, pane: Pane) -> None: ...
    def gone(self, key: str) -> None: ...
    def mark_stale(self, keys: Iterable[str]) -> None: ...
    def drop(self, server: ServerWatch) -> None: ...
    def forget_absent_once(self) -> None: ...
    def note_signals(self) -> None: ...
    def tell(self, event: str, server: str, kind: str) -> None: ...


class _Watched:
    """What the loop keeps about one pane: place, last screen, processes, and when."""

    def __init__(self, row: PaneRow) -> None:
        self.row = row
        self.last: Capture | None = None
        self.captured_wall = 0.0
        self.processes: tuple[Process, ...] = ()
        self.inspected_at = 0
        self.inspect_again = False


class Net:
    """One part of the safety net. It runs every `least` seconds; with many panes less often, so
    that it takes no more than `share` of the time: `per_pane` is its cost in seconds.

    The cost is reckoned, not measured: on a busy machine a measured one would switch the net off.
    """

    def __init__(self, least: float, share: float, per_pane: float) -> None:
        self._least = least
        self._share = share
        self._per_pane = per_pane
        self.every = least
        self.due = 0.0

    def done(self, panes: int, poll: float | None = None) -> None:
        """It just ran. `poll`: it stands in for missing signals, at this pace, for more."""
        cost = REQUEST + panes * self._per_pane
        if poll is None:
            self.every = max(self._least, cost / self._share)
        else:
            self.every = max(poll, cost / BATCH_SHARE)
        self.due = time.monotonic() + self.every

    def now(self) -> None:
        """Run it at the next turn."""
        self.due = 0.0


class ServerWatch:
    """The loop of one tmux server."""

    def __init__(self, ref: ServerRef, watcher: Hub) -> None:
        plan = watcher.plan
        self.ref = ref
        self.server: Server | None = None
        self.stale = False
        self._watcher = watcher
        self._conn = Connection(
            ref.socket, label=ref.label, binary=plan.binary, timeout=plan.timeout
        )
        self._panes: dict[str, _Watched] = {}
        self._ttys: dict[str, str] = {}
        self._dirty: dict[str, float] = {}
        self._wake = asyncio.Event()
        self._activity = Net(2.0, share=0.003, per_pane=10e-6)
        self._census = Net(CENSUS_EVERY, share=0.0015, per_pane=12e-6)
        self._list = Net(5.0, share=0.001, per_pane=27e-6)
        self._since = 0.0
        self._batch_cost = 0.0
        self._next_batch = 0.0

    # --- signals from outside -------------------------------------------------------------------

    def written(self, ttys: set[str]) -> None:
        """Some of these ttys may be ours; they were written to."""
        now = time.monotonic()
        for tty in ttys:
            pane_id = self._ttys.get(tty)
            if pane_id is not None and pane_id not in self._dirty:
                self._dirty[pane_id] = now
                self._wake.set()

    def ended(self, ttys: set[str]) -> None:
        """Some of these ttys may be ours; they are gone."""
        if ttys & self._ttys.keys():
            self._list.now()
            self._wake.set()

    def look_again(self) -> None:
        """After sleep or a clock that jumped: nothing that was known is taken for granted."""
        self._since = 0.0
        self._list.now()
        self._mark(self._panes)
        self._wake.set()

    def want(self, pane_id: str) -> None:
        """Capture this pane soon."""
        self._dirty.setdefault(pane_id, time.monotonic())
        self._wake.set()

    def capture(self, key: str) -> Capture | None:
        """The last screen of the pane with this key, with its processes."""
        watched = self._panes.get(key.rpartition(":")[0].rpartition(":")[2])
        if watched is None or watched.last is None or watched.row.pane.key != key:
            return None
        processes = () if watched.last.dead else watched.processes
        return msgspec.structs.replace(watched.last, processes=processes)

    @property
    def keys(self) -> list[str]:
        return [watched.row.pane.key for watched in self._panes.values()]

    # --- the loop -------------------------------------------------------------------------------

    async def run(self) -> None:
        """Watch until the server ends. Returns then; other troubles mark the states stale.

        When it is cancelled the panes are not gone: the next start continues with them.
        """
        while True:
            try:
                await self._turn()
                self._recovered()
            except _ENDED:
                break
            except TmuxError as error:
                self._failed(error.kind, silent=isinstance(error, ServerSilent))
                await asyncio.sleep(RETRY)
                self.look_again()
            except Exception as error:  # a defect in one loop must not end the others
                self._failed(type(error).__name__, silent=False)
                await asyncio.sleep(RETRY)
                self.look_again()
        self._watcher.drop(self)
        for key in self.keys:
            self._watcher.gone(key)
        self._panes.clear()

    async def _turn(self) -> None:
        await self._sleep()
        now = time.monotonic()
        if now >= self._list.due:
            await self._timed(self._list, self._look_at_all())
        if now >= self._census.due and self._list.every > CENSUS_EVERY:
            await self._timed(self._census, self._look_for_differences())
        if now >= self._activity.due:
            await self._timed(self._activity, self._look_at_active(), self._poll_pace())
        await self._capture_dirty()

    async def _sleep(self) -> None:
        """Until there is something to do: a signal that has settled, or a due part of the net."""
        while True:
            now = time.monotonic()
            net = min(self._list.due, self._activity.due)
            if self._list.every > CENSUS_EVERY:
                net = min(net, self._census.due)
            if net <= now:
                return
            if now < self._next_batch:
                # Whatever wakes us meanwhile has to wait for the next batch.
                await asyncio.sleep(min(net, self._next_batch) - now)
                continue
            ripe = self._ripe_at(now)
            until = net if ripe is None else min(net, ripe)
            if until <= now:
                return
            self._wake.clear()
            try:
                async with asyncio.timeout(until - now):
                    await self._wake.wait()
            except TimeoutError:
                return

    def _ripe_at(self, now: float) -> float | None:
        """When the first of the dirty panes may be captured (monotonic seconds)."""
        if not self._dirty:
            return None
        wall = self._watcher.clock.now()
        return min(
            max(since + SETTLE, now + (self._read_from(pane_id) - wall) / 1000)
            for pane_id, since in self._dirty.items()
        )

    def _read_from(self, pane_id: str) -> int:
        watched = self._panes.get(pane_id)
        track = self._watcher.pipeline.track(watched.row.pane.key) if watched is not None else None
        return track.read_from() if track is not None else 0

    async def _timed(self, net: Net, work: Awaitable[None], poll: float | None = None) -> None:
        await work
        net.done(len(self._panes), poll)

    def _poll_pace(self) -> float | None:
        """How often activity must be polled where some terminal is not signalled."""
        if all(self._watcher.signals.sees(tty) for tty in self._ttys):
            return None
        return TICK_MANY if len(self._panes) >= MANY else TICK

    # --- the safety net -------------------------------------------------------------------------

    async def _look_at_all(self) -> None:
        found = await inventory(self._conn, host=self._watcher.plan.host)
        self._take(found, complete=True)
        self._watcher.forget_absent_once()

    async def _look_at_active(self) -> None:
        if not self._panes:
            return
        since, self._since = self._since or time.time() - 60, time.time()
        found = await active_since(self._conn, int(since), host=self._watcher.plan.host)
        self._take(found, complete=False)

    async def _look_for_differences(self) -> None:
        found = await census(self._conn)
        if found.server != self.server or found.panes.keys() != self._panes.keys():
            self._list.now()
            return
        for pane_id, now_is in found.panes.items():
            watched = self._panes[pane_id]
            if now_is.pid != watched.row.pane.pid:
                self._list.now()
            elif watched.last is None or _differs(watched.last, now_is):
                self.want(pane_id)

    def _take(self, found: Inventory, complete: bool) -> None:
        """Take a listing: new panes, ended panes, and signs of change."""
        if self.server is not None and found.server != self.server:
            for key in self.keys:
                self._watcher.gone(key)
            self._panes.clear()
        self.server = found.server
        rows = [row for row in found.panes if not self._watcher.plan.ignores(row.pane)]
        for row in rows:
            self._take_row(row)
        if complete:
            alive = {row.pane.id for row in rows}
            for pane_id in self._panes.keys() - alive:
                self._lose(pane_id)
        ttys = {watched.row.tty: pane_id for pane_id, watched in self._panes.items()}
        if ttys != self._ttys or complete:
            self._ttys = ttys
            self._watcher.signals.watch(self.ref.socket, ttys)
            self._watcher.note_signals()

    def _take_row(self, row: PaneRow) -> None:
        pane_id = row.pane.id
        watched = self._panes.get(pane_id)
        if watched is not None and watched.row.pane.key != row.pane.key:
            self._lose(pane_id)
            watched = None
        if watched is None:
            self._panes[pane_id] = _Watched(row)
            self.want(pane_id)
            return
        before, watched.row = watched.row, row
        last = watched.last
        if last is None:
            return
        if self._wrote_since(watched, row) or _row_differs(last, row):
            self.want(pane_id)
        elif row.pane != before.pane:
            self._watcher.refresh(row.pane)

    def _wrote_since(self, watched: _Watched, row: PaneRow) -> bool:
        """Whether tmux's activity, in whole seconds, is later than the last capture. Without a
        signal a write in the same second may have been missed."""
        captured = int(watched.captured_wall)
        if self._watcher.signals.sees(row.tty):
            return row.window_activity > captured
        return row.window_activity >= captured

    def _lose(self, pane_id: str) -> None:
        watched = self._panes.pop(pane_id)
        self._dirty.pop(pane_id, None)
        self._watcher.gone(watched.row.pane.key)

    def _mark(self, pane_ids: Iterable[str]) -> None:
        now = time.monotonic()
        for pane_id in pane_ids:
            self._dirty.setdefault(pane_id, now)

    # --- captures -------------------------------------------------------------------------------

    async def _capture_dirty(self) -> None:
        now = time.monotonic()
        wall = self._watcher.clock.now()
        if now < self._next_batch:
            return
        ready = [pane_id for pane_id in self._dirty if self._read_from(pane_id) <= wall]
        if not ready:
            return
        marked = {pane_id: self._dirty.pop(pane_id) for pane_id in ready}
        started, used = time.monotonic(), _cpu()
        for first in range(0, len(ready), CHUNK):
            await self._capture(ready[first : first + CHUNK], marked)
        # What it used, not what it took: on a busy machine waiting longer would only add delay.
        cost = _cpu() - used
        self._batch_cost += (cost - self._batch_cost) / 4
        base = TICK_MANY if len(self._panes) >= MANY else TICK
        tick = min(TICK_MOST, max(base, self._batch_cost / BATCH_SHARE))
        self._next_batch = started + tick
        self._watcher.stats.batch(cost, len(ready), tick)

    async def _capture(self, pane_ids: Sequence[str], marked: dict[str, float]) -> None:
        asked = time.time()
        try:
            found = await capture(self._conn, pane_ids)
        except TmuxError:
            self._dirty.update({pane_id: marked[pane_id] for pane_id in pane_ids})
            raise
        changed = self._changed(pane_ids, found)
        processes = await self._inspect(changed, found)
        for number, pane_id in enumerate(pane_ids):
            watched, captured = self._panes.get(pane_id), found.get(pane_id)
            if watched is None:
                continue
            if captured is None or captured.pid != watched.row.pane.pid:
                self._list.now()
                continue
            if pane_id in processes:
                watched.processes = processes[pane_id]
                watched.inspected_at = self._watcher.clock.now()
            watched.captured_wall = asked
            self._see(watched, captured, marked[pane_id])
            if number % 8 == 7:
                await asyncio.sleep(0)

    def _changed(self, pane_ids: Sequence[str], found: dict[str, Captured]) -> list[str]:
        """The panes whose processes must be looked at: those that changed, and not just now."""
        now = self._watcher.clock.now()
        wanted: list[str] = []
        for pane_id in pane_ids:
            watched, captured = self._panes.get(pane_id), found.get(pane_id)
            if watched is None or captured is None:
                continue
            last = watched.last
            if last is None or last.command != captured.capture.command or watched.inspect_again:
                wanted.append(pane_id)
            elif not _same_screen(last, captured.capture):
                if now - watched.inspected_at >= PROCESSES_MS:
                    wanted.append(pane_id)
                else:
                    watched.inspect_again = True
                    delay = (watched.inspected_at + PROCESSES_MS - now) / 1000
                    asyncio.get_running_loop().call_later(delay, self.want, pane_id)
        for pane_id in wanted:
            self._panes[pane_id].inspect_again = False
        return wanted

    async def _inspect(
        self, pane_ids: Sequence[str], found: dict[str, Captured]
    ) -> dict[str, tuple[Process, ...]]:
        if not pane_ids:
            return {}
        pids = [found[pane_id].pid for pane_id in pane_ids]
        if len(pids) > 20:
            table = await asyncio.to_thread(ProcessTable.take)
        else:
            table = ProcessTable.take_below(pids)
        return {
            pane_id: ()
            if found[pane_id].capture.dead
            else table.below(found[pane_id].pid, found[pane_id].tty)
            for pane_id in pane_ids
        }

    def _see(self, watched: _Watched, captured: Captured, marked: float) -> None:
        seen = captured.capture
        watched.last = seen
        pane = msgspec.structs.replace(
            watched.row.pane,
            title=seen.title,
            cwd=seen.cwd,
            command=seen.command,
            width=seen.width,
            height=seen.height,
            in_mode=seen.in_mode,
            dead=seen.dead,
        )
        watched.row = msgspec.structs.replace(watched.row, pane=pane)
        full = msgspec.structs.replace(
            seen,
            processes=() if seen.dead else watched.processes,
            line_mode=None if seen.dead or seen.alternate_on else line_mode(watched.row.tty),
        )
        published = self._watcher.see(pane, full)
        if published:
            self._watcher.stats.published(time.monotonic() - marked)

    # --- trouble --------------------------------------------------------------------------------

    def _failed(self, kind: str, silent: bool) -> None:
        self._watcher.stats.trouble(kind, silent)
        if not self.stale:
            self.stale = True
            self._watcher.mark_stale(self.keys)
            self._watcher.tell("server trouble", self.ref.label, kind)

    def _recovered(self) -> None:
        if self.stale:
            self.stale = False
            self._watcher.tell("server answers again", self.ref.label, "")


def _cpu() -> float:
    """Seconds that this process and the children it waited for have run."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _same_screen(one: Capture, two: Capture) -> bool:
    return one.ansi == two.ansi and one.cursor == two.cursor and one.title == two.title


def _differs(last: Capture, now_is: PaneCensus) -> bool:
    """Whether the census shows what no output announces."""
    return (
        (last.width, last.height) != (now_is.width, now_is.height)
        or (last.cursor.x, last.cursor.y) != (now_is.cursor_x, now_is.cursor_y)
        or (last.dead, last.in_mode, last.alternate_on)
        != (now_is.dead, now_is.in_mode, now_is.alternate_on)
    )


def _row_differs(last: Capture, row: PaneRow) -> bool:
    pane = row.pane
    return (
        (last.width, last.height) != (pane.width, pane.height)
        or (last.cursor.x, last.cursor.y) != (row.cursor.x, row.cursor.y)
        or (last.dead, last.in_mode, last.alternate_on)
        != (pane.dead, pane.in_mode, row.alternate_on)
    )
