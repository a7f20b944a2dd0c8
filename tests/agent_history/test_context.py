"""The context's size over time, its estimated parts, and the files an agent changed."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from agent_history.changes import Changes, unified
from agent_history.context import BreakdownSizes, ContextSample
from agent_history.records import ContextBreakdown
from tests.agent_history.stores import (
    NOW,
    Claude,
    Rollouts,
    call,
    calls,
    context,
    counted,
    event,
    meta,
    prompt,
    reply,
    response,
    result,
    row,
    tokens,
    usage,
)


@pytest.mark.parametrize("count", [1, 2, 23, 24, 25, 47, 48, 49, 1000, 12_345])
def test_a_sample_is_even_bounded_and_ends_at_the_newest(count: int) -> None:
    sample = ContextSample()
    for number in range(count):
        sample.add(number)
    values = sample.values()
    assert values is not None
    assert len(values) <= 24 and values[0] == 0 and values[-1] == count - 1
    assert list(values) == sorted(set(values)), "no reply twice, in order"
    if count >= 48:
        assert len(values) >= 20
        steps = [b - a for a, b in pairwise(values[:-1])]
        assert max(steps) <= 3 * min(steps)


def test_a_sample_survives_being_kept_as_numbers() -> None:
    one, two = ContextSample(), ContextSample()
    for number in range(100):
        one.add(number)
    two = ContextSample.from_state(one.state())
    for sample in (one, two):
        for number in range(100, 150):
            sample.add(number)
    assert one.values() == two.values()
    assert ContextSample().values() is None


def parts(breakdown: ContextBreakdown | None) -> dict[str, int]:
    assert breakdown is not None
    assert sum(part.tokens for part in breakdown.parts) == breakdown.total
    for part in breakdown.parts:
        if part.items:
            assert sum(item.tokens for item in part.items) == part.tokens
    return {part.id: part.tokens for part in breakdown.parts}


def test_parts_are_estimates_that_add_up_to_the_measured_total() -> None:
    sizes = BreakdownSizes()
    sizes.fixed_text("system", "", 6000)
    sizes.fixed_text("builtInTools", "Bash", 3000)
    sizes.fixed_text("mcpTools", "github", 900)
    sizes.fixed_text("memory", "/x/CLAUDE.md", 100)
    sizes.whole_system = True
    sizes.message("prompts", 400)
    sizes.request(2600)
    sizes.message("replies", 100)
    sizes.message("tool", 300, "Bash")
    sizes.request(3000)
    found = sizes.breakdown(NOW, 3050, 200_000, 33_000, 50)
    # 2600 less 100 for the prompt were there before: a quarter token a character.
    assert parts(found) == {
        "messages": 550, "system": 1500, "builtInTools": 750, "mcpTools": 225, "memory": 25,
    }  # fmt: skip
    assert found is not None
    messages = {(i.id, i.name): i.tokens for i in found.parts[0].items}
    assert messages == {("prompts", None): 100, ("replies", None): 150, ("tool", "Bash"): 300}


def test_without_the_recorded_system_prompt_parts_are_four_characters_a_token() -> None:
    sizes = BreakdownSizes()
    sizes.fixed_text("skills", "review", 400)
    sizes.message("prompts", 40)
    sizes.request(1010)
    assert parts(sizes.breakdown(NOW, 1020, 0, 0, 10)) == {
        "messages": 20, "system": 900, "skills": 100,
    }  # fmt: skip


def test_after_a_compaction_the_growth_over_the_fixed_parts_is_the_summary() -> None:
    sizes = BreakdownSizes()
    sizes.message("prompts", 400)
    sizes.request(1100)
    sizes.message("replies", 4000)
    sizes.compaction()
    sizes.request(1500)
    found = sizes.breakdown(NOW, 1510, 0, 0, 10)
    assert parts(found) == {"messages": 510, "system": 1000}
    assert found is not None
    assert {item.id: item.tokens for item in found.parts[0].items} == {
        "summary": 500, "replies": 10,
    }  # fmt: skip


def test_a_transcript_that_began_mid_session_falls_back_to_two_parts() -> None:
    sizes = BreakdownSizes()
    assert sizes.breakdown(NOW, 100, 0, 0, 1) is None, "nothing known at all"
    sizes.fixed_text("system", "", 200)
    sizes.request(90)
    assert parts(sizes.breakdown(NOW, 100, 0, 0, 1)) == {"messages": 50, "system": 50}


def test_claude_code_breaks_its_context_down(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    skills = {"type": "skill_listing", "content": "- review: Reviews\n- run: Runs it",
              "names": ["review", "run"]}  # fmt: skip
    deferred = {
        "type": "deferred_tools_delta",
        "addedNames": ["Cron", "mcp__git__a", "mcp__git__b"],
    }
    memory = {"type": "nested_memory", "path": "/x/CLAUDE.md",
              "content": {"path": "/x/CLAUDE.md", "content": "rules " * 40}}  # fmt: skip
    shape = {
        "system": [{"type": "text", "text": "You are. " * 100}],
        "tools": [{"name": "Bash", "description": "Runs. " * 50}],
    }
    claude.write(
        prompt("go " * 10),
        *(row("attachment", NOW, attachment=kind) for kind in (skills, deferred, memory)),
        {"type": "api-request-shape", "sessionId": "x", "shape": shape},
        calls(call("Bash", command="ls")) | {"requestId": "r"},
        result(text="x" * 800),
        reply("ok", message_id="m2", used=usage(20, 5, read=1500)),
    )
    claude.write(reply("more", message_id="m3", used=usage(20, 5, read=2500)))
    found = claude.detail().context_breakdown
    assert found is not None and (found.total, found.reserved) == (2525, 33_000)
    assert [part.id for part in found.parts] == [
        "messages", "system", "builtInTools", "mcpTools", "skills", "memory",
    ]  # fmt: skip
    by_id = {part.id: part for part in found.parts}
    assert [(item.name, item.tools) for item in by_id["mcpTools"].items] == [("git", 2)]
    assert {item.name for item in by_id["skills"].items} == {"review", "run"}
    assert [item.path for item in by_id["memory"].items] == ["/x/CLAUDE.md"]
    parts(found)


def test_codex_breaks_its_context_down(tmp_path: Path) -> None:
    codex = Rollouts(tmp_path)
    rules = [{"type": "input_text", "text": "# AGENTS.md instructions for /home/dev/shop\nrules"}]
    one, two = counted(2000, 10), counted(4500, 30)
    codex.write(
        meta(base_instructions={"text": "You are. " * 100}),
        response("message", role="developer", content="d" * 400),
        response("message", role="user", content=rules),
        context(), event("user_message", message="go " * 20), tokens(one, one),
        tokens(two, counted(2500, 20)),
    )  # fmt: skip
    found = codex.detail().context_breakdown
    assert found is not None
    # 258,400 is 95 % of 272,000, and it compacts at 90 % of that.
    assert (found.limit, found.reserved) == (258_400, 13_600)
    assert set(parts(found)) == {"messages", "system", "memory"}
    (memory,) = next(part for part in found.parts if part.id == "memory").items
    assert memory.path == "/home/dev/shop/AGENTS.md"


def test_hunks_are_capped_in_number_lines_and_width() -> None:
    changes = Changes()
    lines = ["+" + "x" * 500] * 100
    for number in range(8):
        changes.edit("/a.py", [(number, number, lines)])
    (file,) = changes.files("")
    assert (file.added, file.edits, file.line) == (800, 8, 7)
    assert file.hunks is not None and [hunk.line for hunk in file.hunks] == [3, 4, 5, 6, 7]
    hunk = file.hunks[0]
    assert (len(hunk.lines), hunk.cut, len(hunk.lines[0])) == (60, 40, 240)


def test_only_the_25_most_recently_edited_files_keep_hunks() -> None:
    changes = Changes()
    for number in range(40):
        changes.edit(f"/{number}", [(1, 1, ["+a"])])
    changes.edit("/0", [(1, 1, ["+b"])])
    files = changes.files("")
    assert [file.path for file in files[:2]] == ["/0", "/39"]
    assert [len(file.hunks or ()) for file in files] == [1] * 25 + [0] * 15
    assert sum(file.added for file in files) == 41


def test_a_diff_without_line_numbers_has_none() -> None:
    assert unified("@@\n-a\n+b\n") == [(None, None, ["-a", "+b"])]
    assert unified("@@ -9,2 +10,2 @@\n x\n+b") == [(10, 9, [" x", "+b"])]
