"""Neutral tool calls under each agent's own names."""

from pathlib import Path
from typing import Any

from evals.lab.scenario import Say, Use, named
from evals.lab.tools import parts_for
from evals.lab.wire.common import Call, Part

PROJECT = Path("/home/dev/shop")


def use_of(scenario: str, round_: int = 0) -> Use:
    [use] = [act for act in named(scenario).rounds[round_] if isinstance(act, Use)]
    return use


def parts(scenario: str, dialect: str, *names: str, round_: int = 0) -> list[Part]:
    offered: dict[str, dict[str, Any]] = {name: {"name": name} for name in names}
    return parts_for(use_of(scenario, round_), dialect, offered, PROJECT)


def call(scenario: str, dialect: str, *names: str, round_: int = 0) -> Call:
    [part] = parts(scenario, dialect, *names, round_=round_)
    assert isinstance(part, Call)
    return part


def test_codex_is_asked_for_escalated_permission() -> None:
    made = call("approve_shell", "responses", "exec_command")
    assert isinstance(made.arguments, dict)
    assert made.arguments["sandbox_permissions"] == "require_escalated"
    assert made.arguments["justification"].endswith("?")


def test_codex_in_code_mode_gets_a_script() -> None:
    made = call("approve_shell", "responses", "exec")
    assert isinstance(made.arguments, str)
    assert "tools.exec_command(" in made.arguments


def test_an_edit_is_a_patch_for_codex_and_strings_for_the_others() -> None:
    patch = call("approve_edit", "responses", "exec", round_=1)
    assert "*** Update File: cart.py" in str(patch.arguments)
    for dialect, name, path in (
        ("messages", "Edit", "file_path"),
        ("chat", "edit", "filePath"),
        ("gemini", "replace", "file_path"),
    ):
        made = call("approve_edit", dialect, name, round_=1)
        assert isinstance(made.arguments, dict)
        assert made.arguments[path] == "/home/dev/shop/cart.py"


def test_questions_carry_their_choices_everywhere() -> None:
    for dialect, name in (
        ("responses", "request_user_input"),
        ("messages", "AskUserQuestion"),
        ("chat", "question"),
        ("gemini", "ask_user"),
    ):
        made = call("ask_one", dialect, name)
        assert isinstance(made.arguments, dict)
        [question] = made.arguments["questions"]
        assert [option["label"] for option in question["options"]][:2] == [
            "Redis",
            "In-process LRU",
        ]


def test_an_mcp_tool_is_found_behind_its_prefix() -> None:
    assert call("approve_mcp", "messages", "mcp__lab__send_invoice").name.startswith("mcp__")


def test_a_tool_that_is_not_offered_becomes_a_sentence() -> None:
    [part] = parts("ask_one", "messages")
    assert isinstance(part, Say)
    assert "no tool" in part.text


def test_codex_takes_a_plan_out_of_the_text() -> None:
    [part] = parts("plan", "responses", "exec")
    assert isinstance(part, Say)
    assert part.text.startswith("<proposed_plan>")


def test_claude_writes_the_plan_file_before_it_asks(tmp_path: Path) -> None:
    plan = tmp_path / "plan.md"
    use = Use("plan", {"plan": "# Plan", "plan_file": str(plan)})
    offered: dict[str, dict[str, Any]] = {"Write": {}, "ExitPlanMode": {}}
    [first] = parts_for(use, "messages", offered, PROJECT)
    plan.write_text("# Plan")
    [second] = parts_for(use, "messages", offered, PROJECT)
    assert [part.name for part in (first, second) if isinstance(part, Call)] == [
        "Write",
        "ExitPlanMode",
    ]


def test_a_tool_that_claude_declares_later_is_called_all_the_same() -> None:
    assert call("approve_fetch", "messages", "ToolSearch").name == "WebFetch"
    [part] = parts("approve_fetch", "messages", "Bash")
    assert isinstance(part, Say)
