"""Codex rollouts of both dialects become sessions and details."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import zstandard

from agent_history.codex.reader import Codex
from agent_history.limits import newest
from agent_history.options import Options
from agent_history.records import (
    ApprovalAsk,
    Detail,
    ErrorAsk,
    QuestionAsk,
    Tokens,
)
from agent_history.tables import limit_lines
from tests.agent_history.stores import (
    MINUTE,
    NOW,
    THREAD,
    Rollouts,
    context,
    counted,
    event,
    fixture_home,
    function,
    item,
    line,
    meta,
    output,
    prompt,
    response,
    stamp,
    tokens,
)

LATE = NOW + 31 * MINUTE
CHILD = "01a22e47-ab8d-7b73-9b7c-4a962da11a41"
SPAWN = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "agent_nickname": "Halley"}}}
STARTED = event("task_started", turn_id="turn-1", model_context_window=258_400)
ENDED = event("task_complete", turn_id="turn-1", last_agent_message="done")


@pytest.fixture
def codex(tmp_path: Path) -> Rollouts:
    return Rollouts(tmp_path)


def state(codex: Rollouts, *threads: dict[str, Any], **tables: str) -> Path:
    """A state database with some of the columns Codex 0.171 has."""
    path = codex.home / "state_5.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE IF NOT EXISTS threads (id, archived, name, title, agent_nickname)")
        db.execute("CREATE TABLE IF NOT EXISTS thread_read_receipts (thread_id, first_unread_turn)")
        db.execute("DELETE FROM threads")
        for thread in threads:
            row = {"archived": 0, "name": None, "title": "", "agent_nickname": None} | thread
            db.execute(
                "INSERT INTO threads VALUES (:id,:archived,:name,:title,:agent_nickname)", row
            )
        for statement in tables.values():
            db.execute(statement)
    db.close()
    return path


def receipt(codex: Rollouts, unread: str | None) -> None:
    state(codex, {"id": THREAD})
    with sqlite3.connect(codex.home / "state_5.sqlite") as db:
        db.execute("DELETE FROM thread_read_receipts")
        db.execute("INSERT INTO thread_read_receipts VALUES (?, ?)", (THREAD, unread))
    db.close()


@pytest.mark.parametrize("version", ["0.128.0", "0.171.0"])
def test_both_dialects_give_the_same_numbers(tmp_path: Path, version: str) -> None:
    reader = Codex(fixture_home(f"codex-{version}", tmp_path), Options())
    sessions = {session.title: session for session in reader.scan(NOW)}
    main = sessions["What does cart.py do?"]
    assert main.tokens == Tokens(input=234_000, output=10_800)
    assert main.prompts == 33
    assert main.lines is not None and (main.lines.added, main.lines.removed) == (1, 1)
    assert main.context is not None and main.context.limit == 258_400
    assert len(main.children) == 3
    assert main.cost_usd is None, "Codex records no spend"
    other = sessions["Explain the checkout flow in detail"]
    assert (other.tokens, other.turn_outcome) == (Tokens(input=10_400, output=480), "interrupted")


@pytest.mark.parametrize("version", ["0.128.0", "0.171.0"])
def test_details_of_both_dialects(tmp_path: Path, version: str) -> None:
    reader = Codex(fixture_home(f"codex-{version}", tmp_path), Options())
    main = next(s for s in reader.scan(NOW) if s.title == "What does cart.py do?")
    detail = reader.detail(main.id, NOW)
    assert isinstance(detail, Detail)
    assert detail.compactions is None
    assert len(detail.prompts) == 33 and len(detail.replies) >= 33
    assert detail.replies[0].text.startswith("`cart.py` holds the Cart class")
    assert detail.subagents is not None and len(detail.subagents) == 3
    assert all(agent.status in ("done", "idle") and agent.tokens for agent in detail.subagents)
    cart = next(file for file in detail.files or () if file.path == "cart.py")
    assert cart.hunks is not None and cart.hunks[0].lines[1].startswith("-    return round")
    commands = {call.target for call in detail.activity}
    assert "rm -rf build/ && mkdir build" in commands
    assert any("high demand" in e.message or "401" in e.message for e in detail.errors)


def test_repeated_counts_and_counts_without_numbers_are_no_replies(codex: Rollouts) -> None:
    one, two = counted(100, 10, cached=40, reasoning=4), counted(300, 30, cached=140)
    empty = event("token_count", info=None, rate_limits=None)
    step = counted(200, 20, cached=100)
    codex.write(
        meta(),
        context(),
        STARTED,
        empty,
        tokens(one, one),
        tokens(one, one),
        empty,
        tokens(two, step),
        tokens(two, step),
    )
    session = codex.session()
    assert session.tokens == Tokens(input=160, output=30, cache_read=140)
    assert session.context_history == (110, 220)
    parts = codex.detail().context_parts
    assert parts is not None
    assert (parts.input, parts.cache_read, parts.cache_write, parts.output) == (100, 100, 0, 20)


def test_tokens_are_booked_to_the_model_in_use(codex: Rollouts) -> None:
    one, two = counted(100, 10), counted(300, 30)
    codex.write(meta(), context("a"), tokens(one, one), context("b"), tokens(two, counted(200, 20)))
    models = {use.model: use.tokens for use in codex.detail().models or ()}
    assert models == {"a": Tokens(input=100, output=10), "b": Tokens(input=200, output=20)}


def test_after_a_compaction_the_context_is_the_recorded_total_and_has_no_parts(
    codex: Rollouts,
) -> None:
    one = counted(9000, 10)
    after = {**counted(0, 0), "total_tokens": 1200}
    codex.write(meta(), context(), tokens(one, one), tokens(one, after), tokens(one, after))
    session = codex.session()
    assert session.context is not None and session.context.used == 1200
    assert session.context_history == (1200,), "it ends at the context, and is no reply of its own"
    assert codex.detail().context_parts is None
    assert len(codex.detail().history or ()) == 1


def fork(at: int, *rows: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    """A fork's rollout: its own meta, its parent's, the parent's counters, then its own rows."""
    first, second = counted(400, 40), counted(900, 100)
    return [
        meta(CHILD, at, forked_from_id=THREAD, **fields),
        meta(THREAD, at + 1),
        tokens(first, first, at + 2),
        event("thread_settings_applied", at + 2),
        tokens(second, counted(500, 60), at + 3),
        *rows,
    ]


