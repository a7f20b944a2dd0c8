"""Rare screens that could not be brought about with an offline program, from notes on real ones."""

from __future__ import annotations

from typing import Any

from evals.synthetic.build import ASKS, IDLE, WORKING, Case
from evals.synthetic.claude import spin, you
from openbus.model import Process


def screens() -> list[Case]:
    return [*_codex(), *_claude(), *_gemini(), *_opencode(), *_shells()]


def _codex() -> list[Case]:
    def case(name: str, *rows: str, expect: dict[str, Any], **more: Any) -> Case:
        return Case(name=name, program="codex", rows=rows, expect=expect, **more)

    turn = ("\x1b[1;2m› \x1b[0mFix the queue", "", "• I'll look at the queue first.", "")
    static = "gpt-6 | project"
    return [
        case(
            "R01_usage_limit_above_free_composer",
            *turn,
            "■ You've hit your usage limit. Upgrade to Pro or try again at 9:30 PM.",
            "",
            expect={"needs_you": False, "activity_any": ["idle", "error"]},
            title=static,
        ),
        case(
            "R02_reconnecting",
            *turn,
            "• Reconnecting... 1/2 (3s • esc to interrupt)",
            "  └ stream disconnected before completion",
            "",
            expect=WORKING,
            title=static,
        ),
        case(
            "R02_server_busy",
            *turn,
            "• Server is busy, reconnecting 1/2",
            "  └ Too many requests",
            "",
            expect=WORKING,
            title=static,
        ),
        case(
            "R03_waiting_for_agents",
            *turn,
            "• Waiting for agents",
            "",
            expect=WORKING,
            title=static,
        ),
        case(
            "R04_compacting",
            *turn,
            "• Compacting context (2s • esc to interrupt)",
            "  └ Making room to continue.",
            "",
            expect=WORKING,
            title=static,
        ),
        case(
            "R05_background_terminal_at_rest",
            *turn[:2],
            "• The dev server runs on port 5173.",
            "",
            "  Worked for 5s • 21:05",
            "",
            "  1 background terminal running · /ps to view · /stop to close",
            "",
            expect={**IDLE, "background": True},
            title=static,
        ),
        case(
            "R06_new_model_notice",
            "",
            "  Meet GPT-6 Sol",
            "",
            "  Our most capable model for coding.",
            "",
            "\x1b[1;7m› 1. Try new model\x1b[0m",
            "  2. Use existing model",
            "",
            "  \x1b[2mPress enter to continue\x1b[0m",
            expect={**ASKS, "kind": "setup", "options": ["Try new model", "Use existing model"]},
            title=static,
            composer=False,
            at_top=True,
        ),
        case(
            "R07_update_in_the_newest_words",
            "",
            "  Update available · 0.171.0 → 0.999.0",
            "",
            "\x1b[1;7m› 1. Update now (runs `npm install -g @openai/codex`)\x1b[0m",
            "  2. Skip",
            "  3. Skip until next version",
            "",
            "  \x1b[1menter\x1b[0m continue · \x1b[1mesc\x1b[0m skip",
            expect={**ASKS, "kind": "update"},
            title=static,
            composer=False,
            at_top=True,
        ),
    ]


def _claude() -> list[Case]:
    def case(name: str, *rows: str, expect: dict[str, Any], **more: Any) -> Case:
        return Case(name=name, program="claude-code", rows=rows, expect=expect, **more)

    turn = (you("Simplify the parser"), "", "● Reading the grammar first.", "")
    over = (*turn[:2], "● The parser is simpler now and all tests pass.", "")
    rule = "─" * 78
    return [
        case(
            "R10_retrying",
            *turn,
            spin("✻", "API error · Retrying in 6s · attempt 1/3"),
            "",
            expect=WORKING,
        ),
        case(
            "R11_compacting",
            *turn,
            spin("✻", "Compacting conversation…"),
            "  ▰▱ 4%",
            "",
            expect=WORKING,
        ),
        case(
            "R12_one_background_agent",
            *turn,
            spin("✻", "Waiting for 1 background agent to finish"),
            "",
            expect=WORKING,
        ),
        case(
            "R13_leave_plan_mode_without_a_file",
            *turn,
            rule,
            " \x1b[1mExit plan mode?\x1b[0m",
            "",
            " Claude wants to exit plan mode",
            "",
            " ❯ 1. Yes",
            "   2. No",
            "",
            " Esc to cancel",
            expect={**ASKS, "kind": "plan", "options": ["Yes", "No"]},
            composer=False,
        ),
        case(
            "R14_review_of_answers",
            you("Set up the database"),
            "",
            rule,
            "←  ☒ Database  ☒ Seed data  ✔ Submit  →",
            "",
            "Review your answers",
            "",
            " ● Which database should I set up?",
            "   → PostgreSQL",
            "",
            "Ready to submit your answers?",
            "",
            "❯ 1. Submit answers",
            "  2. Cancel",
            expect={
                **ASKS,
                "kind": "question",
                "question": "Ready to submit your answers?",
                "options": ["Submit answers", "Cancel"],
            },
            composer=False,
        ),
        case(
            "R15_shell_left_running",
            *over,
            "✻ Baked for 6s",
            "",
            expect={**IDLE, "background": True},
            footer=("1 shell · ? for shortcuts · ↓ to manage",),
        ),
        case(
            "R16_interrupted_then_free",
            *turn,
            "  ⎿  Interrupted · What should Claude do instead?",
            "",
            expect=IDLE,
        ),
    ]


