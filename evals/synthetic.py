"""Screens rebuilt from public bug reports of neighbouring tools, as corpus files.

`python -m evals.synthetic` writes `evals/corpus-synthetic/`. Each case keeps what the report says
was on the screen (glyphs, words, order) and stands in the real frame – composer, footer, processes,
terminal state – of that program from `evals/corpus/`. `state` is the case's number and name. The
labels are what a person in front of that screen would say; a label that the report leaves open is
left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from evals.mutate import SGR
from openbus.corpus import encode, read
from openbus.model import Capture, Cursor, Process

CORPUS = Path(__file__).parent / "corpus"
TARGET = Path(__file__).parent / "corpus-synthetic"
SIZES = ("80x24", "120x40")
VERSIONS = {
    "claude-code": "2.1.332",
    "codex": "0.171.0",
    "gemini": "0.61.0",
    "opencode": "1.18.33",
    "shell": "plain",
}

IDLE = {"activity": "idle", "needs_you": False}
WORKING = {"activity": "working", "needs_you": False}
ASKS = {"activity": "waiting", "needs_you": True}
OVERLAY = {
    "needs_you": False,
    "overlay": True,
    "activity_any": ["idle", "working", "unknown"],
}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One screen. `rows`: what stands above the composer, or up to the last row when `asks`.

    `footer`: rows of a user's status line below the composer. `title` None keeps the frame's.
    `at_top`: a page at launch, which starts in the first row.
    """

    name: str
    program: str
    rows: tuple[str, ...]
    expect: dict[str, Any]
    title: str | None = None
    composer: bool = True
    footer: tuple[str, ...] = ()
    processes: tuple[Process, ...] | None = None
    command: str | None = None
    in_mode: bool = False
    at_top: bool = False


def build(case: Case, size: str) -> str:
    """The corpus file of `case` at `size` as text."""
    version = VERSIONS[case.program]
    folder = CORPUS / case.program / version
    if case.program == "shell":
        frame = read(folder / f"shell_idle--{size}.json")
        capture = _shell(case, frame.capture)
    else:
        state = "idle_done" if case.composer else "approval_shell"
        frame = read(folder / f"{state}--{size}.json")
        capture = _agent(case, frame.capture)
    program = {} if "program_any" in case.expect else {"program": case.program}
    return encode(
        capture,
        program=case.program,
        version=version,
        state=case.name,
        captured_at=frame.captured_at,
        text="\n".join(SGR.sub("", row).rstrip() for row in capture.ansi.split("\n")),
        expect={**program, **case.expect},
        synthetic=True,
    )


def _agent(case: Case, frame: Capture) -> Capture:
    rows = frame.ansi.split("\n")[: frame.height]
    bottom: list[str] = []
    cursor = frame.cursor
    if case.composer:
        start = _composer_start(case.program, frame.cursor.y)
        while rows and not SGR.sub("", rows[-1]).strip() and case.program != "opencode":
            rows.pop()
        # Attributes carry over from row to row: those in force at the cut go with the rows below.
        codes = "".join(SGR.findall("\n".join(rows[:start])))
        in_force = codes[max(codes.rfind("\x1b[0m"), codes.rfind("\x1b[0;"), 0) :]
        bottom = [f"\x1b[0m{in_force}{rows[start]}", *rows[start + 1 :]]
        if case.footer:
            bottom[-1:] = [*(f"\x1b[0m  \x1b[2m{row}\x1b[0m" for row in case.footer), bottom[-1]]
    room = frame.height - len(bottom)
    body = [row + "\x1b[0m" for row in (*case.rows, *([""] if case.composer else ()))][-room:]
    gap = [""] * (room - len(body))
    # Full-screen programs keep composer and dialogs at the bottom, first-run pages at the top.
    top_first = case.at_top or (case.composer and frame.alternate_on)
    top = [*body, *gap] if top_first else [*gap, *body]
    if case.composer:
        cursor = Cursor(x=cursor.x, y=room + frame.cursor.y - start, visible=cursor.visible)
    elif case.program == "claude-code":
        options = [i for i, row in enumerate(top) if re.match(r"\s*❯ \d", SGR.sub("", row))]
        cursor = Cursor(x=1, y=(options or [len(top) - 1])[0], visible=False)
    return msgspec.structs.replace(
        frame,
        ansi="\n".join([*top, *bottom]) + "\n",
        cursor=cursor,
        title=frame.title if case.title is None else case.title,
        in_mode=case.in_mode,
        processes=frame.processes if case.processes is None else case.processes,
        command=frame.command if case.command is None else case.command,
    )


