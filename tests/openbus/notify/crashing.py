"""A SQLite connection that ends the process, as `kill -9` would, at a chosen write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any


class CrashError(BaseException):
    """The process ends here: nothing that follows happens."""


class Countdown:
    """Counts steps; at the chosen one the process ends. `left` None = it lives on."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        if self.left is None:
            return
        self.left -= 1
        if self.left < 0:
            self.left = None
            raise CrashError


class CrashingConnection(sqlite3.Connection):
    """Every statement, the moment before a commit and the moment after it are steps."""

    countdown: Countdown

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if sql.startswith("PRAGMA synchronous"):
            # Waiting for the disk says nothing about the end of a process.
            sql = "PRAGMA synchronous = OFF"
        if sql.startswith(("BEGIN", "INSERT", "DELETE")):
            self.countdown.step()
        return super().execute(sql, *args)

    def executemany(self, sql: str, rows: Iterable[Any], /) -> sqlite3.Cursor:
        self.countdown.step()
        return super().executemany(sql, rows)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        if kind is None:
            try:
                self.countdown.step()
            except CrashError:
                self.rollback()
                raise
        result = super().__exit__(kind, error, trace)
        if kind is None:
            self.countdown.step()
        return result


def crashing(countdown: Countdown) -> Any:
    """A way to connect for `Outbox`."""

    def connect(name: str) -> sqlite3.Connection:
        db = sqlite3.connect(
            name, isolation_level=None, check_same_thread=False, factory=CrashingConnection
        )
        db.countdown = countdown
        return db

    return connect
