"""Every status and reason, from the records that decide them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_history.records import ApprovalAsk, ErrorAsk, QuestionAsk, UnknownAsk
from agent_history.status import Facts, decide
from tests.agent_history.stores import (
    MINUTE,
    NOW,
    Claude,
    call,
    calls,
    prompt,
    reply,
    result,
    row,
    usage,
)

LATE = NOW + 31 * MINUTE


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path)


def status(claude: Claude, now: int = NOW) -> tuple[str, str]:
    session = claude.session(now)
    return session.status, session.status_reason


def question(count: int = 1, options: int = 2, text: str = "Which?") -> dict[str, object]:
    return call(
        "AskUserQuestion",
        questions=[
            {
                "header": "H" * 200,
                "question": text,
                "multiSelect": True,
                "options": [{"label": "L" * 200, "description": "D" * 600}] * options,
            }
        ]
        * count,
    )


def test_an_open_turn_is_working_for_30_minutes_without_a_process(claude: Claude) -> None:
    claude.write(prompt("go"))
    assert status(claude) == ("working", "turn-open")
    assert claude.session().turn_started_at == NOW - MINUTE
    assert status(claude, LATE) == ("idle", "quiet")
    assert claude.session(LATE).turn_started_at is None


def test_an_open_turn_of_a_live_process_stays_open(claude: Claude) -> None:
    claude.write(prompt("go"))
    claude.live(status="busy")
    assert status(claude, LATE) == ("working", "turn-open")
    assert claude.session(LATE).live


def test_the_running_tool_is_shown_while_working(claude: Claude) -> None:
    claude.write(prompt("go"), calls(call("Bash", command="make test")))
    tool = claude.session().tool
    assert tool is not None and (tool.name, tool.target, tool.kind) == (
        "Bash", "make test", "execute",
    )  # fmt: skip
    claude.write(result(), reply("done", message_id="m2"))
    assert claude.session().tool is None


def test_a_question_is_decided_by_the_open_tool_not_by_waiting_for(claude: Claude) -> None:
    claude.write(prompt("go"), calls(question()))
    claude.live(status="waiting", waitingFor="permission prompt")
    assert status(claude) == ("asking", "question")
    assert isinstance(claude.session().ask, QuestionAsk)


def test_an_ask_is_cut_to_its_limits(claude: Claude) -> None:
    claude.write(prompt("go"), calls(question(count=6, options=12, text="Q" * 900)))
    ask = claude.session().ask
    assert isinstance(ask, QuestionAsk)
    assert len(ask.questions) == 4 and len(ask.questions[0].options) == 8
    asked = ask.questions[0]
    assert (len(asked.header), len(asked.text)) == (160, 500)
    assert (len(asked.options[0].label), len(asked.options[0].description)) == (160, 500)
    assert asked.header.endswith("…") and asked.text.endswith("…") and asked.multiple


def test_the_newest_open_call_of_a_waiting_process_asks_for_approval(claude: Claude) -> None:
    claude.write(
        prompt("go"),
        calls(call("Read", "t1", file_path="/a"), call("Bash", "t2", command="rm -rf build")),
    )
    assert status(claude) == ("working", "turn-open"), "without a process nothing says it waits"
    claude.live(status="waiting", waitingFor="permission prompt")
    assert status(claude) == ("asking", "approval")
    assert claude.session().ask == ApprovalAsk(tool="Bash", target="rm -rf build", kind="delete")


def test_a_waiting_process_without_an_open_tool(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    claude.live(status="waiting", waitingFor="dialog open")
    assert status(claude) == ("asking", "waiting")
    assert claude.session().ask == UnknownAsk()


def test_a_busy_process_whose_transcript_shows_no_turn(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    claude.live(status="busy")
    assert status(claude) == ("working", "process-busy")


def test_an_idle_process_is_done_for_30_minutes(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    claude.live(status="idle", updatedAt=NOW)
    assert status(claude) == ("done", "process-idle")
    assert status(claude, LATE) == ("idle", "process-idle")


def test_a_process_that_went_idle_closes_a_turn_without_an_end(claude: Claude) -> None:
    claude.write(prompt("go"))
    claude.live(status="idle", statusUpdatedAt=NOW)
    assert claude.session().status == "idle"
    claude.live(status="idle", statusUpdatedAt=NOW - 2 * MINUTE)
    assert status(claude) == ("working", "turn-open"), "the record is older than the prompt"


def test_a_print_run_has_a_record_without_status(claude: Claude) -> None:
    claude.write(prompt("go"))
    claude.live(entrypoint="sdk-cli")
    assert status(claude, LATE) == ("working", "turn-open")


def test_a_process_id_that_was_used_again_is_not_this_session(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    claude.live(start=2000, status="busy")
    assert not claude.session().live
    assert status(claude) == ("done", "recent")


def test_a_record_left_by_a_killed_process_counts_for_nothing(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    claude.live(status="busy")
    for file in (claude.proc / "4242").iterdir():
        file.unlink()
    assert status(claude) == ("done", "recent")


def test_a_record_of_another_namespace_is_ignored(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    (claude.proc / "self/ns").mkdir(parents=True)
    (claude.proc / "self/ns/pid").symlink_to("pid:[4026531836]")
    claude.live(status="busy", pidDomain="host:pid:[4026539999]")
    assert not claude.session().live
    claude.live(status="busy", pidDomain="host:pid:[4026531836]")
    assert claude.session().live


def test_without_a_record_of_reading_a_turn_is_done_for_30_minutes(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    assert status(claude) == ("done", "recent")
    assert status(claude, LATE) == ("idle", "quiet")
    assert claude.session().turn_outcome == "completed"


def test_the_end_of_a_turn_counts_not_the_files_time(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"), {"type": "ai-title", "aiTitle": "Later"})
    assert status(claude, LATE) == ("idle", "quiet")


def test_the_apps_record_says_read_and_unread(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    claude.app(lastActivityAt=NOW, lastFocusedAt=NOW - 5)
    assert status(claude, LATE) == ("done", "unread")
    claude.app(lastActivityAt=NOW, lastFocusedAt=NOW + 5)
    assert status(claude) == ("idle", "read")


def test_a_live_session_is_done_for_30_minutes_even_when_read(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"))
    claude.app(lastActivityAt=NOW, lastFocusedAt=NOW + 5)
    claude.live(status="idle", updatedAt=NOW)
    assert status(claude) == ("done", "process-idle")
    assert status(claude, LATE) == ("idle", "read")


def test_an_api_error_ends_the_turn_as_failed(claude: Claude) -> None:
    failed = reply("API Error: 500 " + "x" * 600, model="<synthetic>", stop="stop_sequence",
                   isApiErrorMessage=True)  # fmt: skip
    claude.write(prompt("go"), failed)
    assert status(claude) == ("error", "turn-failed")
    ask = claude.session().ask
    assert isinstance(ask, ErrorAsk) and len(ask.text) == 500
    claude.write(prompt("again", at=NOW), reply("ok", at=NOW, message_id="m2"))
    assert claude.session().status == "done"


def test_an_interrupt_by_the_user_is_a_normal_end(claude: Claude) -> None:
    claude.write(prompt("go"), calls(call("Bash", command="sleep 9")),
                 result(error=True, structured="User rejected tool use"),
                 prompt("[Request interrupted by user for tool use]", at=NOW))  # fmt: skip
    session = claude.session()
    assert (session.status, session.turn_outcome, session.ask) == ("done", "interrupted", None)


def test_a_stop_hook_summary_ends_a_turn(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok", stop=None))
    assert status(claude) == ("working", "turn-open")
    claude.write(row("system", NOW - 1000, subtype="stop_hook_summary", hookCount=1))
    assert status(claude) == ("done", "recent")
    claude.write(reply("one more thing", at=NOW, message_id="m2", stop="tool_use"))
    assert status(claude) == ("working", "turn-open"), "a hook may send the agent on"


def test_a_turn_whose_only_open_call_starts_a_subagent_delegates(claude: Claude) -> None:
    claude.write(prompt("go"), calls(call("Agent", description="Find it", prompt="…")))
    assert status(claude) == ("delegating", "subagents")
    claude.write(calls(call("Bash", "t2", command="ls"), message_id="m2"))
    assert status(claude) == ("working", "turn-open")


def test_an_idle_session_with_a_working_subagent_delegates(claude: Claude) -> None:
    claude.write(
        prompt("go"),
        calls(call("Agent", description="Find it", subagent_type="Explore")),
        result(structured={"status": "async_launched", "agentId": "a1"}),
        reply("launched", message_id="m2"),
    )
    claude.agent("a1", prompt("look"), calls(call("Grep", pattern="x")))
    session = claude.session()
    assert (session.status, session.status_reason) == ("delegating", "subagents")
    assert session.subagents == 1 and session.turn_started_at is None
    assert session.working_subagents is not None
    assert [(agent.id, agent.name) for agent in session.working_subagents] == [("a1", "Find it")]
    (agent,) = claude.detail().subagents or ()
    assert agent.tool is not None and agent.tool.target == "x"
    claude.agent("a1", result(), reply("found", message_id="x"))
    assert claude.session().status == "done"
    assert claude.session(LATE).subagents == 0


def test_a_subagent_whose_result_arrived_is_finished(claude: Claude) -> None:
    claude.write(
        prompt("go"),
        calls(call("Task", description="Find it")),
        result(structured={"status": "completed", "agentId": "a1"}),
        reply("ok", message_id="m2"),
    )
    # Claude Code 2.0 wrote no stop reason on a subagent's last reply.
    claude.agent("a1", prompt("look"), reply("found", stop=None))
    assert claude.session().subagents == 0


def test_a_later_prompt_opens_the_turn_anew(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok"), prompt("more", at=NOW - 10_000))
    assert claude.session().turn_started_at == NOW - 10_000
    claude.write(reply("working on it", at=NOW - 9000, message_id="m2", stop="tool_use"))
    assert claude.session().turn_started_at == NOW - 10_000


def test_a_prompt_written_behind_its_reply_belongs_to_the_open_turn(claude: Claude) -> None:
    claude.write(calls(call("Bash", command="rm -rf build"), at=NOW - 9000),
                 prompt("clean up", at=NOW - 9700))  # fmt: skip
    session = claude.session()
    assert session.turn_started_at == session.started_at == NOW - 9700
    claude.write(result(error=True, at=NOW - 8000))
    (shown,) = claude.detail().activity
    assert shown.error and shown.ended_at == NOW - 8000


def test_a_message_from_a_background_task_opens_a_turn_but_is_no_prompt(claude: Claude) -> None:
    note = prompt("<task-notification>x</task-notification>", at=NOW - 5000)
    note["origin"] = {"kind": "task-notification"}
    claude.write(prompt("go"), reply("ok"), note)
    session = claude.session()
    assert (session.status, session.turn_started_at, session.prompts) == ("working", NOW - 5000, 1)


def test_more_in_use_than_the_listed_window_means_the_wide_window(claude: Claude) -> None:
    claude.write(prompt("go"), reply("ok", used=usage(5, 5, read=300_000)))
    context = claude.session().context
    assert context is not None and context.limit == 1_000_000


FACTS = Facts(turn_open=False, ended_at=NOW, last_at=NOW, outcome="completed")


def facts(**changes: object) -> Facts:
    import msgspec

    return msgspec.structs.replace(FACTS, **changes)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (facts(blocked=True), ("asking", "marked-blocked")),
        (facts(blocked=True, subagents=1), ("delegating", "subagents")),
        (facts(blocked=True, awaiting=1), ("delegating", "awaiting")),
        (facts(awaiting=1), ("delegating", "awaiting")),
        (facts(outcome="failed", subagents=1), ("delegating", "subagents")),
        (facts(outcome="failed", unread=False), ("error", "turn-failed")),
        (facts(outcome=None), ("idle", "quiet")),
        (facts(unread=True, ended_at=0), ("done", "unread")),
        (facts(turn_open=True, question=True, only_agents_open=True), ("asking", "question")),
    ],
)
def test_the_order_of_the_rules(known: Facts, expected: tuple[str, str]) -> None:
    assert decide(known, NOW) == expected
