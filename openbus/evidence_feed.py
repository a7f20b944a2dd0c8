"""Hands panes to evidence sources, beside the capture loop.

It is told of captures that were made anyway, keeps the latest of each pane, and once a second gives
the sources a view of the panes that run their programs. It publishes nothing and asks for nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from openbus.evidence import EvidenceSource, PaneView
from openbus.model import Capture, Pane, PaneState
from openbus.screen.grid import parse

EVERY: Final = 1.0


class _Seen(msgspec.Struct):
    pane: Pane
    capture: Capture
    at: int
    rows: tuple[str, ...] | None = None


class EvidenceFeed:
    """`state` gives a pane's published state by key, `now` epoch milliseconds."""

    def __init__(
        self,
        sources: Sequence[EvidenceSource],
        state: Callable[[str], PaneState | None],
        now: Callable[[], int],
    ) -> None:
        self.sources = tuple(sources)
        self._programs = frozenset[str]().union(*(source.programs for source in sources))
        self._state = state
        self._now = now
        self._seen: dict[str, _Seen] = {}

    def see(self, pane: Pane, capture: Capture) -> None:
        """A pane was captured. Keeps a reference, nothing more."""
        self._seen[pane.key] = _Seen(pane, capture, self._now())

    def gone(self, key: str) -> None:
        self._seen.pop(key, None)

    async def run(self) -> None:
        """Until cancelled; runs the sources as well."""
        tasks = [asyncio.create_task(source.run()) for source in self.sources]
        try:
            while True:
                self.hand_over()
                await asyncio.sleep(EVERY)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def hand_over(self) -> None:
        """Give every source its panes, once."""
        views = [view for key in list(self._seen) if (view := self._view(key)) is not None]
        now = self._now()
        for source in self.sources:
            mine = [view for view in views if view.program in source.programs]
            source.observe(mine, now)

    def _view(self, key: str) -> PaneView | None:
        seen, state = self._seen[key], self._state(key)
        if state is None:
            del self._seen[key]
            return None
        if state.program.name not in self._programs or state.stale:
            return None
        if seen.rows is None:
            capture = seen.capture
            seen.rows = tuple(parse(capture.ansi, capture.width, capture.height).lines)
        return PaneView(
            pane=seen.pane,
            program=state.program.name,
            processes=seen.capture.processes,
            rows=seen.rows,
            title=seen.capture.title,
            dialog=state.question is not None or state.overlay is not None,
            activity=state.activity,
            needs_you=state.needs_you,
            seen_at=seen.at,
        )
