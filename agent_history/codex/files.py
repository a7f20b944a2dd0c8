"""The rollouts of a Codex home, grouped by thread.

A thread may span several files (a resume of older versions, a compaction window). A cold rollout
is compressed to `.jsonl.zst`; while both exist for a moment the plain one counts.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from agent_history.reading.files import Fingerprint, fingerprint, walk

# `rollout-2026-11-30T21-04-53-<thread>[_<window>].jsonl[.zst]`
_NAME = re.compile(
    r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(?P<thread>[0-9A-Za-z-]+)(?:_[^.]*)?\.jsonl(?:\.zst)?"
)


class RolloutFile(NamedTuple):
    """One rollout on disk."""

    path: str
    print: Fingerprint


class ThreadFiles(NamedTuple):
    """All rollouts of a thread, oldest first."""

    thread: str
    files: list[RolloutFile]
    archived: bool


def list_threads(home: str) -> tuple[list[ThreadFiles], list[str]]:
    """The threads of a home by the ids in their file names, and folders that cannot be read."""
    groups: dict[str, dict[str, RolloutFile]] = {}
    archived: dict[str, bool] = {}
    unreadable: list[str] = []
    seen: set[tuple[int, int]] = set()
    for folder, old in (("sessions", False), ("archived_sessions", True)):
        for entry in walk(os.path.join(home, folder), (".jsonl", ".jsonl.zst"), unreadable):
            match = _NAME.fullmatch(entry.name)
            found = fingerprint(entry.path) if match else None
            if match is None or found is None or (found.device, found.inode) in seen:
                continue
            seen.add((found.device, found.inode))
            thread = match["thread"]
            stem = entry.name.removesuffix(".zst")
            files = groups.setdefault(thread, {})
            if stem not in files or files[stem].path.endswith(".zst"):
                files[stem] = RolloutFile(entry.path, found)
                # The newest file says where the thread lies now.
                newest = max(files)
                if stem == newest:
                    archived[thread] = old
    threads = [
        ThreadFiles(thread, [files[stem] for stem in sorted(files)], archived[thread])
        for thread, files in groups.items()
    ]
    return threads, unreadable
