"""Why a screen reads as it does: the rules that fired, those that nearly did, and what was dropped.

`explain` runs the very functions that `classify` runs and adds what the other rules saw, so what it
prints is the decision that would be published, not a second opinion.
"""

from __future__ import annotations

import msgspec

from openbus.grounding import ground
from openbus.model import Capture, Program, Reading
from openbus.screen.composer import Composer, find_composer
from openbus.screen.grid import Screen, parse
from openbus.screen.identify import identify
from openbus.screen.manifest import Library
from openbus.screen.reader import read
from openbus.screen.rules import DialogRule, Manifest
from openbus.screen.text import main_column, unframe

MAX_ROWS = 6
"""Rows listed for one rule that nearly fired."""


class Fired(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that took part in the decision, with the rows that prove it and their text."""

    rule: str
    rows: tuple[int, ...]
    text: tuple[str, ...]


class Near(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that saw something and did not decide: why not, and the rows that it saw."""

    rule: str
    why_not: str
    rows: tuple[int, ...]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Everything behind one reading. Rows count from 0 at the top of the visible grid."""

    program: Program
    evidence: str
    reading: Reading
    composer: tuple[int, int] | None
    fired: tuple[Fired, ...]
    nearly: tuple[Near, ...]
    grounding: tuple[str, ...]


def explain(capture: Capture, library: Library) -> Explanation:
    """The reading of a capture with its reasons. Pure; never raises on any screen content."""
    screen = parse(capture.ansi, capture.width, capture.height)
    who = identify(capture, screen.lines, library)
    claimed = read(screen, capture, who)
    reading = ground(claimed, screen)
    composer = None
    if who.manifest is not None:
        composer = find_composer(screen, capture.cursor, who.manifest)
    lines = screen.lines
    fired = tuple(
        Fired(rule=why.rule, rows=why.rows, text=tuple(lines[r].strip() for r in why.rows))
        for why in reading.why
    )
    nearly: tuple[Near, ...] = ()
    if who.manifest is not None:
        names = {why.rule for why in reading.why}
        nearly = (
            *_near_marks(screen, who.manifest, composer, names),
            *_near_dialogs(screen, who.manifest, names),
        )
    return Explanation(
        program=who.program,
        evidence=who.evidence,
        reading=reading,
        composer=(composer.top, composer.bottom) if composer is not None else None,
        fired=fired,
        nearly=nearly,
        grounding=_dropped(claimed, reading),
    )


def _near_marks(
    screen: Screen, manifest: Manifest, composer: Composer | None, fired: set[str]
) -> list[Near]:
    found = []
    for kind, rules in (("mark", manifest.marks), ("footer", manifest.footers)):
        for rule in rules:
            name = f"{manifest.id}/{rule.id}"
            rows = tuple(r for r, line in enumerate(screen.lines) if line and rule.row.search(line))
            if not rows or name in fired or rule.silent:
                continue
            found.append(Near(rule=name, why_not=_why_not(kind, rows, composer), rows=_few(rows)))
    return found


def _why_not(kind: str, rows: tuple[int, ...], composer: Composer | None) -> str:
    if composer is None:
        return "another rule decided"
    if kind == "footer" and max(rows) <= composer.bottom:
        return "not below the composer"
    if kind == "mark" and min(rows) > composer.top:
        return "not above the composer"
    return "a lower row decided"


def _near_dialogs(screen: Screen, manifest: Manifest, fired: set[str]) -> list[Near]:
    lines = [unframe(line, manifest.glyphs.box) for line in screen.lines]
    found = []
    for rule in manifest.dialogs:
        name = f"{manifest.id}/{rule.id}"
        if name in fired:
            continue
        seen, missing = _parts(rule, lines)
        if seen and (rule.question is None or "question" in seen):
            rows = tuple(sorted({row for part in seen.values() for row in part}))
            reason = f"no row for {', '.join(missing)}" if missing else "not a live dialog"
            found.append(Near(rule=name, why_not=reason, rows=_few(rows)))
    return found


def _parts(rule: DialogRule, lines: list[str]) -> tuple[dict[str, tuple[int, ...]], list[str]]:
    seen: dict[str, tuple[int, ...]] = {}
    missing = []
    for part in ("question", "heading", "footer", "buttons"):
        pattern = getattr(rule, part)
        if pattern is None:
            continue
        rows = tuple(
            r for r, line in enumerate(lines) if line and pattern.search(main_column(line).strip())
        )
        if rows:
            seen[part] = rows
        else:
            missing.append(part)
    return seen, missing


def _few(rows: tuple[int, ...]) -> tuple[int, ...]:
    return rows[-MAX_ROWS:]


def _dropped(claimed: Reading, kept: Reading) -> tuple[str, ...]:
    dropped = []
    if claimed.needs_you and not kept.needs_you:
        dropped.append("the wait itself: no visible rows prove it")
    if claimed.question is not None and kept.question is not None:
        gone = len(claimed.question.options) - len(kept.question.options)
        if gone:
            dropped.append(f"{gone} options that are not visible")
        if claimed.question.command and not kept.question.command:
            dropped.append("a command that is not visible")
    return tuple(dropped)
