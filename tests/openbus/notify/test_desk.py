"""The life of a notice: told once, held with a reason, taken back when it ends."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec

from openbus.notify.policy import Mute, Presence, Rules
from openbus.notify.quiet import QuietHours
from openbus.notify.records import Channel, Outcome
from tests.openbus.notify.desk_support import ACCEPTED, DESK, PANE, PHONE, Player, ask

LATER = Outcome(result="later", reason="status 503")
UNKNOWN = Outcome(result="unknown", reason="no answer")


def test_an_ask_is_told_once_and_taken_back_when_it_ends() -> None:
    player = Player()
    player.announce(ask())
    player.announce(ask())
    player.wait(60_000)
    player.withdraw(ask())
    assert player.shown() == ["announce 1", "withdraw"]
    assert player.told() == ["phone sent", "phone withdrawn"]


def test_the_next_episode_is_told_again_under_another_tag() -> None:
    player = Player()
    player.announce(ask())
    player.withdraw(ask())
    player.announce(ask(episode=2))
    tags = [job.message.tag for _, _, job in player.calls]
    assert tags[0] == tags[1] != tags[2]


def test_the_same_identity_may_come_back_after_its_end() -> None:
    player = Player()
    for _ in range(3):
        player.announce(ask(kind="error"))
        player.withdraw(ask(kind="error"))
        player.wait(3_000)
    assert player.shown() == ["announce 1", "withdraw"] * 3


def test_three_go_alone_and_the_rest_together() -> None:
    player = Player()
    player.announce(*[ask(number) for number in range(1, 1001)])
    player.wait(2_000)
    assert player.shown() == ["announce 1", "announce 1", "announce 1", "announce 997"]
    assert sum(row.what == "sent" for row in player.log()) == 1000


def test_asks_that_keep_coming_are_collected_for_two_seconds_at_a_time() -> None:
    player = Player()
    for number in range(1, 41):
        player.announce(ask(number))
        player.wait(100)
    player.wait(5_000)
    assert len(player.calls) <= 10
    assert sum(row.what == "sent" for row in player.log()) == 40


def test_a_group_loses_the_members_that_end_and_goes_with_the_last() -> None:
    player = Player()
    asks = [ask(number) for number in range(1, 8)]
    player.announce(*asks)
    player.wait(2_000)
    player.withdraw(*asks[3:5])
    player.wait(2_000)
    player.withdraw(*asks[5:])
    player.wait(2_000)
    assert player.shown()[3:] == ["announce 4", "update 2", "withdraw"]
    assert player.calls[3][2].message.tag == player.calls[-1][2].message.tag


def test_who_looks_at_the_pane_is_told_when_he_turns_away() -> None:
    player = Player(channels=(PHONE, DESK))
    player.presence = Presence(looking={PANE: player.now})
    player.announce(ask())
    player.wait(10_000)
    assert player.calls == []
    player.presence = Presence()
    player.wait(2_000)
    assert player.shown() == player.shown("desk") == ["announce 1"]
    assert "phone held: you are at the pane" in player.told()


def test_who_stopped_typing_is_told_after_half_a_minute() -> None:
    player = Player()
    player.presence = Presence(looking={PANE: player.now})
    player.announce(ask())
    player.wait(29_900)
    assert player.calls == []
    player.wait(200)
    assert player.shown() == ["announce 1"]


def test_a_pane_in_view_holds_back_the_phone_alone() -> None:
    player = Player(channels=(PHONE, DESK))
    player.presence = Presence(visible={PANE: player.now})
    player.announce(ask())
    assert player.shown("desk") == ["announce 1"]
    assert player.shown("phone") == []


def test_a_page_holds_back_its_own_browser_alone() -> None:
    one = msgspec.structs.replace(PHONE, name="one", browser="b1")
    two = msgspec.structs.replace(PHONE, name="two", browser="b2")
    player = Player(channels=(one, two))
    player.presence = Presence(pages={"b1": PANE})
    player.announce(ask())
    assert player.shown("one") == []
    assert player.shown("two") == ["announce 1"]


def test_quiet_hours_end_in_one_digest_of_what_is_still_true() -> None:
    noon_utc = 1_700_000_000_000 - 1_700_000_000_000 % 86_400_000 + 12 * 3_600_000
    rules = Rules(quiet=QuietHours(start=11 * 60, end=13 * 60, zone="UTC"))
    player = Player(rules=rules, now=noon_utc)
    asks = [ask(number) for number in range(1, 6)]
    for one in asks:
        player.announce(one)
        player.wait(60_000)
    player.withdraw(asks[0])
    assert player.calls == []
    player.wait(3_600_000)
    assert player.shown() == ["announce 4"]
    assert player.calls[0][0] == noon_utc + 3_600_000
    assert "phone ended: ended (it was held: quiet hours)" in player.told()


def test_a_muted_pane_is_told_when_the_mute_ends_if_it_is_still_true() -> None:
    player = Player()
    player.mutes = (Mute(scope="pane", name=PANE, until=player.now + 3_600_000),)
    player.announce(ask())
    player.wait(3_590_000)
    assert player.calls == []
    player.wait(20_000)
    assert player.shown() == ["announce 1"]
    assert [line for line in player.told() if "held" in line] == ["phone held: pane is muted"]


def test_sessions_and_programs_can_be_muted() -> None:
    player = Player()
    player.sessions = {PANE: "work"}
    for mute in (Mute(scope="session", name="work"), Mute(scope="program", name="codex")):
        player.mutes = (mute,)
        player.announce(ask())
        assert player.calls == []
    player.mutes = (Mute(scope="session", name="play"),)
    player.wait(2_000)
    assert player.shown() == ["announce 1"]


def test_a_kind_that_is_off_is_suppressed_with_its_reason() -> None:
    player = Player()
    player.announce(ask(kind="done"))
    player.wait(100_000)
    assert player.calls == []
    assert player.told() == ["phone suppressed: kind done is switched off"]


def test_a_channel_takes_only_its_kinds() -> None:
    player = Player(channels=(msgspec.structs.replace(PHONE, kinds=("limit",)),))
    player.announce(ask(1), ask(2, kind="limit"))
    assert player.shown() == ["announce 1"]


def test_the_cap_of_an_hour_holds_what_goes_beyond_it() -> None:
    player = Player(rules=Rules(per_hour=2))
    for number in (1, 2, 3):
        player.announce(ask(number))
        player.wait(10_000)
    assert player.shown() == ["announce 1"] * 2
    player.wait(3_600_000)
    assert player.shown() == ["announce 1"] * 3


def test_a_failing_channel_is_tried_again_with_growing_pauses_and_others_are_not_kept() -> None:
    player = Player(channels=(PHONE, DESK))
    player.answer["phone"] = LATER
    player.announce(ask())
    player.wait(120_000)
    assert player.shown("desk") == ["announce 1"]
    times = [at for at, name, _ in player.calls if name == "phone"]
    pauses = [b - a for a, b in pairwise(times)]
    assert pauses == [5_000, 10_000, 20_000, 40_000]
    player.answer["phone"] = ACCEPTED
    player.wait(100_000)
    assert player.desk.health["phone"].failures == 0
    assert player.told()[-1] == "phone sent"


def test_retry_after_of_the_service_is_kept() -> None:
    player = Player()
    player.answer["phone"] = Outcome(result="later", reason="status 429", retry_after=120_000)
    player.announce(ask())
    player.answer["phone"] = ACCEPTED
    player.wait(119_000)
    assert len(player.calls) == 1
    player.wait(1_000)
    assert player.shown() == ["announce 1", "announce 1"]


def test_what_ended_before_it_could_be_sent_is_not_sent() -> None:
    player = Player()
    player.answer["phone"] = LATER
    player.announce(ask())
    player.withdraw(ask())
    player.answer["phone"] = ACCEPTED
    player.wait(1_000_000)
    assert player.shown() == ["announce 1"]


def test_what_a_provider_may_have_is_taken_back() -> None:
    player = Player()
    player.answer["phone"] = UNKNOWN
    player.announce(ask())
    player.withdraw(ask())
    player.answer["phone"] = ACCEPTED
    player.wait(1_000_000)
    assert player.shown() == ["announce 1", "withdraw"]


def test_a_withdrawal_is_tried_again_until_it_is_taken() -> None:
    player = Player()
    player.announce(ask())
    player.answer["phone"] = LATER
    player.withdraw(ask())
    player.wait(60_000)
    player.answer["phone"] = ACCEPTED
    player.wait(1_000_000)
    assert player.told()[-1] == "phone withdrawn"


def test_a_withdrawal_that_nobody_takes_is_given_up_after_a_day() -> None:
    player = Player()
    player.announce(ask())
    player.answer["phone"] = LATER
    player.withdraw(ask())
    player.wait(90_000_000)
    assert player.told()[-1] == "phone failed: the withdrawal was given up"
    assert player.desk.due() is None


def test_a_device_that_is_gone_is_forgotten() -> None:
    player = Player(channels=(PHONE, DESK))
    player.answer["phone"] = Outcome(result="gone", reason="the subscription has expired")
    player.announce(ask())
    player.announce(ask(2))
    assert player.shown() == ["announce 1"]
    assert player.shown("desk") == ["announce 1", "announce 1"]
    assert list(player.desk.channels) == ["desk"]


def test_a_refused_message_does_not_stop_the_channel() -> None:
    player = Player()
    player.answer["phone"] = Outcome(result="refused", reason="status 413")
    player.announce(ask())
    player.answer["phone"] = ACCEPTED
    player.announce(ask(2))
    player.withdraw(ask())
    assert player.shown() == ["announce 1", "announce 1"]


def test_a_channel_that_cannot_take_back_says_so() -> None:
    player = Player(channels=(DESK,))
    player.announce(ask())
    player.withdraw(ask())
    assert player.shown("desk") == ["announce 1"]
    assert player.told()[-1] == "desk ended: this channel cannot take back"


def test_a_new_device_is_told_what_is_open() -> None:
    player = Player(channels=(DESK,))
    player.announce(ask())
    player.desk.set_channels((DESK, PHONE), player.now)
    player.run()
    assert player.shown() == ["announce 1"]
    assert player.shown("desk") == ["announce 1"]


def test_without_any_channel_the_log_says_what_would_have_been_sent() -> None:
    none = Channel(name="none", type="log", human=False, withdraws=True)
    player = Player(channels=(none,))
    player.announce(ask())
    player.withdraw(ask())
    assert player.told() == [
        "no channel: no device and no channel is set up",
        "none would send",
        "none would withdraw",
    ]


def test_content_that_changed_is_updated_in_place_without_a_sound() -> None:
    player = Player()
    player.answer["phone"] = Outcome(result="accepted", face="a")
    player.announce(ask())
    player.desk.changed(PANE, lambda notice: "a", player.now)
    player.wait(10_000)
    player.answer["phone"] = Outcome(result="accepted", face="b")
    player.desk.changed(PANE, lambda notice: "b", player.now)
    player.wait(10_000)
    assert player.shown() == ["announce 1", "update 1"]
    assert player.calls[1][2].quiet
    assert player.calls[1][2].message.tag == player.calls[0][2].message.tag


def test_after_a_restart_nothing_is_told_again_and_its_end_is(tmp_path: Path) -> None:
    player = Player(path=tmp_path / "outbox")
    player.announce(ask())
    player.start()
    for _ in range(3):
        player.desk.audit([ask()], {PANE}, player.now)
        player.wait(2_000)
    assert player.shown() == ["announce 1"]
    player.withdraw(ask())
    assert player.shown() == ["announce 1", "withdraw"]


def test_after_a_restart_nothing_is_sent_before_it_was_seen_again(tmp_path: Path) -> None:
    player = Player(path=tmp_path / "outbox")
    player.answer["phone"] = LATER
    player.announce(ask())
    player.answer["phone"] = ACCEPTED
    player.start()
    player.wait(600_000)
    assert player.shown() == ["announce 1"]
    player.desk.audit([ask()], {PANE}, player.now)
    player.run()
    assert player.shown() == ["announce 1"]
    player.now += 2_000
    player.desk.audit([ask()], {PANE}, player.now)
    player.run()
    assert player.shown() == ["announce 1", "announce 1"]


def test_what_was_answered_while_openbus_was_down_is_taken_back(tmp_path: Path) -> None:
    player = Player(path=tmp_path / "outbox")
    player.announce(ask(1), ask(2))
    player.start()
    player.desk.audit([], {PANE}, player.now)
    player.now += 2_000
    player.desk.audit([], {PANE}, player.now)
    player.run()
    assert player.shown() == ["announce 1", "announce 1", "withdraw"]
    player.desk.forget_absent({PANE}, player.now)
    player.run()
    assert player.shown()[-2:] == ["withdraw", "withdraw"]


def test_an_announcement_that_was_lost_with_the_process_is_found_by_the_audit() -> None:
    player = Player()
    player.desk.audit([ask()], {PANE}, player.now)
    player.run()
    assert player.calls == []
    player.now += 2_000
    player.desk.audit([ask()], {PANE}, player.now)
    player.run()
    assert player.shown() == ["announce 1"]


def test_a_lost_count_of_episodes_does_not_make_an_ask_new(tmp_path: Path) -> None:
    player = Player(path=tmp_path / "outbox")
    player.announce(ask(episode=7))
    player.start()
    player.announce(ask(episode=1))
    assert player.shown() == ["announce 1"]
    player.withdraw(ask(episode=1))
    assert player.shown() == ["announce 1", "withdraw"]
    assert player.calls[0][2].message.tag == player.calls[1][2].message.tag


def test_sleep_holds_everything_until_it_was_seen_again() -> None:
    player = Player()
    player.mutes = (Mute(scope="program", name="codex"),)
    player.announce(ask())
    player.mutes = ()
    player.desk.unconfirm()
    player.wait(600_000)
    assert player.calls == []
    for _ in range(2):
        player.desk.audit([ask()], {PANE}, player.now)
        player.wait(2_000)
    assert player.shown() == ["announce 1"]


def test_an_ask_that_ends_while_it_is_being_sent_is_taken_back() -> None:
    player = Player()
    player.desk.announce(ask(), player.now)
    [job] = player.desk.plan(player.presence, (), {}, player.now)
    player.desk.withdraw(PANE, ask().contract, "ended", player.now)
    assert not player.desk.wanted(job)
    player.desk.finish(job, ACCEPTED, player.now)
    player.run()
    assert player.shown() == ["withdraw"]


def test_a_planned_message_whose_ask_just_ended_is_not_sent() -> None:
    player = Player()
    player.desk.announce(ask(), player.now)
    [job] = player.desk.plan(player.presence, (), {}, player.now)
    player.desk.withdraw(PANE, ask().contract, "ended", player.now)
    player.desk.skip(job, player.now)
    player.wait(10_000)
    assert player.shown() == []
    assert player.desk.due() is None
