"""Asks of an agent: known dialogs by manifest, unknown ones by their form.

A dialog is a widget with a question above it and, mostly, key hints below it. Known dialogs name
kind and wording in a manifest. A menu that no rule knows is still judged: one that asks (a question
sentence, answers such as "yes" or "allow", a title that says so) needs the person; one that looks
like a picker is an overlay that the user opened.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from openbus.model import Kind, Option, Question
from openbus.screen.grid import Screen
from openbus.screen.manifest import DialogRule, Manifest
from openbus.screen.text import (
    indent,
    is_rule,
    joined,
    main_column,
    paragraph_above,
    question_sentence,
    squash,
)
from openbus.screen.widgets import SCROLL, Menu, find_buttons, find_menus

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
    title_needs: bool = False
    wrapped: dict[tuple[int, int], str] = msgspec.field(default_factory=dict)
    """Joined rows, kept while one screen is read: every rule looks at the same ones."""


def find_dialog(region: Region) -> Ask | Picker | None:
    """The lowest dialog in a region that a rule of the manifest knows."""
    menus = _live_menus(region)
    best: Ask | None = None
    for rule in region.manifest.dialogs:
        ask = _RULES[rule.widget](region, rule, menus)
        if ask is not None and (best is None or ask.proof[-1] > best.proof[-1]):
            best = ask
    opened = best is not None and best.question.kind in ("login", "setup") and menus
    if best is not None and opened and _conversation(region, best.question.rows[0]):
        return Picker(proof=best.proof, name=best.question.kind)
    return best


def judge_dialog(region: Region) -> Ask | Picker | None:
    """The lowest menu that no rule knows: an ask, a picker, or neither. The judgement:

    a title that asks, or key hints with a question sentence, two answers or no conversation yet
    above make an ask; a search field, a picker's heading or a typed slash command make a picker.
    """
    menus = _live_menus(region)
    return _judge(region, menus[0]) if menus else None


def _live_menus(region: Region) -> list[Menu]:
    """Menus with nothing of the conversation below them, the lowest first."""
    found = find_menus(
        region.screen.rows,
        region.lines,
        region.manifest.glyphs.cursor,
        region.lo,
        region.hi,
        cursorless=any(not d.question and d.footer for d in region.manifest.dialogs),
    )
    return [menu for menu in found if _is_last(region, menu.last)]


def _is_last(region: Region, row: int) -> bool:
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


# --- rules of a manifest -------------------------------------------------------------------------


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
    if buttons is None or not _is_last(region, buttons.last):
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
        if rule.heading is not None and _above(region, rule.heading, row) is None:
            return None
        if "q" in match.groupdict():
            text = _group(match)
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
    text = _wrapped(region, inside[0], row)
    return _ask(region, rule, text, None, (inside[0], row), (inside[0], row))


def _inline(match: re.Match[str]) -> tuple[Option, ...]:
    """Choices on the question's own line: "(Y)es/(N)o/(D)on't ask again"."""
    choices = match.groupdict().get("o") or ""
    return tuple(
        Option(label=choice, key=(re.findall(r"\((\w)\)", choice) or [None])[0])
        for choice in choices.split("/")
        if choice
    )


def _field_rule(region: Region, rule: DialogRule, menus: Sequence[Menu]) -> Ask | None:
    """A text field inside a dialog: heading above, hints below, no options."""
    if rule.footer is None:
        return None
    below = _below(region, rule.footer, region.lo)
    if below is None or not _is_last(region, below):
        return None
    if any(menu.last < below and below - menu.last < 6 for menu in menus[:1]):
        return None
    return _matched(region, rule, None, below)


_RULES = {"menu": _menu_rule, "buttons": _buttons_rule, "line": _line_rule, "field": _field_rule}


def _matched(
    region: Region, rule: DialogRule, menu: Menu | None, at: int | None = None
) -> Ask | None:
    first = menu.first if menu is not None else at if at is not None else region.hi
    last = menu.last if menu is not None else first
    proof: list[int] = []
    if rule.unless is not None and _anywhere(region, rule.unless):
        return None
    if rule.footer is not None and menu is not None:
        below = _below(region, rule.footer, menu.first)
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
        heading = _above(region, rule.heading, first)
        if heading is None:
            return None
        proof.append(heading[0])
    text, row = "", None
    if rule.question is not None:
        found = _above(region, rule.question, first)
        if found is None:
            return None
        row, text = found
        proof.append(row)
    elif heading is not None:
        text, row = _below_heading(region, heading[0], first)
    if row is None and not text:
        text, row = _question_above(region, first, heading[0] + 1 if heading else region.lo)
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
        free_text=rule.free_text or rule.field is not None or _free_text(options),
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


