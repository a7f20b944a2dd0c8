"""Order of authority on one screen: dialog, overlay, footer, lowest mark, title, composer."""

import msgspec
import pytest

from openbus.classify import classify
from openbus.model import Capture, Cursor, Reading
from tests.openbus.screen.support import library, running, screen_file, with_rows

RULE = "─" * 60


def claude(
    *body: str, footer: str = "  ? for shortcuts", draft: str = "", **fields: object
) -> Reading:
    rows = (*body, RULE, f"❯ {draft}", RULE, footer)
    return classify(running("claude", *rows, **fields), library())


def of(name: str) -> Capture:
    return screen_file(name).capture


def test_every_glyph_of_the_spinner_reads_the_same() -> None:
    readings = {
        claude("❯ go", f"{g} Polishing… (13m 23s · ↓ 47.5k tokens)").activity for g in "·✢✳✶✻✽*"
    }
    assert readings == {"working"}


@pytest.mark.parametrize("row", ["✽ Wandering…", "✽ Wandering… (esc to interrupt)"])
def test_a_spinner_without_a_timer_works(row: str) -> None:
    assert claude("❯ go", row).activity == "working"


def test_a_finished_turn_below_an_old_spinner_is_idle() -> None:
    assert claude("✽ Wandering…", "❯ next", "● Done.", "✻ Baked for 6s").activity == "idle"


def test_background_work_is_a_property_beside_idle() -> None:
    reading = claude("● Done.", "✻ Baked for 6s · 1 shell still running")
    assert (reading.activity, reading.background) == ("idle", 1)
    reading = claude("● Done.", footer="  ⏵⏵ auto mode on · 3 shells, 1 monitor · ↓ to manage")
    assert (reading.activity, reading.background) == ("idle", 4)


def test_agents_of_its_own_are_work() -> None:
    reading = claude("● Started.", "✻ Waiting for 2 background agents to finish")
    assert (reading.activity, reading.detail) == ("working", "subagents")


def test_a_mode_footer_and_a_users_status_line_decide_nothing() -> None:
    reading = claude("● Done.", footer="  ⏵⏵ bypass permissions on (shift+tab to cycle)")
    assert reading.activity == "idle"
    reading = claude("● Done.", footer="  waiting for permission: Yes / No ?")
    assert (reading.activity, reading.needs_you) == ("idle", False)


def test_an_error_lasts_until_the_next_draft() -> None:
    body = ("❯ go", "● API Error: 500 Internal server error.")
    assert claude(*body).activity == "error"
    assert claude(*body, draft="again").activity == "idle"
    assert claude(*body, "❯ again", "● Fine.").activity == "idle"


def test_an_interrupt_is_idle_and_says_so() -> None:
    reading = claude("❯ go", "  ⎿  Interrupted · What should Claude do instead?")
    assert (reading.activity, reading.detail) == ("idle", "interrupted")


def test_a_question_in_prose_at_the_end_of_a_turn_is_asked() -> None:
    assert claude(
        "❯ go", "● Two ways.", "", "  Which one shall I take?", "", "✻ Baked for 6s"
    ).asked
    assert not claude("❯ Which one shall I take?").asked
    assert not claude("● Which one?", "✻ Baked for 6s", draft="the second").asked


@pytest.mark.parametrize("tip", [["  └ Tip: Use /x."], ["  └ Tip: Use /x to see", "    more."]])
def test_a_tip_below_a_question_in_prose_hides_it_not(tip: list[str]) -> None:
    rows = ("› go", "", "• Two ways.", "", "  Which one?", *tip, "", "  Worked for 2s • 01:18")
    capture = running("codex", *rows, "", "", "› \x1b[2mAsk Codex\x1b[m", "", "  GPT · ~/w")
    cursor = Cursor(x=2, y=len(rows) + 2)
    assert classify(msgspec.structs.replace(capture, cursor=cursor), library()).asked


def test_a_usage_limit_above_a_free_composer_is_a_limit_with_its_reset_time() -> None:
    reading = claude("❯ go", "  ⎿  You've hit your usage limit · resets 3pm")
    assert reading.limit
    assert reading.limit_reset == "3pm"
    assert not reading.needs_you


