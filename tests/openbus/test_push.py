"""The push manager: one state per pane, every ask announced once and withdrawn when it ends."""

from __future__ import annotations

import pytest

from openbus.events import Change
from openbus.model import Question
from openbus.push import PushManager
from tests.openbus.live_support import Script, asking, pane, reading


def states(changes: list[Change]) -> list[Change]:
    return [change for change in changes if change.event == "pane"]


def test_first_sight_is_published_at_once() -> None:
    script = Script()
    [change] = script.sees(reading("idle"))
    assert change.state is not None
    assert change.state.activity == "idle"
    assert change.state.attention == "none"


def test_an_unchanged_reading_publishes_nothing() -> None:
    script = Script()
    script.sees(reading("working"))
    assert script.sees(reading("working"), after=500) == []


def test_a_dialog_is_published_with_the_capture_that_shows_it() -> None:
    script = Script()
    script.sees(reading("working"))
    [change] = states(script.sees(asking(), after=100))
    assert change.state is not None
    assert change.state.needs_you
    assert change.state.attention == "needs_you"
    assert change.state.question is not None
    assert change.state.question.contract is not None
    assert change.state.question.contract.episode == 1


def test_a_dialog_is_announced_within_a_second_without_another_capture() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(asking(), after=100)
    script.wait(1000)
    assert script.told() == ["needs_you"]


def test_a_dialog_that_stands_is_announced_once() -> None:
    script = Script()
    script.sees(asking())
    for _ in range(50):
        script.sees(asking(), after=250)
    assert script.told() == ["needs_you"]


def test_a_half_drawn_dialog_is_no_ask_of_its_own() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(asking(command="make dep"), after=100)
    script.sees(asking(command=""), after=50)
    script.sees(asking(command="make deploy"), after=50)
    script.wait(2000)
    script.sees(reading("working"), after=100)
    script.sees(reading("working"), after=400)
    assert script.told() == ["needs_you"]
    assert script.told("withdraw") == ["needs_you"]


def test_an_ask_ends_only_after_two_captures_without_it_300_ms_apart() -> None:
    script = Script()
    script.sees(asking())
    script.wait(1000)
    assert script.sees(reading("working"), after=100) == []
    assert script.manager.recheck() == {script.pane.key: script.now + 300}
    assert script.sees(reading("working"), after=299) == []
    script.sees(reading("working"), after=1)
    assert script.told("withdraw") == ["needs_you"]
    assert script.activities()[-1] == "working"
    assert script.manager.recheck() == {}


def test_the_same_dialog_back_sooner_continues_its_episode() -> None:
    script = Script()
    script.sees(asking())
    script.wait(1000)
    script.sees(reading("working"), after=100)
    script.sees(asking(), after=250)
    script.wait(5000)
    assert script.told() == ["needs_you"]
    assert script.told("withdraw") == []


def test_the_same_command_asked_again_later_is_announced_again() -> None:
    script = Script()
    for _ in range(2):
        script.sees(asking(), after=1000)
        script.wait(1000)
        script.sees(reading("working"), after=100)
        script.sees(reading("working"), after=400)
    assert script.told() == ["needs_you", "needs_you"]
    assert script.told("withdraw") == ["needs_you", "needs_you"]
    contracts = [c.intent.contract for c in script.changes if c.event == "announce" and c.intent]
    assert contracts[0].key == contracts[1].key
    assert [contract.episode for contract in contracts] == [1, 2]


def test_another_ask_in_its_place_is_announced_and_the_first_is_withdrawn() -> None:
    script = Script()
    script.sees(asking(command="make deploy"))
    script.wait(1000)
    script.sees(asking(command="rm -rf build"), after=100)
    script.wait(1000)
    assert script.told() == ["needs_you", "needs_you"]
    script.sees(asking(command="rm -rf build"), after=100)
    [gone] = [c for c in script.changes if c.event == "withdraw"]
    assert gone.intent is not None
    assert gone.intent.reason == "replaced"
    assert gone.intent.contract.episode == 1
    assert gone.intent.question is not None
    assert gone.intent.question.command == "make deploy"
    assert script.activities() == ["waiting"]


