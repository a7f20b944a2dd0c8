"""What is promised about reading the corpus holds: a change that breaks it does not pass."""

from __future__ import annotations

from typing import Any

import pytest

from evals import report
from evals.run import CORPUS, Plan, run

ROOTS = (str(CORPUS), str(CORPUS.with_name("corpus-synthetic")))


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return report.as_json(run(Plan(roots=ROOTS), jobs=2))


@pytest.fixture(scope="module")
def mutated() -> dict[str, Any]:
    return report.as_json(run(Plan(roots=ROOTS, mutations=True), jobs=2))


def test_every_ask_is_found_and_nothing_else(found: dict[str, Any]) -> None:
    assert found["problems"] == []
    assert found["needs_you"]["fp"] == 0
    assert found["needs_you"]["fn"] == 0
    assert found["needs_you"]["tp"] > 400


def test_no_lookalike_is_an_alarm(found: dict[str, Any]) -> None:
    assert found["lookalikes"]["n"] > 100
    assert found["lookalikes"]["alarms"] == []


@pytest.mark.parametrize(
    ("figure", "floor"),
    [
        ("activity_accuracy", 0.99),
        ("kind_accuracy", 0.99),
        ("program_accuracy", 0.99),
        ("question_exact", 0.97),
        ("options_exact", 0.97),
    ],
)
def test_the_marks_are_reached_as_a_whole_and_at_every_width(
    found: dict[str, Any], figure: str, floor: float
) -> None:
    assert found[figure] >= floor
    for width, group in found["by_width"].items():
        assert group[figure] >= floor, f"at {width} columns"


def test_mutations_raise_no_alarm_and_hide_no_ask(mutated: dict[str, Any]) -> None:
    assert mutated["lookalikes"]["n"] > 2_000
    assert mutated["lookalikes"]["alarms"] == []
    assert mutated["needs_you"]["fn"] == 0
    assert mutated["needs_you"]["fp"] == 0


def test_another_frame_of_a_spinner_is_the_same_state(mutated: dict[str, Any]) -> None:
    wrong = [f for f in mutated["failures"] if f["field"] == "activity"]
    plain = {f["file"] for f in wrong if "#" not in f["file"]}
    turned = [
        f["file"]
        for f in wrong
        if ("#row" in f["file"] or "#title" in f["file"])
        and f["file"].partition("#")[0] not in plain
    ]
    assert turned == []
