"""SQLite databases of other programs, read so that nothing appears or changes beside them.

Measured with SQLite 3.40: opening a cleanly closed WAL database with `mode=ro` creates `-wal` and
`-shm` in its folder and leaves them there, and `immutable=1` ignores a WAL that holds rows. So:

1. no `-wal`, or an empty one: `immutable=1`, and afterwards the file must be unchanged, else again;
2. `-wal` and `-shm` both there, in a folder we may write to: `mode=ro`, which changes nothing;
3. otherwise (a crash, a copy, a read-only folder): a private copy of database and WAL.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable
from typing import TypeVar
from urllib.parse import quote

Result = TypeVar("Result")

BUSY_SECONDS = 0.25
ATTEMPTS = 3


class UnreadableDatabaseError(Exception):
    """The database cannot be read now; the text says why, for a person."""


def with_database(path: str, query: Callable[[sqlite3.Connection], Result]) -> Result:
    """The result of `query` on a read-only connection that is closed before this returns.

    Raises `UnreadableDatabaseError` when the file is gone, locked, no database, or keeps changing.
    """
    try:
        for _ in range(ATTEMPTS):
            before = _state(path)
            if not before[1]:
                result = _run(f"file:{quote(path)}?immutable=1", query)
                if _state(path) == before:
                    return result
            elif before[2] and os.access(os.path.dirname(path), os.W_OK):
                return _run(f"file:{quote(path)}?mode=ro", query)
            else:
                return _on_copy(path, query)
    except (OSError, sqlite3.Error) as error:
        raise UnreadableDatabaseError(f"cannot read {path}: {error}") from error
    raise UnreadableDatabaseError(f"cannot read {path}: it changes all the time")


def _state(path: str) -> tuple[tuple[int, int, int], int, bool]:
    """Inode, size and time of the database; size of its WAL; whether a `-shm` is there."""
    found = os.stat(path)
    try:
        wal = os.stat(path + "-wal").st_size
    except FileNotFoundError:
        wal = 0
    shm = os.path.exists(path + "-shm")
    return (found.st_ino, found.st_size, found.st_mtime_ns), wal, shm


def _run(uri: str, query: Callable[[sqlite3.Connection], Result]) -> Result:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        # One byte of bad UTF-8 would otherwise fail the whole query.
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("PRAGMA query_only=1")
        return query(connection)
    finally:
        connection.close()


def _on_copy(path: str, query: Callable[[sqlite3.Connection], Result]) -> Result:
    with tempfile.TemporaryDirectory(prefix="agent-history-") as folder:
        copy = os.path.join(folder, "copy.sqlite")
        shutil.copyfile(path, copy)
        if os.path.exists(path + "-wal"):
            shutil.copyfile(path + "-wal", copy + "-wal")
        return _run(f"file:{quote(copy)}?mode=rw", query)


def columns_of(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """The columns of a table; empty when there is no such table."""
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return frozenset(str(name) for (name,) in rows)


def select(
    connection: sqlite3.Connection, table: str, columns: Iterable[str], tail: str = ""
) -> list[dict[str, object]]:
    """Rows of a table with the wanted columns; a column that is gone is None in every row.

    Names of tables and columns come from this program, never from data.
    """
    wanted = list(columns)
    there = columns_of(connection, table)
    if not there:
        return []
    listed = ", ".join(f'"{name}"' if name in there else f'NULL AS "{name}"' for name in wanted)
    rows = connection.execute(f'SELECT {listed} FROM "{table}" {tail}')  # noqa: S608
    return [dict(zip(wanted, row, strict=True)) for row in rows]
