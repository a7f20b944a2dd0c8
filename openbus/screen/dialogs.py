"""Asks of an agent that a rule of its manifest knows.

A dialog is a widget with a question above it and, mostly, key hints below it; the rule names kind
and wording. Of several the lowest one counts. Those that no rule knows are judged in `judge.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from openbus.model import Option, Question
from openbus.screen.region import (
    MAX_ABOVE,
    Ask,
    Picker,
    Region,
    below_heading,
    conversation,
    free_text,
    is_last,
    live_menus,
    matched_text,
    question_above,
    row_above,
    row_below,
    wrapped,
)
from openbus.screen.rules import DialogRule
from openbus.screen.text import indent, is_rule, main_column, squash
from openbus.screen.widgets import Menu, find_buttons


def find_dialog(region: Region) -> Ask | Picker | None:
    """The lowest dialog in a region that a rule of the manifest knows."""
    menus = live_menus(region)
    best: Ask | None = None
    for rule in region.manifest.dialogs:
        if rule.witness is not None:
            continue
        ask = _RULES[rule.widget](region, rule, menus)
        if ask is not None and (best is None or ask.proof[-1] > best.proof[-1]):
            best = ask
    opened = best is not None and best.question.kind in ("login", "setup") and menus
    if best is not None and opened and conversation(region, best.question.rows[0]):
        return Picker(proof=best.proof, name=best.question.kind)
    return best


# --- rules of a manifest -------------------------------------------------------------------------


def find_witnessed(region: Region, below: Sequence[str]) -> Ask | None:
    """A dialog in the body above a live composer, vouched for by a row below the composer.

    Rows of a conversation can quote a dialog; the program's own footer cannot be quoted there.
    """
    for rule in region.manifest.dialogs:
        if rule.witness is None or not any(rule.witness.search(line) for line in below):
            continue
        ask = _RULES[rule.widget](region, rule, ())
        if ask is not None:
            return ask
    return None


def _menu_rule(region: Region, rule: DialogRule, menus: Sequence[Menu]) -> Ask | None:
    for menu in menus[:2]:
        if menu.cursor is None and rule.footer is None:
            continue
        ask = _matched(region, rule, menu)
        if ask is not None:
            return ask
    return None


def _buttons_rule(region: Region, rule: DialogRule, menus: Sequence[Menu]) -> Ask | None:
    if rule.buttons is None:
        return None
    buttons = find_buttons(region.screen.rows, region.lines, rule.buttons, region.lo, region.hi)
    if buttons is None or not is_last(region, buttons.last):
        return None
    return _matched(region, rule, buttons)


def _line_rule(region: Region, rule: DialogRule, menus: Sequence[Menu]) -> Ask | None:
    """One row that waits for a key, the last filled row but for hints."""
    if rule.question is None:
        return None
    for row in range(region.hi, region.lo - 1, -1):
        line = region.lines[row].strip()
        if not line or is_rule(line):
            continue
        first = row
        while (
            first > region.lo and region.screen.rows[first - 1].columns >= region.screen.width - 1
        ):
            first -= 1
        match = rule.question.search("".join(region.lines[first : row + 1]).strip())
        if match is None:
            if rule.footer is None or not rule.footer.search(line):
                return None
            continue
        if rule.heading is not None and row_above(region, rule.heading, row) is None:
            return None
        if "q" in match.groupdict():
            text = matched_text(match)
            return _ask(region, rule, text, None, (first, row), (first, row), _inline(match))
        return _notice(region, rule, first)
    return None


def _notice(region: Region, rule: DialogRule, row: int) -> Ask | None:
    """Text below a rule that only waits for a key: no option in it, its first paragraph asks."""
    top = next((r for r in range(row - 1, region.lo - 1, -1) if is_rule(region.raw[r])), None)
    if top is None:
        return None
    inside = [r for r in range(top + 1, row) if region.lines[r].strip()]
    cursors = region.manifest.glyphs.cursor
    if not inside or any(region.lines[r].lstrip()[:1] in cursors for r in inside):
        return None
    text = wrapped(region, inside[0], row)
    return _ask(region, rule, text, None, (inside[0], row), (inside[0], row))


def _inline(match: re.Match[str]) -> tuple[Option, ...]:
    """Choices on the question's own line: "(Y)es/(N)o/(D)on't ask again"."""
    choices = match.groupdict().get("o") or ""
    return tuple(
        Option(label=choice, key=(re.findall(r"\((\w)\)", choice) or [None])[0])
        for choice in choices.split("/")
        if choice
    )


def _hints_rule(region: Region, rule: DialogRule, menus: Sequence[Menu]) -> Ask | None:
    """One row of keys and what they do ("enter accept  d deny") below a question."""
    if rule.buttons is None or rule.question is None:
        return None
    for row in range(region.hi, region.lo - 1, -1):
        line = region.lines[row].strip()
        if not line or not rule.buttons.search(line):
            continue
        found = row_above(region, rule.question, row)
        if found is None:
            return None
        top, text = found
        parts = (part.partition(" ") for part in re.split(r"\s{2,}", line))
        options = tuple(Option(label=label, key=key) for key, _, label in parts if label)
        return _ask(region, rule, text, None, (top, row), (top, row), options)
    return None


