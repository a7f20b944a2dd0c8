"""Thousands of generated histories with the end of the process at every possible step.

Whatever happens: every ask that is still true reaches every device; it is told twice only where the
process ended, or the line broke, between a provider's yes and our mark, and then under the same
tag; nothing is told after it ended; and in the end devices show what is true and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from openbus.notify.desk import Desk
from openbus.notify.outbox import Outbox
from openbus.notify.policy import Mute, Presence, Rules
from openbus.notify.records import Channel, Job, Outcome, Standing, tag_of
from tests.openbus.notify.crashing import Countdown, CrashError, crashing
from tests.openbus.notify.desk_support import NOON, PHONE, ask, pane_key

TABLET = msgspec.structs.replace(PHONE, name="tablet")
TEXT = Channel(name="text", type="apprise", device="phone")
CHANNELS = (PHONE, TABLET, TEXT)
SEQUENCES = int(os.environ.get("OPENBUS_TEST_SEQUENCES", "300"))
PANES = range(1, 7)
KINDS = ("needs_you", "needs_you", "error")


class Device:
    """What one device shows, and what was ever told there."""

    def __init__(self) -> None:
        self.shows: dict[str, frozenset[str]] = {}
        self.marked: set[str] = set()
        self.accepted: dict[str, set[str]] = {}


class Notifications(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="notify-model-"))
        self.now = NOON
        self.true: dict[int, Standing] = {}
        self.episodes = dict.fromkeys(PANES, 0)
        self.devices = {channel.name: Device() for channel in CHANNELS}
        self.failing: dict[str, str] = {}
        self.presence = Presence()
        self.mutes: tuple[Mute, ...] = ()
        self.countdown = Countdown()
        self.desk: Desk | None = None
        self.outbox: Outbox | None = None

    @initialize()
    def begin(self) -> None:
        self.start()

    def teardown(self) -> None:
        self.settle()
        if self.outbox is not None:
            self.outbox.close()
        shutil.rmtree(self.folder)

    # --- the process ----------------------------------------------------------------------------

    def start(self) -> None:
        with self.may_crash():
            self.outbox = Outbox(self.folder / "outbox", crashing(self.countdown))
            assert self.outbox.trouble is None and self.outbox.notice is None
            self.desk = Desk(Rules(), CHANNELS, self.outbox.load(self.now))
            self.work()

    @contextlib.contextmanager
    def may_crash(self):  # type: ignore[no-untyped-def]
        try:
            yield
        except CrashError:
            self.desk = None
            if self.outbox is not None:
                self.outbox.close()
            self.outbox = None

    def work(self) -> None:
        assert self.desk is not None
        while jobs := self.desk.plan(self.presence, self.mutes, {}, self.now):
            self.store()
            for job in jobs:
                self.countdown.step()
                outcome = self.deliver(job)
                self.countdown.step()
                self.desk.finish(job, outcome, self.now)
                self.store()
                if outcome.result == "accepted" and job.verb == "announce":
                    device = self.devices[job.message.channel]
                    device.marked.update(notice.tag for notice in job.notices)
        self.store()

    def store(self) -> None:
        assert self.desk is not None and self.outbox is not None
        writes = self.desk.drain()
        if writes:
            assert self.outbox.write(writes)

    def deliver(self, job: Job) -> Outcome:
        """The provider: it says no, it shows the message, or nobody knows."""
        how = self.failing.get(job.message.channel, "takes it")
        if how == "refuses for now":
            return Outcome(result="later", reason="status 503")
        if how == "takes it" or how == "takes it and breaks off":
            self.show(job)
        if how == "takes it":
            return Outcome(result="accepted", face="f")
        return Outcome(result="unknown", reason="no answer")

    def show(self, job: Job) -> None:
        device = self.devices[job.message.channel]
        tag = job.message.tag
        if job.verb == "withdraw":
            device.shows.pop(tag, None)
            return
        members = frozenset(notice.tag for notice in job.notices)
        true = {tag_of(one.pane, one.contract) for one in self.true.values()}
        assert members, "an empty message"
        assert members <= true, "told after it ended"
        if job.verb == "announce":
            assert not members & device.marked, "told again although it was marked"
            for member in members:
                tags = device.accepted.setdefault(member, set())
                tags.add(tag)
                assert len(tags) == 1, "told twice under two tags"
        device.shows[tag] = members

    # --- what happens ---------------------------------------------------------------------------

    @rule(pane=st.sampled_from(PANES), kind=st.sampled_from(KINDS))
    def an_ask_appears(self, pane: int, kind: str) -> None:
        if pane in self.true:
            return
        self.episodes[pane] += 1
        self.true[pane] = ask(pane, self.episodes[pane], kind)
        if self.desk is not None:
            with self.may_crash():
                self.desk.announce(self.true[pane], self.now)
                self.work()

    @rule(pane=st.sampled_from(PANES))
    def an_ask_is_answered(self, pane: int) -> None:
        gone = self.true.pop(pane, None)
        if gone is not None and self.desk is not None:
            with self.may_crash():
                self.desk.withdraw(gone.pane, gone.contract, "ended", self.now)
                self.work()

    @rule(seconds=st.sampled_from([0.1, 1, 2, 3, 10, 40, 2_000]))
    def time_passes(self, seconds: float) -> None:
        until = self.now + int(seconds * 1000)
        with self.may_crash():
            while self.desk is not None and (due := self.desk.due()) is not None and due <= until:
                self.now = max(self.now, due)
                self.work()
        self.now = until

    @rule()
    def the_world_is_compared(self) -> None:
        if self.desk is None:
            return
        with self.may_crash():
            seen = {pane_key(pane) for pane in PANES}
            self.desk.audit(self.true.values(), seen, self.now)
            self.work()

    @rule(
        channel=st.sampled_from([channel.name for channel in CHANNELS]),
        how=st.sampled_from(
            ["takes it", "refuses for now", "takes it and breaks off", "breaks off"]
        ),
    )
    def a_provider_changes_its_mind(self, channel: str, how: str) -> None:
        self.failing[channel] = how

    @rule(pane=st.sampled_from(PANES))
    def a_person_looks(self, pane: int) -> None:
        self.presence = Presence(looking={pane_key(pane): self.now})

    @rule(pane=st.sampled_from(PANES), on=st.booleans())
    def a_pane_is_muted(self, pane: int, on: bool) -> None:
        self.mutes = (Mute(scope="pane", name=pane_key(pane)),) if on else ()

    @rule(steps=st.integers(0, 40))
    def the_process_will_end(self, steps: int) -> None:
        self.countdown.left = steps

    @precondition(lambda self: self.desk is not None)
    @rule(pane=st.sampled_from(PANES), steps=st.integers(0, 40), answered=st.booleans())
    def the_process_ends_while_it_tells(self, pane: int, steps: int, answered: bool) -> None:
        """What may have been shown by then is answered, or asked again, before the next start."""
        self.countdown.left = steps
        if pane in self.true:
            self.an_ask_is_answered(pane)
        self.an_ask_appears(pane, "needs_you")
        if self.desk is None and answered:
            self.true.pop(pane, None)
        self.countdown.left = None

    @rule()
    def the_machine_sleeps(self) -> None:
        self.now += 3_600_000
        if self.desk is not None:
            self.desk.unconfirm()

    @precondition(lambda self: self.desk is None)
    @rule(again=st.booleans())
    def the_process_starts_again(self, again: bool) -> None:
        self.start()
        if again and self.desk is not None:
            # The push manager may have lost its memory too, and announces what it sees.
            with self.may_crash():
                for one in self.true.values():
                    self.desk.announce(one, self.now)
                self.work()

    # --- the end --------------------------------------------------------------------------------

    def settle(self) -> None:
        """All troubles end: what is true must be shown, and nothing else."""
        self.countdown.left = None
        self.failing.clear()
        self.presence = Presence()
        self.mutes = ()
        if self.desk is None:
            self.start()
        for _ in range(4):
            self.the_world_is_compared()
            self.time_passes(3)
        self.time_passes(3_600)
        true = {tag_of(one.pane, one.contract) for one in self.true.values()}
        for name in (PHONE.name, TABLET.name):
            device = self.devices[name]
            shown = set().union(*device.shows.values())
            assert true <= device.accepted.keys(), "lost"
            assert shown == true, "not taken back, or taken back too early"
        assert true <= self.devices[TEXT.name].accepted.keys(), "lost"
        assert self.desk is not None
        assert len(self.desk.everything().notices) == len(true)


Notifications.TestCase.settings = settings(
    max_examples=SEQUENCES,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
TestNotifications = Notifications.TestCase
