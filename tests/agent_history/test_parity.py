"""Token totals agree with ccusage 20.0.24, except where its own rules differ.

The expected numbers were printed by `ccusage claude|codex session --json --offline` on the
fixtures. The comparison is made anew with `CCUSAGE=BINARY pytest -m real_agents`.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_history.claude.reader import ClaudeCode
from agent_history.codex.reader import Codex
from agent_history.homes import homes_of
from agent_history.options import Options
from agent_history.records import Detail, Session, Tokens
from tests.agent_history.stores import (
    FIXTURES,
    NOW,
    THREAD,
    Claude,
    Rollouts,
    context,
    counted,
    fixture_home,
    line,
    meta,
    prompt,
    reply,
    tokens,
    usage,
)

EVERYTHING = Options(every_age=True, exact=True)
CLAUDE = {"claude-2.0.76": (260_000, 12_000, 0.9472), "claude-2.1.197": (265_200, 12_240, 1.632)}
CODEX = {"codex-0.128.0": (244_400, 11_280), "codex-0.171.0": (244_400, 11_280)}


def whole(reader: ClaudeCode, session: Session) -> list[Tokens]:
    """A session's own tokens and its subagents', the way ccusage adds them."""
    detail = reader.detail(session.id, NOW)
    assert isinstance(detail, Detail)
    agents = [agent.tokens for agent in detail.subagents or () if agent.tokens]
    return [session.tokens, *agents] if session.tokens else agents


def claude_totals(reader: ClaudeCode) -> tuple[int, int, float]:
    sessions = reader.scan(NOW)
    parts = [part for session in sessions for part in whole(reader, session)]
    cost = sum(session.cost_usd or 0 for session in sessions)
    return sum(part.input for part in parts), sum(part.output for part in parts), round(cost, 6)


@pytest.mark.parametrize("name", CLAUDE)
def test_claude_totals_of_recorded_homes(tmp_path: Path, name: str) -> None:
    reader = ClaudeCode(fixture_home(name, tmp_path), EVERYTHING)
    assert claude_totals(reader) == CLAUDE[name]


@pytest.mark.parametrize("name", CODEX)
def test_codex_totals_of_recorded_homes(tmp_path: Path, name: str) -> None:
    sessions = Codex(fixture_home(name, tmp_path), EVERYTHING).scan(NOW)
    parts = [session.tokens for session in sessions if session.tokens]
    assert (sum(p.input for p in parts), sum(p.output for p in parts)) == CODEX[name]


def rules(tmp_path: Path) -> Claude:
    """A home with every grouping rule on which both agree."""
    claude = Claude(tmp_path)
    claude.write(
        prompt("go"),
        reply("partial", used=usage(10, 1)), reply("final", used=usage(10, 99)),
        reply("one", message_id="two", used=usage(20, 5)),
        reply("two", message_id="two", used=usage(20, 5)) | {"requestId": "other"},
        reply("side", message_id="s", used=usage(3, 3)) | {"isSidechain": True},
    )  # fmt: skip
    nameless = reply("no id", used=usage(7, 7))
    del nameless["message"]["id"]
    claude.write(nameless, nameless)
    claude.agent("q", reply("final", used=usage(10, 99)) | {"requestId": "replayed"})
    claude.agent("q", reply("own", message_id="own", used=usage(4, 4)))
    return claude


def test_the_grouping_rules_in_one_home(tmp_path: Path) -> None:
    reader = rules(tmp_path).read(EVERYTHING)
    (session,) = reader.scan(NOW)
    # ccusage: 10+99, twice 20+5, 3+3, twice 7+7, 4+4; the replayed message once.
    assert session.cost_usd == pytest.approx((71 * 3 + 130 * 15) / 1e6)


# Where ccusage's own rules differ, one test each, with what it says.


def test_differs_ccusage_takes_the_larger_copy_of_a_reply(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    claude.write(prompt("go"), reply("a", used=usage(10, 99)), reply("b", used=usage(10, 1)))
    assert claude.session().tokens == Tokens(input=10, output=1), "ccusage: 99"


def test_differs_ccusage_books_a_copied_reply_to_one_session_only(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    other = "1f0f0f0f-1111-2222-3333-444444444444"
    claude.write(prompt("go"), reply("ok"))
    claude.write(prompt("go"), reply("ok"), session=other)
    found = claude.read().scan(NOW)
    assert [session.tokens for session in found] == [Tokens(input=10, output=5)] * 2


def test_differs_ccusage_counts_a_last_line_without_its_newline(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    with claude.path().open("ab") as file:
        file.write(line(prompt("go")) + line(reply("ok")))
        file.write(line(reply("half", message_id="m2"))[:-1])
    assert claude.session().tokens == Tokens(input=10, output=5), "ccusage: twice that"


def test_differs_ccusage_does_not_see_json_with_blanks(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    claude.path().write_text(json.dumps(prompt("go")) + "\n" + json.dumps(reply("ok")) + "\n")
    assert claude.session().tokens == Tokens(input=10, output=5), "ccusage: nothing"


def test_differs_ccusage_leaves_out_replies_without_a_time(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    timeless = reply("ok", message_id="m2")
    del timeless["timestamp"]
    claude.write(prompt("go"), reply("ok"), timeless)
    assert claude.session().tokens == Tokens(input=20, output=10), "ccusage: half of it"


def test_differs_ccusage_lists_flat_subagents_whose_session_was_never_written(
    tmp_path: Path,
) -> None:
    claude = Claude(tmp_path)
    claude.path().touch()
    claude.agent("warm", prompt("Warmup"), reply("ok"), flat=True)
    assert claude.read().scan(NOW) == [], "ccusage: a session named agent-warm"


def test_differs_ccusage_counts_tokens_of_synthetic_rows(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    claude.write(prompt("go"), reply("ok"), reply("x", message_id="s", model="<synthetic>"))
    assert claude.session().tokens == Tokens(input=10, output=5), "ccusage: twice that"


def test_differs_ccusage_takes_an_equal_child_for_a_replay_of_its_parent(tmp_path: Path) -> None:
    # In both recorded Codex homes every reply costs the same, so ccusage drops all children.
    reader = Codex(fixture_home("codex-0.128.0", tmp_path), EVERYTHING)
    main = next(session for session in reader.scan(NOW) if session.children)
    detail = reader.detail(main.id, NOW)
    assert isinstance(detail, Detail)
    spent = [agent.tokens for agent in detail.subagents or ()]
    assert spent == [Tokens(input=10_400, output=480)] * 3, "ccusage: nothing"


def test_agrees_a_counter_that_begins_high_was_carried_over(tmp_path: Path) -> None:
    codex = Rollouts(tmp_path)
    codex.write(meta(), context(), tokens(counted(1000, 10), counted(300, 5)),
                tokens(counted(1300, 30), counted(300, 20)))  # fmt: skip
    assert codex.session().tokens == Tokens(input=600, output=25)


def test_agrees_a_counter_that_falls_began_anew(tmp_path: Path) -> None:
    codex = Rollouts(tmp_path)
    codex.write(meta(), context(), tokens(counted(1000, 10), counted(1000, 10)),
                tokens(counted(200, 20), counted(200, 20)),
                tokens(counted(300, 30), counted(100, 10)))  # fmt: skip
    assert codex.session().tokens == Tokens(input=1300, output=40)


def ccusage(what: str, variable: str, home: Path) -> dict[str, Any]:
    """What the real program says; its binary is named by `CCUSAGE`."""
    command = [os.environ["CCUSAGE"], what, "session", "--json", "--offline"]
    env = {variable: str(home), "HOME": "/nonexistent"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    totals: dict[str, Any] = json.loads(done.stdout)["totals"]
    return totals


needs_ccusage = pytest.mark.real_agents


@needs_ccusage
@pytest.mark.parametrize("name", CLAUDE)
def test_claude_totals_against_the_program(name: str) -> None:
    totals = ccusage("claude", "CLAUDE_CONFIG_DIR", FIXTURES / name / ".claude")
    reader = ClaudeCode(homes_of({}, str(FIXTURES / name)), EVERYTHING)
    found = (totals["inputTokens"], totals["outputTokens"], round(totals["totalCost"], 6))
    assert claude_totals(reader) == found


@needs_ccusage
@pytest.mark.parametrize("name", CODEX)
def test_codex_totals_against_the_program(name: str) -> None:
    totals = ccusage("codex", "CODEX_HOME", FIXTURES / name / ".codex")
    sessions = Codex(homes_of({}, str(FIXTURES / name)), EVERYTHING).scan(NOW)
    parts = [session.tokens for session in sessions if session.tokens]
    assert sum(part.input for part in parts) == totals["inputTokens"]
    assert sum(part.output for part in parts) == totals["outputTokens"]


@needs_ccusage
def test_the_grouping_rules_against_the_program(tmp_path: Path) -> None:
    claude = rules(tmp_path)
    (session,) = claude.read(EVERYTHING).scan(NOW)
    totals = ccusage("claude", "CLAUDE_CONFIG_DIR", claude.home)
    assert session.cost_usd == pytest.approx(totals["totalCost"])


def test_ids_of_threads_are_those_in_their_rollouts() -> None:
    assert THREAD in "".join(path.name for path in (FIXTURES / "codex-0.171.0").rglob("*.jsonl"))