def _field_rule(region: Region, rule: DialogRule, menus: Sequence[Menu]) -> Ask | None:
    """A text field inside a dialog: heading above, hints below, no options."""
    if rule.footer is None:
        return None
    below = row_below(region, rule.footer, region.lo)
    if below is None or not is_last(region, below):
        return None
    if any(menu.last < below and below - menu.last < 6 for menu in menus[:1]):
        return None
    return _matched(region, rule, None, below)


_RULES = {
    "menu": _menu_rule,
    "buttons": _buttons_rule,
    "line": _line_rule,
    "field": _field_rule,
    "hints": _hints_rule,
}


def _matched(
    region: Region, rule: DialogRule, menu: Menu | None, at: int | None = None
) -> Ask | None:
    first = menu.first if menu is not None else at if at is not None else region.hi
    last = menu.last if menu is not None else first
    proof: list[int] = []
    if rule.unless is not None and _anywhere(region, rule.unless):
        return None
    if rule.footer is not None and menu is not None:
        below = row_below(region, rule.footer, menu.first)
        cut_off = not any(region.lines[r].strip() for r in range(last + 1, region.hi + 1))
        if below is None and not (cut_off and rule.question is not None):
            return None
        if below is not None:
            proof.append(below)
            last = max(last, below)
    if rule.options is not None and not _has_option(rule, menu):
        return None
    heading = None
    if rule.heading is not None:
        heading = row_above(region, rule.heading, first)
        if heading is None:
            return None
        proof.append(heading[0])
    text, row = "", None
    if rule.question is not None:
        found = row_above(region, rule.question, first)
        if found is None:
            return None
        row, text = found
        proof.append(row)
    elif heading is not None:
        text, row = below_heading(region, heading[0], first)
    if row is None and not text:
        text, row = question_above(region, first, heading[0] + 1 if heading else region.lo)
    top = min([r for r in (row, heading[0] if heading else None) if r is not None] or [first])
    return _ask(region, rule, text, menu, (*proof, first), (top, last))


def _ask(
    region: Region,
    rule: DialogRule,
    text: str,
    menu: Menu | None,
    proof: tuple[int, ...],
    rows: tuple[int, int],
    options: tuple[Option, ...] = (),
) -> Ask:
    if menu is not None:
        options = menu.options()
    if rule.skip_options is not None:
        options = tuple(o for o in options if not rule.skip_options.search(o.label))
    question = Question(
        kind=rule.kind,
        text=rule.fixed_question or text,
        options=options,
        multi=menu.multi if menu is not None else False,
        free_text=rule.free_text or rule.field is not None or free_text(options),
        clipped=menu.clipped if menu is not None else False,
        command=_command(region, rule, rows[0], menu.first if menu is not None else rows[1]),
        rows=rows,
    )
    return Ask(rule=rule.id, question=question, proof=tuple(sorted(set(proof) | set(rows))))


def _has_option(rule: DialogRule, menu: Menu | None) -> bool:
    return (
        menu is not None
        and rule.options is not None
        and any(rule.options.search(item.label) for item in menu.items)
    )


def _anywhere(region: Region, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(region.lines[r]) for r in range(region.lo, region.hi + 1))


# --- command -------------------------------------------------------------------------------------


def _command(region: Region, rule: DialogRule, top: int, first: int) -> str | None:
    """The command, file or address that is asked about, as visible, rows joined."""
    lines = region.lines
    if rule.command is not None:
        for row in range(first - 1, max(region.lo, top - 12) - 1, -1):
            match = rule.command.search(lines[row])
            if match is not None:
                head = lines[row][match.end() :] if match.end() < len(lines[row]) else ""
                return squash(" ".join([head, *_block(region, row + 1, first)]))
    if rule.command_after is not None:
        for row in range(first - 1, max(region.lo, first - MAX_ABOVE) - 1, -1):
            if rule.command_after.search(lines[row].strip()):
                start = _command_start(region, row + 1, first)
                return squash(" ".join(_block(region, start, first))) or None
    return None


def _command_start(region: Region, row: int, stop: int) -> int:
    """The fenced block below a heading, else the first filled row."""
    fences = [r for r in range(row, stop) if is_rule(region.lines[r])]
    if len(fences) >= 2:
        return fences[0] + 1
    while row < stop and not region.lines[row].strip():
        row += 1
    return row


def _block(region: Region, row: int, stop: int) -> list[str]:
    pieces = []
    ink = None
    while row < stop:
        line = main_column(region.lines[row])
        if not line.strip() or is_rule(line):
            break
        style = region.screen.rows[row].style_at(indent(line))
        if ink is not None and style.dim != ink:
            break
        ink = style.dim
        pieces.append(line.strip())
        row += 1
    return pieces
