"""Prompts that libraries draw: steps with a mark, boxes with buttons."""

import pytest

from openbus.classify import classify
from openbus.model import Cursor, Process, Reading
from tests.openbus.screen.support import library, shown

CYAN = "\x1b[36m"
OFF = "\x1b[0m"


def by_node(*rows: str, cursor: Cursor | None = None, comm: str = "node") -> Reading:
    """What a pane says in which a program of unknown name shows these rows."""
    child = Process(comm=comm, foreground=True, depth=1, argv=(comm, "create.mjs"))
    where = cursor or Cursor(x=0, y=len(rows), visible=False)
    return classify(shown("$ npm create app", *rows, processes=(child,), cursor=where), library())


@pytest.mark.parametrize(
    ("rows", "kind", "text", "labels"),
    [
        (
            (
                f"{CYAN}?{OFF} Pick a database",
                "❯ postgres",
                "  sqlite",
                "",
                "↑↓ navigate • ⏎ select",
            ),
            "menu",
            "Pick a database",
            ["postgres", "sqlite"],
        ),
        (
            (
                f"{CYAN}?{OFF} Select a variant: › - Use arrow-keys.",
                "❯   One",
                "    Two",
            ),
            "menu",
            "Select a variant:",
            ["One", "Two"],
        ),
        (
            ("┌  create-app", "│", f"{CYAN}◆{OFF}  Install dependencies?", "│  ● Yes / ○ No", "└"),
            "confirm",
            "Install dependencies?",
            ["Yes", "No"],
        ),
        (
            (f"{CYAN}◆{OFF}  Pick a type", "│  ● Minimal", "│  ○ Full", "└"),
            "menu",
            "Pick a type",
            ["Minimal", "Full"],
        ),
        (
            (f"{CYAN}◆{OFF}  Where should we create your project?", "│  ./app", "└"),
            "prompt",
            "Where should we create your project?",
            [],
        ),
    ],
)
def test_an_open_step_needs_you(
    rows: tuple[str, ...], kind: str, text: str, labels: list[str]
) -> None:
    reading = by_node(*rows)
    assert reading.needs_you
    assert reading.question is not None
    assert (reading.question.kind, reading.question.text) == (kind, text)
    assert [o.label for o in reading.question.options] == labels


def test_a_question_that_is_typed_to_has_the_cursor_on_its_row() -> None:
    row = f"{CYAN}?{OFF} Project name: › shop"
    assert by_node(row, cursor=Cursor(x=24, y=1)).needs_you
    assert not by_node(row, cursor=Cursor(x=0, y=2)).needs_you


def test_an_answered_step_above_output_is_history() -> None:
    assert not by_node(f"{CYAN}?{OFF} Pick a database postgres", "Installing packages").needs_you
    assert not by_node(f"{CYAN}◇{OFF}  Install dependencies?", "│  Yes", "│").needs_you


def test_a_plain_question_mark_is_text() -> None:
    assert not by_node("? modified.txt", "  other.txt", cursor=Cursor(x=0, y=3)).needs_you


BOX = (
    "┌──────────────────────────────┐",
    "│ Remove the old kernel?       │",
    "│                              │",
    "│      <Yes>         <No>      │",
    "└──────────────────────────────┘",
)


def test_a_box_with_buttons_needs_you() -> None:
    reading = by_node(*BOX, comm="whiptail")
    assert reading.question is not None
    assert reading.question.text == "Remove the old kernel?"
    assert [o.label for o in reading.question.options] == ["Yes", "No"]
    assert reading.question.kind == "confirm"


def test_a_box_that_a_pager_or_cat_shows_asks_nothing() -> None:
    assert not by_node(*BOX, comm="less").needs_you
    assert not by_node(*BOX, comm="cat").needs_you