def _gemini() -> list[Case]:
    you_asked = (" \x1b[38;5;183m> \x1b[38;5;231mRun the tests\x1b[0m", "")

    def box(*rows: str) -> tuple[str, ...]:
        return (
            "╭" + "─" * 76 + "╮",
            *(f"│ {row:<75}│" for row in rows),
            "╰" + "─" * 76 + "╯",
        )

    return [
        Case(
            name="R20_login_box_of_the_first_run",
            program="gemini",
            rows=box(
                "? Get started",
                "",
                "How would you like to authenticate for this project?",
                "",
                "● 1. Login with Google",
                "  2. Use Gemini API Key",
                "  3. Vertex AI",
                "",
                "No authentication method selected.",
                "",
                "(Use Enter to select)",
            ),
            expect={**ASKS, "kind": "login"},
            title="◇  Ready (project)",
            composer=False,
        ),
        Case(
            name="R21_failed_request",
            program="gemini",
            rows=(
                *you_asked,
                "✕ [API Error: Internal error]",
                "ℹ This request failed. Press F12 for diagnostics, or run /settings and change",
                '  "Error Verbosity" to full for full details.',
                "",
            ),
            expect={"activity": "error", "needs_you": False},
            title="◇  Ready (project)",
        ),
    ]


def _opencode() -> list[Case]:
    def bar(text: str = "") -> str:
        return f"  \x1b[38;5;215m\x1b[48;5;233m┃\x1b[38;5;15m  {text:<70}\x1b[0m"

    buttons = (
        "\x1b[48;5;215m\x1b[38;5;232m Confirm \x1b[0m\x1b[48;5;234m\x1b[38;5;8m   Cancel   "
        "⇆ select  enter confirm"
    )
    return [
        Case(
            name="R30_second_page_of_allow_always",
            program="opencode",
            rows=(
                "     $ ls -la",
                "",
                "     ▣  Build · some-model",
                "",
                bar(),
                bar("△ Always allow"),
                bar(),
                bar("This will allow the following patterns until OpenCode is restarted"),
                bar("- ls *"),
                bar(),
                bar(buttons),
                bar(),
            ),
            expect={**ASKS, "kind": "approval", "options": ["Confirm", "Cancel"]},
            composer=False,
        ),
    ]


def _shells() -> list[Case]:
    def running(name: str, rows: tuple[str, ...], argv: tuple[str, ...], **expect: Any) -> Case:
        return Case(
            name=name,
            program="shell",
            rows=rows,
            expect=expect,
            processes=(Process(comm=argv[0], foreground=True, depth=1, argv=argv),),
            command=argv[0],
        )

    return [
        running(
            "R40_git_add_patch",
            (
                "$PROMPT git add -p",
                "diff --git a/cart.py b/cart.py",
                "@@ -1 +1 @@",
                "-total = 0",
                "+total = Decimal(0)",
                "(1/1) Stage this hunk [y,n,q,a,d,e,?]?",
            ),
            ("git", "add", "-p"),
            **ASKS,
            kind="confirm",
        ),
        running(
            "R41_git_user_name",
            ("$PROMPT git push", "Username for 'https://git.example':"),
            ("git", "push"),
            **ASKS,
        ),
        running(
            "R42_any_key",
            ("$PROMPT ./install.sh", "Press any key to continue . . ."),
            ("install.sh",),
            **ASKS,
        ),
        running(
            "R43_apt_waits_for_a_lock",
            (
                "$PROMPT sudo apt-get install tree",
                "Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. "
                "It is held by process 4711 (unattended-upgr)... 12s",
            ),
            ("sudo", "apt-get"),
            needs_you=False,
            activity_any=["waiting", "working"],
        ),
        running(
            "R44_ssh_unknown_host",
            (
                "$PROMPT ssh build-7",
                "The authenticity of host 'build-7 (192.0.2.7)' can't be established.",
                "ED25519 key fingerprint is SHA256:kJ1x6m8C0bXq1Qx0v0q1Qx0v0q1Qx0v0q1Qx0v0q1Q.",
                "This key is not known by any other names.",
                "Are you sure you want to continue connecting (yes/no/[fingerprint])?",
            ),
            ("ssh", "build-7"),
            **ASKS,
            kind="confirm",
        ),
        running(
            "R45_build_prints_questions",
            ("$PROMPT make", "checking whether the compiler works? yes", "Ready? Compiling cart.c"),
            ("make",),
            **WORKING,
        ),
    ]
