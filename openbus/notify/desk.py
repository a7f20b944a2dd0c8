"""What is open, what was shown where, and what is to be done next. No I/O and no clock.

The caller stores what `drain` gives before it carries out a job, so a crash can only come between
two consistent pictures. A job whose outcome was not stored is done again under the same tag; the
device then replaces what it shows. The module is above the usual length: the life of a notice from
its opening to its withdrawal stands here and nowhere else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from openbus.model import Contract
from openbus.notify.policy import HOUR_MS, QUIET, Facts, Mute, Presence, Rules, decide
from openbus.notify.records import (
    MAYBE,
    SHOWN,
    UNSHOWN,
    Channel,
    Delivery,
    Health,
    Job,
    LogEntry,
    Message,
    MessageState,
    Notice,
    Outcome,
    Standing,
    Stored,
    Verb,
    What,
    Writes,
    tag_of,
)

SINGLES = 3
"""So many messages go alone on one channel within `GROUP_MS`, further ones together."""

GROUP_MS = 2_000
BACK_OFF_MS = 5_000
BACK_OFF_MOST_MS = 900_000

GIVE_UP_MS = 86_400_000
"""A withdrawal that no provider took for a day is given up."""

AUDIT_MS = 2_000
"""What two audits so far apart agree on is acted on."""

GROUPED = "grouped"
BACK_OFF = "the channel does not take messages"

_VERBS: Mapping[str, Verb] = {"sending": "announce", "changing": "update", "closing": "withdraw"}
_FINAL = frozenset({"closed", "dropped", "failed"})


class Desk:
    """All open notices and messages. Every method takes the time in epoch milliseconds."""

    def __init__(
        self, rules: Rules, channels: Iterable[Channel], stored: Stored | None = None
    ) -> None:
        stored = stored or Stored()
        self.rules = rules
        self.channels: dict[str, Channel] = {}
        self.health: dict[str, Health] = {}
        self._notices = {row.tag: row for row in stored.notices if row.closed_at is None}
        self._closed = {row.tag: row for row in stored.notices if row.closed_at is not None}
        self._asks = {_ask(row.pane, row.contract): row.tag for row in self._notices.values()}
        self._deliveries = {(row.tag, row.channel): row for row in stored.deliveries}
        self._messages = {message.id: message for message in stored.messages}
        self._next_message = stored.next_message
        self._writes = Writes()
        self._unconfirmed = set(self._notices)
        """Known from before a restart or a sleep and not yet seen again: nothing is sent."""
        self._first_audit: dict[tuple[str, tuple[str, str, int]], int] = {}
        self._in_flight: dict[str, int] = {}
        self._sent: dict[str, deque[int]] = {}
        self._group_at: dict[str, int] = {}
        for channel in channels:
            self._add_channel(channel, stored.sent.get(channel.name, ()))
        for name in {message.channel for message in stored.messages} - self.channels.keys():
            self._drop_channel(name, "the channel is no longer set up", 0)
        for message in list(self._messages.values()):
            if message.state == "sending" and message.shown == UNSHOWN:
                self._dissolve(message, "", 0)

    # --- what comes in --------------------------------------------------------------------------

    def announce(self, standing: Standing, now: int) -> None:
        """An episode is to be told. Told already: nothing happens, but it is known to be true."""
        ask = _ask(standing.pane, standing.contract)
        tag = self._asks.get(ask) or self._adopt(standing)
        if tag is not None:
            self._unconfirmed.discard(tag)
            return
        tag = tag_of(standing.pane, standing.contract)
        notice = Notice(
            tag=tag,
            pane=standing.pane,
            contract=standing.contract,
            kind=standing.kind,
            program=standing.program,
            opened_at=now,
        )
        self._asks[ask] = tag
        self._keep_notice(notice)
        for name in self.channels:
            self._keep_delivery(Delivery(tag=tag, channel=name, due_at=now))
        if not any(channel.human for channel in self.channels.values()):
            self._log(notice, "", "no channel", "no device and no channel is set up", now)

    def _adopt(self, standing: Standing) -> str | None:
        """The same ask stood here before a restart and the count of episodes was lost, so it does
        not count higher: it is the same episode, since a gap in observation ends none."""
        for tag in self._unconfirmed:
            notice = self._notices[tag]
            same = notice.pane == standing.pane and notice.contract.key == standing.contract.key
            lost = standing.contract.episode < notice.contract.episode
            if same and lost and notice.kind == standing.kind:
                del self._asks[_ask(notice.pane, notice.contract)]
                self._asks[_ask(standing.pane, standing.contract)] = tag
                self._keep_notice(msgspec.structs.replace(notice, contract=standing.contract))
                return tag
        return None

    def withdraw(self, pane: str, contract: Contract, reason: str, now: int) -> None:
        """An episode has ended: nothing more is sent, what was shown is taken back."""
        tag = self._asks.get(_ask(pane, contract))
        if tag is not None:
            self._close(self._notices[tag], reason, now)

    def changed(self, pane: str, face_of: Callable[[Notice], str | None], now: int) -> None:
        """A pane shows something else: update what is on devices in place where it differs.
        `face_of` gives the hash of a notice's content now, None = it cannot be told."""
        for message in list(self._messages.values()):
            if message.state != "sent" or len(message.members) != 1 or not message.face:
                continue
            notice = self._notices.get(message.members[0])
            if notice is None or notice.pane != pane:
                continue
            face = face_of(notice) if self.channels[message.channel].replaces else None
            if face is not None and face != message.face:
                self._keep_message(message, state="changing", due_at=now + GROUP_MS)

    def unconfirm(self) -> None:
        """The machine slept or its clock jumped: what is open must be seen again."""
        self._unconfirmed = set(self._notices)
        self._first_audit.clear()

    def audit(self, standing: Iterable[Standing], seen: Collection[str], now: int) -> None:
        """Compare with everything that stands now. `seen`: panes whose state is known since the
        start; of others nothing is concluded. Finds what was lost between two processes."""
        stands = {_ask(row.pane, row.contract): row for row in standing if row.pane in seen}
        first = {}

        def sure(finding: str, ask: tuple[str, str, int]) -> bool:
            at = first[finding, ask] = self._first_audit.get((finding, ask), now)
            return now - at >= AUDIT_MS

        for ask, row in stands.items():
            tag = self._asks.get(ask)
            if (tag is None or tag in self._unconfirmed) and sure("stands", ask):
                self.announce(row, now)
        for ask, tag in list(self._asks.items()):
            if ask not in stands and ask[0] in seen and sure("gone", ask):
                self._close(self._notices[tag], "no longer there", now)
        self._first_audit = first

    def forget_absent(self, seen: Collection[str], now: int) -> None:
        """The world was read: panes that are not in it are gone."""
        for notice in list(self._notices.values()):
            if notice.pane not in seen:
                self._close(notice, "the pane is gone", now)

    def set_channels(self, channels: Iterable[Channel], now: int) -> None:
        """Devices came or went. A new one is told what is open; one that went is forgotten."""
        fresh = {channel.name: channel for channel in channels}
        for name in self.channels.keys() - fresh.keys():
            self._drop_channel(name, "the device was removed", now)
        for name, channel in fresh.items():
            if name in self.channels:
                self.channels[name] = channel
                continue
            self._add_channel(channel, ())
            for tag in self._notices:
                self._keep_delivery(Delivery(tag=tag, channel=name, due_at=now))

    # --- what is to be done ---------------------------------------------------------------------

    def ready(self, now: int) -> list[Notice]:
        """The notices about which `plan` will decide at this time."""
        tags = {row.tag for row in self._decidable() if row.due_at <= now}
        return [self._notices[tag] for tag in tags]

    def plan(
        self,
        presence: Presence,
        mutes: Sequence[Mute],
        sessions: Mapping[str, str],
        now: int,
    ) -> list[Job]:
        """Decide everything that is due. `sessions`: pane key -> tmux session. At most one job per
        channel is out at a time; store `drain()` before carrying the jobs out."""
        self._decide(presence, mutes, sessions, now)
        jobs = []
        for name in self.channels:
            if name not in self._in_flight and self.health[name].next_at <= now:
                job = self._next_job(name, now)
                if job is not None:
                    self._in_flight[name] = job.message.id
                    jobs.append(job)
        return jobs

    def wanted(self, job: Job) -> bool:
        """Whether a planned job should still be carried out; if not, call `skip`."""
        message = self._messages.get(job.message.id)
        return message is not None and message.state == job.message.state

    def skip(self, job: Job, now: int) -> None:
        """A planned job was not carried out: what it was about ended just now."""
        self._in_flight.pop(job.message.channel, None)
        message = self._messages.get(job.message.id)
        if message is not None:
            self._settle(self._keep_message(message, shown=job.message.shown), now)

    def finish(self, job: Job, outcome: Outcome, now: int) -> None:
        """A job was carried out."""
        name = job.message.channel
        self._in_flight.pop(name, None)
        if name not in self.channels:
            return
        if outcome.result == "gone":
            self._drop_channel(name, outcome.reason or "the device is gone", now)
            return
        health = self.health[name]
        failed = outcome.result in ("later", "unknown")
        if failed:
            health.failures += 1
            wait = min(BACK_OFF_MS << min(health.failures - 1, 12), BACK_OFF_MOST_MS)
            health.next_at = now + max(wait, outcome.retry_after or 0)
            health.reason = outcome.reason
        else:
            health.failures, health.next_at, health.reason = 0, 0, ""
        message = self._messages.get(job.message.id)
        if message is None:
            return
        if failed:
            self._failed(job, message, outcome, now)
        elif outcome.result == "accepted":
            health.accepted_at = now
            self._accepted(job, message, outcome, now)
        else:
            self._refused(job, message, outcome, now)

    def due(self) -> int | None:
        """When `plan` next has something to do (epoch ms)."""
        times = [max(row.due_at, self.health[row.channel].next_at) for row in self._decidable()]
        times += [
            max(message.due_at, self.health[message.channel].next_at)
            for message in self._messages.values()
            if message.state in _VERBS
            and message.channel not in self._in_flight
            and not self._unsure_of(message)
        ]
        return min(times, default=None)

    @property
    def open(self) -> list[Notice]:
        """The notices that are true as far as is known."""
        return list(self._notices.values())

    @property
    def unsure(self) -> bool:
        """Whether an audit is needed soon."""
        return bool(self._unconfirmed or self._first_audit)

    def drain(self) -> Writes:
        """What changed since the last call."""
        writes, self._writes = self._writes, Writes()
        return writes

    def everything(self) -> Writes:
        """All that is not final, for an outbox that has to begin anew."""
        return Writes(
            notices=self._closed | self._notices,
            deliveries=dict(self._deliveries),
            messages=dict(self._messages),
        )

    # --- deciding -------------------------------------------------------------------------------

    def _decidable(self) -> list[Delivery]:
        return [
            row
            for row in self._deliveries.values()
            if row.state in ("waiting", "held")
            and row.tag not in self._unconfirmed
            and row.channel not in self._in_flight
        ]

    def _decide(
        self, presence: Presence, mutes: Sequence[Mute], sessions: Mapping[str, str], now: int
    ) -> None:
        together: dict[str, list[Delivery]] = {}
        alone: list[Delivery] = []
        for row in self._decidable():
            if row.due_at > now:
                continue
            notice = self._notices[row.tag]
            health = self.health[row.channel]
            if health.next_at > now:
                self._hold(row, BACK_OFF, health.next_at, now)
                continue
            facts = Facts(
                kind=notice.kind,
                pane=notice.pane,
                session=sessions.get(notice.pane),
                program=notice.program,
            )
            sent = self._sent[row.channel]
            while sent and sent[0] <= now - HOUR_MS:
                sent.popleft()
            channel = self.channels[row.channel]
            decision = decide(facts, channel, self.rules, presence, mutes, sent, now)
            if decision.verdict == "hold":
                self._hold(row, decision.reason, decision.until, now)
            elif decision.verdict == "suppress":
                self._keep_delivery(row, state="suppressed", reason=decision.reason)
                self._log(notice, row.channel, "suppressed", decision.reason, now)
            elif row.reason in (GROUPED, QUIET):
                together.setdefault(row.channel, []).append(row)
            else:
                alone.append(row)
        for name, rows in together.items():
            self._group_at.pop(name, None)
            self._compose(name, rows, now)
        for row in alone:
            if self._may_go_alone(row.channel, now):
                self._compose(row.channel, [row], now)
            else:
                until = self._group_at.get(row.channel, 0)
                if until <= now:
                    until = self._group_at[row.channel] = now + GROUP_MS
                self._hold(row, GROUPED, until, now)

    def _may_go_alone(self, channel: str, now: int) -> bool:
        if self._group_at.get(channel, 0) > now:
            return False
        return sum(1 for at in self._sent[channel] if at > now - GROUP_MS) < SINGLES

    def _hold(self, row: Delivery, reason: str, until: int, now: int) -> None:
        if row.reason != reason:
            self._log(self._notices[row.tag], row.channel, "held", reason, now)
        self._keep_delivery(row, state="held", reason=reason, due_at=max(until, now + 1))

    def _compose(self, channel: str, rows: Sequence[Delivery], now: int) -> None:
        number = self._next_message
        self._next_message += 1
        members = tuple(row.tag for row in rows)
        tag = members[0] if len(members) == 1 else f"ob-group-{now:x}-{number:x}"
        for other in list(self._messages.values()):
            # The new one takes its place on the device; closing the old one would close both.
            if other.channel == channel and other.tag == tag and other.state == "closing":
                self._keep_message(other, state="closed")
        message = Message(
            id=number, channel=channel, tag=tag, members=members, due_at=now, made_at=now
        )
        self._keep_message(message)
        self._sent[channel].append(now)
        for row in rows:
            self._keep_delivery(row, state="taken", reason="", message=number)

    def _dissolve(self, message: Message, reason: str, until: int) -> None:
        """Nobody has it: its notices are decided about anew."""
        self._keep_message(message, state="dropped")
        for tag in message.members:
            row = self._deliveries.get((tag, message.channel))
            if row is not None and row.message == message.id:
                self._keep_delivery(row, state="held", reason=reason, due_at=until, message=None)

    def _unsure_of(self, message: Message) -> bool:
        return message.state != "closing" and any(
            tag in self._unconfirmed for tag in message.members
        )

    def _next_job(self, channel: str, now: int) -> Job | None:
        mine = [
            message
            for message in self._messages.values()
            if message.channel == channel
            and message.due_at <= now
            and message.state in _VERBS
            and not self._unsure_of(message)
        ]
        for message in sorted(mine, key=lambda one: (one.state != "closing", one.id)):
            quiet = self.rules.quiet.until(now) if self.rules.quiet is not None else None
            if quiet is not None and message.state == "sending":
                # Perhaps shown before a crash, and now it is late: it can wait.
                self._keep_message(message, due_at=quiet)
                continue
            tried = self._keep_message(
                message, shown=max(message.shown, MAYBE), attempts=message.attempts + 1
            )
            notices = tuple(self._notices[tag] for tag in message.members if tag in self._notices)
            # `shown` of the job is what was known before this try.
            return Job(
                message=msgspec.structs.replace(tried, shown=message.shown),
                verb=_VERBS[message.state],
                notices=notices,
                quiet=message.state == "changing",
            )
        return None

    # --- outcomes -------------------------------------------------------------------------------

    def _accepted(self, job: Job, message: Message, outcome: Outcome, now: int) -> None:
        if job.verb == "withdraw":
            human = self.channels[message.channel].human
            self._log_members(message, "withdrawn" if human else "would withdraw", "", now)
            self._keep_message(message, state="closed")
            return
        what: What = "updated" if job.verb == "update" else "sent"
        if not self.channels[message.channel].human:
            what = "would send"
        others = len(job.notices) - 1
        reason = f"together with {others} more" if others else ""
        for notice in job.notices:
            self._log(notice, message.channel, what, reason, now)
        # It may have begun to close while the call was out.
        state: MessageState = "closing" if message.state == "closing" else "sent"
        message = self._keep_message(
            message, state=state, shown=SHOWN, face=outcome.face, attempts=0
        )
        self._settle(message, now)
        told = {notice.tag for notice in job.notices}
        if message.state == "sent" and told != set(message.members):
            self._shrink(message, now)

    def _failed(self, job: Job, message: Message, outcome: Outcome, now: int) -> None:
        due_at = self.health[message.channel].next_at
        self._log_members(message, "failed", f"{outcome.reason}; tried again later", now)
        shown = job.message.shown if outcome.result == "later" else message.shown
        message = self._keep_message(message, shown=shown, due_at=due_at)
        if message.state == "sending" and shown == UNSHOWN:
            self._dissolve(message, BACK_OFF, due_at)
        elif message.state == "closing" and job.verb == "withdraw":
            ends = [
                self._closed[tag].closed_at or 0 for tag in message.members if tag in self._closed
            ]
            if now - max(ends, default=now) > GIVE_UP_MS:
                self._log_members(message, "failed", "the withdrawal was given up", now)
                self._keep_message(message, state="failed")
        else:
            self._settle(message, now)

    def _refused(self, job: Job, message: Message, outcome: Outcome, now: int) -> None:
        if job.verb == "withdraw":
            self._log_members(message, "ended", outcome.reason, now)
            self._keep_message(message, state="closed")
        elif job.verb == "update":
            state: MessageState = "closing" if message.state == "closing" else "sent"
            self._settle(self._keep_message(message, state=state), now)
        else:
            self._log_members(message, "failed", outcome.reason, now)
            self._keep_message(message, state="failed", shown=UNSHOWN)

    # --- ends -----------------------------------------------------------------------------------

    def _close(self, notice: Notice, reason: str, now: int) -> None:
        self._unconfirmed.discard(notice.tag)
        self._asks.pop(_ask(notice.pane, notice.contract), None)
        del self._notices[notice.tag]
        notice = msgspec.structs.replace(notice, closed_at=now, reason=reason)
        self._closed[notice.tag] = self._writes.notices[notice.tag] = notice
        for name in self.channels:
            row = self._deliveries.get((notice.tag, name))
            if row is None:
                continue
            if row.state in ("waiting", "held"):
                why = f"{reason} (it was held: {row.reason})" if row.reason else reason
                self._log(notice, name, "ended", why, now)
            self._keep_delivery(row, state="ended")
            del self._deliveries[notice.tag, name]
            message = self._messages.get(row.message) if row.message is not None else None
            if message is not None:
                self._leave(notice, message, now)
        self._forget_closed(notice.tag)

    def _leave(self, notice: Notice, message: Message, now: int) -> None:
        """One of the message's notices has ended."""
        left = tuple(tag for tag in message.members if tag != notice.tag)
        if left:
            self._log(notice, message.channel, "ended", "taken out of a common message", now)
            message = self._keep_message(message, members=left)
            if message.state == "sent":
                self._shrink(message, now)
        else:
            self._settle(self._keep_message(message, state="closing", due_at=now), now)

    def _shrink(self, message: Message, now: int) -> None:
        if self.channels[message.channel].replaces:
            self._keep_message(message, state="changing", due_at=now + GROUP_MS)

    def _settle(self, message: Message, now: int) -> None:
        """Whether a message that is to close still has to be taken back."""
        in_flight = self._in_flight.get(message.channel) == message.id
        if message.state != "closing" or in_flight:
            return
        if message.shown == UNSHOWN:
            self._log_members(message, "ended", "ended before it was sent", now)
            self._keep_message(message, state="dropped")
        elif not self.channels[message.channel].withdraws:
            self._log_members(message, "ended", "this channel cannot take back", now)
            self._keep_message(message, state="closed")
        else:
            due_at = max(now, self.health[message.channel].next_at)
            self._keep_message(message, due_at=due_at)

    # --- channels -------------------------------------------------------------------------------

    def _add_channel(self, channel: Channel, sent: Iterable[int]) -> None:
        self.channels[channel.name] = channel
        self.health[channel.name] = Health()
        self._sent[channel.name] = deque(sent)
        # Channels of an earlier run keep their rows; a new one is told what is open.
        for tag in self._notices:
            if (tag, channel.name) not in self._deliveries:
                self._keep_delivery(Delivery(tag=tag, channel=channel.name))

    def _drop_channel(self, name: str, reason: str, now: int) -> None:
        for message in list(self._messages.values()):
            if message.channel == name:
                if now:
                    self._log_members(message, "failed", reason, now)
                self._keep_message(message, state="failed")
        for key in [key for key in self._deliveries if key[1] == name]:
            self._keep_delivery(self._deliveries[key], state="ended")
            del self._deliveries[key]
        for table in (self.channels, self.health, self._sent, self._in_flight, self._group_at):
            table.pop(name, None)

    # --- keeping --------------------------------------------------------------------------------

    def _keep_notice(self, notice: Notice) -> None:
        self._closed.pop(notice.tag, None)
        self._notices[notice.tag] = self._writes.notices[notice.tag] = notice

    def _keep_delivery(self, row: Delivery, **changes: object) -> None:
        row = msgspec.structs.replace(row, **changes) if changes else row
        key = row.tag, row.channel
        self._deliveries[key] = self._writes.deliveries[key] = row

    def _keep_message(self, message: Message, **changes: object) -> Message:
        message = msgspec.structs.replace(message, **changes) if changes else message
        self._writes.messages[message.id] = message
        if message.state in _FINAL:
            self._messages.pop(message.id, None)
            for tag in message.members:
                self._forget_closed(tag)
        else:
            self._messages[message.id] = message
        return message

    def _forget_closed(self, tag: str) -> None:
        """A closed notice is kept as long as a message must still be taken back for it."""
        if not any(tag in message.members for message in self._messages.values()):
            self._closed.pop(tag, None)

    def _log_members(self, message: Message, what: What, reason: str, now: int) -> None:
        for tag in message.members:
            notice = self._notices.get(tag) or self._closed.get(tag)
            if notice is not None:
                self._log(notice, message.channel, what, reason, now)

    def _log(self, notice: Notice, channel: str, what: What, reason: str, now: int) -> None:
        self._writes.log.append(
            LogEntry(
                at=now,
                tag=notice.tag,
                pane=notice.pane,
                contract=notice.contract.key,
                episode=notice.contract.episode,
                kind=notice.kind,
                channel=channel,
                what=what,
                reason=reason,
            )
        )


def _ask(pane: str, contract: Contract) -> tuple[str, str, int]:
    return pane, contract.key, contract.episode
