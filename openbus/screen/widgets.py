"""Things on a screen that a person answers, found by their geometry: menus, buttons.

A menu is a run of options below each other, one of them marked by a cursor glyph or, where the
program shows the choice by colour alone, by its style. Options may be numbered or not, have check
boxes, wrap over several rows and carry descriptions. Nothing here knows a program's words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from openbus.model import Option
from openbus.screen.grid import Row, Style
from openbus.screen.text import first_cell, indent, is_rule, main_column, squash

CHECKED = "✔✓xX☑☒◉●■◼*"
MAX_GAP = 7
"""Most rows from one option to the next (a wrapped label and its description)."""

_BOX = r"(?P<box>\[[ xX✓✔●•*√-]?\]|[☐☑☒◯◉○◻◼□■])\s+"
_KEY = re.compile(r"\(([a-z]|esc|enter|tab|shift\+tab)\)\s*$")
SCROLL = re.compile(r"^\s*[↑↓▲▼](\s+\d+ more.*|\s+more.*)?$|^\s*[↑↓▲▼…]\s*\d+ more")
_SCROLL_IN_COLUMN = re.compile(r"[↑↓▲▼]\s*$")


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One option: `row` of its label, `end` its last row, `at` the text index of the label."""

    row: int
    end: int
    at: int
    label: str
    number: int | None = None
    selected: bool = False
    checked: bool | None = None


class Menu(msgspec.Struct, frozen=True, kw_only=True):
    """Options from row `first` to row `last`, with the row that carries the cursor."""

    items: tuple[Item, ...]
    first: int
    last: int
    cursor: int | None
    clipped: bool = False

    def options(self) -> tuple[Option, ...]:
        """As published: label, key as named on the screen, selection, check."""
        return tuple(
            Option(
                label=item.label,
                key=_key(item),
                selected=item.selected,
                checked=item.checked,
            )
            for item in self.items
        )

    @property
    def multi(self) -> bool:
        return sum(item.checked is not None for item in self.items) >= 2

    @property
    def numbered(self) -> bool:
        return self.items[0].number is not None


def _key(item: Item) -> str | None:
    match = _KEY.search(item.label)
    if match:
        return match.group(1)
    return str(item.number) if item.number is not None else None


@lru_cache(maxsize=64)
def _numbered(cursors: str) -> re.Pattern[str]:
    glyphs = re.escape(cursors) or "❯"
    return re.compile(
        rf"^(?P<pre>\s*)(?:(?P<cur>[{glyphs}])\s{{0,3}})?(?:[✔✓]\s+)?"
        r"(?:(?P<box_before>\[[ xX✓✔]\])\s+)?"
        rf"(?P<num>\d{{1,2}})[.)](?!\d)\s*(?:{_BOX})?(?P<label>\S.*)?$"
    )


@lru_cache(maxsize=64)
def _plain(cursors: str) -> re.Pattern[str]:
    return re.compile(
        rf"^(?P<pre>\s*)(?P<cur>[{re.escape(cursors) or '❯'}])\s+"
        rf"(?:{_BOX})?(?:[✔✓]\s+)?(?P<label>\S.*)$"
    )


def find_menus(
    rows: Sequence[Row],
    lines: Sequence[str],
    cursors: str,
    lo: int,
    hi: int,
    *,
    cursorless: bool = False,
) -> list[Menu]:
    """All menus in rows `lo` to `hi` (inclusive), the lowest first."""
    found = _numbered_menus(rows, lines, cursors, lo, hi, cursorless)
    for row in range(hi, lo - 1, -1):
        match = _plain(cursors).match(lines[row])
        if match is None or _numbered(cursors).match(lines[row]):
            continue
        if any(menu.first <= row <= menu.last for menu in found):
            continue
        menu = _plain_menu(rows, lines, row, match, lo, hi)
        if menu is not None:
            found.append(menu)
    found.sort(key=lambda menu: menu.last, reverse=True)
    return found