def _group(match: re.Match[str]) -> str:
    named = match.groupdict()
    return squash(named.get("q") or match.group())


def _anywhere(region: Region, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(region.lines[r]) for r in range(region.lo, region.hi + 1))


def _above(region: Region, pattern: re.Pattern[str], first: int) -> tuple[int, str] | None:
    """Nearest row above `first` at which a pattern matches, wrapped rows joined."""
    for row in range(first - 1, max(region.lo, first - MAX_ABOVE) - 1, -1):
        line = region.lines[row]
        if not line.strip():
            continue
        match = pattern.search(main_column(line).strip())
        if match is not None and match.group().rstrip().endswith("?"):
            return row, _group(match)
        whole = _wrapped(region, row, first)
        found = pattern.search(whole) or match
        if found is not None:
            return row, _group(found)
    return None


def _wrapped(region: Region, row: int, stop: int) -> str:
    """A row and up to three rows of the same paragraph below it, as one line."""
    known = region.wrapped.get((row, stop))
    if known is not None:
        return known
    last = row
    while last + 1 < stop and last - row < 3:
        line = region.lines[last + 1]
        if not line.strip() or is_rule(line):
            break
        last += 1
    text = region.wrapped[(row, stop)] = joined(region.lines, row, last)
    return text


def _below(region: Region, pattern: re.Pattern[str], last: int) -> int | None:
    for row in range(region.hi, last - 1, -1):
        line = region.lines[row].strip()
        if line and pattern.search(line):
            return row
        if line and row + 1 <= region.hi:
            after = region.lines[row + 1].strip()
            if after and pattern.search(f"{line} {after}"):
                return row + 1
    return None


def _below_heading(region: Region, heading: int, first: int) -> tuple[str, int | None]:
    """The paragraph that follows a heading: first filled row, wrapped rows joined."""
    for row in range(heading + 1, first):
        line = region.lines[row].strip()
        if line and not is_rule(line) and not _TABS.match(line) and not SCROLL.match(line):
            text = _wrapped(region, row, first)
            return question_sentence(text) or text, row
    return _question_above(region, first, heading)


_TABS = re.compile(r"^←.*→$|^[☐☒☑✔✓□■] \S+(\s+[☐☒☑✔✓□■≡] \S+)+")
"""The tab row of a dialog with several pages."""


def _question_above(region: Region, first: int, lo: int) -> tuple[str, int | None]:
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
            return asked, block[0]
        if nearest[1] is None:
            nearest = (text, block[0])
        row = block[0]
    return nearest


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


# --- dialogs that no rule knows -----------------------------------------------------------------

_ANSWERS = re.compile(
    r"(?i)^(yes\b|no\b|allow|deny|approve|reject|accept|decline|proceed|continue|confirm|cancel|"
    r"trust|don'?t |do not |always|never|retry|try again|skip\b|keep |stop\b|exit\b|quit\b|"
    r"grant|block|permit|abort|dismiss|resume\b|use |switch to |upgrade|update|sign in|log ?in)"
)
_PICKERS = re.compile(
    r"(?i)^(select|choose|switch|settings?|config|resume|search|help|commands?|sessions?|models?|"
    r"themes?|agents?|history|filter|status|usage|stats|keyboard|shortcuts|rewind|permissions)\b"
)
_CLOSE_HINTS = re.compile(
    r"(?i)esc(ape)? (to )?(close|exit|clear|go back|back)|press esc to close|to tabs|set as default|"
    r"to close\)"
)
"""Hints of something that may simply be closed: a picker, unless a question stands above."""
_SEARCH = re.compile(r"(?i)type to (search|filter)|\bto (search|filter)\b|search…")
"""Hints that make even a start-up menu a picker."""
_ASK_HINTS = re.compile(
    r"(?i)\b(enter|return|↵|esc|space|tab)\b.*\b(confirm|select|submit|cancel|continue|choose|"
    r"reject|deny|interrupt|amend|toggle)"
)

_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("trust", re.compile(r"(?i)\btrust|\bMCP servers? (found|may)")),
    ("login", re.compile(r"(?i)\b(sign in|log ?in|login|authenticat)")),
    ("update", re.compile(r"(?i)\bupdate (now|available)|new version|upgrade to")),
    ("limit", re.compile(r"(?i)\b(usage|rate|session|weekly|5-hour) limit|limit reached|quota")),
    ("plan", re.compile(r"(?i)\bplan\b.*\?|implement this plan|ready to (code|build)")),
    ("setup", re.compile(r"(?i)api key|theme|text style|terminal setup|sandbox|telemetry")),
    ("password", re.compile(r"(?i)password|passphrase")),
)


