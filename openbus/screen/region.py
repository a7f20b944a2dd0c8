"""Where a dialog may be, and how to look around a widget: above, below, the question over it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from openbus.model import Cursor, Option, Question
from openbus.screen.grid import Screen
from openbus.screen.rules import Manifest
from openbus.screen.text import (
    is_rule,
    joined,
    main_column,
    paragraph_above,
    question_sentence,
    squash,
)
from openbus.screen.widgets import SCROLL, Menu, find_menus

MAX_ABOVE = 60
"""Rows above a widget in which its question and heading are looked for."""
MAX_BELOW = 14
"""Filled rows that may stand below a live dialog: hints, a todo list, a spinner."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A dialog: the rule that knows it (or `generic`), what it asks, the rows that prove it."""

    rule: str
    question: Question
    proof: tuple[int, ...]


class Picker(msgspec.Struct, frozen=True, kw_only=True):
    """A menu that asks nothing: the user opened it."""

    proof: tuple[int, ...]
    name: str = "menu"


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """Where a dialog may be: rows `lo` to `hi`, `lines` without gutters and boxes."""

    screen: Screen
    lines: Sequence[str]
    raw: Sequence[str]
    lo: int
    hi: int
    manifest: Manifest
    cursor: Cursor = Cursor(visible=False)
    title_needs: bool = False
    joined_rows: dict[tuple[int, int], str] = msgspec.field(default_factory=dict)
    """Joined rows, kept while one screen is read: every rule looks at the same ones."""


def live_menus(region: Region) -> list[Menu]:
    """Menus with nothing of the conversation below them, the lowest first."""
    found = find_menus(
        region.screen.rows,
        region.lines,
        region.manifest.glyphs.cursor,
        region.lo,
        region.hi,
        cursorless=any(not d.question and d.footer for d in region.manifest.dialogs),
    )
    return [menu for menu in found if is_last(region, menu.last)]


def is_last(region: Region, row: int) -> bool:
    """Nothing of the conversation stands below a row, and no shell writes there.

    Programs hide the cursor while a dialog asks or keep it inside; one that shows on text below is
    the prompt of what came after (`cursor_below` in a manifest: this program is different).
    """
    cursor = region.cursor
    if cursor.visible and cursor.y >= region.hi > row and not region.manifest.cursor_below:
        written = region.raw[row + 1 : cursor.y + 1]
        if any(line.strip() for line in written):
            return False
    filled = 0
    bullets = region.manifest.glyphs.reply + region.manifest.glyphs.user
    for below in range(row + 1, region.hi + 1):
        line = region.raw[below]
        if not line.strip() or is_rule(line):
            continue
        filled += 1
        if filled > MAX_BELOW or (bullets and line[0] in bullets and line[1:2] in (" ", "\xa0")):
            return False
    return True


def row_above(region: Region, pattern: re.Pattern[str], first: int) -> tuple[int, str] | None:
    """Nearest row above `first` at which a pattern matches, wrapped rows joined."""
    for row in range(first - 1, max(region.lo, first - MAX_ABOVE) - 1, -1):
        line = region.lines[row]
        if not line.strip():
            continue
        match = pattern.search(main_column(line).strip())
        if match is not None and match.group().rstrip().endswith("?"):
            return row, matched_text(match)
        whole = wrapped(region, row, first)
        found = pattern.search(whole) or match
        if found is not None:
            return row, matched_text(found)
    return None


def wrapped(region: Region, row: int, stop: int) -> str:
    """A row and up to three rows of the same paragraph below it, as one line."""
    known = region.joined_rows.get((row, stop))
    if known is not None:
        return known
    last = row
    while last + 1 < stop and last - row < 3:
        line = region.lines[last + 1]
        if not line.strip() or is_rule(line):
            break
        last += 1
    text = region.joined_rows[(row, stop)] = joined(region.lines, row, last)
    return text


def row_below(region: Region, pattern: re.Pattern[str], last: int) -> int | None:
    for row in range(region.hi, last - 1, -1):
        line = region.lines[row].strip()
        if line and pattern.search(line):
            return row
        if line and row + 1 <= region.hi:
            after = region.lines[row + 1].strip()
            if after and pattern.search(f"{line} {after}"):
                return row + 1
    return None


def below_heading(region: Region, heading: int, first: int) -> tuple[str, int | None]:
    """The paragraph that follows a heading: first filled row, wrapped rows joined."""
    for row in range(heading + 1, first):
        line = region.lines[row].strip()
        if line and not is_rule(line) and not _TABS.match(line) and not SCROLL.match(line):
            text = wrapped(region, row, first)
            return question_sentence(text) or text, row
    return question_above(region, first, heading)


_TABS = re.compile(r"^←.*→$|^[☐☒☑✔✓□■] \S+(\s+[☐☒☑✔✓□■≡] \S+)+")
"""The tab row of a dialog with several pages."""


def question_above(region: Region, first: int, lo: int) -> tuple[str, int | None]:
    """The question of a widget that no pattern names: the nearest sentence that asks."""
    nearest: tuple[str, int | None] = ("", None)
    row = first
    for _ in range(4):
        block = paragraph_above(region.lines, row, max(lo, first - MAX_ABOVE))
        if block is None:
            break
        text = joined(region.lines, *block)
        if _TABS.match(text) or SCROLL.match(text):
            row = block[0]
            continue
        asked = question_sentence(text)
        if asked:
            return _own_rows(region, block, asked)
        if nearest[1] is None:
            nearest = (text, block[0])
        row = block[0]
    return nearest


def _own_rows(region: Region, block: tuple[int, int], asked: str) -> tuple[str, int]:
    """A question that starts on a row of its own, though no full stop ends the row above."""
    first, last = block
    for row in range(last, first, -1):
        line, above = region.lines[row].strip(), main_column(region.lines[row - 1])
        word = line.split(maxsplit=1)[0]
        wraps = len(above) + 1 + len(word) > region.screen.width - 8
        if line[0].isupper() and not wraps:
            text = joined(region.lines, row, last)
            return (question_sentence(text) or asked), row
    return asked, first


def matched_text(match: re.Match[str]) -> str:
    named = match.groupdict()
    return squash(named.get("q") or match.group())


def conversation(region: Region, first: int) -> bool:
    """A prompt or a reply stands above: the dialog is not a start-up dialog."""
    bullets = region.manifest.glyphs.reply + region.manifest.glyphs.user
    return any(
        line[:1] and line.lstrip()[:1] in bullets and line.lstrip()[1:2] in (" ", "\xa0")
        for line in region.raw[region.lo : first]
    )


def free_text(options: Sequence[Option]) -> bool:
    return any(
        re.match(r"(?i)(type |other\b|enter a |tell |none of the above|something else)", o.label)
        for o in options
    )