def _numbered_menus(
    rows: Sequence[Row], lines: Sequence[str], cursors: str, lo: int, hi: int, cursorless: bool
) -> list[Menu]:
    runs: list[list[tuple[int, re.Match[str]]]] = []
    for row in range(lo, hi + 1):
        line = lines[row]
        match = _numbered(cursors).match(line)
        if match is None or not match.group("label"):
            continue
        if runs:
            before_row, before = runs[-1][-1]
            follows = int(match.group("num")) == int(before.group("num")) + 1
            near = row - before_row <= MAX_GAP
            level = abs(match.start("num") - before.start("num")) <= 2
            if follows and near and level and not _fenced(lines, before_row, row):
                runs[-1].append((row, match))
                continue
        runs.append([(row, match)])
    menus = []
    for run in runs:
        marked = [row for row, match in run if match.group("cur")]
        if len(marked) > 1 or (not marked and not cursorless):
            continue
        menu = _menu(rows, lines, run, marked[0] if marked else None, hi)
        if len(run) >= 2 or menu.clipped:
            menus.append(menu)
    return menus


def _fenced(lines: Sequence[str], above: int, below: int) -> bool:
    """Two blank rows between options: two lists, not one menu."""
    return any(
        not lines[row].strip() and not lines[row + 1].strip() for row in range(above + 1, below - 1)
    )


def _plain_menu(
    rows: Sequence[Row],
    lines: Sequence[str],
    row: int,
    match: re.Match[str],
    lo: int,
    hi: int,
) -> Menu | None:
    at = match.start("label")
    mark = match.start("cur")
    run = [row]
    for step, stop in ((-1, lo - 1), (1, hi + 1)):
        near = row
        for other in range(row + step, stop, step):
            line = lines[other]
            if is_rule(line) or abs(other - near) > 3:
                break
            if not line.strip():
                # One blank row may part two options, if the next one stands in their column.
                beyond = other + step
                if not lo <= beyond <= hi or not _label_at(lines[beyond], at):
                    break
                if _HINT.match(lines[beyond].strip()):
                    break
                continue
            text_at = indent(line)
            if text_at <= mark or text_at < at - 6:
                break
            if _label_at(line, at):
                run.append(other)
                near = other
    run.sort()
    described = _description_style(rows, run, row, at)
    items = [r for r in run if r == row or rows[r].style_at(at) != described]
    if len(items) < 2:
        return None
    built = []
    for position, item_row in enumerate(items):
        after = items[position + 1] if position + 1 < len(items) else run[-1] + 1
        checked = None
        box = re.match(rf"\s*(?:\S\s+)?{_BOX}", lines[item_row][:at])
        if box:
            checked = box.group("box").strip("[] ") in CHECKED and box.group("box") != "[ ]"
        built.append(
            Item(
                row=item_row,
                end=after - 1,
                at=at,
                label=_label(rows, lines, item_row, at, after, hi),
                selected=item_row == row,
                checked=checked,
            )
        )
    return Menu(
        items=tuple(built),
        first=items[0],
        last=built[-1].end,
        cursor=row,
        clipped=_clipped(lines, items[0], built[-1].end, hi),
    )


def _label_at(line: str, at: int) -> bool:
    """A sibling's label starts in the column of the chosen one's, or behind a check there."""
    return len(line) > at and line[at] != " " and not line[:at].strip(" ✔✓[]x☐☑☒◯◉○●")


def _description_style(
    rows: Sequence[Row], run: Sequence[int], chosen: int, at: int
) -> Style | None:
    """The style of descriptions: that of the row below the chosen label, if others differ."""
    styles = {rows[r].style_at(at) for r in run if r != chosen}
    if chosen + 1 not in run or len(styles) < 2:
        return None
    return rows[chosen + 1].style_at(at)


def _menu(
    rows: Sequence[Row],
    lines: Sequence[str],
    run: Sequence[tuple[int, re.Match[str]]],
    cursor: int | None,
    hi: int,
) -> Menu:
    chosen = cursor
    if chosen is None:
        chosen = _chosen_by_style(rows, run)
    items = []
    last = run[-1][0]
    for position, (row, match) in enumerate(run):
        at = match.start("label")
        end = run[position + 1][0] if position + 1 < len(run) else _last_row(lines, row, at, hi) + 1
        box = match.group("box") or match.group("box_before")
        items.append(
            Item(
                row=row,
                end=end - 1,
                at=at,
                label=_label(rows, lines, row, at, end, hi),
                number=int(match.group("num")),
                selected=row == chosen,
                checked=None
                if box is None
                else box.strip("[] ") in CHECKED and box.strip("[] ") != "",
            )
        )
        last = end - 1
    clipped = _clipped(lines, run[0][0], last, hi) or int(run[0][1].group("num")) != 1
    return Menu(items=tuple(items), first=run[0][0], last=last, cursor=cursor, clipped=clipped)


