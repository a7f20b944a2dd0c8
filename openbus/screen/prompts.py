"""Prompts of programs that no manifest knows, by the form that prompt libraries give them.

Two families cover what installers and scaffolding tools draw. *Steps* (inquirer, clack, prompts,
enquirer and their kin) mark an open question with a coloured `?` or `◆`, put choices right below
it and change the mark when it is answered. *Boxes* (whiptail, dialog and what builds on newt or
curses) stand in a frame with buttons such as `<Yes>` on its last rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from openbus.model import Cursor, Kind, Option, Question
from openbus.screen.grid import Row, Screen
from openbus.screen.text import is_rule, squash, unframe

MAX_STEP_ROWS = 24
"""Rows that an open step may take: its choices and its hints."""

_BOX = "│┃║|"
_STEP = re.compile(r"^\s*(?P<mark>\?|◆|\[\?\])\s+(?P<q>\S.*)$")
_TAIL = re.compile(
    r"\s*(?:[›‣»…](?:\s.*)?$|\[input is \w+\].*$|\((?:[yY]/[nN]|[yYnN]+[hH]|y/N|Y/n)\).*$)"
)
_YES_NO = re.compile(r"(?i)\((?:y/n|[yn]+h)\)|\bno / yes\b|\byes / no\b")
_MASKED = re.compile(r"(?i)\bpassword|passphrase|\[input is (masked|hidden)\]|token\b")
_CHOICE = re.compile(
    r"^\s*(?P<cur>[❯›▸>●◉])?\s*(?P<box>[◯○◻☐◼☑◉●✔])?\s*(?:\d{1,2}\)\s+)?(?P<label>\S.*)$"
)
_HINT = re.compile(
    r"(?i)^\W*(instructions:|use arrow|↑|←|\(use |space[: ]|enter[:/ ]|a: |ctrl\+|press |•|⏎|esc )"
)
_BUTTON = re.compile(r"<\s*([^<>]{1,24}?)\s*>")


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """An open prompt: its family (`step` or `box`), the question, the rows that prove it."""

    family: str
    question: Question
    proof: tuple[int, ...]


def find_prompt(screen: Screen, cursor: Cursor) -> Prompt | None:
    """The open prompt of the program in the foreground, or None."""
    return _step(screen, cursor) or _box(screen)


# --- steps ---------------------------------------------------------------------------------------


def _step(screen: Screen, cursor: Cursor) -> Prompt | None:
    lines = screen.lines
    last = max((r for r, line in enumerate(lines) if line), default=-1)
    for row in range(last, max(-1, last - MAX_STEP_ROWS), -1):
        match = _STEP.match(lines[row])
        if match is None:
            if lines[row][:1].isalnum() and not _HINT.match(lines[row]):
                return None
            continue
        if not _coloured(screen.rows[row], match.start("mark")):
            return None
        options, end = _choices(lines, row + 1, last)
        closed = match.group("mark") == "◆" and any("└" in lines[r] for r in range(row, last + 1))
        if not (options or closed or cursor.y == row):
            return None
        return _found(match.group("q"), options, row, max(end, row), last)
    return None


def _coloured(row: Row, at: int) -> bool:
    style = row.style_at(at)
    return bool(style.fg) or style.bold


def _found(text: str, options: tuple[Option, ...], row: int, end: int, last: int) -> Prompt:
    kind: Kind = "menu" if options else "prompt"
    labels = {option.label.lower() for option in options}
    if _YES_NO.search(text) or labels == {"yes", "no"}:
        kind = "confirm"
    elif not options and _MASKED.search(text):
        kind = "password"
    question = Question(
        kind=kind,
        text=squash(_TAIL.sub("", text)) or squash(text),
        options=options,
        multi=sum(option.checked is not None for option in options) >= 2,
        free_text=kind in ("prompt", "password"),
        rows=(row, max(end, last if end > row else row)),
    )
    return Prompt(family="step", question=question, proof=(row, end) if end > row else (row,))


def _choices(lines: Sequence[str], first: int, last: int) -> tuple[tuple[Option, ...], int]:
    """Choices right below a question: one of them, or all, carries a glyph."""
    found: list[Option] = []
    marked = False
    end = first - 1
    for row in range(first, last + 1):
        line = unframe(lines[row], _BOX)
        if _HINT.match(line) and not found:
            continue
        if not line.strip() or _HINT.match(line) or "└" in line:
            break
        pair = re.fullmatch(r"\s*[●○]\s*(\w+) / [●○]\s*(\w+)\s*", line)
        if pair is not None:
            chosen = line.index("●") < line.index("○")
            options = (
                Option(label=pair.group(1), selected=chosen),
                Option(label=pair.group(2), selected=not chosen),
            )
            return options, row
        match = _CHOICE.match(line)
        if match is None or (line[:1].isalnum() and not marked):
            break
        cur, box = match.group("cur"), match.group("box")
        marked = marked or cur is not None or box is not None or bool(re.match(r"\s*\d+\)", line))
        checked = None if box is None or box in "○●" else box in "◼☑◉✔"
        found.append(Option(label=match.group("label"), selected=cur is not None, checked=checked))
        end = row
    if not marked or len(found) < 2:
        return (), first - 1
    return tuple(found), end


# --- boxes ---------------------------------------------------------------------------------------


def _box(screen: Screen) -> Prompt | None:
    lines = screen.lines
    for row in range(len(lines) - 1, -1, -1):
        line = lines[row].strip()
        if not line or line[0] not in _BOX or line[-1] not in _BOX:
            continue
        buttons = _BUTTON.findall(line)
        if not buttons or _BUTTON.sub("", line).strip(_BOX + " "):
            continue
        text, top = _box_text(lines, row)
        if top is None:
            return None
        yes_no = buttons[0].lower() in ("yes", "no")
        question = Question(
            kind="confirm" if yes_no or len(buttons) == 1 else "menu",
            text=text,
            options=tuple(Option(label=squash(label)) for label in buttons),
            rows=(top, row),
        )
        return Prompt(family="box", question=question, proof=(top, row))
    return None


def _box_text(lines: Sequence[str], buttons: int) -> tuple[str, int | None]:
    """The first paragraph inside the frame above a row of buttons."""
    top = None
    for row in range(buttons - 1, -1, -1):
        line = lines[row].strip()
        if line[:1] in ("┌", "╭", "╔"):
            top = row
            break
        if not line or (line[0] not in _BOX and not is_rule(line)):
            return "", None
    if top is None:
        return "", None
    pieces: list[str] = []
    first = None
    for row in range(top + 1, buttons):
        text = unframe(lines[row], _BOX).strip()
        if text and not is_rule(text):
            first = row if first is None else first
            pieces.append(text)
        elif pieces:
            break
    return squash(" ".join(pieces)), first
