"""Finding the composer: the place where a person types to an agent.

Four shapes cover the programs that somebody captured: the terminal cursor sits in it (`cursor`),
two rules or a box frame it (`frame`), a bottom edge closes a gutter block (`edge`), or a prompt
glyph stands below a rule (`anchor`). A live composer is what makes a screen a conversation that
waits for nothing: no row above it can be an ask.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from openbus.model import Cursor
from openbus.screen.grid import Screen
from openbus.screen.rules import ComposerRule, Manifest
from openbus.screen.text import main_column

MAX_DRAFT_ROWS = 40
_OPTION = re.compile(r"^\s*\S\s?\d{1,2}[.)]\s")
_BOX = "│┃║"


class Composer(msgspec.Struct, frozen=True, kw_only=True):
    """Rows from `top` to `bottom` belong to it, frame included; `row` is its first text row."""

    rule: str
    top: int
    bottom: int
    row: int
    text: str = ""
    draft: bool = False
    busy: bool = False


def find_composer(screen: Screen, cursor: Cursor, manifest: Manifest) -> Composer | None:
    """The live composer, by the first of the manifest's rules that finds one."""
    lines = screen.lines
    for rule in manifest.composers:
        found = _FINDERS[rule.find](rule, screen, lines, cursor)
        if found is not None:
            return found
    return None


def _by_cursor(
    rule: ComposerRule, screen: Screen, lines: Sequence[str], cursor: Cursor
) -> Composer | None:
    if cursor.visible and cursor.y < len(lines):
        for row in range(cursor.y, max(-1, cursor.y - MAX_DRAFT_ROWS), -1):
            line = lines[row]
            if rule.row.search(line) and not _OPTION.match(line):
                return _composer(rule, screen, lines, row, row, max(row, cursor.y))
            if line[:2].strip() or (rule.single and not line):
                return None
        return None
    for row in range(len(lines) - 1, max(-1, len(lines) - 8), -1):
        match = rule.row.search(lines[row])
        if match and not _OPTION.match(lines[row]) and "dim" in rule.placeholder:
            at = match.start("draft")
            if match.group("draft") and screen.rows[row].style_at(at).dim:
                return _composer(rule, screen, lines, row, row, row)
    return None


def _by_frame(
    rule: ComposerRule, screen: Screen, lines: Sequence[str], cursor: Cursor
) -> Composer | None:
    assert rule.frame is not None
    bottom: int | None = None
    for row in range(len(lines) - 1, -1, -1):
        if not rule.frame.search(lines[row]):
            continue
        if bottom is not None and bottom - row <= MAX_DRAFT_ROWS:
            first = row + 1
            inner = lines[first : bottom if rule.every else first + 1]
            if first < bottom and all(_types(rule, line) for line in inner):
                return _composer(rule, screen, lines, first, row, bottom)
            if rule.every:
                return None
        bottom = row
    return None


def _types(rule: ComposerRule, line: str) -> bool:
    return bool(rule.row.search(line)) and not _OPTION.match(line)


def _by_edge(
    rule: ComposerRule, screen: Screen, lines: Sequence[str], cursor: Cursor
) -> Composer | None:
    assert rule.edge is not None
    for row in range(len(lines) - 1, -1, -1):
        match = rule.edge.search(lines[row])
        if match is None:
            continue
        column = match.start()
        top = row
        while top > 0 and lines[top - 1][column : column + 1] in _BOX and lines[top - 1][column:]:
            top -= 1
        if top == row:
            continue
        # A completion list above the typed text has a right edge, too.
        inner = [_typed(lines[r], column) for r in range(top, row)]
        filled = [r for r, text in enumerate(inner) if text.strip()]
        # The last filled row inside names mode and model; what stands above it is typed text.
        typed = filled[:-1]
        first = top + (typed[0] if typed else 0)
        text = inner[typed[0]].strip() if typed else ""
        holds = bool(text) and not any(text.startswith(p) for p in rule.placeholder)
        return Composer(
            rule=rule.id,
            top=top,
            bottom=row,
            row=first,
            text=text if holds else "",
            draft=holds,
        )
    return None


def _typed(line: str, column: int) -> str:
    """A gutter row's own text; a side panel starts far to the right and is not typed."""
    text = line[column + 1 :]
    if line.rstrip().endswith(tuple(_BOX)) or text.startswith(" " * 24):
        return ""
    return main_column(text)


def _by_anchor(
    rule: ComposerRule, screen: Screen, lines: Sequence[str], cursor: Cursor
) -> Composer | None:
    assert rule.frame is not None
    for row in range(len(lines) - 1, -1, -1):
        if not rule.row.search(lines[row]) or _OPTION.match(lines[row]):
            continue
        filled = 0
        for above in range(row - 1, max(-1, row - 5), -1):
            if rule.frame.search(lines[above]):
                bottom = row
                while bottom + 1 < len(lines) and lines[bottom + 1].startswith(("   ", "│  ")):
                    if not lines[bottom + 1].strip(" │"):
                        break
                    bottom += 1
                return _composer(rule, screen, lines, row, _outer(rule, lines, above), bottom)
            filled += bool(lines[above].strip(" │"))
            if filled > 1:
                break
    return None


def _outer(rule: ComposerRule, lines: Sequence[str], top: int) -> int:
    """A second rule close above belongs to the frame, too: a mode row stands between them."""
    assert rule.frame is not None
    for above in range(top - 1, max(-1, top - 3), -1):
        if rule.frame.search(lines[above]):
            return above
    return top


_FINDERS = {"cursor": _by_cursor, "frame": _by_frame, "edge": _by_edge, "anchor": _by_anchor}


def _composer(
    rule: ComposerRule, screen: Screen, lines: Sequence[str], row: int, top: int, bottom: int
) -> Composer:
    match = rule.row.search(lines[row])
    text = (match.group("draft") or "").strip().strip("│").strip() if match else ""
    at = match.start("draft") if match else 0
    more = any(lines[r].strip(" │") for r in range(row + 1, bottom) if r != bottom)
    holds = bool(text) and not _is_placeholder(rule, screen, row, at, text)
    return Composer(
        rule=rule.id,
        top=top,
        bottom=bottom,
        row=row,
        text=text if holds else "",
        draft=holds or (bool(more) and not text),
        busy=rule.busy is not None and bool(rule.busy.search(lines[row])),
    )


def _is_placeholder(rule: ComposerRule, screen: Screen, row: int, at: int, text: str) -> bool:
    for known in rule.placeholder:
        if known == "dim":
            if _grey(screen, row, at):
                return True
        elif text.startswith(known):
            return True
    return False


def _grey(screen: Screen, row: int, at: int) -> bool:
    """Whether the text at an index is drawn dim, the cell of a drawn cursor left out."""
    line = screen.rows[row]
    index = at
    while index < len(line.text) and (line.text[index] == " " or line.style_at(index).reverse):
        index += 1
    return line.style_at(min(index, len(line.text))).dim
