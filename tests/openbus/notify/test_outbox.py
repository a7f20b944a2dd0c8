"""The outbox: private, bounded, and never in the way when the disk is full or the file broken."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from openbus.notify.outbox import KEEP_ROWS, Outbox, read_log
from openbus.notify.records import LogEntry, Writes
from tests.openbus.notify.desk_support import NOON, PANE, Player, ask


def entry(at: int) -> LogEntry:
    return LogEntry(
        at=at, tag="t", pane=PANE, contract="k", episode=1, kind="error", channel="c", what="sent"
    )


def test_its_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox")
    outbox.write(Writes(log=[entry(NOON)]))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {0o600}
    assert len(list(tmp_path.iterdir())) > 1


def test_the_log_is_read_without_the_service(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox")
    outbox.write(Writes(log=[entry(NOON + number) for number in range(5)]))
    assert [row.at for row in read_log(tmp_path / "outbox", 2)] == [NOON + 3, NOON + 4]
    assert read_log(tmp_path / "nothing") == []


def test_it_keeps_thirty_days_and_ten_thousand_rows(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox")
    old = [entry(NOON - 31 * 86_400_000) for _ in range(10)]
    outbox.write(Writes(log=[*old, *(entry(NOON) for _ in range(KEEP_ROWS + 500))]))
    assert outbox.prune(NOON)
    kept = outbox.log(100_000)
    assert len(kept) == KEEP_ROWS
    assert {row.at for row in kept} == {NOON}


def test_what_is_open_outlives_the_bounds(tmp_path: Path) -> None:
    player = Player(path=tmp_path / "outbox")
    player.announce(ask())
    player.outbox.prune(player.now + 365 * 86_400_000)
    player.start()
    assert [notice.pane for notice in player.desk.open] == [PANE]


def test_what_ended_long_ago_goes(tmp_path: Path) -> None:
    player = Player(path=tmp_path / "outbox")
    player.announce(ask())
    player.withdraw(ask())
    player.outbox.prune(player.now + 365 * 86_400_000)
    db = sqlite3.connect(tmp_path / "outbox")
    for table in ("notice", "delivery", "message", "log"):
        assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


@pytest.mark.parametrize("damage", [b"this is no database at all" * 40, b"SQLite format 3\0" * 99])
def test_a_damaged_file_is_kept_aside_and_a_new_one_used(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "outbox"
    path.write_bytes(damage)
    player = Player(path=path)
    assert player.outbox.notice is not None and "damaged" in player.outbox.notice
    player.announce(ask())
    assert player.shown() == ["announce 1"]
    assert (tmp_path / "outbox.damaged").read_bytes() == damage
    player.start()
    assert len(player.desk.open) == 1


def test_damage_in_the_middle_of_a_file_is_found_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "outbox"
    player = Player(path=path)
    player.announce(*[ask(number) for number in range(1, 200)])
    player.outbox.close()
    data = bytearray(path.read_bytes())
    for place in range(4096, len(data), 4096):
        data[place : place + 64] = b"\xff" * 64
    path.write_bytes(data)
    player.start()
    assert player.desk.open == []
    assert player.outbox.durable
    assert (tmp_path / "outbox.damaged").exists()


def test_a_file_of_a_later_version_is_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "outbox"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    assert Outbox(path).durable
    assert (tmp_path / "outbox.damaged").exists()


def test_a_folder_that_cannot_be_written_leaves_it_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    player = Player(path=tmp_path / "file" / "outbox")
    assert player.outbox.trouble is not None and "from memory" in player.outbox.trouble
    player.announce(ask())
    assert player.shown() == ["announce 1"]


class FullDisk(sqlite3.Connection):
    full = False

    def executemany(self, *args: Any) -> sqlite3.Cursor:
        if self.full:
            raise sqlite3.OperationalError("database or disk is full")
        return super().executemany(*args)


def test_a_full_disk_ends_nothing_and_is_recovered_from(tmp_path: Path) -> None:
    path = tmp_path / "outbox"

    def connect(name: str) -> sqlite3.Connection:
        return sqlite3.connect(name, isolation_level=None, factory=FullDisk)

    player = Player(path=path, connect=connect)
    player.announce(ask())
    FullDisk.full = True
    player.announce(ask(2))
    player.withdraw(ask())
    assert player.shown() == ["announce 1", "announce 1", "withdraw"]
    trouble = player.outbox.trouble
    assert trouble is not None and "disk is full" in trouble and "\n" not in trouble
    assert not player.outbox.recover(player.desk.everything(), player.now)
    FullDisk.full = False
    assert player.outbox.recover(player.desk.everything(), player.now)
    assert player.outbox.durable
    player.start()
    assert [notice.tag for notice in player.desk.open] == [ask_tag(2)]
    assert (tmp_path / f"outbox.{player.now}").exists()


def ask_tag(number: int) -> str:
    one = ask(number)
    from openbus.notify.records import tag_of

    return tag_of(one.pane, one.contract)
