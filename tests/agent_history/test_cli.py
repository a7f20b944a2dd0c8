"""The command line: what it prints, how it fails."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agent_history.cli import app
from agent_history.doctor import CODEX_CHECKED
from tests.agent_history.stores import (
    MINUTE,
    NOW,
    SESSION,
    THREAD,
    Claude,
    Rollouts,
    call,
    calls,
    context,
    event,
    meta,
    prompt,
    reply,
)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    todo = [{"content": "Bump", "status": "in_progress"}, {"content": "Tag", "status": "pending"}]
    Claude(root).write(
        prompt("fix the cart"), calls(call("TodoWrite", todos=todo)),
        reply("rounded \x1b[31mevery line", message_id="m2"),
    )  # fmt: skip
    Rollouts(root).write(meta(), context(), event("user_message", message="explain the cart"))
    return root


def run(*arguments: str, home: Path | None = None) -> Result:
    extra = ["--home", str(home)] if home else []
    return CliRunner().invoke(app, [*arguments, *extra])


def test_scan_prints_sessions_newest_first_in_camel_case(home: Path) -> None:
    done = run("scan", "--json", "--now", str(NOW), home=home)
    sessions = json.loads(done.stdout)
    assert done.exit_code == 0
    assert [session["id"] for session in sessions] == [f"claude-code:{SESSION}", f"codex:{THREAD}"]
    assert sessions[0]["statusReason"] == "recent" and "awaiting" in sessions[0]
    assert "awaiting" not in sessions[1], "only Claude Code has it"
    assert "excerpt" not in sessions[0]


def test_scan_prints_a_table_for_a_person(home: Path) -> None:
    done = run("scan", "--now", str(NOW), home=home)
    assert "fix the cart" in done.stdout and "done" in done.stdout and "0/2" in done.stdout


def test_scan_of_one_harness(home: Path) -> None:
    done = run("scan", "--json", "--harness", "codex", home=home)
    assert [session["harness"] for session in json.loads(done.stdout)] == ["codex"]
    wrong = run("scan", "--harness", "nope", home=home)
    assert wrong.exit_code == 2 and "known: claude-code, codex" in wrong.stderr


def test_all_lists_every_age(home: Path) -> None:
    old = NOW - 5 * 1440 * MINUTE
    other = "2" + SESSION[1:]
    path = Claude(home).write(prompt("old", at=old), reply("ok", at=old), session=other)
    os.utime(path, (old / 1000, old / 1000))
    assert len(json.loads(run("scan", "--json", home=home).stdout)) == 2
    assert len(json.loads(run("scan", "--json", "--all", home=home).stdout)) == 3


def test_the_clock_can_be_fixed(home: Path) -> None:
    first, second = (run("scan", "--json", "--now", str(NOW), home=home).stdout for _ in "ab")
    assert first == second
    later = run("scan", "--json", "--now", str(NOW + 31 * MINUTE), home=home)
    assert {session["status"] for session in json.loads(later.stdout)} == {"idle"}


@pytest.mark.parametrize("given", [f"claude-code:{SESSION}", SESSION, SESSION[:8]])
def test_show_takes_an_id_or_its_beginning(home: Path, given: str) -> None:
    detail = json.loads(run("show", given, "--json", home=home).stdout)
    assert detail["sessionId"] == SESSION
    assert [item["content"] for item in detail["plan"]] == ["Bump", "Tag"]
    assert all(set(item) == {"content", "status", "key", "ticked"} for item in detail["plan"])


def test_show_prints_a_session_without_control_codes(home: Path) -> None:
    shown = run("show", SESSION, home=home).stdout
    assert "fix the cart" in shown and "Bump" in shown and "\x1b[31m" not in shown


def test_an_id_that_names_two_sessions_lists_them(home: Path) -> None:
    Claude(home).write(prompt("go"), reply("ok"), session=SESSION[:-1] + "9")
    done = run("show", SESSION[:8], home=home)
    assert done.exit_code == 2 and SESSION in done.stderr


def test_an_unknown_session_is_one_clear_line(home: Path) -> None:
    done = run("show", "nothing-here", home=home)
    assert done.exit_code == 1 and done.stderr.count("\n") == 1
    assert "no session nothing-here" in done.stderr


def test_plan_steps_are_ticked_by_key(home: Path) -> None:
    items = json.loads(run("plan", SESSION, "--json", home=home).stdout)
    run("plan", SESSION, "--tick", items[1]["key"], home=home)
    again = json.loads(run("plan", SESSION, "--json", home=home).stdout)
    assert [item["ticked"] for item in again] == [False, True]
    scanned = json.loads(run("scan", "--json", home=home).stdout)
    assert scanned[0]["plan"]["done"] == 1


def test_a_tick_for_no_step_is_one_clear_line_and_keeps_nothing(home: Path) -> None:
    done = run("plan", SESSION, "--tick", "nowhere", home=home)
    assert done.exit_code == 1 and "nowhere" in done.stderr
    assert not any(item["ticked"] for item in json.loads(
        run("plan", SESSION, "--json", home=home).stdout
    ))  # fmt: skip


def test_the_list_shows_ids_that_show_takes(home: Path) -> None:
    listed = run("scan", home=home).stdout
    assert SESSION[:13] in listed
    assert run("show", SESSION[:13], home=home).exit_code == 0


def test_search_finds_prompts_and_replies(home: Path) -> None:
    hits = json.loads(run("search", "CART", "--json", home=home).stdout)
    assert {hit["id"] for hit in hits} == {f"claude-code:{SESSION}", f"codex:{THREAD}"}
    hits = json.loads(run("search", "rounded", "line", "--json", home=home).stdout)
    assert [hit["matches"][0]["where"] for hit in hits] == ["reply"]
    assert json.loads(run("search", "nowhere", "--json", home=home).stdout) == []
    assert "fix the cart" in run("search", "cart", home=home).stdout


def test_export_gives_rows_of_numbers(home: Path) -> None:
    rows = run("export", "--now", str(NOW), home=home).stdout.splitlines()
    assert rows[0].startswith("id,harness,project") and len(rows) == 3
    lines = run("export", "--format", "jsonl", home=home).stdout.splitlines()
    assert json.loads(lines[0])["inputTokens"] == 20
    assert run("export", "--format", "xml", home=home).exit_code == 2


def test_doctor_says_what_is_here_and_what_is_missing(home: Path) -> None:
    found = json.loads(run("doctor", "--json", home=home).stdout)
    claude, codex = found["harnesses"]
    assert claude["here"] and claude["sessionsLastDay"] >= 0
    states = {folder["path"]: folder["state"] for folder in claude["folders"]}
    assert states[str(home / ".claude/projects")] == "readable"
    assert states[str(home / ".claude/sessions")] == "missing"
    assert codex["checkedVersions"] == CODEX_CHECKED
    assert "checked with" in run("doctor", home=home).stdout


def test_a_home_without_agents_is_one_clear_line(tmp_path: Path) -> None:
    done = run("scan", home=tmp_path / "nowhere")
    assert done.exit_code == 1 and done.stdout == "" and done.stderr.count("\n") == 1
    assert "no agent's sessions could be read" in done.stderr


def test_help_says_what_each_command_is_for() -> None:
    shown = run("--help").stdout
    for command in ("scan", "show", "plan", "search", "export", "watch", "doctor"):
        assert command in shown
