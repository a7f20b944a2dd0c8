"""Hands panes to evidence sources, beside the capture loop.

Once a second it looks at the states that are published and at the captures that were made anyway,
and gives each source a view of the panes that run its programs. It publishes nothing, captures
nothing and asks for nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from openbus.evidence import EvidenceSource, PaneView, SourceReport
from openbus.model import Capture, PaneState
from openbus.screen.grid import parse

EVERY: Final = 1.0


class _Seen(msgspec.Struct):
    ansi: str
    title: str
    at: int
    rows: tuple[str, ...]


class EvidenceFeed:
    """`states` are the published ones, `capture` a pane's last screen by its key, `now` epoch
    milliseconds."""

    def __init__(
        self,
        sources: Sequence[EvidenceSource],
        states: Callable[[], Iterable[PaneState]],
        capture: Callable[[str], Capture | None],
        now: Callable[[], int],
    ) -> None:
        self.sources = tuple(sources)
        self._programs = frozenset[str]().union(*(source.programs for source in sources))
        self._states = states
        self._capture = capture
        self._now = now
        self._seen: dict[str, _Seen] = {}

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

    def reports(self) -> list[SourceReport]:
        """Every source's account of itself."""
        return [source.report(self._now()) for source in self.sources]

    def hand_over(self) -> None:
        """Give every source its panes, once."""
        now = self._now()
        states = [state for state in self._states() if state.program.name in self._programs]
        views = [view for state in states if (view := self._view(state, now)) is not None]
        kept = {view.pane.key for view in views}
        self._seen = {key: seen for key, seen in self._seen.items() if key in kept}
        for source in self.sources:
            source.observe([view for view in views if view.program in source.programs], now)

    def _view(self, state: PaneState, now: int) -> PaneView | None:
        capture = None if state.stale else self._capture(state.pane.key)
        if capture is None:
            return None
        seen = self._seen.get(state.pane.key)
        if seen is None or (seen.ansi, seen.title) != (capture.ansi, capture.title):
            rows = tuple(parse(capture.ansi, capture.width, capture.height).lines)
            seen = self._seen[state.pane.key] = _Seen(capture.ansi, capture.title, now, rows)
        return PaneView(
            pane=state.pane,
            program=state.program.name,
            processes=capture.processes,
            rows=seen.rows,
            title=capture.title,
            dialog=state.question is not None or state.overlay is not None,
            activity=state.activity,
            needs_you=state.needs_you,
            seen_at=seen.at,
        )
