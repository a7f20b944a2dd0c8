"""A generated day on a virtual clock: every line of the log says why, and the whole adds up."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime

import msgspec
import pytest

from openbus.notify.policy import Mute, Presence, Rules
from openbus.notify.quiet import parse
from openbus.notify.records import Outcome, Standing
from tests.openbus.notify.desk_support import DESK, PHONE, Player, ask, pane_key

MIDNIGHT = int(datetime(2026, 3, 29, tzinfo=UTC).timestamp() * 1000)
HOUR = 3_600_000
REASONS = {
    "sent": {"", "together with"},
    "updated": {"", "together with"},
    "withdrawn": {""},
    "held": {
        "you are at the pane",
        "the pane is in view",
        "pane is muted",
        "program is muted",
        "session is muted",
        "quiet hours",
        "grouped",
        "the channel does not take messages",
        "in the last hour",
    },
    "suppressed": {"is switched off", "is not for this channel"},
    "ended": {"ended", "this channel cannot take back", "taken out of a common message"},
    "failed": {"status 503; tried again later"},
}


class Day(Player):
    """Asks come and go all day; the phone's service is down at noon; the clocks change at night."""

    def __init__(self, seed: int) -> None:
        super().__init__(
            channels=(PHONE, msgspec.structs.replace(DESK, kinds=("needs_you",))),
            rules=Rules(quiet=parse("22:00-07:00", "Europe/Berlin"), per_hour=40),
            now=MIDNIGHT,
        )
        self.luck = random.Random(seed)
        self.true: dict[int, Standing] = {}
        self.told_of: list[Standing] = []

    def live(self) -> None:
        for minute in range(24 * 60):
            self.run(MIDNIGHT + minute * 60_000)
            self.circumstances(minute)
            if self.luck.random() < (0.5 if minute % 240 < 5 else 0.08):
                self.something(minute)

    def circumstances(self, minute: int) -> None:
        down = 12 * 60 <= minute < 12 * 60 + 20
        if down:
            self.answer["phone"] = Outcome(result="later", reason="status 503")
        else:
            self.answer.pop("phone", None)
        looks, sees = (pane_key(self.luck.randrange(1, 9)) for _ in range(2))
        awake = 8 * 60 < minute < 18 * 60
        self.presence = Presence(
            looking={looks: self.now} if awake else {}, visible={sees: self.now} if awake else {}
        )
        self.mutes = (Mute(scope="pane", name=pane_key(3)),) if 600 < minute < 660 else ()

    def something(self, minute: int) -> None:
        for number in self.luck.sample(range(1, 9), self.luck.randrange(1, 8)):
            if number in self.true:
                self.withdraw(self.true.pop(number))
            else:
                kind = self.luck.choice(["needs_you", "needs_you", "asked", "done"])
                self.true[number] = ask(number, minute + 1, kind)
                self.told_of.append(self.true[number])
                self.announce(self.true[number])


@pytest.mark.parametrize("seed", range(5))
def test_every_line_of_a_day_is_explained(seed: int) -> None:
    day = Day(seed)
    day.live()
    rows = day.log()
    assert len(rows) > 200
    for row in rows:
        allowed = REASONS[row.what]
        assert any(reason in row.reason if reason else not row.reason for reason in allowed), row
    by_tag: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        by_tag.setdefault((row.tag, row.channel), []).append(row.what)
    assert len({tag for tag, _ in by_tag}) == len(day.told_of)
    for (_, channel), story in by_tag.items():
        assert Counter(story)["sent"] <= 1
        if channel == "phone" and "sent" in story and "withdrawn" in story:
            assert story.index("sent") < story.index("withdrawn")
    kinds = {row.what for row in rows}
    assert kinds >= {"sent", "withdrawn", "held", "suppressed", "ended", "failed"}


@pytest.mark.parametrize("seed", range(5))
def test_no_sound_at_night_and_one_digest_in_the_morning(seed: int) -> None:
    day = Day(seed)
    day.live()
    morning = MIDNIGHT + 5 * HOUR  # 07:00 in Berlin, the night of the spring change
    evening = MIDNIGHT + 20 * HOUR
    told = [(at, job) for at, _, job in day.calls if job.verb == "announce"]
    assert not [at for at, _ in told if at < morning or at >= evening]
    first = [job for at, job in told if at == morning and job.message.channel == "phone"]
    night = {
        row.tag: row.reason for row in day.log() if row.at < morning and row.channel == "phone"
    }
    waiting = {tag for tag, reason in night.items() if reason == "quiet hours"}
    digest = [{notice.tag for notice in job.notices} for job in first]
    assert digest == ([waiting] if waiting else [])
