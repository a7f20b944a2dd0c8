"""Comparison of one reading with one corpus file's labels: the contract's rules, pure.

A label that is absent is not scored. Texts are compared with blanks removed and case folded; a
leading number, cursor glyph or check mark, a trailing key hint such as `(y)` or `(esc)` and all
punctuation are ignored; one side may be a prefix of the other when at least 12 characters match
(narrow panes cut labels).
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from openbus.model import Reading

PREFIX = 12

FIELDS = (
    "program",
    "activity",
    "needs_you",
    "kind",
    "question",
    "options",
    "overlay",
    "background",
    "draft",
    "asked_in_prose",
)
"""Everything that can be scored, in the order of the report."""

_MARK = r"[❯›>▶▸→●○◉◯◦•*✓✔✗✘☐☑☒☞]|\[[ xX✓✔*]?\]|\([ xX•●]?\)"
_LEAD = re.compile(rf"^(?:\s*(?:{_MARK}|\d{{1,2}}[.)]))+\s*")
_MODIFIER = r"(?:(?:ctrl|shift|alt|cmd|meta)\s*[+-]\s*)*"
_KEY = rf"{_MODIFIER}(?:[a-z0-9]|esc|escape|enter|return|tab|space|↵|⏎)"
_HINT = re.compile(rf"\s*\({_KEY}(?:\s*(?:/|,|or)\s*{_KEY})*\)\s*$", re.IGNORECASE)


class Mismatch(msgspec.Struct, frozen=True, kw_only=True):
    """One field that was read differently; values as a person would write them."""

    field: str
    expected: Any
    got: Any


def normal(text: str) -> str:
    """`text` as it is compared."""
    bare = _HINT.sub("", _LEAD.sub("", text))
    kept = "".join(char for char in bare.casefold() if char.isalnum())
    return kept or "".join(text.casefold().split())


def same_text(expected: str, got: str) -> bool:
    """Equal, or one a prefix of the other with at least 12 characters in common."""
    left, right = normal(expected), normal(got)
    if left == right:
        return True
    short, long = sorted((left, right), key=len)
    return len(short) >= PREFIX and long.startswith(short)


def same_options(expected: list[str], got: list[str]) -> bool:
    """The same labels in the same order."""
    return len(expected) == len(got) and all(map(same_text, expected, got))


def compare(expect: dict[str, Any], reading: Reading) -> dict[str, Mismatch | None]:
    """Every scored field of `expect`: None where the reading is right."""
    question = reading.question
    labels = [option.label for option in question.options] if question else []
    result: dict[str, Mismatch | None] = {}

    def score(field: str, right: bool, expected: Any, got: Any) -> None:
        result[field] = None if right else Mismatch(field=field, expected=expected, got=got)

    name = reading.program.name
    if "program" in expect:
        score("program", name == expect["program"], expect["program"], name)
    elif "program_any" in expect:
        score("program", name in expect["program_any"], expect["program_any"], name)
    elif "program_not" in expect:
        unwanted = expect["program_not"]
        unwanted = [unwanted] if isinstance(unwanted, str) else unwanted
        score("program", name not in unwanted, f"not {'|'.join(unwanted)}", name)
    if "activity_any" in expect:
        wanted = expect["activity_any"]
        score("activity", reading.activity in wanted, "|".join(wanted), reading.activity)
    elif "activity" in expect:
        score(
            "activity", reading.activity == expect["activity"], expect["activity"], reading.activity
        )
    if "needs_you" in expect:
        wanted = bool(expect["needs_you"])
        score("needs_you", reading.needs_you == wanted, wanted, reading.needs_you)
    if "kind" in expect:
        kind = question.kind if question else None
        score("kind", kind == expect["kind"], expect["kind"], kind)
    if "question" in expect:
        text = question.text if question else None
        right = text is not None and same_text(expect["question"], text)
        score("question", right, expect["question"], text)
    if "options" in expect:
        score("options", same_options(expect["options"], labels), expect["options"], labels)
    if "overlay" in expect:
        right = _name_matches(expect["overlay"], reading.overlay)
        score("overlay", right, expect["overlay"], reading.overlay)
    if "background" in expect:
        wanted = expect["background"]
        right = reading.background >= 1 if wanted is True else reading.background == int(wanted)
        score("background", right, wanted, reading.background)
    if "draft" in expect:
        score("draft", reading.draft == expect["draft"], expect["draft"], reading.draft)
    if "asked_in_prose" in expect:
        wanted = expect["asked_in_prose"]
        score("asked_in_prose", reading.asked == wanted, wanted, reading.asked)
    return result


def _name_matches(wanted: Any, got: str | None) -> bool:
    """`true` stands for any name, `false` or null for none."""
    if wanted is True:
        return got is not None
    if not wanted:
        return got is None
    return bool(got == wanted)
