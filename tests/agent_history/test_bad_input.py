"""Whatever is wrong with one thing, the rest is shown and the reason is said."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent_history import cli, registry
from agent_history.cache import TotalsCache
from agent_history.homes import Homes, homes_of
from agent_history.options import Options
from agent_history.registry import HARNESSES, Harness, Monitor
from tests.agent_history.stores import (
    NOW,
    Claude,
    Rollouts,
    context,
    meta,
    monitor,
    prompt,
    reply,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    Claude(tmp_path).write(prompt("go"), reply("ok"))
    Rollouts(tmp_path).write(meta(), context())
    return tmp_path


def broken(homes: Homes, options: Options, cache: TotalsCache | None) -> Harness:
    reader = HARNESSES[0](homes, options, cache)

    def scan(now: int) -> list[object]:
        raise RuntimeError("a format nobody foresaw")

    reader.scan = scan  # type: ignore[assignment]
    return reader


def test_a_reader_that_throws_is_named_and_the_others_go_on(home: Path) -> None:
    found = Monitor(homes_of({}, str(home)), Options(), harnesses=(broken, HARNESSES[1])).scan(NOW)
    assert found.errors == {"claude-code": "Claude Code: RuntimeError: a format nobody foresaw"}
    assert [session.harness for session in found.sessions] == ["codex"]


def test_with_a_failed_reader_the_command_warns_and_succeeds(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setattr(
        registry.Monitor.__init__, "__defaults__", (None, None, (broken, HARNESSES[1]))
    )
    done = CliRunner().invoke(cli.app, ["scan", "--json", "--home", str(home), "--now", str(NOW)])
    assert done.exit_code == 0
    assert "warning: Claude Code: RuntimeError" in done.stderr and THREAD_MARK in done.stdout


THREAD_MARK = "codex:"


def test_a_missing_home_is_not_here(tmp_path: Path) -> None:
    found = monitor(tmp_path / "nowhere").scan(NOW)
    assert (found.sessions, found.errors, found.read) == ([], {}, 0)


def test_a_folder_that_cannot_be_listed_is_a_warning(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = str(home / ".claude/projects/-locked")
    os.mkdir(locked)
    scandir = os.scandir

    def refuse(path: str) -> object:
        if path == locked:
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = monitor(home).scan(NOW)
    assert found.warnings == [f"cannot list {locked}"] and len(found.sessions) == 2


def test_a_transcript_that_cannot_be_opened_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    claude = Claude(home)
    following = monitor(home)
    following.scan(NOW)
    claude.write(reply("more", message_id="m2"))
    real = io.FileIO

    def refuse(path: str, mode: str) -> object:
        if str(path).endswith(claude.path().name):
            raise PermissionError(13, "Permission denied")
        return real(path, mode)

    monkeypatch.setattr(io, "FileIO", refuse)
    sessions = {session.harness: session for session in following.scan(NOW).sessions}
    assert "no permission" in sessions["claude-code"].notes[0]
    assert sessions["codex"].notes == ()


def test_a_disk_that_fails_while_it_is_read_costs_one_session(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent_history.reading.files import Follower

    plain = Follower._plain

    def fail(self: Follower, handle: object) -> object:
        if "projects" in self.path:
            raise OSError(5, "Input/output error")
        return plain(self, handle)  # type: ignore[arg-type]

    monkeypatch.setattr(Follower, "_plain", fail)
    found = monitor(home).scan(NOW)
    assert found.errors == {} and [session.harness for session in found.sessions] == ["codex"]


def test_a_home_that_is_a_link_loop_is_not_here(tmp_path: Path) -> None:
    (tmp_path / ".claude").symlink_to(tmp_path / ".claude")
    (tmp_path / ".codex").symlink_to(tmp_path / ".claude")
    found = monitor(tmp_path).scan(NOW)
    assert found.sessions == [] and found.errors == {}


def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("x")
    (tmp_path / ".codex").write_text("x")
    assert monitor(tmp_path).scan(NOW).read == 0


@pytest.mark.parametrize("content", [b"", b"no database at all" * 64])
def test_a_state_database_that_is_none_costs_names_only(home: Path, content: bytes) -> None:
    (home / ".codex/state_5.sqlite").write_bytes(content)
    found = monitor(home).scan(NOW)
    assert len(found.sessions) == 2
    assert bool(found.warnings) is bool(content)


def test_a_state_database_locked_by_its_writer(home: Path) -> None:
    db = sqlite3.connect(home / ".codex/state_5.sqlite", isolation_level=None)
    db.execute("PRAGMA journal_mode=wal")
    db.execute("PRAGMA locking_mode=exclusive")
    db.execute("CREATE TABLE threads (id, name)")
    db.execute("BEGIN EXCLUSIVE")
    found = monitor(home).scan(NOW)
    db.close()
    assert len(found.sessions) == 2 and found.errors == {}


def test_an_empty_transcript_and_one_of_titles_only_are_no_sessions(home: Path) -> None:
    claude = Claude(home)
    claude.path("1" * 36).touch()
    claude.write({"type": "ai-title", "aiTitle": "x"}, session="2" * 36)
    assert len(monitor(home).scan(NOW).sessions) == 2


def test_a_live_record_that_is_no_record(home: Path) -> None:
    sessions = home / ".claude/sessions"
    sessions.mkdir()
    for name, text in (
        ("1.json", "{"),
        ("2.json", "[]"),
        ("3.json", '{"pid":"x"}'),
        ("4.json", ""),
    ):
        (sessions / name).write_text(text)
    assert len(monitor(home).scan(NOW).sessions) == 2


def test_a_harness_whose_scan_is_asked_for_an_unknown_id(home: Path) -> None:
    everything = monitor(home)
    everything.scan(NOW)
    for unknown in ("", "claude-code:", "codex:nothing", "opencode:x", "no id at all"):
        assert everything.detail(unknown, NOW) is None
        assert everything.read_session(unknown, NOW) is None