def _chosen_by_style(rows: Sequence[Row], run: Sequence[tuple[int, re.Match[str]]]) -> int | None:
    styles = [rows[row].style_at(match.start("label")) for row, match in run]
    for position, style in enumerate(styles):
        if styles.count(style) == 1 and len(styles) > 2:
            return run[position][0]
    return None


def _last_row(lines: Sequence[str], row: int, at: int, hi: int) -> int:
    """Last row of the last option: wrapped label and description below it."""
    last = row
    for below in range(row + 1, min(hi, row + MAX_GAP) + 1):
        line = lines[below]
        if not line.strip() or is_rule(line) or indent(line) < at:
            break
        last = below
    return last


def _label(rows: Sequence[Row], lines: Sequence[str], row: int, at: int, end: int, hi: int) -> str:
    """The label from its first row over the rows onto which it wraps; descriptions are left out.

    A description is drawn in another style or starts though the row above had room for its word.
    """
    line = main_column(lines[row])
    text = line[at:]
    head = first_cell(text)
    if head != text:
        # "Name      description": the label ends at two blanks, and so do all rows below it.
        return _strip_scroll(head)
    edge = max(len(main_column(lines[r])) for r in range(max(0, row - 12), min(hi, end + 8) + 1))
    pieces = [text]
    above = line
    for below in range(row + 1, end):
        part = main_column(lines[below])
        if not part.strip() or is_rule(part) or indent(part) < at - 1:
            break
        word = part.split(maxsplit=1)[0]
        same = _same_ink(rows[row], at, rows[below], indent(part))
        if not same or len(above) + 1 + len(word) <= edge - 4:
            break
        pieces.append(part.strip())
        above = part
    return _strip_scroll(squash(" ".join(pieces)))


def _same_ink(one: Row, at: int, other: Row, there: int) -> bool:
    first, second = one.style_at(at), other.style_at(there)
    return first.fg == second.fg and first.dim == second.dim


def _strip_scroll(label: str) -> str:
    return _SCROLL_IN_COLUMN.sub("", label).strip()


def _clipped(lines: Sequence[str], first: int, last: int, hi: int) -> bool:
    near = [first - 1, first - 2, last + 1, last + 2]
    return any(0 <= row <= hi and SCROLL.match(lines[row]) for row in near)


_HINT = re.compile(r"(?i)^(?:[⇆↑↓←→/ ]+|(?:enter|esc|tab|ctrl\+\S+|shift\+\S+|space)\b).*")


def find_buttons(
    rows: Sequence[Row], lines: Sequence[str], pattern: re.Pattern[str], lo: int, hi: int
) -> Menu | None:
    """A row of buttons (`Allow once   Reject`), the lowest that the pattern matches.

    Which one is chosen is shown by its colours alone; key hints right of them are no buttons.
    """
    for row in range(hi, lo - 1, -1):
        match = pattern.search(lines[row])
        if match is None:
            continue
        start = match.start()
        words = list(re.finditer(r"\S+(?: \S+)*", lines[row][start:]))
        items = []
        for word in words:
            label = word.group()
            if _HINT.match(label) or start + word.start() > match.end():
                break
            items.append((start + word.start(), label))
        if len(items) < 2:
            continue
        backs = [rows[row].style_at(at).bg for at, _ in items]
        built = tuple(
            Item(
                row=row,
                end=row,
                at=at,
                label=label,
                selected=len(items) == 1 or backs.count(backs[n]) == 1 != backs.count(backs[n - 1]),
            )
            for n, (at, label) in enumerate(items)
        )
        return Menu(items=built, first=row, last=row, cursor=row)
    return None
