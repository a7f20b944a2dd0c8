"""The one place where facts about a session become its status. Pure; the time is passed in."""

from __future__ import annotations

import msgspec

from agent_history.fields import HALF_HOUR_MS
from agent_history.records import Status, StatusReason, TurnOutcome


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a reader saw. Times in epoch milliseconds.

    `process` is what the live process says of itself: `idle`, `busy`, `waiting` or ''.
    `question` and `approval` say that a call of that sort is open. `unread` is None where the
    agent keeps no record of reading.
    """

    turn_open: bool
    ended_at: int | None
    last_at: int | None
    outcome: TurnOutcome | None
    live: bool = False
    process: str = ""
    process_at: int | None = None
    question: bool = False
    approval: bool = False
    only_agents_open: bool = False
    unread: bool | None = None
    blocked: bool = False
    subagents: int = 0
    awaiting: int = 0


def still_open(facts: Facts, now: int) -> bool:
    """Is the turn open? Without an end record and without a process it is for 30 minutes only."""
    if not facts.turn_open:
        return False
    last = facts.last_at or 0
    if facts.process == "idle" and facts.process_at is not None and facts.process_at >= last:
        # The process went idle after the last record: a turn whose end was not written.
        return False
    return facts.live or now - last <= HALF_HOUR_MS


def decide(facts: Facts, now: int) -> tuple[Status, StatusReason]:
    """Status and reason, by the table in `docs/history.md`."""
    is_open = still_open(facts, now)
    if facts.process == "waiting":
        if facts.question:
            return "asking", "question"
        return ("asking", "approval") if facts.approval else ("asking", "waiting")
    if is_open:
        if facts.question:
            return "asking", "question"
        if facts.approval and not facts.process:
            return "asking", "approval"
        return ("delegating", "subagents") if facts.only_agents_open else ("working", "turn-open")
    if facts.process == "busy":
        return "working", "process-busy"
    if facts.subagents:
        return "delegating", "subagents"
    if facts.awaiting:
        return "delegating", "awaiting"
    if facts.blocked:
        return "asking", "marked-blocked"
    if facts.outcome == "failed":
        return "error", "turn-failed"
    return _after_a_turn(facts, now)


def _after_a_turn(facts: Facts, now: int) -> tuple[Status, StatusReason]:
    ended = facts.ended_at if facts.ended_at is not None else facts.last_at
    recent = ended is not None and facts.outcome is not None and now - ended <= HALF_HOUR_MS
    if facts.unread:
        return "done", "unread"
    idle_process = facts.live and facts.process == "idle"
    if facts.unread is False:
        if recent and idle_process:
            return "done", "process-idle"
        return "idle", "read"
    if recent:
        return "done", ("process-idle" if idle_process else "recent")
    return "idle", ("process-idle" if idle_process else "quiet")
