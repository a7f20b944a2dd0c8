"""Small pure helpers over rows of text: frames, paragraphs, the question sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

RULE = re.compile(r"^\s*[╭╰├┌└╞╔╚]?[─━═╌┄┈▔▁▀▄╴-]{4,}")
"""A horizontal rule or the edge of a box."""

_COLUMN_GAP = re.compile(r"\S( {6,})\S")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=:)\s+(?=[A-Z¿\"'“])")
_BLANKS = re.compile(r"\s+")


@lru_cache(maxsize=64)
def _blank_table(glyphs: str) -> dict[int, str]:
    return {ord(glyph): " " for glyph in glyphs}


@lru_cache(maxsize=4096)
def unframe(line: str, box: str) -> str:
    """The line with gutter and box glyphs blanked, so that columns stay where they are.

    Remembered, as most rows of a frame were on the frame before.
    """
    if not box or line.isascii():
        return line
    return line.translate(_blank_table(box)).rstrip()


def is_rule(line: str) -> bool:
    """Whether a row is a horizontal rule or a box edge."""
    return RULE.match(line) is not None


def indent(line: str) -> int:
    """Leading blanks."""
    return len(line) - len(line.lstrip())


def main_column(line: str, gap: int = 6) -> str:
    """The line up to the first wide gap: what stands right of it is a side panel or a hint."""
    stripped = line.lstrip()
    start = len(line) - len(stripped)
    at = stripped.find(" " * gap)
    return line if at < 0 else line[: start + at]


def first_cell(text: str) -> str:
    """Text up to the first two blanks: "Redis" of "Redis     Shared between workers"."""
    at = text.find("  ")
    return text if at < 0 else text[:at]


def squash(text: str) -> str:
    """Runs of blanks become one."""
    return _BLANKS.sub(" ", text).strip()


def paragraph_above(lines: Sequence[str], row: int, stop: int) -> tuple[int, int] | None:
    """First and last row of the block of text above `row`; `stop` is the first row to look at."""
    last = row - 1
    while last >= stop and not lines[last].strip():
        last -= 1
    if last < stop or is_rule(lines[last]):
        return None
    first = last
    while first - 1 >= stop and lines[first - 1].strip() and not is_rule(lines[first - 1]):
        first -= 1
    return first, last


def joined(lines: Sequence[str], first: int, last: int) -> str:
    """Rows as one line, side panels left out."""
    return squash(" ".join(main_column(lines[r]).strip() for r in range(first, last + 1)))


def sentences(text: str) -> list[str]:
    """A paragraph cut into sentences; a colon before a capital ends one, too."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def question_sentence(text: str) -> str | None:
    """The last sentence with a question mark at its end, or None."""
    for part in reversed(sentences(text)):
        if part.rstrip("\"')”").endswith(("?", "？")):
            return part
    return None
