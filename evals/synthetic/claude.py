"""Claude Code: cases from bug reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evals.synthetic.build import IDLE, WORKING, Case


def you(text: str) -> str:
    return f"\x1b[48;5;237m❯ \x1b[38;5;231m{text}\x1b[0m"


def case(name: str, rows: Sequence[str], expect: dict[str, Any], **more: Any) -> Case:
    return Case(name=name, program="claude-code", rows=tuple(rows), expect=expect, **more)


def spin(frame: str, text: str) -> str:
    return f"\x1b[38;5;174m{frame}\x1b[39m \x1b[38;5;174m{text}\x1b[39m"


def screens() -> list[Case]:
    turn = [you("Simplify the parser"), "", "● Reading the grammar first.", ""]
    over = [*turn[:2], "● The parser is simpler now and all tests pass.", ""]
    status = ("Model: X  (+12,-3)", "Ctx: 127.2k  Block: 3hr 10m")
    found = [
        case(
            "B01_spinner_above_redrawn_composer",
            [*turn, spin("✻", "Polishing… (13m 23s · ↓ 47.5k tokens)"), ""],
            WORKING,
        ),
        case(
            "B02_no_interrupt_hint_with_status_line",
            [
                *turn,
                spin("✳", "Simplifying parser… (2m 18s · ↓ 4.8k tokens)"),
                "  ⎿  ◻ first task",
                "",
            ],
            WORKING,
            footer=status,
        ),
        case(
            "B07_parenthesis_without_timer",
            [*turn, spin("✽", "Wandering… (esc to interrupt)"), ""],
            WORKING,
        ),
        case(
            "B05_waiting_for_background_agents",
            [*turn, spin("✳", "Waiting for 2 background agents to finish"), ""],
            WORKING,
        ),
        case(
            "B05_mcp_tasks_still_running",
            [*turn, spin("✳", "Cooking · 3 MCP tasks still running"), ""],
            WORKING,
        ),
        case(
            "B18_task_with_background_hint",
            [
                *turn[:2],
                "● Explore(Find the callers of parse())",
                "  ⎿  Read(src/grammar.py)",
                "     Running…",
                "     (ctrl+b to run in background)",
                "",
                spin("✶", "Exploring… (31s · ↓ 2.1k tokens)"),
                "",
            ],
            WORKING,
        ),
        case(
            "B21_workflow_waits_for_its_agents",
            [
                *turn[:2],
                "● Workflow(release-notes)",
                "  ⎿  ◼ Collect the changes · 3 agents running",
                "     ◻ Write the summary",
                "",
                spin("✻", "Waiting for 3 background agents to finish"),
                "",
            ],
            WORKING,
        ),
        case(
            "B23_bypass_footer_under_spinner",
            [*turn, spin("✢", "Brewing… (8s · ↓ 300 tokens)"), ""],
            WORKING,
            footer=("⏵⏵ bypass permissions on (shift+tab to cycle)",),
        ),
        case(
            "B23_bypass_footer_at_rest",
            [*over, "✻ Brewed for 12s", ""],
            IDLE,
            footer=("⏵⏵ bypass permissions on (shift+tab to cycle)",),
        ),
        case(
            "B28_new_turn_after_done",
            [
                *over,
                "✻ Brewed for 12s",
                "",
                you("And the lexer?"),
                "",
                spin("·", "Mulling… (2s)"),
                "",
            ],
            WORKING,
        ),
        case(
            "B30_dead_spinners_above_free_composer",
            [
                you("Start"),
                "",
                spin("✢", "Thinking… (3s · ↓ 12 tokens)"),
                spin("✶", "Thinking… (4s · ↓ 18 tokens)"),
                "",
                *over,
                "✻ Brewed for 12s",
                "",
            ],
            IDLE,
        ),
        case(
            "B37_interrupted_before_the_reply",
            [
                you("Deploy it"),
                "",
                "● Bash(make deploy)",
                "  ⎿  Interrupted · What should Claude do instead?",
                "",
            ],
            IDLE,
        ),
        case(
            "B38_turn_ended_by_api_error",
            [
                you("Deploy it"),
                "",
                "  ⎿  \x1b[38;5;211mAPI Error: 529 Overloaded. Please try again later.\x1b[39m",
                "",
                "✻ Brewed for 41s",
                "",
            ],
            {"activity": "error", "needs_you": False},
        ),
        case(
            "B62_question_in_prose_then_tool",
            [
                you("Fix the flaky test"),
                "",
                "● Would you like to open a pull request? If yes, I will push.",
                "",
                "● Bash(git status --short)",
                "  ⎿  M tests/test_cart.py",
                "",
                "✻ Brewed for 9s",
                "",
            ],
            {"activity_any": ["idle", "working"], "needs_you": False},
        ),
        case(
            "B64_numbered_answer",
            [
                you("What did you do?"),
                "",
                "● Done:",
                "",
                "  1. Wrote the file",
                "  2. Ran the tests",
                "",
                "✻ Brewed for 3s",
                "",
            ],
            IDLE,
        ),
        case(
            "B70_approved_command_runs",
            [
                you("Deploy it"),
                "",
                "● Bash(make deploy)",
                "  ⎿  Running…",
                "",
                spin("✻", "Reticulating… (9m 12s · ↓ 1.1k tokens)"),
                "",
            ],
            WORKING,
        ),
        case(
            "B72_status_line_speaks_of_permission",
            [*over, "✻ Brewed for 12s", ""],
            IDLE,
            footer=("ci: waiting for permission | Run Everything | Do you want to proceed?",),
        ),
        case(
            "B81_dead_prompt_in_copy_mode",
            [*turn, spin("✻", "Polishing… (23s · ↓ 4.5k tokens)"), ""],
            WORKING,
            in_mode=True,
        ),
        case(
            "B20_idle_words_of_background",
            [*over, "✻ Baked for 6s · 1 shell still running", ""],
            {**IDLE, "background": True},
        ),
    ]
    for frame in "·✢✳✶✻✽*":
        found.append(
            case(
                f"B05_frame_{ord(frame):04x}_with_status_line",
                [*turn, spin(frame, "Wandering… (41s · ↓ 1.2k tokens)"), ""],
                WORKING,
                footer=status,
            )
        )
    for frame in "◐◓◑◒":
        found.append(
            case(
                f"B04_title_{ord(frame):04x}_while_streaming",
                [*turn[:2], "● The parser has three passes: the first", ""],
                WORKING,
                title=f"{frame} Fix docs",
            )
        )
    found.append(
        case("B04_title_at_rest", [*over, "✻ Brewed for 2s", ""], IDLE, title="✳ Fix docs")
    )
    for number, words in enumerate(
        ("1 shell", "2 shells", "3 shells, 1 monitor", "1 monitor", "2 bashes"), start=1
    ):
        found.append(
            case(
                f"B20_footer_{number}_background",
                [*over, "✻ Baked for 6s", ""],
                {**IDLE, "background": True},
                footer=(f"⏵⏵ auto mode on · {words} · ← for agents · ↓ to manage",),
            )
        )
    return found