def _composer_start(program: str, cursor: int) -> int:
    """First row that belongs to the composer, found from the cursor as each program draws it."""
    above = {"claude-code": 2, "codex": 0, "gemini": 4, "opencode": 1}
    return cursor - above[program]


def _shell(case: Case, frame: Capture) -> Capture:
    prompt = frame.ansi.split("\n")[0].rstrip()
    rows = [*(row.replace("$PROMPT", prompt) for row in case.rows)]
    visible = SGR.sub("", rows[-1])
    padded = rows[-frame.height :] + [""] * (frame.height - len(rows))
    return msgspec.structs.replace(
        frame,
        ansi="\n".join(padded) + "\n",
        cursor=Cursor(x=len(visible) + 1, y=len(rows) - 1),
        processes=case.processes or (),
        command=case.command or "bash",
    )


def cases() -> list[Case]:
    """Every case, in order of its number."""
    return sorted(
        [*_claude(), *_claude_asks(), *_codex(), *_gemini(), *_opencode(), *_plain()],
        key=lambda case: case.name,
    )


# --- Claude Code ----------------------------------------------------------------------------------


def _you(text: str) -> str:
    return f"\x1b[48;5;237m❯ \x1b[38;5;231m{text}\x1b[0m"


def _claude_case(name: str, rows: Sequence[str], expect: dict[str, Any], **more: Any) -> Case:
    return Case(name=name, program="claude-code", rows=tuple(rows), expect=expect, **more)


def _spin(frame: str, text: str) -> str:
    return f"\x1b[38;5;174m{frame}\x1b[39m \x1b[38;5;174m{text}\x1b[39m"


