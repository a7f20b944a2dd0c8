"""Gemini CLI, OpenCode and plain shells: cases from bug reports."""

from __future__ import annotations

from evals.synthetic.build import ASKS, IDLE, WORKING, Case
from openbus.model import Process


def gemini() -> list[Case]:
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


def opencode() -> list[Case]:
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


def shells() -> list[Case]:
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
