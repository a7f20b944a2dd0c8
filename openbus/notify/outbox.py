"""The durable memory of notifications: one SQLite file (0600, WAL) with one writer.

It holds hashes, kinds, pane keys and times, no text of a screen. When the disk is full or the file
is damaged the old file is kept aside and everything goes on in memory; `trouble` then says so in
one line. Methods block; the reactor calls them from one thread of their own.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from openbus.model import Contract
from openbus.notify.policy import HOUR_MS
from openbus.notify.records import Delivery, LogEntry, Message, Notice, Stored, Writes

FILE = "outbox.sqlite3"
VERSION = 1
KEEP_MS = 30 * 86_400_000
KEEP_ROWS = 10_000

Connect = Callable[[str], sqlite3.Connection]

_SCHEMA = """
CREATE TABLE notice (
  tag TEXT PRIMARY KEY, pane TEXT NOT NULL, contract TEXT NOT NULL, episode INTEGER NOT NULL,
  kind TEXT NOT NULL, program TEXT NOT NULL, opened_at INTEGER NOT NULL, closed_at INTEGER,
  reason TEXT NOT NULL);
CREATE TABLE delivery (
  tag TEXT NOT NULL, channel TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
  due_at INTEGER NOT NULL, message INTEGER, PRIMARY KEY (tag, channel));
CREATE TABLE message (
  id INTEGER PRIMARY KEY, channel TEXT NOT NULL, tag TEXT NOT NULL, members TEXT NOT NULL,
  state TEXT NOT NULL, shown INTEGER NOT NULL, attempts INTEGER NOT NULL, due_at INTEGER NOT NULL,
  made_at INTEGER NOT NULL, face TEXT NOT NULL);
CREATE TABLE log (
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, tag TEXT NOT NULL, pane TEXT NOT NULL,
  contract TEXT NOT NULL, episode INTEGER NOT NULL, kind TEXT NOT NULL, channel TEXT NOT NULL,
  what TEXT NOT NULL, reason TEXT NOT NULL);
