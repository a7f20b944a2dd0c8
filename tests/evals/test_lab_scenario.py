"""What sentence leads to what answer."""

from evals.lab import scenario
from evals.lab.scenario import find, named


def test_every_sentence_finds_its_own_scenario() -> None:
    for one in scenario.SCENARIOS:
        assert find(f"Please: {one.sentence}") is one


def test_a_sentence_is_found_without_its_question_mark() -> None:
    assert find("What does cart.py do") is named("quick")


def test_the_last_sentence_of_a_text_decides() -> None:
    text = "What does cart.py do? ... and then: Clean up the build directory"
    assert find(text) is named("approve_shell")


def test_a_text_without_a_known_sentence_finds_nothing() -> None:
    assert find("Hello") is None


def test_names_are_unique() -> None:
    names = [one.name for one in scenario.SCENARIOS]
    assert len(set(names)) == len(names)