def test_a_fork_owns_only_what_it_spent_itself(codex: Rollouts) -> None:
    at = NOW - 10 * MINUTE
    own = tokens(counted(1300, 200), counted(400, 100), at + 240_000)
    codex.write(*fork(at, own), thread=CHILD)
    assert codex.session().tokens == Tokens(input=400, output=100)


def test_an_empty_fork_owns_nothing(codex: Rollouts) -> None:
    codex.write(*fork(NOW - MINUTE), thread=CHILD)
    session = codex.session()
    assert session.tokens == Tokens() and session.prompts == 0 and session.context is None


def test_a_subagent_with_its_parents_turns_owns_only_its_own(codex: Rollouts) -> None:
    at = NOW - 10 * MINUTE
    old, new = f"{at - 5000:012x}", f"{at + 20:012x}"
    turns = [f"{time[:8]}-{time[8:]}-7000-8000-000000000000" for time in (old, new)]
    rows = fork(
        at,
        event("task_started", at + 4, turn_id=turns[0]),
        event("user_message", at + 4, message="the parent's prompt"),
        # Its own turn begins within the same second: only the turn's id tells.
        event("task_started", at + 30, turn_id=turns[1]),
        event("user_message", at + 31, message="its own prompt"),
        tokens(counted(950, 110), counted(50, 10), at + 60),
    )
    rows[0]["payload"]["source"] = SPAWN
    codex.write(meta(), context(), thread=THREAD)
    codex.write(*rows, thread=CHILD)
    (session,) = codex.read().scan(NOW)
    (agent,) = codex.detail().subagents or ()
    assert session.id.endswith(THREAD)
    assert (agent.name, agent.tokens) == ("Halley", Tokens(input=50, output=10))
    detail = codex.read().detail(f"codex:{CHILD}", NOW)
    assert isinstance(detail, Detail) and [p.text for p in detail.prompts] == ["its own prompt"]


