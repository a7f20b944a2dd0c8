"""Plans are replayed by six rules, in transcript order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_history.options import Options
from agent_history.plan import PlanReplay, key_of
from agent_history.ticks import Ticks
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
    result,
)

APP = "mcp__ccd_turn__update_plan"


def statuses(plan: PlanReplay) -> list[str]:
    return [item.status for item in plan.items()]


def listed(*steps: str) -> PlanReplay:
    plan = PlanReplay()
    todos = [{"content": f"step {n}", "status": status} for n, status in enumerate(steps, 1)]
    plan.claude_call("t0", "TodoWrite", {"todos": todos})
    return plan


def test_the_worked_example_of_the_rules() -> None:
    plan = PlanReplay()
    items = [{"content": str(n), "status": "pending"} for n in range(4)]
    items[0]["status"] = "in_progress"
    plan.claude_call("a", APP, {"items": items})
    plan.claude_call("b", APP, {"advance": True})
    plan.claude_call("c", APP, {"done": [2], "start": 4})
    assert statuses(plan) == ["completed", "completed", "pending", "in_progress"]


def test_a_full_list_replaces_everything_and_odd_states_read_as_pending() -> None:
    plan = listed("completed", "in_progress")
    plan.claude_call("t", "TodoWrite", {"todos": [{"content": "new", "status": "cancelled"}]})
    assert [(item.content, item.status) for item in plan.items()] == [("new", "pending")]


def test_advance_without_a_step_in_progress_starts_the_first_pending_one() -> None:
    plan = listed("completed", "pending", "pending")
    plan.advance()
    assert statuses(plan) == ["completed", "in_progress", "pending"]


def test_a_wrap_up_completes_the_step_in_progress_and_leaves_pending_ones() -> None:
    plan = listed("in_progress", "pending")
    plan.claude_call("w", "mcp__ccd_turn__wrap_up", {})
    assert statuses(plan) == ["completed", "pending"]


def test_steps_without_a_list_give_no_plan() -> None:
    plan = PlanReplay()
    plan.claude_call("a", APP, {"advance": True})
    plan.claude_call("b", APP, {"done": [1], "start": 2})
    plan.claude_call("c", "mcp__ccd_turn__wrap_up", {})
    assert plan.items() == () and plan.progress() is None


@pytest.mark.parametrize("number", [0, 5, -1, "1", None, True, 1.5])
def test_numbers_outside_the_list_are_passed_over(number: object) -> None:
    plan = listed("pending", "pending")
    plan.mark([number], number)
    assert statuses(plan) == ["pending", "pending"]


def create(plan: PlanReplay, number: str, subject: str, call_id: str = "") -> None:
    call_id = call_id or f"c{number}"
    plan.claude_call(call_id, "TaskCreate", {"subject": subject, "description": "long"})
    plan.claude_result(call_id, False, {"task": {"id": number, "subject": subject}})


def update(plan: PlanReplay, number: str, result: object, **arguments: object) -> None:
    plan.claude_call("u", "TaskUpdate", {"taskId": number, **arguments})
    plan.claude_result("u", False, result)


def test_tasks_are_created_and_changed_by_confirmed_results() -> None:
    plan = PlanReplay()
    create(plan, "1", "Bump")
    create(plan, "2", "Tag")
    update(plan, "1", {"success": True, "taskId": "1", "statusChange": {"to": "in_progress"}})
    assert statuses(plan) == ["in_progress", "pending"]
    update(
        plan, "2", {"success": True, "taskId": "2", "updatedFields": ["subject"]}, subject="Tag it"
    )
    assert [item.content for item in plan.items()] == ["Bump", "Tag it"]
    update(plan, "1", {"success": True, "taskId": "1", "statusChange": {"to": "deleted"}})
    assert [item.content for item in plan.items()] == ["Tag it"]


def test_failed_unconfirmed_and_orphan_task_calls_invent_nothing() -> None:
    plan = PlanReplay()
    plan.claude_call("c1", "TaskCreate", {"subject": "Never confirmed"})
    plan.claude_call("c2", "TaskCreate", {"subject": "Failed"})
    plan.claude_result("c2", True, {"task": {"id": "1", "subject": "Failed"}})
    plan.claude_result("nobody", False, {"task": {"id": "1", "subject": "Orphan"}})
    update(plan, "9", {"success": True, "taskId": "9", "statusChange": {"to": "completed"}})
    assert plan.items() == ()


def test_unknown_states_and_dependency_edits_leave_a_task_alone() -> None:
    plan = PlanReplay()
    create(plan, "1", "Bump")
    update(plan, "1", {"success": True, "taskId": "1", "statusChange": {"to": "blocked"}})
    update(plan, "1", {"success": True, "taskId": "1", "updatedFields": ["blockedBy"]})
    update(plan, "1", "Error: no such task", status="completed")
    assert statuses(plan) == ["pending"]


def test_a_reused_id_replaces_its_task_and_duplicate_results_make_none() -> None:
    plan = PlanReplay()
    create(plan, "1", "Old")
    create(plan, "1", "New", call_id="again")
    plan.claude_result("again", False, {"task": {"id": "1", "subject": "New"}})
    assert [item.content for item in plan.items()] == ["New"]


def test_a_full_list_clears_the_tasks() -> None:
    plan = PlanReplay()
    create(plan, "1", "Task")
    plan.claude_call("t", "TodoWrite", {"todos": [{"content": "Todo", "status": "pending"}]})
    update(plan, "1", {"success": True, "taskId": "1", "statusChange": {"to": "completed"}})
    assert [(item.content, item.status) for item in plan.items()] == [("Todo", "pending")]


def test_keys_are_of_text_and_occurrence_and_survive_a_new_list() -> None:
    plan = PlanReplay()
    twice = [{"content": "Test", "status": "pending"}] * 2
    plan.claude_call("t", "TodoWrite", {"todos": twice})
    first, second = plan.items()
    assert (first.key, second.key) == (key_of("Test", 0), key_of("Test", 1))
    assert "Test" not in first.key
    plan.claude_call("t", "TodoWrite", {"todos": [*twice, {"content": "More", "status": "x"}]})
    assert plan.items({first.key})[0].ticked and not plan.items({first.key})[1].ticked


def test_a_tick_counts_as_done_and_is_stored_without_text(tmp_path: Path) -> None:
    plan = listed("in_progress", "pending")
    ticks = Ticks(str(tmp_path / "state/ticks.json"))
    ticks.set(plan.items()[0].key, ticked=True)
    progress = plan.progress(ticks.keys())
    assert progress is not None and (progress.done, progress.current) == (1, None)
    stored = tmp_path / "state/ticks.json"
    assert json.loads(stored.read_text()) == [plan.items()[0].key]
    assert stored.stat().st_mode & 0o777 == 0o600
    ticks.set(plan.items()[0].key, ticked=False)
    assert ticks.keys() == frozenset()


def test_a_plan_follows_the_agent_while_it_works(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    items = [{"content": "One", "status": "in_progress"}, {"content": "Two", "status": "pending"}]
    claude.write(prompt("go"), calls(call(APP, items=items)), result())
    first = claude.session().plan
    assert first is not None and (first.done, first.total, first.current) == (0, 2, "One")
    claude.write(calls(call(APP, "t2", advance=True), message_id="m2"))
    second = claude.session().plan
    assert second is not None and (second.done, second.current) == (1, "Two")


def test_plans_switched_off_are_never_extracted(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    claude.write(prompt("go"), calls(call("TodoWrite", todos=[{"content": "x"}])))
    session = claude.session(options=Options(every_age=True, plans=False))
    assert session.plan is None
    fold = claude.read()._entries[str(claude.path())].main
    assert fold is not None and fold.fold.plan.steps == []


def padding(claude: Claude, megabytes: float, at: int) -> None:
    filler = reply("x" * 100_000, at=at, message_id="pad")
    claude.write(*[filler for _ in range(int(megabytes * 10))])


@pytest.mark.parametrize("exact", [False, True], ids=["from the ends", "whole"])
def test_a_plan_before_the_tail_of_a_long_transcript_is_recovered(
    tmp_path: Path, exact: bool
) -> None:
    claude = Claude(tmp_path)
    old = NOW - 2 * 86_400_000
    claude.write(prompt("go", at=old))
    padding(claude, 0.4, old)
    claude.write(
        calls(call("TaskCreate", "c1", subject="Bump"), at=old, message_id="c"),
        result("c1", structured={"task": {"id": "1", "subject": "Bump"}}, at=old),
    )
    padding(claude, 1.0, old)
    done = {"success": True, "taskId": "1", "statusChange": {"to": "completed"}}
    claude.write(
        calls(call("TaskUpdate", "u1", taskId="1"), at=old, message_id="u"),
        result("u1", structured=done, at=old),
        reply("ok", at=old, message_id="e"),
    )
    import os

    os.utime(claude.path(), (old / 1000, old / 1000))
    session = claude.session(options=Options(every_age=True, exact=exact))
    assert session.partial is not exact
    assert session.plan is not None and (session.plan.done, session.plan.total) == (1, 1)


def test_codex_update_plan_is_a_full_list(tmp_path: Path) -> None:
    codex = Rollouts(tmp_path)
    steps = [{"step": "Bump", "status": "completed"}, {"step": "Tag", "status": "in_progress"}]
    codex.write(
        meta(),
        context(),
        event("task_started", turn_id="turn-1"),
        function("update_plan", plan=steps),
    )
    plan = codex.session().plan
    assert plan is not None and (plan.done, plan.total, plan.current) == (1, 2, "Tag")
    assert [item.content for item in codex.detail().plan] == ["Bump", "Tag"]