CREATE INDEX log_at ON log (at);
"""

_LOG_FIELDS = "at, tag, pane, contract, episode, kind, channel, what, reason"
_MESSAGE_FIELDS = "id, channel, tag, members, state, shown, attempts, due_at, made_at, face"
_ACTIVE = "('sending', 'sent', 'changing', 'closing')"


class Outbox:
    """`path` None = in memory from the start. `connect` opens a database by its name."""

    def __init__(self, path: Path | None, connect: Connect | None = None) -> None:
        self.path = path
        self.trouble: str | None = None
        """Why it works from memory, for the log and `push log`; None when all is well."""
        self.notice: str | None = None
        """What happened when the file was opened, if a person should know."""
        self._connect = connect or _connect
        self._db = self._open()

    @property
    def durable(self) -> bool:
        """Whether what is written survives the process."""
        return self.path is not None and self.trouble is None

    # --- reading --------------------------------------------------------------------------------

    def load(self, now: int) -> Stored:
        """Everything that is not final. Damage that shows only now is handled as at the start."""
        try:
            return self._load(now)
        except (sqlite3.Error, msgspec.DecodeError, msgspec.ValidationError, IndexError) as error:
            self._give_up(error, aside=True)
            return Stored()

    def _load(self, now: int) -> Stored:
        query = f"SELECT {_MESSAGE_FIELDS} FROM message WHERE state IN {_ACTIVE}"  # noqa: S608
        messages = tuple(_message(row) for row in self._db.execute(query))
        named = {tag for message in messages for tag in message.members}
        fields = "tag, pane, contract, episode, kind, program, opened_at, closed_at, reason"
        notices = [
            _notice(row)
            for row in self._db.execute(f"SELECT {fields} FROM notice WHERE closed_at IS NULL")  # noqa: S608
        ]
        for tag in named - {notice.tag for notice in notices}:
            query = f"SELECT {fields} FROM notice WHERE tag = ?"  # noqa: S608
            notices += [_notice(row) for row in self._db.execute(query, (tag,))]
        deliveries = tuple(
            msgspec.convert(
                dict(
                    zip(
                        ("tag", "channel", "state", "reason", "due_at", "message"), row, strict=True
                    )
                ),
                Delivery,
            )
            for row in self._db.execute(
                "SELECT tag, channel, state, reason, due_at, message FROM delivery "
                "WHERE tag IN (SELECT tag FROM notice WHERE closed_at IS NULL)"
            )
        )
        sent: dict[str, tuple[int, ...]] = {}
        for channel, at in self._db.execute(
            "SELECT channel, made_at FROM message WHERE made_at > ? ORDER BY made_at",
            (now - HOUR_MS,),
        ):
            sent[channel] = (*sent.get(channel, ()), at)
        (last,) = self._db.execute("SELECT coalesce(max(id), 0) FROM message").fetchone()
        return Stored(
            notices=tuple(notices),
            deliveries=deliveries,
            messages=messages,
            sent=sent,
            next_message=last + 1,
        )

    def log(self, limit: int = 200) -> list[LogEntry]:
        """The last entries, oldest first."""
        return _log_of(self._db, limit)

    # --- writing --------------------------------------------------------------------------------

    def write(self, writes: Writes) -> bool:
        """Store one step, whole or not at all. False: it could not be stored; the outbox has gone
        over to memory and must be given everything anew."""
        try:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                _store(self._db, writes)
        except sqlite3.Error as error:
            self._give_up(error, aside=False)
            return False
        return True

    def prune(self, now: int) -> bool:
        """Keep 30 days and 10,000 rows of each kind; what is not final always stays."""
        try:
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                _prune(self._db, now)
        except sqlite3.Error as error:
            self._give_up(error, aside=False)
            return False
        return True

    def recover(self, everything: Writes, now: int) -> bool:
        """Try to become durable again: set the old file aside, begin a new one with `everything`
        and the log so far. True when that worked."""
        if self.path is None or self.trouble is None:
            return False
        log = self.log(KEEP_ROWS)
        try:
            _set_aside(self.path, str(now))
            fresh = self._open_file(self.path)
            with fresh:
                fresh.execute("BEGIN IMMEDIATE")
                _store(fresh, msgspec.structs.replace(everything, log=log))
        except (OSError, sqlite3.Error):
            return False
        self._db.close()
        self._db, self.trouble = fresh, None
        return True

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._db.close()

    # --- files ----------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            return self._in_memory()
        try:
            return self._open_file(self.path)
        except sqlite3.OperationalError as error:
            self.trouble = self._sentence(error)
        except sqlite3.DatabaseError as error:
            return self._open_after_damage(self.path, error)
        except OSError as error:
            self.trouble = self._sentence(error)
        return self._in_memory()

    def _open_after_damage(self, path: Path, error: sqlite3.Error) -> sqlite3.Connection:
        try:
            kept = _set_aside(path, "damaged")
            fresh = self._open_file(path)
        except (OSError, sqlite3.Error):
            self.trouble = self._sentence(error)
            return self._in_memory()
        # Durable again at once; the sentence is shown once and is no lasting trouble.
        self.notice = f"the outbox {path} was damaged; it is kept as {kept.name}, a new one is used"
        return fresh

    def _open_file(self, path: Path) -> sqlite3.Connection:
        # SQLite gives its -wal and -shm the mode of the file.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        path.chmod(0o600)
        db = self._connect(str(path))
        try:
            db.execute("PRAGMA journal_mode = WAL")
            # A commit survives the end of the process; only a power cut can lose the last ones,
            # which the audit then finds.
            db.execute("PRAGMA synchronous = NORMAL")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            (check,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if check != "ok" or version not in (0, VERSION):
                raise sqlite3.DatabaseError("it is damaged or of another version")
            if version == 0:
                _create(db)
        except BaseException:
            db.close()
            raise
        return db

    def _in_memory(self) -> sqlite3.Connection:
        db = _connect(":memory:")
        _create(db)
        return db

    def _give_up(self, error: Exception, *, aside: bool) -> None:
        """Go on in memory."""
        self.trouble = self._sentence(error)
        with contextlib.suppress(sqlite3.Error):
            self._db.close()
        if aside and self.path is not None:
            with contextlib.suppress(OSError):
                _set_aside(self.path, "damaged")
        self._db = self._in_memory()

    def _sentence(self, error: Exception) -> str:
        return (
            f"the outbox {self.path} cannot be used ({error}): notifications go on from memory and "
            "a restart may repeat some; free space or correct its folder"
        )


def read_log(path: Path, limit: int = 200) -> list[LogEntry]:
    """The last entries of the outbox at `path`, oldest first, without writing anything. A file
    that is not there has none. Raises `sqlite3.Error`."""
    if not path.exists():
        return []
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        return _log_of(db, limit)


def _connect(name: str) -> sqlite3.Connection:
    return sqlite3.connect(name, timeout=5.0, isolation_level=None, check_same_thread=False)


def _create(db: sqlite3.Connection) -> None:
    db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")


def _set_aside(path: Path, mark: str) -> Path:
    """Rename the file with its companions; an earlier one of that name goes."""
    kept = path.with_name(f"{path.name}.{mark}")
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.replace(kept.with_name(kept.name + suffix))
    return kept


def _store(db: sqlite3.Connection, writes: Writes) -> None:
    db.executemany(
        "INSERT OR REPLACE INTO notice VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                row.tag,
                row.pane,
                row.contract.key,
                row.contract.episode,
                row.kind,
                row.program,
                row.opened_at,
                row.closed_at,
                row.reason,
            )
            for row in writes.notices.values()
        ),
    )
    db.executemany(
        "INSERT OR REPLACE INTO delivery VALUES (?, ?, ?, ?, ?, ?)",
        (msgspec.structs.astuple(row) for row in writes.deliveries.values()),
    )
    db.executemany(
        "INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                row.id,
                row.channel,
                row.tag,
                msgspec.json.encode(row.members).decode(),
                row.state,
                row.shown,
                row.attempts,
                row.due_at,
                row.made_at,
                row.face,
            )
            for row in writes.messages.values()
        ),
    )
    db.executemany(
        f"INSERT INTO log ({_LOG_FIELDS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (msgspec.structs.astuple(row) for row in writes.log),
    )


def _prune(db: sqlite3.Connection, now: int) -> None:
    before = now - KEEP_MS
    db.execute(
        "DELETE FROM log WHERE at < ? OR id <= (SELECT max(id) FROM log) - ?", (before, KEEP_ROWS)
    )
    db.execute(
        f"DELETE FROM message WHERE state NOT IN {_ACTIVE} AND (made_at < ? "  # noqa: S608
        "OR id <= (SELECT max(id) FROM message) - ?)",
        (before, KEEP_ROWS),
    )
    db.execute(
        "DELETE FROM notice WHERE closed_at IS NOT NULL AND (closed_at < ? OR rowid NOT IN "
        "(SELECT rowid FROM notice ORDER BY opened_at DESC LIMIT ?))",
        (before, KEEP_ROWS),
    )
    db.execute("DELETE FROM delivery WHERE tag NOT IN (SELECT tag FROM notice)")


def _log_of(db: sqlite3.Connection, limit: int) -> list[LogEntry]:
    rows: Iterable[tuple[Any, ...]] = db.execute(
        f"SELECT {_LOG_FIELDS} FROM log ORDER BY id DESC LIMIT ?",  # noqa: S608
        (limit,),
    )
    names = _LOG_FIELDS.split(", ")
    found = [msgspec.convert(dict(zip(names, row, strict=True)), LogEntry) for row in rows]
    return found[::-1]


def _notice(row: tuple[Any, ...]) -> Notice:
    tag, pane, contract, episode, kind, program, opened_at, closed_at, reason = row
    return Notice(
        tag=tag,
        pane=pane,
        contract=Contract(key=contract, episode=episode),
        kind=kind,
        program=program,
        opened_at=opened_at,
        closed_at=closed_at,
        reason=reason,
    )


def _message(row: tuple[Any, ...]) -> Message:
    number, channel, tag, members, state, shown, attempts, due_at, made_at, face = row
    return Message(
        id=number,
        channel=channel,
        tag=tag,
        members=msgspec.json.decode(members, type=tuple[str, ...]),
        state=state,
        shown=shown,
        attempts=attempts,
        due_at=due_at,
        made_at=made_at,
        face=face,
    )
