"""What only a row of captures can show: an answer that grows, a title that spins.

Some agents show nothing else while an answer streams (Codex 0.159 to 0.171 hides its busy row then;
with animations off even the title stands still). Pure: captures and times in, a verdict out.
"""

from __future__ import annotations

import re

from openbus.fingerprint import still
from openbus.model import Capture
from openbus.screen.composer import find_composer
from openbus.screen.grid import Memo, parse
from openbus.screen.rules import Manifest

GROWTH_MS = 8000
"""How long a body counts as growing that went on growing when the busy mark went: models pause in
the middle of an answer, and told too early is worse than told late. A row that ends the turn ends
it at once."""

FRESH_MS = 2500
"""The same for a body that began to grow beside an idle screen (we came in the middle of it)."""

STEP_MS = 2500
"""Steps of growth at most this far apart are one stream; one alone may be an echo."""

FRESH_STEPS, FRESH_SPAN_MS = 3, 1000
"""What shows a stream that nothing announced: a local command or a resumed session is painted in
fewer steps, or sooner."""

SPIN_MS = 1500
"""How long a title that has just spun counts as spinning. Slowest seen: one cell a second."""

_TAIL = 80
_CELLS = re.compile("[\u2800-\u28ff\u25d0-\u25d3\u25dc-\u25df\u25f4-\u25f7]")


class Motion:
    """The movement of one pane's conversation."""

    def __init__(self) -> None:
        self._size: tuple[int, int] = (0, 0)
        self._body: list[str] | None = None
        self._steps: list[int] = []
        self._goes_on = False
        self._title = ""
        self._spun_at: int | None = None

    def note_title(self, title: str, now: int) -> None:
        """Take the title of a capture, changed or not."""
        old, self._title = self._title, title
        if not _CELLS.search(title):
            self._spun_at = None
        elif title != old and old and _CELLS.search(old) and still(title) == still(old):
            self._spun_at = now

    def note_screen(self, capture: Capture, manifest: Manifest, memo: Memo, now: int) -> bool:
        """Take a changed screen; True when its body has grown since the last one."""
        body = _body(capture, manifest, memo)
        size = (capture.width, capture.height)
        grown = (
            size == self._size
            and self._body is not None
            and body is not None
            and has_grown(self._body, body)
        )
        if size != self._size:
            self._steps.clear()
        self._size, self._body = size, body
        return grown

    def step(self, now: int, goes_on: bool) -> None:
        """The body grew while nothing else on the screen says that the program works. `goes_on`:
        it was working a moment ago. Growth beside a busy mark is no step: it tells nothing about
        what follows the mark."""
        if self._steps and not 0 <= now - self._steps[-1] <= STEP_MS and not self.growing(now):
            self._steps.clear()
        if not self._steps:
            self._goes_on = goes_on
        self._steps = [*self._steps[-(FRESH_STEPS * 4) :], now]

    def forget(self) -> None:
        """A new program or dialog stands there: what grew before tells nothing."""
        self._steps.clear()
        self._spun_at = None

    def growing(self, now: int) -> bool:
        """The body is being written."""
        end = self._grows_until()
        return end is not None and now < end

    def _grows_until(self) -> int | None:
        if self._goes_on:
            return self._steps[-1] + GROWTH_MS if len(self._steps) >= 2 else None
        if len(self._steps) >= FRESH_STEPS and self._steps[-1] - self._steps[0] >= FRESH_SPAN_MS:
            return self._steps[-1] + FRESH_MS
        return None

    def spinning(self, now: int) -> bool:
        """A cell of the title is turning."""
        return self._spun_at is not None and now - self._spun_at < SPIN_MS

    def ends_at(self, now: int) -> int | None:
        """When, without further movement, the present verdict changes."""
        ends = []
        grows = self._grows_until()
        if grows is not None and now < grows:
            ends.append(grows)
        if self._spun_at is not None and self.spinning(now):
            ends.append(self._spun_at + SPIN_MS)
        return max(ends, default=None)


def _body(capture: Capture, manifest: Manifest, memo: Memo) -> list[str] | None:
    """The rows of the conversation: those above the composer. None without a composer, since what
    grows there may be what somebody types."""
    screen = parse(capture.ansi, capture.width, capture.height, memo)
    composer = find_composer(screen, capture.cursor, manifest)
    if composer is None:
        return None
    return [row for row in map(str.strip, screen.lines[: composer.top]) if row]


def has_grown(old: list[str], new: list[str]) -> bool:
    """Whether `new` goes on where `old` ended: scrolled or in place, the last rows perhaps laid out
    anew. A repaint, another page or a toggled hint does not."""
    if old == new:
        return False
    after = "".join("".join(new).split())
    for dropped in (0, 1, 2):
        kept = old[: len(old) - dropped] if dropped else old
        if not kept:
            return False
        before = "".join("".join(kept).split())
        tail = before[-_TAIL:]
        at = after.rfind(tail) if len(before) >= _TAIL else (0 if after.startswith(tail) else -1)
        if at >= 0:
            rest = len(after) - at - len(tail)
            lost = len("".join("".join(old[len(kept) :]).split()))
            return rest > lost
    return False
