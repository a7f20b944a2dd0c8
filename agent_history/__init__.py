"""Read-only access to the sessions that coding agents keep on disk.

`scan` lists sessions, `detail` opens one; `Monitor` does both again and again and reads only what
is new. Nothing is written to, created in or locked in an agent's folder. See `docs/history.md`.
"""

from __future__ import annotations

import os
import time

from agent_history.homes import homes_of
from agent_history.options import Options
from agent_history.records import Detail, Session, to_json
from agent_history.registry import Monitor, Scan

__all__ = [
    "Detail",
    "Monitor",
    "Options",
    "Scan",
    "Session",
    "detail",
    "monitor",
    "scan",
    "to_json",
]


def monitor(home: str | None = None, options: Options | None = None) -> Monitor:
    """A monitor over this user's homes; `home` replaces the home and every override."""
    return Monitor(homes_of(os.environ, home), options or Options())


def scan(
    home: str | None = None, options: Options | None = None, now: int | None = None
) -> list[Session]:
    """The sessions of the last day, newest first. `now` is epoch milliseconds."""
    return monitor(home, options).scan(clock() if now is None else now).sessions


def detail(
    session_id: str,
    home: str | None = None,
    options: Options | None = None,
    now: int | None = None,
    subagent: str | None = None,
) -> Detail | None:
    """Details of one session of any age; None when there is no such session."""
    found = monitor(home, options).read_session(
        session_id, clock() if now is None else now, subagent
    )
    return found[1] if found else None


def clock() -> int:
    """Now, in epoch milliseconds."""
    return time.time_ns() // 1_000_000
