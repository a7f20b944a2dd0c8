"""What only a row of captures can show: an answer that grows, a title that spins.

Some agents show nothing else while an answer streams (Codex 0.159 to 0.171 hides its busy row then;
with animations off even the title stands still). Pure: captures and times in, a verdict out.
"""

from __future__ import annotations

import re
from collections import deque

from openbus.fingerprint import still, still_row
from openbus.model import Capture
from openbus.screen.composer import find_composer
from openbus.screen.grid import Memo, parse
from openbus.screen.manifest import Manifest

GROWTH_MS = 8000
"""How long a body that grew without any busy mark counts as growing: models pause in the middle of
an answer, and told too early is worse than told late. A row that ends the turn ends it at once."""

STEPS_MS = 2500
"""Two steps of growth within this time are a stream; one alone may be an echo or a last line."""

SPIN_MS = 1500
"""How long a title that has just spun counts as spinning. Slowest seen: one cell a second."""

_TAIL = 120
_CELLS = re.compile("[\u2800-\u28ff\u25d0-\u25d3\u25dc-\u25df\u25f4-\u25f7]")


class Motion:
    """The movement of one pane's conversation."""

    def __init__(self) -> None:
        self._size: tuple[int, int] = (0, 0)
        self._body: list[str] | None = None
        self._steps: deque[int] = deque(maxlen=2)
        self._title = ""
        self._spun_at: int | None = None

    def note_title(self, title: str, now: int) -> None:
        """Take the title of a capture, changed or not."""
        old, self._title = self._title, title
        if not _CELLS.search(title):
            self._spun_at = None
        elif title != old and old and _CELLS.search(old) and still(title) == still(old):
            self._spun_at = now

    def note_screen(
        self, capture: Capture, manifest: Manifest, memo: Memo, now: int, counts: bool
    ) -> bool:
        """Take a changed screen; True when its body has grown since the last one.

        `counts`: nothing else on this screen says that the program works. Growth beside a busy mark
        tells nothing about what follows the mark.
        """
        body = _body(capture, manifest, memo)
        size = (capture.width, capture.height)
        grown = size == self._size and self._body is not None and has_grown(self._body, body)
        if size != self._size:
            self._steps.clear()
        self._size, self._body = size, body
        if grown and counts:
            self._steps.append(now)
        return grown

    def forget(self) -> None:
        """A new program, dialog or overlay stands there: what grew before tells nothing."""
        self._steps.clear()
        self._spun_at = None

    def growing(self, now: int) -> bool:
        """The body is being written."""
        return (
            len(self._steps) == 2
            and 0 <= self._steps[1] - self._steps[0] <= STEPS_MS
            and now - self._steps[1] < GROWTH_MS
        )

    def spinning(self, now: int) -> bool:
        """A cell of the title is turning."""
        return self._spun_at is not None and now - self._spun_at < SPIN_MS

    def ends_at(self, now: int) -> int | None:
        """When, without further movement, the present verdict changes."""
        ends = []
        if self.growing(now):
            ends.append(self._steps[1] + GROWTH_MS)
        if self._spun_at is not None and self.spinning(now):
            ends.append(self._spun_at + SPIN_MS)
        return max(ends, default=None)


def _body(capture: Capture, manifest: Manifest, memo: Memo) -> list[str]:
    """The rows of the conversation: above the composer, or above the cursor."""
    screen = parse(capture.ansi, capture.width, capture.height, memo)
    composer = find_composer(screen, capture.cursor, manifest)
    end = composer.top if composer is not None else capture.cursor.y
    return [row for row in (still_row(line).strip() for line in screen.lines[:end]) if row]


def has_grown(old: list[str], new: list[str]) -> bool:
    """Whether `new` goes on where `old` ended: scrolled or in place, the last rows perhaps laid out
    anew. A repaint, another page or a toggled hint does not."""
    for dropped in (0, 1, 2):
        kept = old[: len(old) - dropped] if dropped else old
        if not kept:
            return False
        before = "".join("".join(kept).split())
        after = "".join("".join(new).split())
        tail = before[-_TAIL:]
        at = after.rfind(tail) if len(before) >= _TAIL else (0 if after.startswith(tail) else -1)
        if at >= 0:
            rest = len(after) - at - len(tail)
            lost = len("".join("".join(old[len(kept) :]).split()))
            return rest > lost
    return False
