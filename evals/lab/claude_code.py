"""Claude Code (npm `@anthropic-ai/claude-code`), looked at from 2.0.30 to 2.1.332."""

from __future__ import annotations

import json

from evals.lab.agent import Agent, Approval, Dialog, Overlay, Place, Plan, offline
from evals.lab.npm import Package


def _prepare(place: Place) -> dict[str, str]:
    folder = place.home / ".claude"
    folder.mkdir()
    known = {
        "autoUpdates": False,
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": place.version,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["lab-key"], "rejected": []},
    }
    (folder / ".claude.json").write_text(json.dumps(known))
    allowed = ["Bash(./slow_tests.sh)", "Bash(./dev_server.sh)"]
    # The default is auto mode in 2.1.332: it would run everything without asking.
    settings = {"permissions": {"allow": allowed, "defaultMode": "default"}}
    (folder / "settings.json").write_text(json.dumps(settings))
    return {
        **offline(),
        "CLAUDE_CONFIG_DIR": str(folder),
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": "lab-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


_PROCEED = "Do you want to proceed?"
_SAFE = "Is this a project you created or one you trust?"
_FILES = "Do you trust the files in this folder?"

AGENT = Agent(
    program="claude-code",
    tried="2.1.332",
    package=Package(name="@anthropic-ai/claude-code", executable="claude", repair="install.cjs"),
    prepare=_prepare,
    # A menu's cursor is indented, or followed by a number.
    ready=r"^[❯>](?!\s+\d\.)",
    # `✽ Baking… (3s`, or in the first seconds without the parenthesis.
    busy=r"esc to interrupt|^[·✢✳✶✻✽*] \S+…",
    blocked=r"Esc to cancel|Enter to select|Enter to confirm|Esc to close|"
    r"Do you want to |Would you like to proceed\?|Exit plan mode\?|ctrl.g to edit",
    working_title=r"^[⠁-⣿]",
    start=(
        # 2.1.250 and later put the cursor on the refusal.
        Dialog(
            state="first_run_trust",
            kind="trust",
            mark=r"one you trust\?(?s:.)*❯ No, exit",
            question=_SAFE,
            keys=("Down", "Enter"),
        ),
        Dialog(
            state="first_run_trust",
            kind="trust",
            mark=_SAFE.replace("?", r"\?"),
            question=_SAFE,
            keys=("Enter",),
        ),
        Dialog(
            state="first_run_trust",
            kind="trust",
            mark=_FILES.replace("?", r"\?"),
            question=_FILES,
            keys=("Enter",),
        ),
        # Asked once by 2.1.332 when another mode is configured.
        Dialog(
            state="first_run_auto_mode",
            kind="setup",
            mark=r"Make auto mode your default permission mode\?",
            question="Make auto mode your default permission mode?",
            keys=("Down", "Enter"),
        ),
    ),
    approvals=(
        Approval(state="approval_shell", scenario="approve_shell", question=_PROCEED),
        Approval(
            state="approval_shell_multi",
            scenario="approve_long",
            question=_PROCEED,
            more=("Down",),
        ),
        Approval(
            state="approval_edit",
            scenario="approve_edit",
            question="Do you want to make this edit to cart.py?",
        ),
        Approval(
            state="approval_write",
            scenario="approve_write",
            question="Do you want to create settings.py?",
        ),
        Approval(
            state="approval_fetch",
            scenario="approve_fetch",
            question="Do you want to allow Claude to fetch this content?",
        ),
        Approval(state="approval_subagent", scenario="subagent_approve", question=_PROCEED),
    ),
    plan=Plan(mode="plan mode on", keys=("BTab",), question="Would you like to proceed?"),
    overlays=(
        Overlay(state="menu_slash", text="/", mark=r"^\s*/\w", enter=False),
        Overlay(state="menu_model", text="/model", mark="Select model"),
        Overlay(state="menu_status", text="/status", mark="Session ID"),
    ),
    background_mark=r"1 (background )?(shell|bash|task)|1 bash running",
    retry_mark="(?i)retrying in",
    leave="/exit",
)
