"""Menus and buttons by their geometry."""

import re

from openbus.screen.grid import parse
from openbus.screen.widgets import Menu, find_buttons, find_menus


def menus(
    *rows: str, width: int = 80, cursors: str = "❯›●", cursorless: bool = False
) -> list[Menu]:
    screen = parse("\n".join(rows), width, len(rows))
    return find_menus(screen.rows, screen.lines, cursors, 0, len(rows) - 1, cursorless=cursorless)


def labels(menu: Menu) -> list[str]:
    return [item.label for item in menu.items]


def test_a_numbered_menu_has_its_labels_and_its_choice() -> None:
    (menu,) = menus("Proceed?", " ❯ 1. Yes (y)", "   2. No (esc)")
    assert labels(menu) == ["Yes (y)", "No (esc)"]
    assert [o.selected for o in menu.options()] == [True, False]
    assert [o.key for o in menu.options()] == ["y", "esc"]


def test_a_list_without_a_cursor_is_text() -> None:
    assert menus("1. Wrote the file", "2. Ran tests") == []


def test_a_label_that_wraps_is_joined_and_a_description_is_not() -> None:
    (menu,) = menus(
        "› 1. Yes, and do not ask again for commands that start with",
        "     docker compose",
        "  2. Redis",
        "     Shared between workers",
        "  3. No",
        width=60,
    )
    assert labels(menu)[0].endswith("that start with docker compose")
    assert labels(menu)[1:] == ["Redis", "No"]


def test_a_description_column_is_cut_at_two_blanks() -> None:
    (menu,) = menus("› 1. Redis              Shared", "  2. In-process LRU     No server")
    assert labels(menu) == ["Redis", "In-process LRU"]


def test_check_boxes_before_or_behind_the_number() -> None:
    (menu,) = menus("❯ 1. [✔] Unit tests", "  2. [ ] Lint")
    assert [o.checked for o in menu.options()] == [True, False]
    assert menu.multi
    (other,) = menus("  [✓] 1. Unit tests", "❯ [ ] 2. Lint")
    assert [o.checked for o in other.options()] == [True, False]


def test_an_unnumbered_menu_has_siblings_in_its_column() -> None:
    (menu,) = menus("Trust?", " ❯ No, exit", "   Yes, I trust this folder", "", " Enter to confirm")
    assert labels(menu) == ["No, exit", "Yes, I trust this folder"]


def test_a_prompt_of_the_user_is_no_menu() -> None:
    assert menus("❯ Clean up the build directory", "", "● I'll remove it.") == []


def test_two_cursors_are_no_menu() -> None:
    assert menus(" › 1. Press f", " › 2. Press o") == []


def test_a_menu_that_starts_above_the_window_is_clipped() -> None:
    (menu,) = menus("↑", "  3. Three", "› 4. Four")
    assert menu.clipped
    (whole,) = menus("› 1. One", "  2. Two")
    assert not whole.clipped


def test_the_choice_by_colour_alone() -> None:
    (menu,) = menus("  1. Redis", "\x1b[36m  2. LRU\x1b[0m", "  3. None", cursorless=True)
    assert [o.selected for o in menu.options()] == [False, True, False]


def test_buttons_are_one_row_and_key_hints_are_none_of_them() -> None:
    row = "  \x1b[44mAllow once\x1b[49m   Allow always   Reject   ⇆ select  enter confirm"
    screen = parse(row, 100, 1)
    found = find_buttons(
        screen.rows, screen.lines, re.compile(r"Allow once(\s+Allow always)?\s+Reject"), 0, 0
    )
    assert found is not None
    assert labels(found) == ["Allow once", "Allow always", "Reject"]
    assert [item.selected for item in found.items] == [True, False, False]