def test_options_checks_and_cursor_do_not_make_a_new_ask() -> None:
    script = Script()
    first = asking()
    moved = asking()
    assert moved.question is not None
    script.sees(first)
    script.wait(1000)
    script.sees(
        reading(
            "waiting",
            waiting_on="user",
            dialog="approval",
            question=Question(
                kind="approval",
                text="Run  this?",
                command="make\n deploy",
                clipped=True,
                rows=(0, 2),
            ),
        ),
        after=250,
    )
    script.wait(1000)
    assert script.told() == ["needs_you"]


@pytest.mark.parametrize("cut", ["make deploy --to prod", "make deploy --to production eu-we", ""])
def test_a_resize_that_clips_the_ask_continues_the_episode(cut: str) -> None:
    script = Script()
    script.sees(asking(command="make deploy --to production eu-west"))
    script.wait(1000)
    script.sees(asking(command=cut), after=100, width=60, height=20)
    script.wait(1000)
    script.sees(asking(command="make deploy --to production eu-west"), after=100, width=120)
    script.wait(1000)
    assert script.told() == ["needs_you"]
    assert script.told("withdraw") == []


def test_a_resize_may_blank_the_screen_for_most_of_a_second() -> None:
    script = Script()
    script.sees(asking())
    script.wait(1000)
    script.sees(reading("unknown"), after=100, width=60)
    script.sees(reading("idle"), after=500)
    script.sees(asking(), after=200)
    script.wait(1000)
    assert script.told() == ["needs_you"]
    assert script.activities() == ["waiting"]


def test_a_repaint_is_no_event() -> None:
    script = Script()
    script.sees(asking())
    script.wait(1000)
    script.sees(reading("unknown"), after=100)
    script.sees(asking(), after=100)
    assert script.told() == ["needs_you"]
    assert script.activities() == ["waiting"]


def test_an_overlay_holds_the_ask_without_needing_you() -> None:
    script = Script()
    script.sees(asking())
    script.wait(1000)
    [covered] = states(script.sees(reading("unknown", overlay="help", keep=True), after=100))
    assert covered.state is not None
    assert covered.state.activity == "waiting"
    assert not covered.state.needs_you
    assert covered.state.waiting_on is None
    assert covered.state.question is None
    script.sees(reading("unknown", overlay="help", keep=True), after=5000)
    script.sees(asking(), after=100)
    script.wait(2000)
    assert script.told() == ["needs_you"]
    assert script.told("withdraw") == []


def test_an_ask_that_went_beneath_an_overlay_ends_when_the_overlay_closes() -> None:
    script = Script()
    script.sees(asking())
    script.wait(1000)
    script.sees(reading("unknown", overlay="help", keep=True), after=100)
    script.sees(reading("idle"), after=5000)
    script.sees(reading("idle"), after=400)
    assert script.told("withdraw") == ["needs_you"]
    assert script.activities() == ["waiting", "idle"]


def test_a_gap_in_observation_does_not_end_an_ask() -> None:
    script = Script()
    script.sees(asking())
    script.wait(1000)
    script.sees(asking(), after=8 * 3600 * 1000)
    assert script.told() == ["needs_you"]
    assert script.told("withdraw") == []


def test_a_restart_announces_a_standing_ask_no_second_time() -> None:
    before = Script()
    before.sees(asking())
    before.wait(1000)
    after = Script(PushManager("box", memory=before.manager.remember()), now=before.now + 60_000)
    after.sees(asking())
    after.wait(5000)
    assert after.told() == []
    assert states(after.changes)[0].state is not None
    after.sees(reading("working"), after=100)
    after.sees(reading("working"), after=400)
    assert after.told("withdraw") == ["needs_you"]


def test_an_ask_answered_during_a_restart_is_withdrawn() -> None:
    before = Script()
    before.sees(asking())
    before.wait(1000)
    after = Script(PushManager("box", memory=before.manager.remember()), now=before.now + 60_000)
    after.sees(reading("working"))
    after.sees(reading("working"), after=400)
    assert after.told("withdraw") == ["needs_you"]


