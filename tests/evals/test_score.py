"""Texts and labels are compared by the rules of the contract."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from evals.score import compare, normal, same_options, same_text
from openbus.model import Option, Program, Question, Reading

IDLE = Reading(program=Program(name="codex"), activity="idle")
ASKING = Reading(
    program=Program(name="codex"),
    activity="waiting",
    waiting_on="user",
    question=Question(
        kind="approval",
        text="Would you like to run the following command?",
        options=(Option(label="Yes, proceed"), Option(label="No")),
    ),
)


def wrong(expect: dict[str, Any], reading: Reading) -> list[str]:
    return [name for name, mismatch in compare(expect, reading).items() if mismatch is not None]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("1. Yes", "Yes"),
        ("❯ 1. Yes", "yes"),
        ("[✔] Lint", "Lint"),
        ("[ ] Lint", "lint"),
        ("☐ Lint", "Lint"),
        ("Yes, proceed (y)", "Yes, proceed"),
        ("No, and tell Codex what to do differently (esc)", "No and tell Codex what to do"),
        ("Yes, allow all edits (shift+tab)", "Yes, allow all edits"),
        ("Do you want to\nproceed?", "Do you want to proceed"),
        ("No (recommended) ✔", "No (recommended)"),
    ],
)
def test_dress_of_a_label_does_not_count(written: str, read: str) -> None:
    assert same_text(written, read)


def test_a_key_hint_is_not_any_word_in_parentheses() -> None:
    assert normal("No (recommended)") == "norecommended"
    assert not same_text("No (recommended)", "No")


def test_a_prefix_counts_from_twelve_characters_on() -> None:
    assert same_text("abcdefghijkl", "abcdefghijklmnop")
    assert not same_text("abcdefghijk", "abcdefghijklmnop")


def test_labels_of_signs_alone_are_compared_as_they_are() -> None:
    assert same_text("+", " + ")
    assert not same_text("+", "-")


def test_options_need_number_and_order() -> None:
    assert same_options(["Yes", "No"], ["1. Yes", "2. No"])
    assert not same_options(["Yes", "No"], ["No", "Yes"])
    assert not same_options(["Yes", "No"], ["Yes"])


def test_an_absent_label_is_not_scored() -> None:
    assert compare({}, ASKING) == {}


def test_any_of_several_activities_is_right() -> None:
    assert wrong({"activity_any": ["idle", "working"]}, IDLE) == []
    assert wrong({"activity_any": ["working", "unknown"]}, IDLE) == ["activity"]


def test_program_labels() -> None:
    assert wrong({"program": "codex"}, IDLE) == []
    assert wrong({"program_any": ["shell", "codex"]}, IDLE) == []
    assert wrong({"program_not": ["codex", "gemini"]}, IDLE) == ["program"]
    assert wrong({"program_not": "gemini"}, IDLE) == []


def test_a_missed_ask_is_wrong_in_every_labelled_field() -> None:
    expect = {
        "activity": "waiting",
        "needs_you": True,
        "kind": "approval",
        "question": "Would you like to run the following command?",
        "options": ["Yes, proceed (y)", "No"],
    }
    assert wrong(expect, ASKING) == []
    assert wrong(expect, IDLE) == ["activity", "needs_you", "kind", "question", "options"]


def test_true_stands_for_any_overlay_and_any_number_in_the_background() -> None:
    busy = msgspec.structs.replace(IDLE, overlay="menu", background=3)
    assert wrong({"overlay": True, "background": True}, busy) == []
    assert wrong({"overlay": True, "background": True}, IDLE) == ["overlay", "background"]
    assert wrong({"overlay": "menu", "background": 3}, busy) == []
    assert wrong({"overlay": False, "background": 0}, IDLE) == []


def test_external_waits_do_not_need_you() -> None:
    external = msgspec.structs.replace(IDLE, activity="waiting", waiting_on="external")
    assert wrong({"activity": "waiting", "needs_you": False}, external) == []


def test_draft_and_question_in_prose() -> None:
    asked = msgspec.structs.replace(IDLE, asked=True, draft=True)
    assert wrong({"draft": True, "asked_in_prose": True}, asked) == []
    assert wrong({"draft": True, "asked_in_prose": True}, IDLE) == ["draft", "asked_in_prose"]
