"""A session has one id, wherever it is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent_history import detail, scan
from agent_history.cli import app
from agent_history.options import Options
from agent_history.registry import HARNESSES
from tests.agent_history.stores import (
    NOW,
    SESSION,
    THREAD,
    Claude,
    Rollouts,
    context,
    event,
    meta,
    monitor,
    prompt,
    reply,
)

CHILD = "01a22e47-ab8d-7b73-9b7c-4a962da11a41"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    claude, codex = Claude(tmp_path), Rollouts(tmp_path)
    claude.write(prompt("go"), reply("ok"))
    claude.agent("a1", prompt("look"), reply("found", message_id="x"))
    codex.write(meta(), context(), event("user_message", message="go"))
    codex.write(meta(CHILD, parent_thread_id=THREAD), context(), thread=CHILD)
    return tmp_path


def printed(home: Path, *arguments: str) -> object:
    done = CliRunner().invoke(app, [*arguments, "--json", "--home", str(home), "--now", str(NOW)])
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_scan_show_search_and_api_share_their_ids(home: Path) -> None:
    expected = {f"claude-code:{SESSION}", f"codex:{THREAD}"}
    options = Options()
    assert {session.id for session in scan(str(home), options, NOW)} == expected
    listed = printed(home, "scan")
    assert isinstance(listed, list) and {session["id"] for session in listed} == expected
    found = printed(home, "search", "go")
    assert isinstance(found, list) and {hit["id"] for hit in found} == expected
    for identity in expected:
        shown = printed(home, "show", identity)
        assert isinstance(shown, dict) and shown["id"] == identity
        assert f"{identity.partition(':')[0]}:{shown['sessionId']}" == identity
        api = detail(identity, str(home), options, NOW)
        assert api is not None and api.id == identity


def test_children_have_ids_of_their_own(home: Path) -> None:
    everything = monitor(home)
    sessions = {session.harness: session for session in everything.scan(NOW).sessions}
    (agent,) = sessions["claude-code"].children
    (child,) = sessions["codex"].children
    assert agent.id == f"claude-code:{SESSION}__agent-a1" and child.id == f"codex:{CHILD}"
    for identity in (agent.id, child.id):
        assert everything.detail(identity, NOW) is not None


def test_every_harness_has_a_stable_kebab_case_id(home: Path) -> None:
    ids = [reader.id for reader in monitor(home).readers]
    assert ids == ["claude-code", "codex"] and len(HARNESSES) == 2
