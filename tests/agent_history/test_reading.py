"""The reading engine: lines by byte offset, rewrites noticed, nothing lost, nothing held."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_history.reading import files
from agent_history.reading.decode import Counts, clean, loads
from agent_history.reading.files import Follower, Lines, fingerprint, walk
from agent_history.reading.processes import Processes
from agent_history.reading.sqlite import (
    UnreadableDatabaseError,
    columns_of,
    select,
    with_database,
)


def read(follower: Follower) -> list[bytes]:
    handle = follower.open()
    assert handle is not None
    return b"".join(follower.blocks(handle)).splitlines()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


def test_only_what_was_appended_is_read(path: Path) -> None:
    path.write_bytes(b"one\ntwo\n")
    follower = Follower(str(path), Counts())
    assert read(follower) == [b"one", b"two"]
    assert read(follower) == []
    with path.open("ab") as file:
        file.write(b"three\n")
    assert read(follower) == [b"three"]
    assert not follower.restarted


def test_a_half_line_waits_for_its_newline(path: Path) -> None:
    path.write_bytes(b"one\nhal")
    follower = Follower(str(path), Counts())
    assert read(follower) == [b"one"]
    with path.open("ab") as file:
        file.write(b"f\n")
    assert read(follower) == [b"half"]


def test_only_the_newline_byte_ends_a_line(path: Path) -> None:
    text = '{"a":"x\u2028y\u0085z\r"}\n'.encode()
    path.write_bytes(text)
    follower = Follower(str(path), Counts())
    handle = follower.open()
    assert handle is not None and b"".join(follower.blocks(handle)).count(b"\n") == 1


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda path: path.write_bytes(b"x\n"),
        lambda path: path.write_bytes(b"ONE\nTWO\nthree\n"),
        lambda path: (path.unlink(), path.write_bytes(b"one\ntwo\n")),
    ],
    ids=["shorter", "other bytes before the mark", "another inode"],
)
def test_a_rewritten_file_starts_over(path: Path, rewrite: Callable[[Path], object]) -> None:
    path.write_bytes(b"one\ntwo\n")
    other = path.with_name("keeps-the-inode")
    os.link(path, other)
    follower = Follower(str(path), Counts())
    read(follower)
    rewrite(path)
    assert read(follower) == path.read_bytes().splitlines()
    assert follower.restarted


def test_an_over_long_line_is_passed_over_and_the_next_one_read(path: Path) -> None:
    long = b"x" * (files.LONG_LINE + 10)
    path.write_bytes(b"one\n" + long + b"\ntwo\n")
    counts = Counts()
    assert read(Follower(str(path), counts)) == [b"one", b"two"]
    assert counts.long_lines == 1


def test_an_over_long_line_that_is_still_being_written(path: Path) -> None:
    counts = Counts()
    path.write_bytes(b"one\n" + b"x" * (files.LONG_LINE + 10))
    follower = Follower(str(path), counts)
    assert read(follower) == [b"one"]
    with path.open("ab") as file:
        file.write(b"more of it\ntwo\n")
    assert read(follower) == [b"two"]
    assert counts.long_lines == 1


def test_a_long_line_is_never_held_whole() -> None:
    lines = Lines(Counts(), skipping=False)
    for _ in range(40):
        assert lines.feed(b"x" * (1 << 20)) == b""
        assert lines.waiting <= files.LONG_LINE + (1 << 20)
    assert lines.feed(b"end\nnext\n") == b"next\n"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64])
def test_chunks_of_any_size_give_the_same_lines(size: int) -> None:
    text = b"one\n\ntwo\nthree is longer\nhalf"
    lines = Lines(Counts(), skipping=False)
    out = b"".join(lines.feed(text[i : i + size]) for i in range(0, len(text), size))
    assert out == b"one\n\ntwo\nthree is longer\n"
    assert lines.waiting == 4


@pytest.mark.parametrize("start", range(12))
def test_reading_from_a_place_begins_with_the_next_whole_line(path: Path, start: int) -> None:
    path.write_bytes(b"abc\ndef\nghi\n")
    follower = Follower(str(path), Counts())
    handle = follower.open_at(start)
    assert handle is not None
    lines = b"".join(follower.blocks(handle)).splitlines()
    whole = [b"abc", b"def", b"ghi"]
    assert lines == [line for number, line in enumerate(whole) if number * 4 >= start]


@pytest.mark.parametrize("size", [1, 3, 7, 1 << 20])
def test_the_last_line_with_some_bytes_is_found_from_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(files, "BACKWARDS", size)
    path.write_bytes(b"needle one\nplain\nsecond needle\nafter\n")
    whole = path.stat().st_size
    assert files.last_line_with(str(path), b"needle", whole) == 17
    assert files.last_line_with(str(path), b"needle", 16) == 0
    assert files.last_line_with(str(path), b"nowhere", whole) is None
    assert files.last_line_with(str(path) + "x", b"needle", whole) is None


def test_folders_reached_by_links_and_loops_are_listed_once(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/x.jsonl").touch()
    (tmp_path / "a/b/loop").symlink_to(tmp_path / "a")
    (tmp_path / "a/again").symlink_to(tmp_path / "a/b")
    (tmp_path / "a/broken").symlink_to(tmp_path / "nowhere")
    unreadable: list[str] = []
    found = [entry.name for entry in walk(str(tmp_path / "a"), (".jsonl",), unreadable)]
    assert found == ["x.jsonl"] and unreadable == []


def test_a_file_that_is_gone_has_no_fingerprint(tmp_path: Path) -> None:
    assert fingerprint(str(tmp_path / "no")) is None
    assert fingerprint(str(tmp_path)) is not None


def test_json_that_others_refuse_is_still_read() -> None:
    assert loads(b'"a\xff"') == "a\ufffd"
    assert loads(b'{"a":"\\ud83d"}') == {"a": "\ufffd"}
    assert loads(b'{"a":') is None
    assert loads(b"[" * 5000 + b"]" * 5000) in (None, [])
    assert clean("\ud83d\ude00") == "😀"


def wal(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=wal")
    db.execute("CREATE TABLE IF NOT EXISTS t (a, b)")
    return db


def rows(path: Path) -> list[dict[str, object]]:
    return with_database(str(path), lambda db: select(db, "t", ("a", "gone"), "ORDER BY a"))


def listing(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        entry.name: (entry.stat().st_size, entry.stat().st_mtime_ns, entry.read_bytes())
        for entry in folder.iterdir()
    }


def test_a_cleanly_closed_database_is_read_without_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    db = wal(path)
    db.execute("INSERT INTO t VALUES (1, 2)")
    db.close()
    before = listing(tmp_path)
    assert rows(path) == [{"a": 1, "gone": None}]
    assert listing(tmp_path) == before and list(before) == ["x.db"]


def test_rows_that_only_the_wal_holds_are_seen_and_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    db = wal(path)
    db.execute("PRAGMA wal_autocheckpoint=0")
    db.execute("INSERT INTO t VALUES (1, 2)")
    before = listing(tmp_path)
    assert set(before) == {"x.db", "x.db-wal", "x.db-shm"}
    assert [row["a"] for row in rows(path)] == [1]
    after = listing(tmp_path)
    assert set(after) == set(before) and after["x.db"] == before["x.db"]
    assert after["x.db-wal"] == before["x.db-wal"]
    db.close()


def test_a_wal_without_its_index_is_read_from_a_private_copy(tmp_path: Path) -> None:
    source, store = tmp_path / "source", tmp_path / "store"
    source.mkdir()
    store.mkdir()
    db = wal(source / "x.db")
    db.execute("PRAGMA wal_autocheckpoint=0")
    db.execute("INSERT INTO t VALUES (1, 2)")
    for name in ("x.db", "x.db-wal"):
        shutil.copy(source / name, store / name)
    db.close()
    before = listing(store)
    assert [row["a"] for row in rows(store / "x.db")] == [1]
    assert listing(store) == before


def test_in_a_folder_that_cannot_be_written_a_live_database_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.db"
    db = wal(path)
    db.execute("PRAGMA wal_autocheckpoint=0")
    db.execute("INSERT INTO t VALUES (1, 2)")
    before = listing(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert [row["a"] for row in rows(path)] == [1]
    assert listing(tmp_path) == before
    db.close()


def test_a_database_locked_by_its_writer_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("CREATE TABLE t (a)")
    db.execute("BEGIN EXCLUSIVE")
    db.execute("INSERT INTO t VALUES (1)")
    # Journal mode: the rows under way are not visible, and reading does not wait for them.
    assert rows(path) == []
    db.execute("ROLLBACK")
    db.close()


@pytest.mark.parametrize("content", [b"", b"not a database" * 100])
def test_what_is_no_database_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    if content:
        with pytest.raises(UnreadableDatabaseError, match=r"cannot read .*x\.db: "):
            rows(path)
    else:
        assert rows(path) == []
    with pytest.raises(UnreadableDatabaseError):
        rows(tmp_path / "missing.db")


def test_one_bad_byte_in_a_text_column_fails_no_query(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t (a)")
    db.execute("INSERT INTO t VALUES (CAST(x'61ff' AS TEXT))")
    db.commit()
    db.close()
    assert rows(path)[0]["a"] == "a\ufffd"
    assert with_database(str(path), lambda db: columns_of(db, "nothing")) == frozenset()


def test_a_connection_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    wal(path).close()
    with pytest.raises(UnreadableDatabaseError):
        with_database(str(path), lambda db: db.execute("INSERT INTO t VALUES (1, 2)"))


def test_processes_are_known_by_id_and_start(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    fields = " ".join(["S", *["0"] * 18, "4711", "0"])
    (tmp_path / "7/stat").write_text(f"7 (a) b) (c) {fields}")
    processes = Processes(str(tmp_path))
    assert processes.start_ticks(7) == 4711 and processes.alive(7)
    assert not processes.alive(8) and not processes.alive(0)
    (tmp_path / "7/stat").write_text(f"7 (dead) {fields.replace('S', 'Z', 1)}")
    assert not processes.alive(7)


def test_without_a_process_table_only_existence_is_known(tmp_path: Path) -> None:
    processes = Processes(str(tmp_path / "none"))
    assert processes.alive(os.getpid()) and processes.start_ticks(os.getpid()) is None
    assert processes.locks() is None and processes.namespace() == ""
