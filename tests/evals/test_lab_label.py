"""Labels read off real screens of the corpus."""

from pathlib import Path

import msgspec
import pytest

from evals.lab import label

CORPUS = Path(__file__).parents[2] / "evals" / "corpus"


def screen(name: str) -> tuple[str, dict[str, object]]:
    raw = msgspec.json.decode((CORPUS / name).read_bytes())
    return raw["text"], raw["expect"]


@pytest.mark.parametrize(
    "name",
    [
        "codex/0.171.0/approval_shell_multi--80x24.json",
        "codex/0.128.0/approval_edit--80x24.json",
        "claude-code/2.1.197/approval_shell--80x24.json",
        "gemini/0.61.0/approval_write--80x24.json",
        "codex/0.171.0/plan_approval--120x40.json",
    ],
)
def test_numbered_choices_are_read_with_their_wrapped_rows(name: str) -> None:
    text, expect = screen(name)
    assert label.numbered(text, str(expect["question"])) == expect["options"]


@pytest.mark.parametrize(
    "name",
    [
        "codex/0.171.0/question_single--80x24.json",
        "gemini/0.61.0/question_single--80x24.json",
        "opencode/1.18.33/question_multi--80x24.json",
    ],
)
def test_descriptions_of_choices_are_left_out(name: str) -> None:
    text, expect = screen(name)
    assert label.numbered(text, str(expect["question"]), described=True) == expect["options"]


def test_choices_without_numbers_are_found_beside_the_cursor() -> None:
    text, expect = screen("claude-code/2.1.332/first_run_trust--80x24.json")
    assert label.beside_cursor(text) == expect["options"]


def test_a_screen_without_choices_has_none() -> None:
    text, _ = screen("codex/0.171.0/idle_done--80x24.json")
    assert label.numbered(text, "Would you like to run") == []


def test_buttons_are_read_by_their_words() -> None:
    text, expect = screen("opencode/1.18.33/approval_shell--80x24.json")
    words = ("Allow once", "Allow always", "Reject", "Never")
    assert label.present(text, words) == expect["options"]


def test_expectations_have_the_shape_that_the_evals_score() -> None:
    waiting = label.waiting("codex", "approval", "Go?", ["Yes", "No"])
    assert (waiting["needs_you"], waiting["activity"]) == (True, "waiting")
    assert label.overlay("codex")["overlay"] is True
    assert label.idle("codex", draft=True)["draft"] is True
    assert "codex" in label.gone("codex")["program_any"]