def test_children_are_keyed_by_their_own_thread(codex: Rollouts) -> None:
    one = counted(100, 10)
    codex.write(meta(), context(), tokens(one, one))
    for child in (CHILD, CHILD[:-1] + "2"):
        codex.write(
            meta(child, session_id=THREAD, source=SPAWN), context(), tokens(one, one), thread=child
        )
    agents = codex.detail().subagents or ()
    assert [agent.tokens for agent in agents] == [Tokens(input=100, output=10)] * 2


def test_a_resumed_thread_in_a_second_file_adds_only_what_is_new(codex: Rollouts) -> None:
    before = counted(1000, 0)
    codex.write(meta(), context(), tokens(before, before))
    codex.write(
        meta(), context(), tokens(counted(1800, 0), counted(800, 0)), time="2026-11-30T22-00-00"
    )
    assert codex.session().tokens == Tokens(input=1800)
    codex.path().unlink()
    assert codex.session().tokens == Tokens(input=800), "what another file spent is not its own"


def test_prompts_are_counted_from_one_side_only(codex: Rollouts) -> None:
    words = [{"type": "input_text", "text": "go"}]
    said = [{"type": "text", "text": "go"}]
    codex.write(
        meta(),
        context(),
        response("message", role="user", content=words),
        item("UserMessage", content=said),
        event("user_message", message="go"),
    )
    assert codex.session().prompts == 1


def test_a_turn_opens_and_closes_and_late_items_do_not_reopen_it(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED)
    session = codex.session()
    assert (session.status, session.status_reason) == ("working", "turn-open")
    assert session.turn_started_at == NOW - MINUTE
    codex.write(ENDED, item("CommandExecution", NOW, id="exec-1", exit_code=0, command=["make"]))
    assert codex.session().status == "done"


def test_an_interrupt_is_a_normal_end(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED, event("turn_aborted", turn_id="turn-1"))
    session = codex.session()
    assert (session.status, session.turn_outcome) == ("done", "interrupted")


@pytest.mark.parametrize(
    "rows",
    [
        [event("task_complete", turn_id="turn-1", error={"message": "too long"})],
        [event("task_complete", error={"message": "too long", "codex_error_info": {"a": 1}})],
        [event("error", message="too long"), ENDED],
        [event("error", message="too long")],
    ],
    ids=["task_complete.error", "with an object as info", "legacy error", "error alone"],
)
def test_a_failed_turn(codex: Rollouts, rows: list[dict[str, Any]]) -> None:
    codex.write(meta(), context(), STARTED, *rows)
    session = codex.session()
    assert (session.status, session.status_reason) == ("error", "turn-failed")
    assert session.ask == ErrorAsk(text="too long")


QUESTION: dict[str, Any] = {
    "questions": [
        {
            "header": "Cache",
            "question": "Which?",
            "options": [{"label": "Redis", "description": "fast"}],
        }
    ]
}


@pytest.mark.parametrize(
    "asks",
    [
        function("request_user_input", **QUESTION),
        event("request_user_input", call_id="c1", **QUESTION),
    ],
    ids=["an open call", "an event"],
)
def test_a_question_waits_until_it_is_answered(codex: Rollouts, asks: dict[str, Any]) -> None:
    codex.write(meta(), context(), STARTED, asks)
    session = codex.session()
    assert (session.status, session.status_reason) == ("asking", "question")
    assert isinstance(session.ask, QuestionAsk)
    asked = session.ask.questions[0]
    assert (asked.text, asked.options[0].label, asked.multiple) == ("Which?", "Redis", False)
    codex.write(output('{"answers":{}}'))
    assert codex.session().status == "working"


def test_a_question_that_does_not_block_asks_nothing(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED, function("request_user_input_async", **QUESTION))
    assert codex.session().status == "working"


