"""Three fingerprints, one per clock and question.

`seen` - did the visible grid or the cursor change? `read` - did it change in anything but running
timers, token counts and spinner cells, so that a reader must look again? `deck` - did the published
state change in anything that a person or a script would want to be woken for?
"""

from __future__ import annotations

import re
from hashlib import blake2b

import msgspec

from openbus.model import Capture, Clocks, PaneState

_SPINNER = "[\u2800-\u28ff\u25d0-\u25d3\u25dc-\u25df\u25f4-\u25f7✢✳✶✻✽⬝■·•◦*]"
_TIMED = r"\d+(?:[.,]\d+)*\s?(?:[kKmM]?\s?tokens?\b|(?:ms|s|m|h|[kKMG]i?B)\b|%)"
_SPINNERS = re.compile(_SPINNER + r"|\[ ?[!.] ?\]")
_AGES = re.compile(_TIMED)
_SGR = re.compile(r"\x1b\[[0-9;:]*m")
_LEADING = re.compile(r"^((?:\s|\x1b\[[0-9;:]*m)*)" + _SPINNER + "+")


def seen_fingerprint(capture: Capture) -> bytes:
    """Hash of grid, cursor and size: moves the physical clock."""
    cursor = capture.cursor
    place = f"{capture.width}x{capture.height} {cursor.x},{cursor.y},{cursor.visible}"
    text = f"{place} {capture.alternate_on} {capture.dead}\n{capture.ansi}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class ReadFingerprints:
    """Hashes screens without their volatile spans.

    Most rows of a changed screen are old, so what a row looks like without its volatile spans is
    remembered; the memory is emptied when it reaches `limit` rows.
    """

    def __init__(self, limit: int = 20_000) -> None:
        self._rows: dict[str, str] = {}
        self._limit = limit

    def of(self, capture: Capture) -> bytes:
        """Hash of what a reader can tell apart. The cursor counts by row only: it moves while a
        person types, which the grid shows as well."""
        rows = [self._row(row) for row in capture.ansi.split("\n")]
        place = (
            f"{capture.width}x{capture.height} {capture.cursor.y},{capture.cursor.visible} "
            f"{capture.alternate_on} {capture.dead} {capture.command} {still(capture.title)} "
            f"{title_spins(capture.title)} "
            + " ".join(f"{p.depth}{p.comm}{p.foreground}{p.argv}" for p in capture.processes)
        )
        body = place + "\n" + "\n".join(rows)
        return blake2b(body.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def _row(self, row: str) -> str:
        known = self._rows.get(row)
        if known is None:
            if len(self._rows) >= self._limit:
                self._rows.clear()
            known = self._rows[row] = still_row(row)
        return known


def still_row(row: str) -> str:
    """A row of a capture without running timers and its leading spinner cell. Digits elsewhere
    stay: they tell one command from another."""
    return _AGES.sub("0", _LEADING.sub(r"\1*", row))


def title_spins(title: str) -> bool:
    """Whether a title carries a spinner cell."""
    return _SPINNERS.search(title[:4]) is not None


def still(text: str) -> str:
    """A title or label without running timers and spinner cells."""
    return _AGES.sub("0", _SPINNERS.sub("*", text)).strip()


def deck_fingerprint(state: PaneState) -> bytes:
    """What wakes subscribers: the state without rows, reasons, clocks, revision, running timers and
    spinner cells."""
    question = state.question
    if question is not None:
        question = msgspec.structs.replace(question, rows=(0, 0))
    pane = msgspec.structs.replace(state.pane, title=still(state.pane.title))
    quiet = msgspec.structs.replace(
        state,
        rev=0,
        clocks=Clocks(),
        why=(),
        question=question,
        pane=pane,
        detail=still(state.detail) if state.detail else state.detail,
        headline=still(state.headline) if state.headline else state.headline,
        title=still(state.title) if state.title else state.title,
    )
    return msgspec.json.encode(quiet)
