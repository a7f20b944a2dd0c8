"""What travels on the bus: states, ends of panes, and what is to be announced or withdrawn.

The push manager makes `Change` values, the bus numbers them into `Event` records. An `Intent` says
that something is to be announced to a person, or that an earlier announcement no longer holds;
who is told, and how, is decided by reactors on the bus.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from openbus.model import Activity, Attention, Contract, Pane, PaneState, Program, Question

EventName = Literal["pane", "gone", "announce", "withdraw", "reset"]

Reason = Literal["arose", "ended", "replaced", "seen", "gone", "exited"]
"""Why an intent was made: `arose` for every announcement, the others for withdrawals."""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """An announcement or its withdrawal. `(key, contract)` identifies it: a withdrawal carries the
    same pair as its announcement.

    `activity` and `needs_you` are the pane's published state at that moment; `attention` and
    `question` are what the announcement is about. `at` is epoch milliseconds.
    """

    key: str
    contract: Contract
    attention: Attention
    activity: Activity
    needs_you: bool
    question: Question | None
    program: Program | None
    pane: Pane | None
    headline: str | None = None
    reason: Reason
    at: int


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the push manager publishes. `gone` has neither state nor intent."""

    event: EventName
    key: str
    at: int
    state: PaneState | None = None
    intent: Intent | None = None


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A change with its place in the log. `rev` counts from 1 within an epoch; a snapshot that
    follows a `reset` repeats the revision it was taken at."""

    epoch: str
    rev: int
    event: EventName
    key: str = ""
    at: int = 0
    state: PaneState | None = None
    intent: Intent | None = None

    @property
    def id(self) -> str:
        """`EPOCH-REV`, the SSE id."""
        return f"{self.epoch}-{self.rev}"

    def payload(self) -> dict[str, Any]:
        """The JSON object of this event as served on `/api/events` and printed by `replay`."""
        if self.state is not None:
            body: Any = msgspec.to_builtins(self.state)
        elif self.intent is not None:
            body = msgspec.to_builtins(self.intent)
        elif self.event == "gone":
            body = {"key": self.key}
        else:
            body = {}
        assert isinstance(body, dict)
        return body
