"""Where a fork's or subagent's own records begin, behind the replayed ones of its parent.

Such a rollout starts with its own `session_meta`, then its parent's, then the parent's records
with times rewritten to the moment of the fork. Turn ids are UUIDv7 and keep their own time: a turn
younger than the file ends the replay, and so does a pause of more than a second between records.
"""

from __future__ import annotations

PAUSE_MS = 1_000


class Replay:
    """Says for each record whether it is the parent's. Pure."""

    def __init__(self) -> None:
        self.thread = ""
        self.created_at = 0
        self.active = False
        self._last = 0

    def meta(self, thread: str, forked: bool, at: int) -> None:
        """A `session_meta`: the file's own one, or one replayed."""
        if not self.thread:
            self.thread = thread
            self.created_at = at
            self.active = forked
        elif thread != self.thread and not self._last:
            self.active = True

    def parents(self, at: int, turn: str | None, started_at: float | None) -> bool:
        """Is this record the parent's? `turn` and `started_at` are given where a turn begins."""
        if self.active:
            begun = turn_time(turn)
            if begun is None and started_at is not None:
                # Whole seconds: a turn of the very second of the fork counts as the child's.
                begun = int(started_at) * 1000 + 999
            own = begun is not None and begun >= self.created_at
            paused = bool(self._last) and at - self._last > PAUSE_MS
            late = at - self.created_at > PAUSE_MS and not self._last
            if own or paused or late:
                self.active = False
        self._last = at
        return self.active


def turn_time(turn: str | None) -> int | None:
    """The time in a UUIDv7, in epoch milliseconds; None for any other id."""
    if turn is None or len(turn) != 36 or turn[14] != "7":
        return None
    try:
        return int(turn[:8] + turn[9:13], 16)
    except ValueError:
        return None
