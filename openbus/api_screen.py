"""A captured screen as rows of styled runs, for a page that draws cells.

Nothing is emulated again: what tmux captured is cut into runs of one style, and where a character
does not take one cell of its own the run says how many cells it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import msgspec
from wcwidth import wcwidth

from openbus.model import Capture
from openbus.screen.grid import PLAIN, Row, Style, parse

_END = "\ue000"
"""Put behind each line: the parser drops trailing blanks, and they may have a background."""


def etag(capture: Capture) -> str:
    """Names what is shown: equal for a screen that did not change."""
    shown = f"{capture.width} {capture.height} {capture.cursor} {capture.dead}\n{capture.ansi}"
    return f'"{blake2b(shown.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()}"'


def styled(key: str, capture: Capture) -> dict[str, Any]:
    """Rows of runs `{text, fg, bg, flags[, cells]}`: colours as SGR parameters, flags as the bits
    of `openbus.screen.grid`, `cells` where the text is not one cell for each character."""
    ansi = capture.ansi.rstrip("\n").replace("\n", f"{_END}\n") + _END
    screen = parse(ansi, capture.width, capture.height)
    return {
        "key": key,
        "width": capture.width,
        "height": capture.height,
        "cursor": msgspec.to_builtins(capture.cursor),
        "rows": [_row(row) for row in screen.rows],
    }


def _row(row: Row) -> list[dict[str, Any]]:
    text = row.text.removesuffix(_END)
    starts = [start for start, _ in row.runs] + [len(text)]
    runs: list[dict[str, Any]] = []
    for (start, style), end in zip(row.runs, starts[1:], strict=True):
        runs += _runs(text[start:end], style)
    while runs and not runs[-1]["text"].strip() and _plain(runs[-1]):
        runs.pop()
    return runs


def _plain(run: dict[str, Any]) -> bool:
    return (run["fg"], run["bg"], run["flags"]) == PLAIN or not (run["bg"] or run["flags"] & 24)


def _runs(text: str, style: Style) -> Iterator[dict[str, Any]]:
    for piece, cells in pieces(text):
        run = {"text": piece, "fg": style.fg, "bg": style.bg, "flags": style.flags}
        yield run if cells is None else {**run, "cells": cells}


def pieces(text: str) -> list[tuple[str, int | None]]:
    """`text` cut where its cells need care: ASCII as it is (None), other narrow characters with
    their number of cells, each wide character alone with 2; combining ones stay with their base."""
    found: list[tuple[str, int | None]] = []
    for char in text:
        cells = 1 if char.isascii() else max(0, wcwidth(char))
        kind = None if char.isascii() else cells
        if found and cells == 0:
            last, count = found[-1]
            found[-1] = (last + char, len(last) if count is None else count)
        elif found and kind != 2 and _joins(found[-1], kind):
            last, count = found[-1]
            found[-1] = (last + char, None if count is None else count + 1)
        else:
            found.append((char, kind))
    return found


def _joins(last: tuple[str, int | None], kind: int | None) -> bool:
    text, cells = last
    if kind is None or cells is None:
        return kind is None and cells is None
    return cells == sum(1 for char in text if wcwidth(char) == 1)
