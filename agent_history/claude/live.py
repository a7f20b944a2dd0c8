"""What Claude Code says about its running processes, and its desktop app about read threads.

`sessions/<pid>.json` was seen in 2.1.197 and 2.1.332 (2026-11-30). A clean exit deletes it, a
kill leaves it: it counts only while its process lives and began when the record says. Files
beside it, such as `*.key`, are never opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from agent_history.reading.decode import as_dict
from agent_history.reading.files import Fingerprint, fingerprint
from agent_history.reading.processes import Processes

MAX_RECORD = 1 << 20


class LiveRecord(msgspec.Struct, frozen=True):
    """A running Claude Code process. `status` is '' where the version writes none."""

    pid: int
    session_id: str
    status: str
    waiting_for: str
    name: str
    updated_at: int | None


class AppRecord(msgspec.Struct, frozen=True):
    """The desktop app's record of a session. `unread` is None where it never was focused."""

    session_id: str
    title: str
    archived: bool
    unread: bool | None


def read_json(path: str) -> dict[str, Any]:
    """A small JSON object; empty when the file is gone, too large or none."""
    try:
        with open(path, "rb") as file:
            return as_dict(file.read(MAX_RECORD))
    except OSError:
        return {}


def live_records(home: str, processes: Processes) -> Iterator[LiveRecord]:
    """The running sessions of one home."""
    try:
        with os.scandir(os.path.join(home, "sessions")) as entries:
            names = [
                entry.path for entry in entries if entry.name.endswith(".json") and entry.is_file()
            ]
    except OSError:
        return
    for path in sorted(names):
        record = live_record(read_json(path), processes)
        if record is not None:
            yield record


def live_record(data: dict[str, Any], processes: Processes) -> LiveRecord | None:
    """The record if its process is still the one that wrote it."""
    pid, session = data.get("pid"), data.get("sessionId")
    if not isinstance(pid, int) or not isinstance(session, str) or not processes.alive(pid):
        return None
    started, recorded = processes.start_ticks(pid), data.get("procStart")
    if started is not None and recorded is not None and str(recorded) != str(started):
        return None
    if foreign(data.get("pidDomain"), processes.namespace()):
        return None
    updated = data.get("statusUpdatedAt") or data.get("updatedAt")
    return LiveRecord(
        pid=pid,
        session_id=session,
        status=str(data.get("status") or ""),
        waiting_for=str(data.get("waitingFor") or ""),
        name=str(data.get("name") or ""),
        updated_at=updated if isinstance(updated, int) else None,
    )


def foreign(domain: object, namespace: str) -> bool:
    """Does `pidDomain` (2.1.332: host and pid namespace) name another namespace than ours?"""
    if not domain or not namespace:
        return False
    text = domain if isinstance(domain, str) else msgspec.json.encode(domain).decode()
    number = namespace.strip("pid:[]")
    return "pid:[" in text and number not in text


class AppRecords:
    """The desktop app's records by session id; a file is read again when it changed.

    `claude-code-sessions/<account>/<workspace>/local_*.json`, after other readers of the app. The
    field behind "marked blocked" and the mark of a thread deleted in the app are not known; see
    `docs/agents.md`.
    """

    def __init__(self, folders: tuple[str, ...]) -> None:
        self._folders = folders
        self._known: dict[str, tuple[Fingerprint, int, AppRecord | None]] = {}

    def read(self) -> dict[str, AppRecord]:
        """All records; the newest of two records of one session wins."""
        known: dict[str, tuple[Fingerprint, int, AppRecord | None]] = {}
        newest: dict[str, tuple[int, AppRecord]] = {}
        for path in (path for folder in self._folders for path in app_files(folder)):
            found = fingerprint(path)
            if found is None:
                continue
            entry = self._known.get(path)
            if entry is None or entry[0] != found:
                entry = (found, *app_record(read_json(path)))
            known[path] = entry
            _, at, record = entry
            if record is not None:
                old = newest.get(record.session_id)
                if old is None or old[0] <= at:
                    newest[record.session_id] = (at, record)
        self._known = known
        return {session: record for session, (_, record) in newest.items()}


def app_record(data: dict[str, Any]) -> tuple[int, AppRecord | None]:
    """When the thread was active last, and its record; None when the file names no session."""
    session = data.get("cliSessionId")
    active, focused = data.get("lastActivityAt"), data.get("lastFocusedAt")
    at = active if isinstance(active, int) else 0
    if not isinstance(session, str) or not session:
        return at, None
    unread = None
    if isinstance(active, int) and isinstance(focused, int):
        unread = active > focused
    return at, AppRecord(
        session_id=session,
        title=str(data.get("title") or ""),
        archived=data.get("isArchived") is True,
        unread=unread,
    )


def app_files(folder: str) -> Iterator[str]:
    """`<folder>/<account>/<workspace>/local_*.json`."""
    for account in folders_in(folder):
        for workspace in folders_in(account):
            try:
                with os.scandir(workspace) as entries:
                    yield from sorted(
                        entry.path
                        for entry in entries
                        if entry.name.startswith("local_") and entry.name.endswith(".json")
                    )
            except OSError:
                continue


def folders_in(folder: str) -> list[str]:
    """The folders in a folder; empty when it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir())
    except OSError:
        return []
