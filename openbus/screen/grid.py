"""A capture's bytes become rows of styled text: `parse(ansi, width, height) -> Screen`.

`capture-pane -p -e` prints one line per screen row and SGR sequences that run on across rows, so a
row depends on its own bytes and on the style that was left by the row above. Those two make the key
of the row memo: between two frames of one pane most rows are old and cost one look-up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from wcwidth import wcwidth

BOLD, DIM, ITALIC, UNDERLINE, REVERSE = 1, 2, 4, 8, 16
MAX_ROWS = 1000
MAX_COLUMNS = 2000
MEMO_ROWS = 8192

_TOKEN = re.compile(
    "\x1b\\[([0-9;:]{0,80})m"  # SGR
    "|\x1b\\[[0-?]*[ -/]*[@-~]"  # any other CSI
    "|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?"  # OSC, DCS, SOS, PM, APC
    "|\x1b[ -/]*[0-~]?"  # two-byte escapes, a lone ESC
)
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069"
    "\ufe0e\ufe0f\ufeff\ud800-\udfff]"
)


class Style(NamedTuple):
    """Colours as the SGR parameters that set them ("31", "38;5;9"), `""` = default."""

    fg: str = ""
    bg: str = ""
    flags: int = 0

    @property
    def dim(self) -> bool:
        return bool(self.flags & DIM)

    @property
    def reverse(self) -> bool:
        return bool(self.flags & REVERSE)

    @property
    def bold(self) -> bool:
        return bool(self.flags & BOLD)


PLAIN = Style()


class Row(NamedTuple):
    """One screen row: `text` without trailing blanks, `runs` = (first index in text, style)."""

    text: str
    runs: tuple[tuple[int, Style], ...] = ((0, PLAIN),)

    def style_at(self, index: int) -> Style:
        """Style of the character at a text index."""
        found = PLAIN
        for start, style in self.runs:
            if start > index:
                break
            found = style
        return found

    def index_at(self, column: int) -> int:
        """Text index of a terminal column (wide characters take two, combining ones none)."""
        if self.text.isascii():
            return column
        at = 0
        for index, char in enumerate(self.text):
            cells = max(0, wcwidth(char))
            if at >= column and cells:
                return index
            at += cells
        return len(self.text) + max(0, column - at)

    @property
    def columns(self) -> int:
        """Width in terminal columns."""
        if self.text.isascii():
            return len(self.text)
        return sum(max(0, wcwidth(char)) for char in self.text)


EMPTY = Row("")


class Screen(NamedTuple):
    """The visible grid. `rows` has one entry per screen row, top first."""

    rows: tuple[Row, ...]
    width: int
    height: int

    @property
    def lines(self) -> list[str]:
        return [row.text for row in self.rows]


class Memo:
    """Parsed rows of recent frames, bounded. One per pane, or one shared by a batch."""

    def __init__(self, limit: int = MEMO_ROWS) -> None:
        self._limit = limit
        self._rows: dict[tuple[str, Style], tuple[Row, Style]] = {}

    def row(self, line: str, style: Style) -> tuple[Row, Style]:
        """The parsed row and the style that it leaves for the row below."""
        key = (line, style)
        found = self._rows.get(key)
        if found is None:
            if len(self._rows) >= self._limit:
                self._rows.clear()
            found = self._rows[key] = _row(line, style)
        return found


def parse(ansi: str, width: int, height: int, memo: Memo | None = None) -> Screen:
    """Parse `capture-pane -p -e` output. Never raises on any text.

    `width` and `height` are columns and rows of the pane; missing rows are empty, surplus ones are
    kept up to `MAX_ROWS`.
    """
    row_of = (memo or Memo()).row
    rows: list[Row] = []
    style = PLAIN
    for line in ansi.split("\n")[:MAX_ROWS]:
        row, style = row_of(line, style)
        rows.append(row)
    while len(rows) > height and not rows[-1].text:
        rows.pop()
    if len(rows) < min(height, MAX_ROWS):
        rows.extend([EMPTY] * (min(height, MAX_ROWS) - len(rows)))
    return Screen(tuple(rows), width, height)


def clean(text: str) -> str:
    """Text without control, zero-width and direction characters; tabs become blanks."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROL.sub("", text.replace("\t", "    "))


def _row(line: str, style: Style) -> tuple[Row, Style]:
    line = line[: MAX_COLUMNS * 24]
    if "\x1b" not in line:
        return Row(clean(line)[:MAX_COLUMNS].rstrip(), ((0, style),)), style
    pieces: list[str] = []
    runs: list[tuple[int, Style]] = [(0, style)]
    length = at = 0
    for match in _TOKEN.finditer(line):
        if match.start() > at:
            piece = clean(line[at : match.start()])
            pieces.append(piece)
            length += len(piece)
        at = match.end()
        params = match.group(1)
        if params is None:
            continue
        style = _sgr(style, params)
        if runs[-1][0] == length:
            runs[-1] = (length, style)
        else:
            runs.append((length, style))
    pieces.append(clean(line[at:]))
    return Row("".join(pieces)[:MAX_COLUMNS].rstrip(), tuple(runs)), style


_FLAGS = {1: BOLD, 2: DIM, 3: ITALIC, 4: UNDERLINE, 7: REVERSE}
_CLEAR = {22: BOLD | DIM, 23: ITALIC, 24: UNDERLINE, 27: REVERSE}


@lru_cache(maxsize=4096)
def _sgr(style: Style, params: str) -> Style:
    fg, bg, flags = style
    codes: Sequence[str] = params.replace(":", ";").split(";")
    i = 0
    while i < len(codes):
        code = int(codes[i] or 0)
        i += 1
        if code == 0:
            fg, bg, flags = "", "", 0
        elif code in _FLAGS:
            flags |= _FLAGS[code]
        elif code in _CLEAR:
            flags &= ~_CLEAR[code]
        elif code in (38, 48, 58):
            take = {"5": 2, "2": 4}.get(codes[i] if i < len(codes) else "", 0)
            colour = ";".join([str(code), *codes[i : i + take]])
            i += take
            if code == 38:
                fg = colour
            elif code == 48:
                bg = colour
        elif code == 39:
            fg = ""
        elif code == 49:
            bg = ""
        elif 30 <= code <= 37 or 90 <= code <= 97:
            fg = str(code)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            bg = str(code)
    return Style(fg, bg, flags)


_RED_256 = frozenset(
    {1, 9, 88, 89, 124, 125, 131, 160, 161, 166, 167, 168, 196, 197, 202, 203, 204, 210, 211}
)


@lru_cache(maxsize=1024)
def is_red(colour: str) -> bool:
    """Whether an SGR colour is a red: agents draw errors in it, each theme in another shade."""
    parts = colour.split(";")
    if colour in ("31", "91", "41", "101"):
        return True
    if len(parts) == 3 and parts[1] == "5" and parts[2].isdigit():
        return int(parts[2]) in _RED_256
    if len(parts) == 5 and all(p.isdigit() for p in parts[2:]):
        red, green, blue = (int(p) for p in parts[2:])
        return red > 150 and red - max(green, blue) > 60
    return False
