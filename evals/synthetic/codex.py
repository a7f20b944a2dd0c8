"""Codex: cases from bug reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evals.synthetic.build import ASKS, IDLE, WORKING, Case
from openbus.model import Process


def case(name: str, rows: Sequence[str], expect: dict[str, Any], **more: Any) -> Case:
    return Case(name=name, program="codex", rows=tuple(rows), expect=expect, **more)


def screens() -> list[Case]:
    turn = ["\x1b[1;2m› \x1b[0mFix the queue", "", "• I'll look at the queue first.", ""]
    static = "gpt-6 | project"
    busy = "\x1b[2m•\x1b[0m \x1b[2mWorking\x1b[0m \x1b[2m(1m 03s • esc to interrupt)\x1b[0m"
    interrupted = "■ Conversation interrupted - use /feedback if something went wrong"
    command = [
        "  \x1b[1mWould you like to run the following command?\x1b[0m",
        "",
        "  $ mkdir -p /tmp/x",
        "",
        "\x1b[1;7m› 1. Yes, proceed (y)\x1b[0m",
        "  2. Yes, and don't ask again for commands that start with `mkdir` (p)",
        "  3. No, and tell Codex what to do differently (esc)",
        "",
        "  \x1b[2mPress enter to confirm or esc to cancel\x1b[0m",
    ]
    approval = {
        **ASKS,
        "kind": "approval",
        "question": "Would you like to run the following command?",
        "options": [
            "Yes, proceed (y)",
            "Yes, and don't ask again for commands that start with `mkdir` (p)",
            "No, and tell Codex what to do differently (esc)",
        ],
    }
    update = [
        "  ✨ Update available! 0.153.0 -> 0.153.2",
        "",
        "  Release notes: https://github.com/openai/codex/releases/latest",
        "",
        "\x1b[1;7m› 1. Update now (runs `npm install -g @openai/codex`)\x1b[0m",
        "  2. Skip",
        "  3. Skip until next version",
        "",
        "  \x1b[2mPress enter to continue\x1b[0m",
    ]
    ssh = (Process(comm="ssh", foreground=True, depth=1, argv=("ssh", "build-7")),)
    return [
        case(
            "B09_animations_off_with_background_terminal",
            [*turn, busy + " · 1 background terminal running · /ps to view · /stop to close", ""],
            {**WORKING, "background": True},
            title=static,
        ),
        case(
            "B09_label_is_a_headline",
            [*turn, "• Fixing queue region (3m 22s • esc to interrupt)", ""],
            WORKING,
            title=static,
        ),
        case(
            "B09_queued_rows_below_the_busy_row",
            [
                *turn,
                busy,
                "",
                "• Queued follow-up inputs",
                "  ↳ and run the tests",
                "    shift + ← edit last queued message",
                "",
            ],
            WORKING,
            title=static,
        ),
        case(
            "B10_prose_without_interrupt_row",
            [*turn[:2], "• The queue drops items when two workers", ""],
            {"needs_you": False, "activity_any": ["idle", "working", "unknown"]},
            title=static,
        ),
        case(
            "B11_title_with_spinner_not_first",
            [*turn, busy, ""],
            WORKING,
            title="project | fix ⠸",
        ),
        case(
            "B11_interrupted_with_old_busy_row",
            [*turn, busy, "", interrupted, ""],
            IDLE,
            title=static,
        ),
        case("B37_interrupted", [*turn, interrupted, ""], IDLE, title=static),
        case(
            "B46_cursor_of_option_is_no_composer",
            [*turn, *command],
            approval,
            title=static,
            composer=False,
        ),
        case(
            "B48_update_at_start",
            ["", *update],
            {
                **ASKS,
                "kind": "update",
                "options": [
                    "Update now (runs `npm install -g @openai/codex`)",
                    "Skip",
                    "Skip until next version",
                ],
            },
            title="host: /tmp/x",
            at_top=True,
            composer=False,
        ),
        case(
            "B48_stale_chooser_above_live_composer",
            ["", *update, ""],
            {"needs_you": False, "activity_any": ["idle", "unknown"]},
            title=static,
        ),
        case(
            "B49_trust_under_a_shell_title",
            [
                "",
                "> You are in /tmp/x",
                "",
                "  Do you trust the contents of this directory? Working with untrusted",
                "  contents comes with higher risk of prompt injection.",
                "",
                "\x1b[1;7m› 1. Yes, continue\x1b[0m",
                "  2. No, quit",
                "",
                "  \x1b[2mPress enter to continue\x1b[0m",
            ],
            {
                **ASKS,
                "kind": "trust",
                "question": "Do you trust the contents of this directory?",
                "options": ["Yes, continue", "No, quit"],
            },
            title="user@host: /tmp/x",
            at_top=True,
            composer=False,
        ),
        case(
            "B54_mcp_permission",
            [
                *turn,
                "  Field 1/1",
                '  Allow the search MCP server to run tool "query"?',
                "",
                "\x1b[1;7m› 1. Allow\x1b[0m",
                "  2. Allow for this session",
                "  3. Always allow",
                "  4. Cancel",
                "",
                "  \x1b[2menter to submit | esc to cancel\x1b[0m",
            ],
            {**ASKS, "options": ["Allow", "Allow for this session", "Always allow", "Cancel"]},
            composer=False,
        ),
        case(
            "B54_plan_question",
            [
                *turn,
                "  \x1b[2mQuestion 1/1 (1 unanswered)\x1b[0m",
                "  Which queue should be fixed?",
                "",
                "  \x1b[1;7m› 1. Orders    The queue of new orders\x1b[0m",
                "    2. Refunds   The queue of refunds",
                "",
                "  tab to add notes | enter to submit answer | esc to interrupt",
            ],
            {
                **ASKS,
                "kind": "question",
                "question": "Which queue should be fixed?",
                "options": ["Orders", "Refunds"],
            },
            composer=False,
        ),
        case(
            "B89_approval_on_a_remote_machine",
            [*turn, *command],
            approval,
            title="build-7",
            composer=False,
            processes=ssh,
            command="ssh",
        ),
    ]
