"""What the live loop counts about itself: numbers only, no names of panes and no content."""

from __future__ import annotations

from collections import Counter, deque

BUCKETS = (0.025, 0.05, 0.1, 0.2, 0.4, 1.0, 2.0, 5.0)
"""Upper bounds, in seconds, of the delay histogram."""


class Stats:
    """Counters since the start, and the last delays for percentiles."""

    def __init__(self) -> None:
        self.batches = 0
        self.captures = 0
        self.batch_seconds = 0.0
        self.tick = 0.0
        self.silent = 0
        self.troubles: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self.delays: deque[float] = deque(maxlen=2000)
        self.delay_count = 0
        self.delay_sum = 0.0
        self.delay_buckets: Counter[float] = Counter()

    def batch(self, cost: float, panes: int, tick: float) -> None:
        """One batch of captures took `cost` seconds; `tick` is the present pace."""
        self.batches += 1
        self.captures += panes
        self.batch_seconds += cost
        self.tick = tick

    def published(self, delay: float) -> None:
        """A state was published `delay` seconds after the first sign of its change."""
        self.delays.append(delay)
        self.delay_count += 1
        self.delay_sum += delay
        bucket = next((bound for bound in BUCKETS if delay <= bound), None)
        if bucket is not None:
            self.delay_buckets[bucket] += 1

    def trouble(self, kind: str, silent: bool) -> None:
        """A tmux call failed; `silent`: it was abandoned after its time-out."""
        self.troubles[kind] += 1
        self.silent += silent
