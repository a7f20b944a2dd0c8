"""What can be read here, what is missing and why. Looks only, changes nothing."""

from __future__ import annotations

import os
from typing import Any

from agent_history.homes import Homes
from agent_history.prices import PRICES_DATE, price_of
from agent_history.registry import Monitor

CLAUDE_CHECKED = "2.0.30, 2.0.76, 2.1.120, 2.1.197, 2.1.250, 2.1.300, 2.1.332"
CODEX_CHECKED = "0.107.0, 0.128.0, 0.145.0, 0.165.0, 0.171.0"


def report(monitor: Monitor, homes: Homes, cache: str, now: int) -> dict[str, Any]:
    """The findings as plain data."""
    found = monitor.scan(now)
    harnesses = []
    checked = {"claude-code": CLAUDE_CHECKED, "codex": CODEX_CHECKED}
    for reader in monitor.readers:
        sessions = [session for session in found.sessions if session.harness == reader.id]
        harnesses.append(
            {
                "id": reader.id,
                "here": reader.detect(),
                "folders": [
                    {"path": root, "state": state_of(root)} for root in reader.watch_roots()
                ],
                "sessionsLastDay": len(sessions),
                "versions": sorted({session.agent_version for session in sessions}),
                "checkedVersions": checked.get(reader.id, ""),
                "modelsWithoutPrice": sorted(
                    {
                        session.model
                        for session in sessions
                        if reader.id == "claude-code"
                        and session.model
                        and price_of(session.model) is None
                    }
                ),
                "unknownRecords": reader.unknown(),
                "error": found.errors.get(reader.id),
            }
        )
    return {
        "home": homes.home,
        "harnesses": harnesses,
        "warnings": [*found.warnings, *(note for s in found.sessions for note in s.notes)],
        "processTable": os.path.isdir(homes.proc),
        "pricesDate": PRICES_DATE,
        "cache": {"path": cache, "state": state_of(cache)},
    }


def state_of(path: str) -> str:
    """`missing`, `unreadable` or `readable`."""
    if not os.path.exists(path):
        return "missing"
    mode = os.R_OK | os.X_OK if os.path.isdir(path) else os.R_OK
    return "readable" if os.access(path, mode) else "unreadable"
