"""Excerpts are short, on one line, and hold no obvious secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_history.export import as_csv, as_json_lines
from agent_history.options import Options
from agent_history.records import to_json
from agent_history.redact import excerpt, redact
from tests.agent_history.stores import (
    NOW,
    Claude,
    Rollouts,
    call,
    calls,
    context,
    event,
    function,
    meta,
    prompt,
    reply,
)

# Put together here, so that no scanner takes this file for a leak.
SECRETS = [
    "sk-" + "ant-api03-abcdefgh12345678",
    "gh" + "p_abcdefghijklmnopqrst12345",
    "github" + "_pat_11ABCDEFG0abcdefgh",
    "xox" + "b-123456789012-abcdef",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF123456",
    "glpat" + "-abcdefghijkl123",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_known_tokens_are_masked(secret: str) -> None:
    assert secret not in redact(f"use {secret} now")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Authorization: Bearer abc.def-123456", "abc.def-123456"),
        ("password=hunter22 next", "hunter22"),
        ('{"api_key": "abc def"}', "abc def"),
        ("DB_PASSWORD: 'x y z'", "x y z"),
        ("postgres://joe:s3cret@db/x", "s3cret"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE cut off", "MIIE"),
    ],
)
def test_assignments_headers_and_keys_are_masked(text: str, hidden: str) -> None:
    assert hidden not in redact(text)


def test_plain_words_are_left_alone() -> None:
    text = "The token count of the password page is 12; see task-list and disk-usage."
    assert redact(text) == text


def test_an_excerpt_is_collapsed_and_cut_to_280() -> None:
    assert excerpt("a\n\n  b\tc") == "a b c"
    cut = excerpt("word " * 200)
    assert len(cut) == 280 and cut.endswith("…")


def test_a_secret_at_the_cut_is_masked_before_cutting() -> None:
    assert SECRETS[0][:12] not in excerpt("x" * 270 + " " + SECRETS[0])


def test_the_excerpt_is_the_agents_latest_words_never_a_prompt(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    claude.write(prompt("my own words"))
    assert claude.session().excerpt is None
    claude.write(reply("the answer"))
    assert claude.session().excerpt == "the answer"
    claude.write(calls(call("Bash", command="make", description="Build it"), message_id="m2"))
    assert claude.session().excerpt == "Bash: Build it"
    claude.write(prompt("more of my own words", at=NOW))
    assert claude.session().excerpt == "Bash: Build it"


def test_codex_excerpts(tmp_path: Path) -> None:
    codex = Rollouts(tmp_path)
    codex.write(
        meta(),
        context(),
        event("user_message", message="my own words"),
        function("exec_command", cmd="make"),
    )
    assert codex.session().excerpt == "exec_command"
    codex.write(event("task_complete", last_agent_message="all done"))
    assert codex.session().excerpt == "all done"


def test_switched_off_they_are_never_extracted(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    claude.write(prompt("go"), reply("the answer"))
    assert claude.session(options=Options(every_age=True, excerpts=False)).excerpt is None
    main = claude.read()._entries[str(claude.path())].main
    assert main is not None and main.fold.excerpt is None


def test_json_and_exports_hold_no_text_of_a_transcript(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    todo = [{"content": "plan words", "status": "in_progress"}]
    claude.write(
        prompt("prompt words"),
        reply("answer words"),
        calls(call("TodoWrite", todos=todo), message_id="m2"),
    )
    session = claude.session()
    assert "excerpt" not in to_json(session)
    for exported in (as_csv([session]), as_json_lines([session])):
        assert " words" not in exported and session.id in exported
