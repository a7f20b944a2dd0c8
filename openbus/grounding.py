"""The guard: what a reading claims without visible rows does not exist, the user-wait included.

Every source of a wait passes here - rules, a model, native evidence. A wait survives only with rows
of this very screen that prove it, and its question and options only as far as they can be read
there.
"""

from __future__ import annotations

import msgspec

from openbus.model import Option, Reading, Why
from openbus.screen.grid import Screen
from openbus.screen.text import squash


def ground(reading: Reading, screen: Screen) -> Reading:
    """Drop every claim that the screen does not show. Pure and idempotent."""
    lines = screen.lines
    why = tuple(
        Why(rule=reason.rule, rows=tuple(r for r in reason.rows if _visible(lines, r)))
        for reason in reading.why
    )
    reading = msgspec.structs.replace(reading, why=why)
    if reading.activity != "waiting":
        if reading.question is None and reading.waiting_on is None:
            return reading
        return msgspec.structs.replace(reading, question=None, waiting_on=None, dialog=None)
    proof = sorted({row for reason in why for row in reason.rows})
    if not proof:
        return _refused(reading, "grounding/no-visible-rows")
    question = reading.question
    if question is None:
        return reading
    first, last = question.rows
    span = range(max(0, min(first, proof[0])), min(len(lines), max(last, proof[-1]) + 1))
    shown = _letters(" ".join(lines[row] for row in span))
    if question.text and not _shown(question.text, shown):
        return _refused(reading, "grounding/question-not-visible")
    options = tuple(option for option in question.options if _option_shown(option, shown))
    if question.options and not options:
        return _refused(reading, "grounding/options-not-visible")
    command = question.command
    if command is not None and not _shown(command, _letters(" ".join(lines))):
        command = None
    return msgspec.structs.replace(
        reading, question=msgspec.structs.replace(question, options=options, command=command)
    )


def _refused(reading: Reading, rule: str) -> Reading:
    return msgspec.structs.replace(
        reading,
        activity="unknown",
        waiting_on=None,
        question=None,
        dialog=None,
        keep=True,
        why=(*reading.why, Why(rule=rule)),
    )


def _visible(lines: list[str], row: int) -> bool:
    return 0 <= row < len(lines) and bool(lines[row].strip())


def _letters(text: str) -> str:
    """Letters and digits only: frames, wraps and blanks carry no meaning."""
    return "".join(char for char in text if char.isalnum())


def _shown(text: str, shown: str) -> bool:
    wanted = _letters(squash(text))
    if not wanted:
        return True
    if wanted in shown:
        return True
    # Side panels may stand between two halves of a wrapped sentence: each word must be there.
    return all(_letters(word) in shown for word in text.split())


def _option_shown(option: Option, shown: str) -> bool:
    return _shown(option.label, shown)
