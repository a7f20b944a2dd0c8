"""Follows the folders of all harnesses: by the system's notices, and re-listed on a timer."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator

from watchfiles import watch

from agent_history.records import Session
from agent_history.registry import Monitor

RELIST_MS = 2_000
DEBOUNCE_MS = 500


def changes(monitor: Monitor, clock: Callable[[], int]) -> Generator[Session, None, None]:
    """Every session as it is, then each one whose record changed. Ends with Ctrl-C.

    A notice that was missed is made good by the timer; a folder that appears later is watched
    from the next timer on.
    """
    known: dict[str, Session] = {}
    while True:
        yield from changed(known, monitor.scan(clock()).sessions)
        roots = [root for root in monitor.watch_roots() if os.path.isdir(root)]
        for _ in watch(*roots, debounce=DEBOUNCE_MS, rust_timeout=RELIST_MS, yield_on_timeout=True):
            yield from changed(known, monitor.scan(clock()).sessions)
            now = [root for root in monitor.watch_roots() if os.path.isdir(root)]
            if now != roots:
                break
        else:
            return


def changed(known: dict[str, Session], sessions: list[Session]) -> list[Session]:
    """The sessions that are not as they were known; `known` is brought up to date."""
    out = [session for session in sessions if known.get(session.id) != session]
    known.clear()
    known.update({session.id: session for session in sessions})
    return out
