"""A desk with a real outbox and devices that remember what they show."""

from __future__ import annotations

from pathlib import Path

from openbus.model import Contract
from openbus.notify.desk import Desk
from openbus.notify.outbox import Connect, Outbox
from openbus.notify.policy import Mute, Presence, Rules
from openbus.notify.records import Channel, Job, LogEntry, Outcome, Standing

PHONE = Channel(name="phone", type="webpush", device="phone", replaces=True, withdraws=True)
DESK = Channel(name="desk", type="tmux", device="desk")
PANE = "box:default:100-1700000000:%1:201"
NOON = 1_700_000_000_000
ACCEPTED = Outcome(result="accepted")


def pane_key(number: int) -> str:
    return f"box:default:100-1700000000:%{number}:{200 + number}"


def ask(number: int = 1, episode: int = 1, kind: str = "needs_you") -> Standing:
    return Standing(
        pane=pane_key(number),
        contract=Contract(key=f"{number:016x}", episode=episode),
        kind=kind,  # type: ignore[arg-type]
        program="codex",
    )


class Player:
    """Carries out a desk's jobs at once, on a clock that only the test moves."""

    def __init__(
        self,
        channels: tuple[Channel, ...] = (PHONE,),
        rules: Rules | None = None,
        path: Path | None = None,
        connect: Connect | None = None,
        now: int = NOON,
    ) -> None:
        self.now = now
        self.path = path
        self.rules = rules or Rules()
        self.channels = channels
        self.presence = Presence()
        self.mutes: tuple[Mute, ...] = ()
        self.sessions: dict[str, str] = {}
        self.answer: dict[str, Outcome] = {}
        self.calls: list[tuple[int, str, Job]] = []
        self.start(connect)

    def start(self, connect: Connect | None = None) -> None:
        """(Re)start: only what the outbox holds is known."""
        self.outbox = Outbox(self.path, connect)
        self.desk = Desk(self.rules, self.channels, self.outbox.load(self.now))

    def announce(self, *asks: Standing) -> None:
        for one in asks:
            self.desk.announce(one, self.now)
        self.run()

    def withdraw(self, *asks: Standing) -> None:
        for one in asks:
            self.desk.withdraw(one.pane, one.contract, "ended", self.now)
        self.run()

    def run(self, until: int | None = None) -> None:
        """Do what is due now and, in order, everything that falls due up to `until`."""
        self.work()
        while until is not None and (due := self.desk.due()) is not None and due <= until:
            self.now = max(self.now, due)
            self.work()
        self.now = max(self.now, until or 0)

    def wait(self, milliseconds: int) -> None:
        self.run(self.now + milliseconds)

    def work(self) -> None:
        while jobs := self.desk.plan(self.presence, self.mutes, self.sessions, self.now):
            self.store()
            for job in jobs:
                self.calls.append((self.now, job.message.channel, job))
                outcome = self.answer.get(job.message.channel, ACCEPTED)
                self.desk.finish(job, outcome, self.now)
                self.store()
        self.store()

    def store(self) -> None:
        writes = self.desk.drain()
        if writes and not self.outbox.write(writes):
            self.outbox.write(self.desk.everything())

    def shown(self, channel: str = "phone") -> list[str]:
        """Verb and number of notices of every call, in order."""
        return [
            f"{job.verb} {len(job.notices)}" if job.verb != "withdraw" else "withdraw"
            for _, name, job in self.calls
            if name == channel
        ]

    def log(self) -> list[LogEntry]:
        return self.outbox.log(10_000)

    def told(self) -> list[str]:
        """The log as words."""
        return [f"{row.channel} {row.what}: {row.reason}".strip(": ") for row in self.log()]
