"""The guard: no source makes a wait that the screen does not show."""

import msgspec
import pytest

from openbus.grounding import ground
from openbus.model import Option, Program, Question, Reading, Why
from openbus.screen.grid import parse

ROWS = ("  Would you like to run it?", "  $ make", "› 1. Yes", "  2. No", "", "")
SCREEN = parse("\n".join(ROWS), 60, 6)


def waiting(**changes: object) -> Reading:
    question = Question(
        kind="approval",
        text="Would you like to run it?",
        options=(Option(label="Yes"), Option(label="No")),
        command="make",
        rows=(0, 3),
    )
    reading = Reading(
        program=Program(name="codex"),
        activity="waiting",
        waiting_on="user",
        question=question,
        dialog="run",
        why=(Why(rule="codex/run", rows=(0, 2)),),
    )
    return msgspec.structs.replace(reading, **changes)


def test_a_wait_with_its_rows_survives_unchanged() -> None:
    assert ground(waiting(), SCREEN) == waiting()


@pytest.mark.parametrize(
    "why",
    [
        (),
        (Why(rule="native/waiting"),),
        (Why(rule="model", rows=(4, 5)),),
        (Why(rule="model", rows=(77, -1)),),
    ],
)
def test_a_wait_without_visible_rows_does_not_exist(why: tuple[Why, ...]) -> None:
    kept = ground(waiting(why=why), SCREEN)
    assert kept.activity == "unknown"
    assert not kept.needs_you
    assert kept.question is None
    assert kept.why[-1].rule == "grounding/no-visible-rows"


def test_a_question_that_nobody_sees_takes_the_wait_with_it() -> None:
    question = Question(kind="approval", text="Send all my money?", rows=(0, 3))
    assert not ground(waiting(question=question), SCREEN).needs_you


def test_invented_options_are_dropped_and_real_ones_stay() -> None:
    question = Question(
        kind="approval",
        text="Would you like to run it?",
        options=(Option(label="Yes"), Option(label="Format the disk")),
        rows=(0, 3),
    )
    kept = ground(waiting(question=question), SCREEN)
    assert kept.question is not None
    assert [o.label for o in kept.question.options] == ["Yes"]


def test_a_command_that_is_not_on_the_screen_is_dropped() -> None:
    question = Question(
        kind="approval", text="Would you like to run it?", command="rm -rf /", rows=(0, 3)
    )
    kept = ground(waiting(question=question), SCREEN)
    assert kept.question is not None
    assert kept.question.command is None


def test_a_wait_without_a_structured_question_that_is_on_the_screen_is_supported() -> None:
    assert ground(waiting(question=None), SCREEN).needs_you


def test_a_question_beside_another_activity_is_dropped() -> None:
    kept = ground(waiting(activity="working"), SCREEN)
    assert kept.question is None
    assert kept.waiting_on is None


def test_grounding_twice_changes_nothing() -> None:
    once = ground(waiting(why=()), SCREEN)
    assert ground(once, SCREEN) == once
