"""What Codex keeps beside its rollouts: names, archived threads, read receipts, writer locks.

`session_index.jsonl` is append-only, the last name wins. The number in `state_<n>.sqlite` is the
schema's generation; the highest one is read. A lock of `thread-writer-locks/` is held by the
process that writes the thread; it is looked up in the system's list of locks and never taken.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable
from typing import Any

import msgspec

from agent_history.reading.decode import Counts, LineDecoder
from agent_history.reading.files import Fingerprint, Follower, fingerprint
from agent_history.reading.processes import Processes
from agent_history.reading.sqlite import UnreadableDatabaseError, select, with_database

_STATE = re.compile(r"state_(\d+)\.sqlite")
THREAD_COLUMNS = ("id", "archived", "name", "title", "agent_nickname", "agent_role", "git_branch")


class IndexRow(msgspec.Struct, gc=False):
    """One line of the thread index."""

    id: str | None = None
    thread_name: str | None = None


class Known(msgspec.Struct, frozen=True):
    """What the state database says of one thread. `unread` is None without a receipt."""

    name: str = ""
    title: str = ""
    nickname: str = ""
    role: str = ""
    branch: str = ""
    archived: bool = False
    unread: bool | None = None


class ThreadIndex:
    """Thread names from the index, followed as it grows."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(home, "session_index.jsonl")
        self._counts = Counts()
        self._decoder: LineDecoder[Any] = LineDecoder(IndexRow)
        self._follower = Follower(self._path, self._counts)
        self._print: Fingerprint | None = None
        self.names: dict[str, str] = {}

    def refresh(self) -> None:
        """Read what was appended."""
        found = fingerprint(self._path)
        if found is None:
            self.names, self._print = {}, None
            self._follower = Follower(self._path, self._counts)
            return
        handle = self._follower.open() if found != self._print else None
        if handle is None:
            return
        self._print = found
        if self._follower.restarted:
            self.names = {}
        for block in self._follower.blocks(handle):
            for row in self._decoder.rows(block, self._counts):
                if row.id and row.thread_name:
                    self.names[row.id] = row.thread_name


class StateDatabase:
    """The newest state database; asked again when it or its WAL changed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._seen: tuple[object, ...] | None = None
        self.threads: dict[str, Known] = {}
        self.spawned: dict[str, list[str]] = {}
        """Children by their parent; whether a child still works its own rollout says."""
        self.warning = ""

    def path(self) -> str | None:
        """The database with the highest generation; None when there is none."""
        try:
            names = os.listdir(self._folder)
        except OSError:
            return None
        found = [(int(match[1]), name) for name in names if (match := _STATE.fullmatch(name))]
        return os.path.join(self._folder, max(found)[1]) if found else None

    def refresh(self) -> None:
        """Ask the database again if it changed. What cannot be read leaves a warning."""
        path = self.path()
        if path is None:
            self.threads, self.spawned, self._seen, self.warning = {}, {}, None, ""
            return
        seen = (path, fingerprint(path), fingerprint(path + "-wal"))
        if seen == self._seen:
            return
        self.warning = ""
        try:
            self.threads, self.spawned = with_database(path, read_state)
            self._seen = seen
        except UnreadableDatabaseError as error:
            # The last answer stays; the next scan asks again.
            self.warning = str(error)


def read_state(
    connection: sqlite3.Connection,
) -> tuple[dict[str, Known], dict[str, list[str]]]:
    """All threads with their receipts, and children by parent; what a generation lacks is empty."""
    receipts = {
        str(row["thread_id"]): row["first_unread_turn"] is not None
        for row in select(connection, "thread_read_receipts", ("thread_id", "first_unread_turn"))
    }
    threads = {}
    for row in select(connection, "threads", THREAD_COLUMNS):
        thread = str(row["id"])
        threads[thread] = Known(
            name=str(row["name"] or ""),
            title=str(row["title"] or "")[:500],
            nickname=str(row["agent_nickname"] or ""),
            role=str(row["agent_role"] or ""),
            branch=str(row["git_branch"] or ""),
            archived=bool(row["archived"]),
            unread=receipts.get(thread),
        )
    spawned: dict[str, list[str]] = {}
    edges = ("parent_thread_id", "child_thread_id")
    for row in select(connection, "thread_spawn_edges", edges):
        spawned.setdefault(str(row[edges[0]]), []).append(str(row[edges[1]]))
    return threads, spawned


class Writers:
    """Which threads are loaded by a process, from the writer locks."""

    def __init__(self, home: str, processes: Processes) -> None:
        self._folder = os.path.join(home, "thread-writer-locks")
        self._processes = processes
        self.recorded = False
        """Does this home keep writer locks at all?"""

    def held(self) -> dict[str, int]:
        """Thread id to the pid that holds its lock; 0 where only the file is known.

        A lock file that nobody holds was left by a killed process. Where the system lists no
        locks (macOS) the file's existence is all there is.
        """
        try:
            with os.scandir(self._folder) as entries:
                files = [entry for entry in entries if entry.name.endswith(".lock")]
        except OSError:
            self.recorded = False
            return {}
        self.recorded = True
        locks = self._processes.locks() if files else {}
        return dict(self._owners(files, locks))

    def _owners(
        self, files: list[os.DirEntry[str]], locks: dict[tuple[int, int, int], int] | None
    ) -> Iterable[tuple[str, int]]:
        for entry in files:
            thread = entry.name[: -len(".lock")]
            if locks is None:
                yield thread, 0
                continue
            try:
                found = entry.stat()
            except OSError:
                continue
            device = (os.major(found.st_dev), os.minor(found.st_dev), found.st_ino)
            if device in locks:
                yield thread, locks[device]