def _claude() -> list[Case]:
    turn = [_you("Simplify the parser"), "", "● Reading the grammar first.", ""]
    over = [*turn[:2], "● The parser is simpler now and all tests pass.", ""]
    status = ("Model: X  (+12,-3)", "Ctx: 127.2k  Block: 3hr 10m")
    found = [
        _claude_case(
            "B01_spinner_above_redrawn_composer",
            [*turn, _spin("✻", "Polishing… (13m 23s · ↓ 47.5k tokens)"), ""],
            WORKING,
        ),
        _claude_case(
            "B02_no_interrupt_hint_with_status_line",
            [
                *turn,
                _spin("✳", "Simplifying parser… (2m 18s · ↓ 4.8k tokens)"),
                "  ⎿  ◻ first task",
                "",
            ],
            WORKING,
            footer=status,
        ),
        _claude_case(
            "B07_parenthesis_without_timer",
            [*turn, _spin("✽", "Wandering… (esc to interrupt)"), ""],
            WORKING,
        ),
        _claude_case(
            "B05_waiting_for_background_agents",
            [*turn, _spin("✳", "Waiting for 2 background agents to finish"), ""],
            WORKING,
        ),
        _claude_case(
            "B05_mcp_tasks_still_running",
            [*turn, _spin("✳", "Cooking · 3 MCP tasks still running"), ""],
            WORKING,
        ),
        _claude_case(
            "B18_task_with_background_hint",
            [
                *turn[:2],
                "● Explore(Find the callers of parse())",
                "  ⎿  Read(src/grammar.py)",
                "     Running…",
                "     (ctrl+b to run in background)",
                "",
                _spin("✶", "Exploring… (31s · ↓ 2.1k tokens)"),
                "",
            ],
            WORKING,
        ),
        _claude_case(
            "B21_workflow_waits_for_its_agents",
            [
                *turn[:2],
                "● Workflow(release-notes)",
                "  ⎿  ◼ Collect the changes · 3 agents running",
                "     ◻ Write the summary",
                "",
                _spin("✻", "Waiting for 3 background agents to finish"),
                "",
            ],
            WORKING,
        ),
        _claude_case(
            "B23_bypass_footer_under_spinner",
            [*turn, _spin("✢", "Brewing… (8s · ↓ 300 tokens)"), ""],
            WORKING,
            footer=("⏵⏵ bypass permissions on (shift+tab to cycle)",),
        ),
        _claude_case(
            "B23_bypass_footer_at_rest",
            [*over, "✻ Brewed for 12s", ""],
            IDLE,
            footer=("⏵⏵ bypass permissions on (shift+tab to cycle)",),
        ),
        _claude_case(
            "B28_new_turn_after_done",
            [
                *over,
                "✻ Brewed for 12s",
                "",
                _you("And the lexer?"),
                "",
                _spin("·", "Mulling… (2s)"),
                "",
            ],
            WORKING,
        ),
        _claude_case(
            "B30_dead_spinners_above_free_composer",
            [
                _you("Start"),
                "",
                _spin("✢", "Thinking… (3s · ↓ 12 tokens)"),
                _spin("✶", "Thinking… (4s · ↓ 18 tokens)"),
                "",
                *over,
                "✻ Brewed for 12s",
                "",
            ],
            IDLE,
        ),
        _claude_case(
            "B37_interrupted_before_the_reply",
            [
                _you("Deploy it"),
                "",
                "● Bash(make deploy)",
                "  ⎿  Interrupted · What should Claude do instead?",
                "",
            ],
            IDLE,
        ),
        _claude_case(
            "B38_turn_ended_by_api_error",
            [
                _you("Deploy it"),
                "",
                "  ⎿  \x1b[38;5;211mAPI Error: 529 Overloaded. Please try again later.\x1b[39m",
                "",
                "✻ Brewed for 41s",
                "",
            ],
            {"activity": "error", "needs_you": False},
        ),
        _claude_case(
            "B62_question_in_prose_then_tool",
            [
                _you("Fix the flaky test"),
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
        _claude_case(
            "B64_numbered_answer",
            [
                _you("What did you do?"),
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
        _claude_case(
            "B70_approved_command_runs",
            [
                _you("Deploy it"),
                "",
                "● Bash(make deploy)",
                "  ⎿  Running…",
                "",
                _spin("✻", "Reticulating… (9m 12s · ↓ 1.1k tokens)"),
                "",
            ],
            WORKING,
        ),
        _claude_case(
            "B72_status_line_speaks_of_permission",
            [*over, "✻ Brewed for 12s", ""],
            IDLE,
            footer=("ci: waiting for permission | Run Everything | Do you want to proceed?",),
        ),
        _claude_case(
            "B81_dead_prompt_in_copy_mode",
            [*turn, _spin("✻", "Polishing… (23s · ↓ 4.5k tokens)"), ""],
            WORKING,
            in_mode=True,
        ),
        _claude_case(
            "B20_idle_words_of_background",
            [*over, "✻ Baked for 6s · 1 shell still running", ""],
            {**IDLE, "background": True},
        ),
    ]
    for frame in "·✢✳✶✻✽*":
        found.append(
            _claude_case(
                f"B05_frame_{ord(frame):04x}_with_status_line",
                [*turn, _spin(frame, "Wandering… (41s · ↓ 1.2k tokens)"), ""],
                WORKING,
                footer=status,
            )
        )
    for frame in "◐◓◑◒":
        found.append(
            _claude_case(
                f"B04_title_{ord(frame):04x}_while_streaming",
                [*turn[:2], "● The parser has three passes: the first", ""],
                WORKING,
                title=f"{frame} Fix docs",
            )
        )
    found.append(
        _claude_case("B04_title_at_rest", [*over, "✻ Brewed for 2s", ""], IDLE, title="✳ Fix docs")
    )
    for number, words in enumerate(
        ("1 shell", "2 shells", "3 shells, 1 monitor", "1 monitor", "2 bashes"), start=1
    ):
        found.append(
            _claude_case(
                f"B20_footer_{number}_background",
                [*over, "✻ Baked for 6s", ""],
                {**IDLE, "background": True},
                footer=(f"⏵⏵ auto mode on · {words} · ← for agents · ↓ to manage",),
            )
        )
    return found


def _claude_asks() -> list[Case]:
    dialog = [
        "─" * 78,
        " \x1b[1mBash command\x1b[0m",
        "",
        "   make deploy",
        "   Deploy the service",
        "",
        " Do you want to proceed?",
        " ❯ 1. Yes",
        "   2. No, and tell Claude what to do differently (esc)",
        "",
    ]
    approval = {
        **ASKS,
        "kind": "approval",
        "question": "Do you want to proceed?",
        "options": ["Yes", "No, and tell Claude what to do differently (esc)"],
    }
    plan = [
        "─" * 78,
        " Ready to code?",
        "",
        " Here is Claude's plan:",
        "╌" * 78,
        " 1. Move charge() out of pay.py",
        " 2. Delete the old helpers",
        "╌" * 78,
        "",
        " Would you like to proceed?",
        "",
        " ❯ 1. Yes, and use auto mode",
        "   2. Yes, manually approve edits",
        "   3. Tell Claude what to change",
        "",
        " ctrl-g to edit in VS Code",
    ]
    return [
        _claude_case(
            "B44_dialog_over_spinner",
            [
                _you("Deploy it"),
                "",
                *dialog,
                _spin("✻", "Reticulating… (42s · ↓ 1.1k tokens)"),
            ],
            approval,
            composer=False,
        ),
        _claude_case(
            "B18_dialog_beats_running_task",
            [
                _you("Deploy it"),
                "",
                "● Explore(Find the callers of parse())",
                "     (ctrl+b to run in background)",
                "",
                *dialog,
                " Esc to cancel · Tab to amend",
            ],
            approval,
            composer=False,
        ),
        _claude_case(
            "B43_bypass_warning_at_launch",
            [
                "─" * 78,
                " \x1b[1mWARNING: Claude Code running in Bypass Permissions mode\x1b[0m",
                "",
                " In Bypass Permissions mode, Claude Code will not ask for your approval",
                " before running potentially dangerous commands.",
                "",
                " By proceeding, you accept all responsibility for actions taken while",
                " running in Bypass Permissions mode.",
                "",
                " ❯ 1. No, exit",
                "   2. Yes, I accept",
                "",
                " Enter to confirm · Esc to cancel",
            ],
            {**ASKS, "options": ["No, exit", "Yes, I accept"]},
            at_top=True,
            composer=False,
        ),
        _claude_case(
            "B52_question_under_spinner_words",
            [
                _you("Add a cache"),
                "",
                "● Esc to interrupt stays in this reply: Thinking… (esc to interrupt)",
                _spin("✻", "Thinking… (esc to interrupt)"),
                "",
                "─" * 78,
                " ☐ Cache",
                "",
                "Which cache should the API use?",
                "",
                "❯ 1. Redis",
                "     Shared between workers",
                "  2. No cache",
                "     Leave it as it is",
                "  3. Type something.",
                "",
                "Enter to select · ↑/↓ to navigate · Esc to cancel",
            ],
            {
                **ASKS,
                "kind": "question",
                "question": "Which cache should the API use?",
                "options": ["Redis", "No cache", "Type something"],
            },
            composer=False,
        ),
        _claude_case(
            "B57_plan_approval_before_the_record",
            [_you("Plan the refactor"), "", *plan],
            {
                **ASKS,
                "kind": "plan",
                "question": "Would you like to proceed?",
                "options": [
                    "Yes, and use auto mode",
                    "Yes, manually approve edits",
                    "Tell Claude what to change",
                ],
            },
            composer=False,
        ),
        _claude_case(
            "B65_model_picker_of_the_user",
            [
                _you("/model"),
                "─" * 78,
                "  \x1b[1mSelect model\x1b[0m",
                "  Switch between Claude models.",
                "",
                "    1. Default (recommended)",
                "  ❯ 2. Opus ✔",
                "    3. Haiku",
                "",
                "  Enter to set as default · Esc to cancel",
            ],
            OVERLAY,
            composer=False,
        ),
        _claude_case(
            "B27_side_question_over_live_turn",
            [
                _you("Simplify the parser"),
                "",
                "● Reading the grammar first.",
                "",
                _spin("✻", "Polishing… (23s · ↓ 4.5k tokens)"),
                "",
                "─" * 78,
                "  /btw what does the lexer do?",
                "",
                "  It cuts the text into tokens.",
                "",
                "  esc to close",
            ],
            {"needs_you": False, "activity_any": ["working", "unknown"]},
            composer=False,
        ),
    ]


# --- Codex ----------------------------------------------------------------------------------------


def _codex_case(name: str, rows: Sequence[str], expect: dict[str, Any], **more: Any) -> Case:
    return Case(name=name, program="codex", rows=tuple(rows), expect=expect, **more)


def _codex() -> list[Case]:
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
        _codex_case(
            "B09_animations_off_with_background_terminal",
            [*turn, busy + " · 1 background terminal running · /ps to view · /stop to close", ""],
            {**WORKING, "background": True},
            title=static,
        ),
        _codex_case(
            "B09_label_is_a_headline",
            [*turn, "• Fixing queue region (3m 22s • esc to interrupt)", ""],
            WORKING,
            title=static,
        ),
        _codex_case(
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
        _codex_case(
            "B10_prose_without_interrupt_row",
            [*turn[:2], "• The queue drops items when two workers", ""],
            {"needs_you": False, "activity_any": ["idle", "working", "unknown"]},
            title=static,
        ),
        _codex_case(
            "B11_title_with_spinner_not_first",
            [*turn, busy, ""],
            WORKING,
            title="project | fix ⠸",
        ),
        _codex_case(
            "B11_interrupted_with_old_busy_row",
            [*turn, busy, "", interrupted, ""],
            IDLE,
            title=static,
        ),
        _codex_case("B37_interrupted", [*turn, interrupted, ""], IDLE, title=static),
        _codex_case(
            "B46_cursor_of_option_is_no_composer",
            [*turn, *command],
            approval,
            title=static,
            composer=False,
        ),
        _codex_case(
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
        _codex_case(
            "B48_stale_chooser_above_live_composer",
            ["", *update, ""],
            {"needs_you": False, "activity_any": ["idle", "unknown"]},
            title=static,
        ),
        _codex_case(
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
        _codex_case(
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
        _codex_case(
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
        _codex_case(
            "B89_approval_on_a_remote_machine",
            [*turn, *command],
            approval,
            title="build-7",
            composer=False,
            processes=ssh,
            command="ssh",
        ),
    ]


# --- Gemini ---------------------------------------------------------------------------------------


def _gemini() -> list[Case]:
    turn = [" \x1b[38;5;183m> \x1b[38;5;231mRun the tests\x1b[0m", "", "✦ Running them.", ""]
    silent = [
        *turn,
        "╭" + "─" * 74 + "╮",
        "│ ⊷  Shell npm test" + " " * 56 + "│",
        "│" + " " * 74 + "│",
        "╰" + "─" * 74 + "╯",
        "",
        " ⠼ \x1b[3mThinking...\x1b[0m (esc to cancel, 41s)",
    ]
    return [
        Case(
            name="B04_title_of_another_program_at_rest",
            program="gemini",
            rows=(*turn[:2], "✦ All 3 tests passed.", ""),
            expect=IDLE,
            title="◇ Gemini CLI",
        ),
        Case(
            name="B69_hand_in_title_during_silent_command",
            program="gemini",
            rows=tuple(silent),
            expect=WORKING,
            title="✋  Action Required (project)",
        ),
        Case(
            name="B59_allow_command",
            program="gemini",
            rows=(*turn, "Allow command 'npm test'? [y/N]"),
            expect={**ASKS, "question": "Allow command 'npm test'?"},
            title="✦  Working… (project)",
            composer=False,
        ),
        Case(
            name="B59_high_demand",
            program="gemini",
            rows=(
                *turn,
                "╭" + "─" * 76 + "╮",
                "│ We are currently experiencing high demand." + " " * 33 + "│",
                "│" + " " * 76 + "│",
                "│ ● 1. Keep trying" + " " * 59 + "│",
                "│   2. Switch to another model" + " " * 47 + "│",
                "│   3. Stop" + " " * 66 + "│",
                "╰" + "─" * 76 + "╯",
            ),
            expect={**ASKS, "options": ["Keep trying", "Switch to another model", "Stop"]},
            title="✦  Working… (project)",
            composer=False,
        ),
    ]


# --- OpenCode -------------------------------------------------------------------------------------


def _opencode() -> list[Case]:
    def bar(text: str = "") -> str:
        return f"  \x1b[38;5;215m\x1b[48;5;233m┃\x1b[38;5;15m  {text:<70}\x1b[0m"

    def you(text: str) -> str:
        return f"  \x1b[38;5;75m┃\x1b[38;5;15m\x1b[48;5;233m  {text:<70}\x1b[0m"

    chosen = "\x1b[48;5;215m\x1b[38;5;232m"
    plain = "\x1b[48;5;234m\x1b[38;5;8m"
    buttons = (
        f"{chosen} Allow once \x1b[0m{plain}   Allow always   Reject   "
        "ctrl+f fullscreen  ⇆ select  enter confirm"
    )
    return [
        Case(
            name="B51_permission_below_open_marker",
            program="opencode",
            rows=(
                you("List the files"),
                "",
                "     $ ls -la",
                "",
                "     ▣  Build · some-model",
                "",
                bar(),
                bar("△ Permission required"),
                bar("  # List the files"),
                bar(),
                bar("$ ls -la"),
                bar(),
                bar(buttons),
                bar(),
            ),
            expect={
                **ASKS,
                "kind": "approval",
                "question": "Permission required",
                "options": ["Allow once", "Allow always", "Reject"],
            },
            composer=False,
        ),
        Case(
            name="B52_many_choices",
            program="opencode",
            rows=(
                you("Set up the checks"),
                "",
                "     → Asked 1 question",
                "",
                bar(),
                bar("Which checks should run on every push?"),
                bar(),
                bar("1. \x1b[38;5;75mUnit tests\x1b[38;5;15m"),
                bar("   Fast"),
                bar("2. Lint"),
                bar("   Faster"),
                bar("3. Type your own answer"),
                bar(),
                bar("↑↓ select  enter submit  esc dismiss"),
                bar(),
            ),
            expect={
                **ASKS,
                "kind": "question",
                "question": "Which checks should run on every push?",
                "options": ["Unit tests", "Lint", "Type your own answer"],
            },
            composer=False,
        ),
    ]


# --- shells ---------------------------------------------------------------------------------------


def _plain() -> list[Case]:
    npm = Process(comm="npm", foreground=True, depth=1, argv=("npm", "install"))
    return [
        Case(
            program="shell",
            name="B34_package_named_like_an_agent",
            rows=(
                "$PROMPT pi list",
                "Packages:",
                "  - pi-subagents (update available)",
                "$PROMPT",
            ),
            expect=IDLE,
        ),
        Case(
            program="shell",
            name="B59_words_of_a_question_scrolled_by",
            rows=(
                "$PROMPT npm install",
                "Approve? (y/n) y",
                "added 12 packages in 3s",
                "$PROMPT",
            ),
            expect=IDLE,
        ),
        Case(
            program="shell",
            name="B59_approve_question",
            rows=("$PROMPT npm install", "Approve? (y/n)"),
            expect={**ASKS, "kind": "confirm", "question": "Approve?"},
            processes=(npm,),
            command="npm",
        ),
        Case(
            program="shell",
            name="B97_agent_left_for_the_shell",
            rows=(
                "$PROMPT codex exec 'say hi'",
                "hi",
                "tokens used: 1,204",
                "$PROMPT",
            ),
            expect={"needs_you": False, "activity_any": ["idle", "exited"]},
        ),
    ]


def main(target: Path = TARGET) -> int:
    """Write every case at every size."""
    for case in cases():
        for size in SIZES:
            file = target / case.program / f"{case.name}--{size}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(build(case, size), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