@pytest.mark.parametrize("kind", ["exec_approval_request", "apply_patch_approval_request"])
def test_an_approval_request_waits_until_its_command_ran(codex: Rollouts, kind: str) -> None:
    codex.write(
        meta(),
        context(),
        STARTED,
        event(kind, call_id="c9", command=["bash", "-lc", "rm -rf build"]),
    )
    session = codex.session()
    assert (session.status, session.status_reason) == ("asking", "approval")
    assert isinstance(session.ask, ApprovalAsk) and session.ask.target == "rm -rf build"
    codex.write(event("exec_command_end", call_id="c9", exit_code=0))
    assert codex.session().status == "working"


def test_request_permissions_waits_for_approval(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED, function("request_permissions", reason="net"))
    session = codex.session()
    assert (session.status, session.status_reason) == ("asking", "approval")


def test_an_escalated_command_is_not_guessed_to_wait(codex: Rollouts) -> None:
    codex.write(
        meta(),
        context(),
        STARTED,
        function("exec_command", cmd="rm x", sandbox_permissions="require_escalated"),
    )
    session = codex.session()
    assert (session.status, session.ask) == ("working", None)
    assert session.tool is not None and session.tool.target == "rm x"


def test_code_mode_shows_the_command_inside_the_script(codex: Rollouts) -> None:
    script = 'const r = await tools.exec_command({"cmd": "cat cart.py"});\ntext(r.output);'
    codex.write(
        meta(),
        context(),
        STARTED,
        response("custom_tool_call", call_id="c1", name="exec", input=script),
    )
    tool = codex.session().tool
    assert tool is not None and (tool.target, tool.kind) == ("cat cart.py", "read")
    codex.write(
        item("CommandExecution", id="exec-uuid", exit_code=2, aggregated_output="boom"),
        response("custom_tool_call_output", call_id="c1", output="Script completed"),
    )
    (call,) = codex.detail().activity
    assert (call.error, call.error_text) == (True, "boom")


@pytest.mark.parametrize(
    ("result", "error"), [({"Err": "user cancelled MCP tool call"}, True), ({"Ok": {}}, False)]
)
def test_how_a_call_to_an_mcp_server_ended(
    codex: Rollouts, result: dict[str, Any], error: bool
) -> None:
    script = "await tools.mcp__lab__send_invoice({});"
    codex.write(
        meta(),
        context(),
        STARTED,
        response("custom_tool_call", call_id="c1", name="exec", input=script),
        event("mcp_tool_call_end", call_id="exec-1", result=result),
        response("custom_tool_call_output", call_id="c1", output="Script completed"),
    )
    (call,) = codex.detail().activity
    assert call.error is error
    assert call.error_text == ("user cancelled MCP tool call" if error else None)


def test_a_subagent_that_only_its_parents_rollout_names(codex: Rollouts) -> None:
    # 0.145.0 writes this event where 0.171.0 writes an item.
    codex.write(meta(), context(), event("sub_agent_activity", agent_thread_id=CHILD))
    codex.write(meta(CHILD, source=SPAWN), context(), thread=CHILD)
    found = codex.read().read_session(f"codex:{THREAD}", NOW)
    assert found is not None and [agent.id for agent in found[1].subagents or ()] == [CHILD]


def test_a_script_that_does_more_is_not_taken_for_its_first_command(codex: Rollouts) -> None:
    script = 'await tools.exec_command({"cmd": "cat a"}); await tools.apply_patch("x");'
    codex.write(
        meta(),
        context(),
        STARTED,
        response("custom_tool_call", call_id="c1", name="exec", input=script),
    )
    tool = codex.session().tool
    assert tool is not None and (tool.target, tool.kind) == ("cat a", "execute")
    codex.write(response("custom_tool_call", call_id="c2", name="exec", input="text(1)"))
    tool = codex.session().tool
    assert tool is not None and tool.target == "exec"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Chunk ID: 1\nProcess exited with code 3\nOutput:\nboom", True),
        ("Process exited with code 0\nOutput:\nok", False),
        ('{"output":"boom","metadata":{"exit_code":1}}', True),
        ("no code at all", None),
    ],
)
def test_exit_codes_in_a_calls_output(codex: Rollouts, text: str, error: bool | None) -> None:
    codex.write(meta(), context(), STARTED, function("exec_command", cmd="make"), output(text))
    (call,) = codex.detail().activity
    assert call.error is error
    assert call.error_text == ("boom" if error else None)


