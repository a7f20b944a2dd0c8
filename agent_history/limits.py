"""Usage limits over many sessions: they hold for an account, so the newest record is the one."""

from __future__ import annotations

from collections.abc import Iterable

from agent_history.records import Session, UsageLimits


def newest(sessions: Iterable[Session]) -> dict[tuple[str, str | None], UsageLimits]:
    """Per harness and subscription, the limits that were recorded last."""
    found: dict[tuple[str, str | None], UsageLimits] = {}
    for session in sessions:
        limits = session.usage_limits
        if limits is None:
            continue
        key = (session.harness, limits.subscription)
        if key not in found or limits.at > found[key].at:
            found[key] = limits
    return found