def _judge(region: Region, menu: Menu) -> Ask | Picker | None:
    top = region.lo
    text, row = _question_above(region, menu.first, top)
    fresh = _fresh(region, menu)
    hints = " ".join(
        region.lines[r].strip() for r in range(menu.last + 1, min(region.hi, menu.last + 8) + 1)
    )
    head_row = _heading(region, menu.first)
    head = region.lines[head_row].strip() if head_row is not None else ""
    asks = text.rstrip().endswith(("?", "？"))
    if head and not asks:
        text, row = head, head_row
    picker = bool(_PICKERS.match(head)) or _slash(region, menu)
    picker = picker or bool(_SEARCH.search(hints))
    picker = picker or (not fresh and not asks and bool(_CLOSE_HINTS.search(hints)))
    answers = sum(bool(_ANSWERS.match(item.label)) for item in menu.items)
    hinted = bool(_ASK_HINTS.search(hints)) or region.title_needs
    proof = tuple(sorted({menu.first, menu.last, *([row] if row is not None else [])}))
    if region.title_needs or (hinted and not picker and (asks or answers >= 2 or fresh)):
        return _generic(region, menu, text, row, proof)
    boxed = _boxed(region, menu)
    if not picker and (
        (asks and (boxed or answers >= 2)) or (boxed and 2 <= answers == len(menu.items))
    ):
        return _generic(region, menu, text, row, proof)
    if hinted or picker:
        return Picker(proof=proof)
    return None


def _boxed(region: Region, menu: Menu) -> bool:
    """The menu stands in a box of its own: a side border beside every option."""
    return all(region.raw[item.row].lstrip()[:1] in ("│", "┃", "║") for item in menu.items)


def _fresh(region: Region, menu: Menu) -> bool:
    """A start-up dialog: its own top is visible, and no conversation stands above it."""
    above = range(region.lo, menu.first)
    whole = any(
        not region.raw[r].strip() or is_rule(region.raw[r]) for r in list(above)[:1]
    ) or any(is_rule(region.raw[r]) for r in above)
    starts = menu.items[0].number in (None, 1)
    return whole and starts and not _conversation(region, menu.first)


def _conversation(region: Region, first: int) -> bool:
    """A prompt or a reply stands above: the dialog is not a start-up dialog."""
    bullets = region.manifest.glyphs.reply + region.manifest.glyphs.user
    return any(
        line[:1] and line.lstrip()[:1] in bullets and line.lstrip()[1:2] in (" ", "\xa0")
        for line in region.raw[region.lo : first]
    )


def _generic(region: Region, menu: Menu, text: str, row: int | None, proof: tuple[int, ...]) -> Ask:
    options = menu.options()
    head = _heading(region, menu.first)
    above = joined(region.lines, head, menu.first - 1) if head is not None else text
    around = f"{above} {' '.join(o.label for o in options)}"
    answers = any(re.match(r"(?i)(yes|no|allow|deny|approve|reject)\b", o.label) for o in options)
    fresh = _fresh(region, menu)
    kind: Kind = "setup" if fresh else "approval" if answers else "question"
    for known, pattern in _KINDS:
        if pattern.search(around):
            kind = known
            break
    question = Question(
        kind=kind,
        text=text,
        options=options,
        multi=menu.multi,
        free_text=_free_text(options),
        clipped=menu.clipped,
        rows=(row if row is not None else menu.first, menu.last),
    )
    return Ask(rule="generic", question=question, proof=proof)


def _heading(region: Region, first: int) -> int | None:
    """The first filled row of the dialog: below the nearest rule, else of the blocks above."""
    found: int | None = None
    for above in range(first - 1, max(region.lo, first - 30) - 1, -1):
        if is_rule(region.raw[above]):
            break
        if region.lines[above].strip():
            found = above
    return found


def _slash(region: Region, menu: Menu) -> bool:
    """The row right above the dialog is a slash command that the user typed."""
    users = region.manifest.glyphs.user
    for row in range(menu.first - 1, max(region.lo, menu.first - 40) - 1, -1):
        line = region.raw[row].strip()
        if line and line[0] in users and re.match(r"\S\s+/\w", line):
            return True
        if line and line[0] in region.manifest.glyphs.reply:
            return False
    return False


def _free_text(options: Sequence[Option]) -> bool:
    return any(
        re.match(r"(?i)(type |other\b|enter a |tell |none of the above|something else)", o.label)
        for o in options
    )
