"""The watcher's time: epoch milliseconds that never run backwards."""

from __future__ import annotations

import time

JUMP_MS = 5_000
"""A wall clock that moved by more than this against the monotonic one has jumped, or we slept."""


class Clock:
    """Wall time carried by the monotonic clock.

    Durations must not depend on somebody setting the clock, so a wall clock that was set back is
    not followed; one that is ahead (sleep, a corrected clock) is.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> int:
        """Epoch milliseconds."""
        return int((time.monotonic() + self._offset) * 1000)

    def jumped(self) -> bool:
        """Whether the wall clock jumped, or the machine slept, since the last call."""
        offset = time.time() - time.monotonic()
        drift = (offset - self._offset) * 1000
        if drift > JUMP_MS:
            self._offset = offset
            return True
        return False
