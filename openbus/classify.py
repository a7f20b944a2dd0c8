"""identify → read → ground: one capture becomes one reading. Pure; no I/O, no clock."""

from __future__ import annotations

from openbus.grounding import ground
from openbus.model import Capture, Reading
from openbus.screen.explain import Explanation, explain
from openbus.screen.grid import Memo, parse
from openbus.screen.identify import identify
from openbus.screen.manifest import Library
from openbus.screen.reader import read

__all__ = ["Explanation", "classify", "explain"]


def classify(capture: Capture, library: Library, memo: Memo | None = None) -> Reading:
    """What one capture says. `memo` keeps parsed rows from one frame of a pane to the next.

    Never raises on any screen content; what cannot be read is `unknown`.
    """
    screen = parse(capture.ansi, capture.width, capture.height, memo)
    who = identify(capture, screen.lines, library)
    return ground(read(screen, capture, who), screen)