def test_a_dialog_outranks_the_spinner_below_it() -> None:
    reading = classify(
        running(
            "claude",
            "● Bash(make deploy)",
            RULE,
            " Bash command",
            "   make deploy",
            "",
            " Do you want to proceed?",
            " ❯ 1. Yes",
            "   2. No, and tell Claude what to do differently (esc)",
            "",
            "✻ Reticulating… (42s · ↓ 1.1k tokens)",
            cursor=Cursor(visible=False),
        ),
        library(),
    )
    assert reading.needs_you
    assert reading.question is not None
    assert reading.question.command == "make deploy"


def test_a_dialog_quoted_above_a_live_composer_is_text() -> None:
    reading = claude("● It reads:", "  Do you want to proceed?", "  ❯ 1. Yes", "    2. No")
    assert not reading.needs_you


def test_a_picker_that_the_user_opened_is_an_overlay() -> None:
    reading = classify(of("claude-code/2.1.197/menu_model--80x24"), library())
    assert reading.overlay == "menu"
    assert not reading.needs_you
    assert reading.keep


def test_an_overlay_lets_a_finished_turn_beneath_speak() -> None:
    reading = classify(of("claude-code/2.1.332/menu_exit--80x24"), library())
    assert (reading.activity, reading.overlay) == ("idle", "menu")


def test_the_title_decides_only_where_the_screen_is_silent() -> None:
    streaming = of("codex/0.171.0/working_stream--80x24")
    assert classify(streaming, library()).activity == "working"
    silent = msgspec.structs.replace(streaming, title="shop | work")
    assert classify(silent, library()).activity == "idle"


def test_a_title_never_makes_a_wait() -> None:
    capture = of("codex/0.171.0/idle_done--80x24")
    shouting = msgspec.structs.replace(capture, title="[ ! ] Action Required | shop")
    assert not classify(shouting, library()).needs_you


def test_a_dialog_that_no_rule_knows_still_needs_you() -> None:
    reading = classify(
        running(
            "codex",
            "",
            "  Widgets need review",
            "  One widget is new.",
            "",
            "› 1. Review widgets",
            "  2. Trust all and continue",
            "  3. Continue without them",
            "",
            "  Press enter to confirm or esc to go back",
            cursor=Cursor(visible=False),
        ),
        library(),
    )
    assert reading.needs_you
    assert reading.question is not None
    assert len(reading.question.options) == 3
    assert reading.dialog == "generic"


def test_title_and_model_are_read_where_they_are_visible() -> None:
    reading = classify(of("codex/0.171.0/idle_done--80x24"), library())
    assert reading.title == "What does cart.py do?"
    assert reading.model == "GPT-6-Sol"


def test_a_blank_screen_of_an_agent_is_unknown() -> None:
    reading = classify(with_rows(of("codex/0.171.0/idle_done--80x24"), ""), library())
    assert (reading.activity, reading.keep) == ("unknown", True)


def test_the_headline_is_the_first_row_of_the_last_reply_without_its_timer() -> None:
    assert classify(of("gemini/0.61.0/working_tool--80x24"), library()).headline == (
        "Running the suite now."
    )
    assert claude("❯ go", "● Bash(make) (3s)", "● Done.").headline == "Done."
    assert claude("● Done.", "❯ and now this").headline is None


def test_a_dialog_left_above_a_shell_prompt_is_over() -> None:
    rows = (
        RULE,
        " Quick safety check: Is this a project you created or one you trust?",
        "",
        "   No, exit",
        " ❯ Yes, I trust this folder",
    )
    live = running("claude", *rows, cursor=Cursor(x=1, y=4, visible=False))
    assert classify(live, library()).needs_you
    shell = "me@box:~$ claude --continue"
    left = running("claude", *rows, shell, cursor=Cursor(x=len(shell), y=5))
    assert not classify(left, library()).needs_you


def test_a_dialog_inside_the_conversation_needs_a_witness_below_the_composer() -> None:
    asked = of("opencode/1.0.162/approval_shell--80x24")
    reading = classify(asked, library())
    assert reading.question is not None
    assert [o.key for o in reading.question.options] == ["enter", "a", "d"]
    unvouched = msgspec.structs.replace(asked, ansi=asked.ansi.replace("1 Permission", "nothing"))
    assert not classify(unvouched, library()).needs_you