def test_a_pane_that_ended_during_a_restart_is_withdrawn() -> None:
    before = Script()
    before.sees(asking())
    before.wait(1000)
    manager = PushManager("box", memory=before.manager.remember())
    [change] = manager.forget_absent(frozenset(), before.now)
    assert change.event == "withdraw"
    assert manager.forget_absent(frozenset(), before.now) == []


def test_what_is_remembered_holds_no_text_of_the_screen() -> None:
    script = Script()
    script.sees(asking(command="secret-command", text="Really secret?"))
    script.wait(1000)
    assert "ecret" not in repr(script.manager.remember())


def test_the_end_of_a_turn_is_told_after_three_seconds() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(reading("idle"), after=5000)
    script.wait(2900)
    assert script.told() == []
    assert script.activities() == ["working", "idle"]
    script.wait(1000)
    assert script.told() == ["done"]


def test_idle_between_two_turns_is_no_state_and_no_end() -> None:
    script = Script()
    for _ in range(4):
        script.sees(reading("working"), after=400)
        script.sees(reading("idle"), after=4000)
    script.wait(400)
    script.sees(reading("working"))
    assert script.activities() == ["working"]
    assert script.told() == []


def test_done_waits_until_nothing_runs_in_the_background() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(reading("idle", background=1), after=1000)
    script.wait(60_000)
    assert script.told() == []
    script.sees(reading("idle", background=0))
    script.wait(2900)
    assert script.told() == []
    script.wait(200)
    assert script.told() == ["done"]


def test_an_agent_that_resumes_by_itself_was_not_done() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(reading("idle", background=1), after=1000)
    script.sees(reading("idle"), after=20_000)
    script.sees(reading("working"), after=200)
    script.wait(10_000)
    assert script.told() == []


def test_a_new_turn_withdraws_done() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(reading("idle"), after=1000)
    script.wait(5000)
    script.sees(reading("working"), after=1000)
    assert script.told("withdraw") == ["done"]


def test_done_is_seen_when_a_person_turns_to_the_pane() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(reading("idle"), after=1000)
    script.wait(5000)
    changes = script.manager.refresh(pane(viewed=True), script.now)
    assert [change.event for change in changes] == ["withdraw", "pane"]
    assert changes[0].intent is not None
    assert changes[0].intent.reason == "seen"


def test_idle_at_first_sight_is_not_done() -> None:
    script = Script()
    script.sees(reading("idle"))
    script.wait(60_000)
    assert script.told() == []


def test_a_turn_that_ended_during_a_restart_is_told() -> None:
    before = Script()
    before.sees(reading("working"))
    after = Script(PushManager("box", memory=before.manager.remember()), now=before.now + 60_000)
    after.sees(reading("idle"))
    after.wait(5000)
    assert after.told() == ["done"]


def test_a_shell_that_finishes_a_command_is_not_done() -> None:
    script = Script()
    script.sees(reading("working", program="shell"))
    script.sees(reading("idle", program="shell"), after=1000)
    script.wait(10_000)
    assert script.told() == []


def test_an_agent_that_ended_is_not_done() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(reading("idle"), after=1000)
    script.wait(1000)
    script.sees(reading("idle", program="shell"), after=100)
    script.wait(10_000)
    assert script.told() == []


def test_a_question_in_prose_is_asked_and_not_done() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(reading("idle", asked=True), after=1000)
    script.wait(5000)
    assert script.told() == ["asked"]
    last = [change.state for change in script.changes if change.state][-1]
    assert last.attention == "asked"
    assert not last.needs_you


def test_what_stood_before_the_watcher_came_is_shown_but_not_announced() -> None:
    for standing in (
        reading("idle", asked=True),
        reading("idle", limit=True),
        reading("error"),
    ):
        script = Script()
        [change] = script.sees(standing)
        assert change.state is not None
        assert change.state.attention in ("asked", "limit", "error")
        script.sees(standing, after=10_000)
        script.wait(10_000)
        assert script.told() == []


