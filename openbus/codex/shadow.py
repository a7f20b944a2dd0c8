"""The native account of a thread against the screen's, counted. Decides nothing. Pure.

A difference counts once it has lasted: the two sources learn of a change at different moments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from openbus.evidence import NativeStatus, PaneView

Comparison = Literal[
    "agree",
    "screen_waiting_only",
    "native_waiting_only",
    "native_active_screen_idle",
    "native_idle_screen_working",
    "native_error_only",
    "screen_error_only",
    "not_comparable",
]

SETTLE: Final = 2_000
"""Milliseconds that a comparison must hold before it counts as an episode."""


def compare(view: PaneView, status: NativeStatus | None) -> Comparison:
    """One moment of one pane. The screen is right about what a person sees; this only counts.

    `not_loaded` and unknown variants say nothing, an unknown or exited screen neither.
    """
    silent = status is None or status.activity in ("unknown", "not_loaded")
    if status is None or silent or view.activity in ("unknown", "exited"):
        return "not_comparable"
    if view.needs_you or status.waiting:
        if view.needs_you and status.waiting:
            return "agree"
        return "screen_waiting_only" if view.needs_you else "native_waiting_only"
    if "error" in (view.activity, status.activity):
        if view.activity == status.activity:
            return "agree"
        return "screen_error_only" if view.activity == "error" else "native_error_only"
    busy = view.activity in ("working", "waiting")
    if busy == (status.activity == "active"):
        return "agree"
    return "native_idle_screen_working" if busy else "native_active_screen_idle"


class _Moment(msgspec.Struct):
    comparison: Comparison
    since: int
    seen: int
    counted: bool = False


class Shadow:
    """Counts over the life of the service: episodes and milliseconds by comparison."""

    def __init__(self) -> None:
        self._now: dict[str, _Moment] = {}
        self.episodes: Counter[str] = Counter()
        self.milliseconds: Counter[str] = Counter()

    def note(self, pane: str, comparison: Comparison, now: int) -> None:
        moment = self._now.get(pane)
        if moment is None or moment.comparison != comparison:
            if moment is not None:
                self._add(moment, now)
            self._now[pane] = _Moment(comparison, now, now)
            return
        self._add(moment, now)

    def _add(self, moment: _Moment, now: int) -> None:
        self.milliseconds[moment.comparison] += max(0, now - moment.seen)
        moment.seen = now
        if not moment.counted and now - moment.since >= SETTLE:
            moment.counted = True
            self.episodes[moment.comparison] += 1

    def keep(self, panes: Iterable[str]) -> None:
        """Forget panes that are no longer watched."""
        kept = set(panes)
        for pane in [pane for pane in self._now if pane not in kept]:
            del self._now[pane]

    def current(self, pane: str) -> Comparison:
        moment = self._now.get(pane)
        return moment.comparison if moment is not None else "not_comparable"

    def agreement(self) -> float | None:
        """Share of comparable time in which both say the same; None before there was any."""
        comparable = sum(ms for kind, ms in self.milliseconds.items() if kind != "not_comparable")
        return self.milliseconds["agree"] / comparable if comparable else None


def percentiles(values: Iterable[int]) -> dict[str, int] | None:
    """Median, 99th percentile, maximum and number; None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    last = len(ordered) - 1
    return {
        "p50": ordered[last // 2],
        "p99": ordered[min(last, (last * 99 + 99) // 100)],
        "max": ordered[last],
        "n": len(ordered),
    }