def test_titles_in_their_order_of_rank(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED, event("user_message", message="First line\nmore"))
    assert codex.session().title == "First line"
    state(codex, {"id": THREAD, "title": "By title"})
    assert codex.session().title == "By title"
    index = codex.home / "session_index.jsonl"
    index.write_bytes(line({"id": THREAD, "thread_name": "Old"}))
    with index.open("ab") as file:
        file.write(line({"id": THREAD, "thread_name": "By index"}))
    assert codex.session().title == "By index"
    state(codex, {"id": THREAD, "name": "By rename"})
    assert codex.session().title == "By rename"


def test_a_subagent_is_named_by_the_index_else_by_its_nickname(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED)
    codex.write(meta(CHILD, source=SPAWN), context(), STARTED, thread=CHILD)
    session = codex.session()
    assert (session.status, session.subagents) == ("working", 1)
    assert session.working_subagents is not None
    assert session.working_subagents[0].name == "Halley"
    (codex.home / "session_index.jsonl").write_bytes(line({"id": CHILD, "thread_name": "Finder"}))
    (agent,) = codex.detail().subagents or ()
    assert agent.name == "Finder"


def test_waiting_for_subagents_delegates(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED, function("wait_agent", timeout_ms=1))
    assert codex.session().status == "delegating"
    codex.write(output(), ENDED)
    codex.write(meta(CHILD, source=SPAWN), context(), STARTED, thread=CHILD)
    session = codex.session()
    assert (session.status, session.status_reason) == ("delegating", "subagents")
    codex.write(ENDED, thread=CHILD)
    assert codex.session().status == "done", "an edge that stays open says nothing"


def test_guardian_threads_are_hidden(codex: Rollouts) -> None:
    codex.write(meta(source={"subagent": {"other": "guardian"}}), context(), STARTED)
    assert codex.read().scan(NOW) == []


def test_archived_threads_are_left_out(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED)
    state(codex, {"id": THREAD, "archived": 1})
    assert codex.read().scan(NOW) == []
    state(codex, {"id": THREAD, "archived": 0})
    assert len(codex.read().scan(NOW)) == 1
    archive = codex.home / "archived_sessions"
    archive.mkdir()
    codex.path().rename(archive / codex.path().name)
    assert codex.read().scan(NOW) == []
    found = codex.read().read_session(f"codex:{THREAD}", NOW)
    assert found is not None and found[0].id == f"codex:{THREAD}", "it can still be read"


def test_read_receipts_decide_read_and_unread(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED, ENDED)
    receipt(codex, None)
    assert codex.session().status_reason == "read"
    receipt(codex, "turn-1")
    assert (codex.session(LATE).status, codex.session(LATE).status_reason) == ("done", "unread")
    receipt(codex, "")
    assert codex.session(LATE).status_reason == "unread"


def test_without_a_receipt_there_is_no_record_of_reading(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED, ENDED)
    state(codex, {"id": THREAD})
    assert codex.session().status_reason == "recent"
    assert codex.session(LATE).status_reason == "quiet"


def test_tables_and_columns_that_are_gone_cost_one_field(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED, event("user_message", message="hi"), ENDED)
    with sqlite3.connect(codex.home / "state_9.sqlite") as db:
        db.execute("CREATE TABLE threads (id, name)")
        db.execute("INSERT INTO threads VALUES (?, 'Only a name')", (THREAD,))
    db.close()
    state(codex, {"id": THREAD, "name": "An older generation"})
    session = codex.session()
    assert (session.title, session.status_reason) == ("Only a name", "recent")