def test_an_error_is_told_when_it_holds() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(reading("error"), after=1000)
    script.wait(300)
    script.sees(reading("working"))
    script.wait(5000)
    assert script.told() == []
    assert script.activities() == ["working"]
    script.sees(reading("error"), after=1000)
    script.wait(5000)
    assert script.told() == ["error"]
    script.sees(reading("working"))
    assert script.told("withdraw") == ["error"]


def test_an_error_lasts_when_a_resize_hides_it() -> None:
    script = Script()
    script.sees(reading("error"))
    script.sees(reading("idle"), after=1000, height=10)
    script.sees(reading("idle"), after=60_000)
    assert script.activities() == ["error"]
    script.sees(reading("idle", draft=True), after=1000)
    script.wait(5000)
    assert script.activities() == ["error", "idle"]


def test_an_overlay_keeps_the_activity() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(reading("unknown", overlay="model", keep=True), after=1000)
    script.wait(10_000)
    script.sees(reading("working"))
    assert script.activities() == ["working"]


def test_an_overlay_above_a_free_composer_proves_no_end_for_a_while() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(reading("idle", overlay="help"), after=1000)
    script.wait(14_000)
    assert script.activities() == ["working"]
    script.wait(3_000)
    assert script.activities() == ["working", "idle"]


def test_an_overlay_without_history_is_unknown() -> None:
    script = Script()
    script.sees(reading("unknown", overlay="model", keep=True))
    assert script.activities() == ["unknown"]


def test_one_unreadable_screen_changes_nothing() -> None:
    script = Script()
    script.sees(reading("idle"))
    script.sees(reading("unknown"), after=1000)
    script.sees(reading("idle"), after=1000)
    assert script.activities() == ["idle"]
    script.sees(reading("unknown"), after=1000)
    script.wait(5000)
    assert script.activities() == ["idle", "unknown"]


def test_a_program_that_cannot_be_named_for_a_moment_is_still_there() -> None:
    script = Script()
    script.sees(reading("working"))
    script.sees(reading("unknown", program="unknown"), after=250)
    script.sees(reading("working"), after=500)
    assert script.activities() == ["working"]
    names = {change.state.program.name for change in script.changes if change.state}
    assert names == {"codex"}


def test_a_gone_pane_withdraws_and_ends() -> None:
    script = Script()
    script.sees(asking())
    script.wait(1000)
    changes = script.manager.gone(script.pane.key, script.now)
    assert [change.event for change in changes] == ["withdraw", "gone"]
    assert script.manager.gone(script.pane.key, script.now) == []
    assert script.manager.next_due() is None


def test_an_agent_that_exits_with_a_dialog_open_ends_the_ask_at_once() -> None:
    script = Script()
    script.sees(asking())
    script.wait(1000)
    script.sees(reading("exited"), after=100)
    assert script.told("withdraw") == ["needs_you"]
    assert script.activities() == ["waiting", "exited"]


def test_a_server_that_does_not_answer_keeps_its_states_marked_stale() -> None:
    script = Script()
    script.sees(asking())
    script.wait(1000)
    [change] = script.manager.mark_stale([script.pane.key], script.now)
    assert change.state is not None
    assert change.state.stale
    assert change.state.needs_you
    [back] = script.sees(asking(), after=30_000)
    assert back.state is not None
    assert not back.state.stale
    assert script.told() == ["needs_you"]


def test_timers_and_spinners_wake_nobody() -> None:
    script = Script()
    script.sees(reading("working", detail="Working (1s)"), title="⠋ Fix the cart | shop")
    assert (
        script.sees(reading("working", detail="Working (2s)"), title="⠙ Fix the cart | shop") == []
    )
    assert script.sees(reading("working", detail="Compacting (2s)")) != []


def test_a_clock_that_jumps_back_breaks_nothing() -> None:
    script = Script()
    script.sees(asking())
    script.wait(1000)
    script.now -= 3_600_000
    script.sees(reading("working"), after=100)
    script.sees(reading("working"), after=400)
    assert script.told("withdraw") == ["needs_you"]
