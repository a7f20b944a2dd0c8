"""The reactor: bus events in, deliveries out. It never delays a state.

`hear` only queues. One task takes what came, asks who is present, lets the desk decide, stores
that, and starts the calls; each channel has at most one call out. The database is used from one
thread of its own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from openbus.bus import Bus
from openbus.clock import Clock
from openbus.events import Event
from openbus.notify.content import parcel_for, parcel_of
from openbus.notify.desk import Desk
from openbus.notify.mutes import Mutes
from openbus.notify.outbox import FILE, Outbox
from openbus.notify.policy import Mute
from openbus.notify.post import Post
from openbus.notify.presence import Pages, look
from openbus.notify.records import Job, LogEntry, Notice, Outcome, Standing
from openbus.notify.settings import NOBODY, NotifySettings
from openbus.notify.webpush import warm
from openbus.push import Remembered
from openbus.store import StoreError
from openbus.tmux.connection import Connection

SETTLE_MS = 15_000
"""So long after a start or a sleep the world has been read; what is not in it is gone."""

AUDIT_SOON_MS = 1_000
AUDIT_MS = 10_000
PRUNE_MS = 3_600_000
RECOVER_MS = 300_000
CALL_MOST = 60.0
"""Seconds after which a sender that never came back is given up."""

END_GRACE = 0.8
"""Seconds that calls get to come back when the service ends."""


class ChannelReport(msgspec.Struct, frozen=True, kw_only=True):
    """How one channel does, for people. `next_at` and `accepted_at` are epoch ms."""

    name: str
    type: str
    device: str
    label: str = ""
    failures: int = 0
    reason: str = ""
    next_at: int = 0
    accepted_at: int | None = None


class Notifier:
    """One per service. `standing` is the push manager's `remember`, `warn` takes lines for the log
    (what happened and why, never content)."""

    def __init__(
        self,
        bus: Bus,
        standing: Callable[[], Iterable[Remembered]],
        folder: Path,
        settings: NotifySettings,
        *,
        warn: Callable[[str], Any],
        binary: str = "tmux",
        timeout: float = 2.0,
        clock: Clock | None = None,
        post: Callable[[], Post] | None = None,
    ) -> None:
        self.pages = Pages()
        self.mutes = Mutes(folder)
        self._bus = bus
        self._standing = standing
        self._folder = folder
        self._settings = settings
        self._warn = warn
        self._clock = clock or Clock()
        self._binary = binary
        self._timeout = timeout
        self._make_post = post or self._default_post
        self._events: deque[Event] = deque()
        self._changed: set[str] = set()
        self._open: frozenset[str] = frozenset()
        """Panes with something told or to be told: only their changes matter."""
        self._wake = asyncio.Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="outbox")
        self._calls: set[asyncio.Task[None]] = set()
        self._settled_at = 0
        self._audit_at = 0
        self._prune_at = 0
        self._recover_at = 0
        self._told: set[str] = set()
        self._ready = asyncio.Event()

    # --- life -----------------------------------------------------------------------------------

    def hear(self, event: Event) -> None:
        """Take an event of the bus; never waits."""
        if event.event in ("announce", "withdraw"):
            self._events.append(event)
        elif event.event == "pane" and event.key in self._open:
            self._changed.add(event.key)
        else:
            return
        self._wake.set()

    async def run(self) -> None:
        """React until cancelled."""
        self.post = await asyncio.to_thread(self._make_post)
        self.outbox = await self._in_thread(Outbox, self._folder / FILE)
        now = self._clock.now()
        stored = await self._in_thread(self.outbox.load, now)
        self.desk = Desk(self._settings.rules, self.post.channels, stored)
        self._settled_at = now + SETTLE_MS
        self._audit_at = now
        await self._warm()
        self._ready.set()
        if self.outbox.notice is not None:
            self._tell(self.outbox.notice)
        try:
            while True:
                try:
                    await self._turn()
                    await self._rest()
                except Exception as error:  # a defect in one turn must not end all notifications
                    self._tell(f"defect in notifications ({type(error).__name__}); please report")
                    await asyncio.sleep(1.0)
        finally:
            await self._end()

    async def started(self) -> None:
        """Wait until `desk`, `post` and `outbox` are there."""
        await self._ready.wait()

    @property
    def running(self) -> bool:
        return self._ready.is_set()

    async def _end(self) -> None:
        if self._calls:
            await asyncio.wait(self._calls, timeout=END_GRACE)
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
        await self._save()
        await self._in_thread(self.outbox.close)
        await self.post.close()
        self._thread.shutdown(wait=False)

    # --- one turn -------------------------------------------------------------------------------

    async def _turn(self) -> None:
        now = self._clock.now()
        if self._clock.jumped():
            self.desk.unconfirm()
            self._settled_at = self._audit_at = self._clock.now() + SETTLE_MS
        if self.post.refresh():
            self.desk.set_channels(self.post.channels, now)
            await self._warm()
        for line in self.post.problems:
            self._tell(line)
        self._take(now)
        if now >= self._audit_at:
            self._audit(now)
        states = [self._bus.state(notice.pane) for notice in self.desk.ready(now)]
        present = [state for state in states if state is not None]
        presence = await look(present, self.pages.shown(now), self._connect)
        now = self._clock.now()
        self._take(now)
        sessions = {state.pane.key: state.pane.session for state in present}
        jobs = self.desk.plan(presence, self._muted(now), sessions, now)
        await self._save()
        await self._keep_house(now)
        for job in jobs:
            call = asyncio.create_task(self._carry_out(job))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)

    async def _rest(self) -> None:
        """Until something comes or falls due. With nothing open nothing falls due."""
        times = [self._prune_at]
        due = self.desk.due()
        if due is not None:
            times.append(due)
        if self._audits(self._clock.now()):
            times.append(self._audit_at)
        pause = max(0.0, (min(times) - self._clock.now()) / 1000)
        try:
            async with asyncio.timeout(pause):
                await self._wake.wait()
        except TimeoutError:
            return
        finally:
            self._wake.clear()

    def _take(self, now: int) -> None:
        """Everything that the bus said."""
        while self._events:
            event = self._events.popleft()
            intent = event.intent
            if intent is None:
                continue
            if event.event == "withdraw":
                self.desk.withdraw(intent.key, intent.contract, intent.reason, now)
                continue
            program = intent.program.name if intent.program is not None else "unknown"
            self.desk.announce(
                Standing(
                    pane=intent.key,
                    contract=intent.contract,
                    kind=intent.attention,
                    program=program,
                ),
                now,
            )
        changed, self._changed = self._changed, set()
        for pane in changed:
            self.desk.changed(pane, self._face, now)
        self._open = frozenset(notice.pane for notice in self.desk.open)

    def _audits(self, now: int) -> bool:
        return self.desk.unsure or now < self._settled_at or bool(self.desk.open)

    def _audit(self, now: int) -> None:
        seen = {state.pane.key: state for state in self._bus.states if not state.stale}
        standing = [
            Standing(
                pane=entry.key,
                contract=contract,
                kind=attention,
                program=seen[entry.key].program.name,
            )
            for entry in self._standing()
            if entry.key in seen
            for contract, attention in entry.announced
        ]
        self.desk.audit(standing, seen.keys(), now)
        if now >= self._settled_at:
            self.desk.forget_absent({state.pane.key for state in self._bus.states}, now)
        soon = self.desk.unsure or now < self._settled_at
        self._audit_at = now + (AUDIT_SOON_MS if soon else AUDIT_MS)

    async def _carry_out(self, job: Job) -> None:
        sender = self.post.senders.get(job.message.channel)
        self._take(self._clock.now())
        if sender is None or not self.desk.wanted(job):
            self.desk.skip(job, self._clock.now())
        else:
            parcel = parcel_of(
                job,
                self._bus.state,
                private=self._settings.rules.private,
                now=self._clock.now(),
            )
            try:
                async with asyncio.timeout(CALL_MOST):
                    outcome = await sender.send(parcel)
            except TimeoutError:
                outcome = Outcome(result="unknown", reason="no answer")
            except Exception as error:  # a sender's defect must not end the others
                outcome = Outcome(result="unknown", reason=f"defect: {type(error).__name__}")
            self.desk.finish(job, outcome, self._clock.now())
            if outcome.result == "gone":
                self._forget(job.message.channel)
            if outcome.result in ("later", "unknown", "refused"):
                self._tell(f"notifications by {job.message.channel}: {outcome.reason}")
        await self._save()
        self._wake.set()

    # --- keeping --------------------------------------------------------------------------------

    async def _save(self) -> None:
        writes = self.desk.drain()
        if not writes:
            return
        if not await self._in_thread(self.outbox.write, writes):
            await self._in_thread(self.outbox.write, self.desk.everything())
        if self.outbox.trouble is not None:
            self._tell(self.outbox.trouble)

    async def _keep_house(self, now: int) -> None:
        if now >= self._prune_at:
            self._prune_at = now + PRUNE_MS
            await self._in_thread(self.outbox.prune, now)
        if self.outbox.trouble is not None and now >= self._recover_at:
            if self._recover_at:
                await self._in_thread(self.outbox.recover, self.desk.everything(), now)
            self._recover_at = now + RECOVER_MS
            self._prune_at = min(self._prune_at, self._recover_at)

    async def _in_thread(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)

    async def _warm(self) -> None:
        if any(channel.type == "webpush" for channel in self.post.channels):
            await warm()

    def _forget(self, channel: str) -> None:
        """The push service says that the device is no more."""
        try:
            self.post.devices.remove(channel.removeprefix("webpush:"))
        except StoreError as error:
            self._tell(str(error))

    def _muted(self, now: int) -> tuple[Mute, ...]:
        try:
            return self.mutes.current(now)
        except StoreError as error:
            self._tell(f"{error}; nothing is muted")
            return ()

    def _face(self, notice: Notice) -> str | None:
        state = self._bus.state(notice.pane)
        asks = notice.kind == "needs_you"
        if state is None or (asks and (state.question is None or not state.needs_you)):
            return None  # an overlay covers it: what is shown stays
        private = self._settings.rules.private
        return parcel_for((notice,), self._bus.state, private=private).face

    def _tell(self, line: str) -> None:
        """Each line once."""
        if line not in self._told:
            self._told.add(line)
            self._warn(line)

    def _connect(self, socket: str) -> Connection:
        return Connection(socket, binary=self._binary, timeout=self._timeout)

    def _default_post(self) -> Post:
        return Post(self._settings, self._folder, connect=self._connect, binary=self._binary)

    # --- what the API asks ----------------------------------------------------------------------

    async def log(self, limit: int) -> list[LogEntry]:
        """The last entries, oldest first."""
        found: list[LogEntry] = await self._in_thread(self.outbox.log, limit)
        return found

    def reports(self) -> list[ChannelReport]:
        """How every channel does."""
        labels = {f"webpush:{one.id}": one.label for one in self.post.devices.all()}
        found = []
        for name, channel in self.desk.channels.items():
            health = self.desk.health[name]
            found.append(
                ChannelReport(
                    name=name,
                    type=channel.type,
                    device=channel.device,
                    label=labels.get(name, ""),
                    failures=health.failures,
                    reason=health.reason,
                    next_at=health.next_at,
                    accepted_at=health.accepted_at,
                )
            )
        return found

    def warnings(self) -> list[str]:
        """What a person should know, one line each."""
        lines = list(self.post.problems)
        if self.outbox.trouble is not None:
            lines.append(self.outbox.trouble)
        if not any(channel.human for channel in self.desk.channels.values()):
            lines.append(NOBODY)
        return lines

    def look_again(self) -> None:
        """Devices, mutes or pages changed."""
        self._wake.set()

    def now(self) -> int:
        """The notifier's time, epoch ms."""
        return self._clock.now()