def test_usage_limits_are_the_newest_of_the_account(codex: Rollouts) -> None:
    def limits(used: float, limit: str = "codex") -> dict[str, Any]:
        window = {"used_percent": used, "window_minutes": 300, "resets_at": 1_796_080_000}
        return {"limit_id": limit, "primary": window, "secondary": None, "plan_type": "pro"}

    one = counted(1, 1)
    none = {"limit_id": "codex", "primary": None, "secondary": None, "plan_type": None}
    codex.write(meta(), context(), tokens(one, one, limits=none))
    assert codex.session().usage_limits is None
    codex.write(
        tokens(one, one, NOW - 3000, limits(10)),
        tokens(one, one, NOW - 2000, limits(25)),
        tokens(one, one, NOW - 1000, limits(99, "other-model")),
    )
    found = codex.session().usage_limits
    assert found is not None and (found.at, found.subscription) == (NOW - 2000, "pro")
    (window,) = found.windows
    assert (window.id, window.used_percent, window.resets_at) == ("primary", 25, 1_796_080_000_000)


def test_limits_of_one_account_are_the_newest_over_its_sessions(codex: Rollouts) -> None:
    window = {"used_percent": 5, "window_minutes": 300, "resets_in_seconds": 60}
    one = counted(1, 1)
    for number, used in ((1, 40), (2, 5)):
        limits = {"primary": {**window, "used_percent": used}, "plan_type": "pro"}
        thread = f"{THREAD[:-1]}{number}"
        codex.write(
            meta(thread), context(), tokens(one, one, NOW - number * 1000, limits), thread=thread
        )
    ((key, found),) = newest(codex.read().scan(NOW)).items()
    assert key == ("codex", "pro") and found.windows[0].used_percent == 40
    assert found.windows[0].resets_at == NOW - 1000 + 60_000
    (said,) = limit_lines(codex.read().scan(NOW), NOW)
    assert said == "codex pro: 40 % of primary (resets in 59s), 1s ago"


def test_children_of_older_threads_are_let_go_and_known_again(codex: Rollouts) -> None:
    at = NOW - 3 * 86_400_000
    codex.write(meta(at=at), context(at=at))
    codex.write(meta(CHILD, at, source=SPAWN), context(at=at), thread=CHILD)
    for path in codex.folder.iterdir():
        os.utime(path, (at / 1000, at / 1000))
    for _ in range(3):
        (session,) = codex.read().scan(NOW)
        assert [child.id for child in session.children] == [f"codex:{CHILD}"]
        assert all(entry.fold is None for entry in codex.read()._entries.values())
    assert len(codex.detail().subagents or ()) == 1


def test_children_older_than_a_day_stay_with_their_thread(codex: Rollouts) -> None:
    at = NOW - 3 * 86_400_000
    one = counted(100, 10)
    codex.write(meta(), context(), STARTED)
    path = codex.write(
        meta(CHILD, at, source=SPAWN), context(at=at), tokens(one, one, at), thread=CHILD
    )
    os.utime(path, (at / 1000, at / 1000))
    edge = f"INSERT INTO thread_spawn_edges VALUES ('{THREAD}', '{CHILD}', 'open')"
    state(
        codex,
        {"id": THREAD},
        edges="CREATE TABLE thread_spawn_edges (parent_thread_id, child_thread_id, status)",
        edge=edge,
    )
    for _ in range(2):
        (session,) = codex.read(Options() if codex.reader is None else None).scan(NOW)
        assert [child.id for child in session.children] == [f"codex:{CHILD}"]
        assert session.subagents == 0, "an edge stays open after its child ended"
    (agent,) = codex.detail().subagents or ()
    assert agent.tokens == Tokens(input=100, output=10)


def test_an_older_thread_from_its_ends_has_the_counter_of_its_end(codex: Rollouts) -> None:
    at = NOW - 3 * 86_400_000
    codex.write(meta(at=at), context(at=at))
    for number in range(1, 12):
        total, last = counted(100 * number, 10 * number), counted(100, 10)
        codex.write(event("agent_message", at, message="x" * 100_000), tokens(total, last, at))
    os.utime(codex.path(), (at / 1000, at / 1000))
    session = codex.session()
    assert session.partial and session.tokens == Tokens(input=1100, output=110)


def lock(codex: Rollouts, held: bool) -> None:
    folder = codex.home / "thread-writer-locks"
    folder.mkdir(exist_ok=True)
    path = folder / f"{THREAD}.lock"
    path.touch()
    found = path.stat()
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    codex.proc.mkdir(exist_ok=True)
    waiting = f"2: -> FLOCK  ADVISORY  WRITE 99 {device} 0 EOF\n"
    taken = f"1: FLOCK  ADVISORY  WRITE 77 {device} 0 EOF\n" if held else ""
    (codex.proc / "locks").write_text("garbage\n" + taken + waiting)


