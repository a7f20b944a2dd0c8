"""Dialogs that no rule knows, judged by their form.

A menu that asks (a question sentence, answers such as "yes" or "allow", a start-up screen, a title
that says so) needs the person; one that looks like a picker is an overlay that the user opened.
"""

from __future__ import annotations

import re

from openbus.model import Kind, Question
from openbus.screen.region import (
    Ask,
    Picker,
    Region,
    conversation,
    free_text,
    live_menus,
    question_above,
)
from openbus.screen.text import is_rule, joined
from openbus.screen.widgets import Menu


def judge_dialog(region: Region) -> Ask | Picker | None:
    """The lowest menu that no rule knows: an ask, a picker, or neither. The judgement:

    a title that asks, or key hints with a question sentence, two answers or no conversation yet
    above make an ask; a search field, a picker's heading or a typed slash command make a picker.
    """
    menus = live_menus(region)
    return _judge(region, menus[0]) if menus else None


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
    r"(?i)esc(ape)? (to )?(close|exit|clear|go back|back)|press esc to close|to tabs|"
    r"set as default|to close\)"
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
    text, row = question_above(region, menu.first, top)
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
    return whole and starts and not conversation(region, menu.first)


def _generic(region: Region, menu: Menu, text: str, row: int | None, proof: tuple[int, ...]) -> Ask:
    options = menu.options()
    head = _heading(region, menu.first)
    above = joined(region.lines, head, menu.first - 1) if head is not None else text
    around = f"{above} {' '.join(o.label for o in options)}"
    answers = any(re.match(r"(?i)(yes|no|allow|deny|approve|reject)\b", o.label) for o in options)
    fresh = _fresh(region, menu)
    agent = bool(region.manifest.glyphs.reply or region.manifest.glyphs.user)
    kind: Kind = "setup" if fresh and agent else "approval" if answers else "question"
    for known, pattern in _KINDS:
        if pattern.search(around):
            kind = known
            break
    question = Question(
        kind=kind,
        text=text,
        options=options,
        multi=menu.multi,
        free_text=free_text(options),
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
