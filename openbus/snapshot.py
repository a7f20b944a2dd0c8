"""From one capture to one pane state, without history.

`openbus ls` without a running service, `explain` and `capture` use this; the service publishes
through its own long-lived `PushManager`. Both go through the same manager, so that what a one-shot
command prints is decided by the same rules.
"""

from __future__ import annotations

from openbus.model import ATTENTION_ORDER, Pane, PaneState, Reading
from openbus.push import PushManager, Sighting


def state_of(pane: Pane, reading: Reading, host: str, now: int) -> PaneState:
    """The state that a first sight of `pane` publishes at `now` (epoch milliseconds).

    What needs history stays open: no change clock, no *done*, episode 1.
    """
    sighting = Sighting(pane=pane, reading=reading, parsed_at=now)
    for change in PushManager(host).observe(sighting, now):
        if change.state is not None:
            return change.state
    raise AssertionError("a first sight is always published")


def most_urgent_first(states: list[PaneState]) -> list[PaneState]:
    """Sorted by attention, then by place: session, window, pane."""

    def rank(state: PaneState) -> tuple[int, str, str, int, int]:
        pane = state.pane
        return (
            ATTENTION_ORDER.index(state.attention),
            pane.server.socket,
            pane.session,
            pane.window.index,
            pane.index,
        )

    return sorted(states, key=rank)