def test_a_held_writer_lock_says_live_and_a_stale_file_does_not(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED)
    lock(codex, held=True)
    session = codex.session(LATE)
    assert session.live and session.status == "working", "its process keeps the turn open"
    lock(codex, held=False)
    assert not codex.session(LATE).live
    assert codex.session(LATE).status_reason == "quiet"


def test_a_lock_is_looked_up_and_never_taken(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED)
    lock(codex, held=True)
    with (codex.home / f"thread-writer-locks/{THREAD}.lock").open("w") as owner:
        codex.session()
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_before_writer_locks_an_open_turn_is_live(codex: Rollouts) -> None:
    codex.write(meta(), context(), STARTED)
    assert codex.session().live
    assert not codex.session(LATE).live


@pytest.mark.parametrize("both", [False, True], ids=["alone", "beside the plain file"])
def test_a_compressed_rollout_is_read_once(codex: Rollouts, both: bool) -> None:
    one = counted(100, 10)
    path = codex.write(meta(), context(), STARTED, tokens(one, one), ENDED)
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
    if not both:
        path.unlink()
    assert codex.session().tokens == Tokens(input=100, output=10)
    assert codex.detail().source.endswith(".jsonl" if both else ".zst")


def test_a_broken_compressed_rollout_gives_what_it_holds(codex: Rollouts) -> None:
    path = codex.write(meta(), context(), STARTED)
    whole = zstandard.ZstdCompressor().compress(path.read_bytes())
    path.with_name(path.name + ".zst").write_bytes(whole[: len(whole) // 2])
    path.unlink()
    codex.read().scan(NOW)


def test_the_newest_context_of_a_turn_gives_model_and_effort(codex: Rollouts) -> None:
    mode = {"settings": {"reasoning_effort": "high"}}
    codex.write(meta(), context("a", effort="low"), context("b", collaboration_mode=mode))
    session = codex.session()
    assert (session.model, session.effort) == ("b", "high")


def test_a_user_shell_turn_has_no_prompt(codex: Rollouts) -> None:
    codex.write(
        meta(),
        context(),
        STARTED,
        item("CommandExecution", id="e", source="user_shell", exit_code=0),
    )
    assert codex.session().prompts == 0


def test_unknown_records_are_counted(codex: Rollouts) -> None:
    codex.write(meta(), context(), event("from_the_future"), response("new_item"))
    codex.session()
    assert codex.read().unknown() == {"from_the_future": 1, "new_item": 1}


def test_an_older_rollout_read_whole_has_the_totals_of_a_full_read(codex: Rollouts) -> None:
    at = NOW - 3 * 86_400_000
    rows = [meta(at=at), context("a", at=at)]
    for number in range(1, 400):
        total, last = counted(100 * number, 10 * number), counted(100, 10)
        rows += [
            event("task_started", at, turn_id=f"t{number}"),
            context("a" if number < 200 else "b", at=at),
            event("user_message", at, message=f"prompt {number}"),
            response("message", at, role="assistant", content="x" * 2000),
            tokens(total, last, at),
            tokens(total, last, at),
            event("task_complete", at, turn_id=f"t{number}"),
        ]
    path = codex.write(*rows)
    fresh = codex.session(now=at, options=Options(every_age=True, exact=True))
    detail = codex.detail(now=at)
    os.utime(path, (at / 1000, at / 1000))
    old = codex.session(options=Options(every_age=True, exact=True))
    assert (old.tokens, old.prompts, old.partial) == (fresh.tokens, 399, False)
    assert codex.detail().models == detail.models
    ends = codex.session(options=Options(every_age=True))
    assert ends.partial and ends.tokens is not None


def test_a_prompt_of_another_agent_is_no_record_of_codex(codex: Rollouts) -> None:
    codex.write(meta(), context(), prompt("a row of Claude Code"), {"timestamp": stamp(NOW)})
    assert codex.session().prompts == 0
