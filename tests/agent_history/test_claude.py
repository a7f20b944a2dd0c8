"""Claude Code transcripts become sessions and details."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from agent_history.claude.reader import ClaudeCode
from agent_history.options import Options
from agent_history.records import Detail, FilesOnly, Tokens
from tests.agent_history.stores import (
    MINUTE,
    MODEL,
    NOW,
    SESSION,
    Claude,
    call,
    calls,
    fixture_home,
    line,
    prompt,
    reply,
    result,
    row,
    usage,
)


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path)


def test_a_recorded_home_gives_the_numbers_its_agent_spent(tmp_path: Path) -> None:
    reader = ClaudeCode(fixture_home("claude-2.1.197", tmp_path), Options())
    sessions = {session.id: session for session in reader.scan(NOW)}
    main = sessions["claude-code:b1088531-c7b6-42ae-98ff-d98439077402"]
    assert main.title == "Shop API work"
    assert main.tokens == Tokens(input=239_200, output=11_040)
    assert main.cost_usd == pytest.approx(1.6)
    assert main.prompts == 35
    assert main.lines is not None and (main.lines.added, main.lines.removed) == (9, 1)
    assert main.plan is not None and (main.plan.done, main.plan.total) == (1, 3)
    assert main.plan.current == "Write the changelog"
    assert [child.id.rpartition("__")[2] for child in main.children] == [
        "agent-a1ae924741c768409",
        "agent-ab10b075e0b743347",
    ]


def test_details_of_a_recorded_session(tmp_path: Path) -> None:
    reader = ClaudeCode(fixture_home("claude-2.1.197", tmp_path), Options())
    reader.scan(NOW)
    detail = reader.detail("claude-code:b1088531-c7b6-42ae-98ff-d98439077402", NOW)
    assert isinstance(detail, Detail)
    assert detail.subagents is not None
    assert {agent.name: agent.type for agent in detail.subagents} == {
        "Find dead code": "general-purpose",
        "Tidy the logs": "general-purpose",
    }
    assert detail.compactions is not None
    assert detail.compactions[0].before == 5662
    assert any("500 Internal server error" in failure.message for failure in detail.errors)
    cart = next(file for file in detail.files or () if file.path == "cart.py")
    assert cart.hunks is not None and cart.hunks[0].line == 7
    assert len(detail.prompts) == 35 and detail.prompts[0].text == "What does cart.py do?"
    assert detail.replies[0].text.startswith("`cart.py` holds")


def test_a_reply_in_many_rows_counts_once_with_its_last_copy(claude: Claude) -> None:
    claude.write(
        prompt("go"),
        reply("one", used=usage(10, 1)),
        reply("two", used=usage(10, 99)),
    )
    session = claude.session()
    assert session.tokens == Tokens(input=10, output=99)
    assert session.context is not None and session.context.used == 109
    assert session.context_history == (109,)


def test_the_same_message_under_two_requests_counts_twice(claude: Claude) -> None:
    second = reply("again", used=usage(10, 5)) | {"requestId": "other"}
    claude.write(prompt("go"), reply("once", used=usage(10, 5)), second)
    assert claude.session().tokens == Tokens(input=20, output=10)


def test_cache_writes_are_priced_by_their_lifetime(claude: Claude) -> None:
    used = usage(30, 126, 4500, 1500)
    used["cache_creation"] = {
        "ephemeral_5m_input_tokens": 900, "ephemeral_1h_input_tokens": 600,
    }  # fmt: skip
    claude.write(prompt("go"), reply("ok", used=used, model="claude-opus-5-5"))
    # What Claude Code 2.1.332 itself recorded for this usage in a `cost-state`.
    assert claude.session().cost_usd == pytest.approx(0.01284)


def test_a_model_without_list_price_costs_what_was_recorded_or_is_unknown(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok", model="claude-next"))
    assert claude.session().cost_usd is None
    claude.write({"type": "cost-state", "sessionId": SESSION, "totalCostUSD": 0.5})
    assert claude.session().cost_usd == 0.5


def test_synthetic_rows_change_neither_tokens_nor_context(claude: Claude) -> None:
    claude.write(
        prompt("go"),
        reply("ok", used=usage(100, 5)),
        reply("No response requested.", model="<synthetic>", message_id="s", used=usage(0, 0)),
    )
    session = claude.session()
    assert session.tokens == Tokens(input=100, output=5)
    assert session.context is not None and session.context.used == 105
    assert session.model == MODEL


@pytest.mark.parametrize("flat", [False, True], ids=["in its session's folder", "flat"])
def test_subagents_hang_under_their_session_in_both_layouts(claude: Claude, flat: bool) -> None:
    claude.write(prompt("go"), reply("ok", used=usage(100, 10)))
    claude.agent("a1", prompt("look"), reply("found", message_id="x", used=usage(40, 4)), flat=flat)
    session = claude.session()
    assert [child.id for child in session.children] == [f"claude-code:{SESSION}__agent-a1"]
    assert session.tokens == Tokens(input=100, output=10), "own thread only"
    assert session.cost_usd == pytest.approx((140 * 3 + 14 * 15) / 1e6), "subagents included"
    (agent,) = claude.detail().subagents or ()
    assert agent.tokens == Tokens(input=40, output=4)


def test_inline_side_chains_are_counted_once_and_apart(claude: Claude) -> None:
    side = reply("found", message_id="x", used=usage(40, 4)) | {"isSidechain": True}
    claude.write(prompt("go"), reply("ok", used=usage(100, 10)), side)
    assert claude.session().tokens == Tokens(input=100, output=10)
    (agent,) = claude.detail().subagents or ()
    assert agent.id == "inline" and agent.tokens == Tokens(input=40, output=4)
    assert claude.session().cost_usd == pytest.approx((140 * 3 + 14 * 15) / 1e6)


def test_a_side_question_that_repeats_its_parents_message_costs_once(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok", used=usage(100, 10)))
    claude.agent("q", reply("ok", used=usage(100, 10)) | {"requestId": "other"})
    assert claude.session().cost_usd == pytest.approx((100 * 3 + 10 * 15) / 1e6)


def test_a_subagents_own_details(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    claude.agent("a1", prompt("look"), reply("found", used=usage(40, 4)), description="Look around")
    detail = claude.detail(subagent="a1")
    assert detail.agent_id == "a1" and detail.subagents is None
    assert detail.context_limit == 200_000
    assert detail.replies[-1].text == "found"
    reader = claude.read()
    assert reader.detail(f"claude-code:{SESSION}__agent-a1", NOW) == detail
    assert reader.detail(f"claude-code:{SESSION}", NOW, subagent="nobody") is None


def test_files_only_opens_nothing_and_names_the_files(claude: Claude) -> None:
    patch = [{"oldStart": 1, "newStart": 1, "lines": ["-a", "+b"]}]
    claude.write(
        prompt("go"),
        calls(call("Edit", file_path="/home/dev/shop/cart.py")),
        result(structured={"filePath": "/home/dev/shop/cart.py", "structuredPatch": patch}),
    )
    session = claude.session()
    claude.path().unlink()
    answer = claude.read().detail(session.id, NOW, files_only=True)
    assert isinstance(answer, FilesOnly)
    assert [file.path for file in answer.files] == ["cart.py"]


def test_a_new_file_counts_its_lines(claude: Claude) -> None:
    created = {"type": "create", "filePath": "/tmp/new.py", "content": "a\nb\nc\n",
               "structuredPatch": []}  # fmt: skip
    claude.write(prompt("go"), calls(call("Write", file_path="/tmp/new.py")),
                 result(structured=created))  # fmt: skip
    lines = claude.session().lines
    assert lines is not None and (lines.added, lines.removed) == (3, 0)


def test_titles_in_their_order_of_rank(claude: Claude) -> None:
    claude.write(prompt("Fix the cart\nplease"), reply("ok"))
    assert claude.session().title == "Fix the cart"
    claude.write({"type": "summary", "summary": "By summary"})
    assert claude.session().title == "By summary"
    claude.write({"type": "ai-title", "aiTitle": "First"}, {"type": "ai-title", "aiTitle": "Last"})
    assert claude.session().title == "Last"
    claude.app(title="From the app")
    assert claude.session().title == "From the app"
    claude.write({"type": "custom-title", "customTitle": "Mine"})
    assert claude.session().title == "Mine"


@pytest.mark.parametrize(
    "not_typed",
    [
        prompt("<command-name>/compact</command-name>"),
        prompt("<local-command-stdout>done</local-command-stdout>"),
        prompt("injected", isMeta=True),
        prompt("This session is being continued", isCompactSummary=True),
        prompt("<task-notification>done</task-notification>")
        | {"origin": {"kind": "task-notification"}, "promptSource": "system"},
        prompt("[Request interrupted by user]"),
        {"type": "api-request-blob", "message": {"role": "user", "content": "go"}},
        {"type": "queue-operation", "operation": "enqueue", "content": "go"},
        {"type": "last-prompt", "lastPrompt": "go"},
    ],
    ids=lambda item: str(item.get("type")) + str(item.get("message", {}).get("content", ""))[:20],
)
def test_only_what_a_person_typed_is_a_prompt(claude: Claude, not_typed: dict[str, object]) -> None:
    claude.write(prompt("go"), reply("ok"), not_typed)
    assert claude.session().prompts == 1


def test_compaction_without_size_afterwards_takes_it_from_the_next_reply(claude: Claude) -> None:
    boundary = row("system", NOW - 30_000, subtype="compact_boundary",
                   compactMetadata={"trigger": "auto", "preTokens": 9000})  # fmt: skip
    claude.write(prompt("go"), reply("ok", used=usage(9000, 5)), boundary)
    assert [(c.before, c.after) for c in claude.detail().compactions or ()] == [(9000, None)]
    claude.write(prompt("on"), reply("ok", message_id="m2", used=usage(1000, 5)))
    assert [(c.before, c.after) for c in claude.detail().compactions or ()] == [(9000, 1005)]


def test_context_history_keeps_at_most_24_and_ends_at_the_context(claude: Claude) -> None:
    replies = [reply("ok", message_id=f"m{n}", used=usage(100 + n, 0)) for n in range(500)]
    claude.write(prompt("go"), *replies)
    history = claude.session().context_history
    assert history is not None and len(history) <= 24
    assert history[0] == 100 and history[-1] == 599
    assert list(history) == sorted(history)


def test_calls_have_kind_target_and_their_own_error_text(claude: Claude) -> None:
    claude.write(
        prompt("go"),
        calls(call("Bash", command="cat a.py | head -3"), call("Read", "t2", file_path="/x/b.py")),
        result("t1", "boom " * 200, error=True),
        result("t2", structured={"type": "text"}),
        calls(call("mcp__github__list_prs", "t3"), message_id="m2"),
    )
    detail = claude.detail()
    bash, read, mcp = detail.activity
    assert (bash.kind, bash.target, bash.error) == ("read", "cat a.py | head -3", True)
    assert bash.error_text is not None and len(bash.error_text) == 500
    assert (read.path, read.kind, read.error) == ("/x/b.py", "read", False)
    assert (mcp.kind, mcp.server, mcp.running) == ("other", "github", True)
    totals = {tool.name: (tool.kind, tool.calls, tool.errors) for tool in detail.tools}
    assert totals["Bash"] == ("execute", 1, 1), "a total's kind comes from the name alone"


def test_file_contents_never_show_in_a_calls_input(claude: Claude) -> None:
    claude.write(prompt("go"), calls(call("Write", file_path="/a", content="SECRET TEXT")))
    (write,) = claude.detail().activity
    assert write.input is not None and "SECRET" not in write.input


def test_thoughts_without_text_are_left_out(claude: Claude) -> None:
    claude.write(
        prompt("go"),
        reply({"type": "thinking", "thinking": "", "signature": "c2ln"}, "a", message_id="m1"),
        reply({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, "b", message_id="m2"),
        reply("c", message_id="m2"),
    )
    detail = claude.detail()
    assert [thought.text for thought in detail.thoughts or ()] == ["Hm."]
    assert [said.text for said in detail.replies] == ["a", "b\nc"]


def test_readers_of_words_are_kept_for_the_last_three_sessions_opened(claude: Claude) -> None:
    names = [f"{n}{SESSION[1:]}" for n in range(5)]
    for name in names:
        claude.write(prompt("go"), reply("ok"), session=name)
    reader = claude.read()
    reader.scan(NOW)
    for name in names:
        reader.detail(f"claude-code:{name}", NOW)
    assert [Path(path).stem for path in reader._opened.paths()] == names[2:]


def test_an_older_session_is_read_on_demand(claude: Claude) -> None:
    long_ago = NOW - 3 * 24 * 60 * MINUTE
    claude.write(prompt("old", at=long_ago), reply("ok", at=long_ago))
    reader = claude.read(Options())
    assert reader.scan(NOW) == []
    assert reader.detail(f"claude-code:{SESSION}", NOW) is None, "the scan did not list it"
    found = reader.read_session(f"claude-code:{SESSION}", NOW)
    assert found is not None and found[0].title == "old" and found[1].replies[0].text == "ok"
    claude.write(reply("more", at=long_ago + 1, message_id="m2"))
    again = reader.read_session(SESSION, NOW)
    assert again is not None and [said.text for said in again[1].replies] == ["ok", "more"]


def test_a_session_that_grows_old_is_let_go_and_read_again_when_it_wakes(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    reader = claude.read(Options())
    assert len(reader.scan(NOW)) == 1
    later = NOW + 3 * 24 * 60 * MINUTE
    os.utime(claude.path(), (NOW / 1000, NOW / 1000))
    assert reader.scan(later) == []
    assert reader._entries[str(claude.path())].main is None
    claude.write(reply("awake", at=later, message_id="m2"))
    os.utime(claude.path(), (later / 1000, later / 1000))
    (session,) = reader.scan(later)
    assert session.excerpt == "awake" and session.prompts == 1


def test_the_folder_name_is_never_decoded(tmp_path: Path) -> None:
    claude = Claude(tmp_path, project="-home-jo-doe-2-x")
    claude.write(
        prompt("go") | {"cwd": "/home/jo.doe/2_x"}, reply("ok") | {"cwd": "/home/jo.doe/2_x"}
    )
    session = claude.session()
    assert (session.cwd, session.project, session.project_path) == (
        "/home/jo.doe/2_x", "2_x", "/home/jo.doe/2_x",
    )  # fmt: skip


def test_a_worktree_belongs_to_its_repository(claude: Claude) -> None:
    cwd = "/home/dev/shop/.claude/worktrees/fix-cart"
    claude.write(prompt("go") | {"cwd": cwd}, reply("ok") | {"cwd": cwd})
    session = claude.session()
    assert (session.project, session.worktree) == ("shop", "fix-cart")


def test_homes_that_are_links_to_each_other_count_once(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    (claude.root / ".config").mkdir()
    (claude.root / ".config/claude").symlink_to(claude.home)
    (claude.home / "projects/-again").symlink_to(claude.project)
    (claude.project / "loop").symlink_to(claude.project)
    assert len(claude.read().scan(NOW)) == 1


def test_archived_sessions_are_left_out(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    claude.app(isArchived=True)
    assert claude.read().scan(NOW) == []


def test_a_resumed_session_counts_its_own_file(claude: Claude) -> None:
    other = "1" + SESSION[1:]
    claude.write(prompt("go"), reply("ok"))
    shutil.copy(claude.path(), claude.path(other))
    claude.write(reply("more", message_id="m2", used=usage(7, 7)), session=other)
    totals = {s.id[-36:]: s.tokens for s in claude.read().scan(NOW)}
    assert totals == {SESSION: Tokens(input=10, output=5), other: Tokens(input=17, output=12)}


def test_shapes_it_never_saw_cost_one_field_not_the_row(claude: Claude) -> None:
    odd = reply("fine", used=usage(10, 5))
    odd["message"]["usage"]["cache_read_input_tokens"] = "many"
    odd["effort"] = {"level": "high"}
    with claude.path().open("ab") as file:
        file.write(line(prompt("go")) + b"null\n[1,2]\n7\n" + line(odd) + b'{"type":"user"}\n')
    session = claude.session()
    assert session.tokens == Tokens(input=10, output=5)
    assert session.notes == ("3 lines are not JSON objects",)


def test_a_lone_surrogate_survives(claude: Claude) -> None:
    with claude.path().open("ab") as file:
        file.write(line(prompt("go")))
        cut = json.dumps(reply("X")).replace('"X"', '"fire \\ud83d"')
        file.write(cut.encode() + b"\n")
    session = claude.session()
    assert session.excerpt == "fire \ufffd"
    session.excerpt.encode()


def test_counts_of_record_types_that_are_not_known(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"), {"type": "from-the-future"}, {"type": "mode"})
    claude.session()
    assert claude.read().unknown() == {"from-the-future": 1}


def test_the_app_record_of_a_deleted_thread_has_no_known_form(claude: Claude) -> None:
    # Neither the mark of a deleted thread nor the one behind "marked blocked" is documented
    # anywhere: fields that could mean them change nothing.
    claude.write(prompt("go"), reply("ok"))
    claude.app(blocked=True, status="blocked", deleted=True, lastActivityAt=NOW)
    assert claude.session().status == "done"
