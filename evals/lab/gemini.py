"""Gemini CLI (npm `@google/gemini-cli`), looked at from 0.20 to 0.61."""

from __future__ import annotations

import json

from evals.lab.agent import Agent, Approval, Dialog, Overlay, Place, offline
from evals.lab.npm import Package


def _prepare(place: Place) -> dict[str, str]:
    folder = place.home / ".gemini"
    folder.mkdir()
    settings = {
        "general": {
            "disableAutoUpdate": True,
            "disableUpdateNag": True,
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
        },
        "privacy": {"usageStatisticsEnabled": False},
        "security": {
            "auth": {"selectedType": "gemini-api-key"},
            "folderTrust": {"enabled": True},
        },
        "telemetry": {"enabled": False},
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    # 0.30 sends even loopback through a proxy; 0.45 leaves out what NO_PROXY names.
    minor = place.version.split(".")[1:2]
    closed = offline() if minor and minor[0].isdecimal() and int(minor[0]) >= 45 else {}
    return {
        **closed,
        "GEMINI_API_KEY": "lab-key",
        "GOOGLE_GEMINI_BASE_URL": place.url,
        "NO_BROWSER": "true",
    }


_TRUST = "Do you trust this folder?"
_TRUST_FILES = "Do you trust the files in this folder?"
_EXECUTE = "Allow execution of"
_CHANGE = "Apply this change?"

AGENT = Agent(
    program="gemini",
    tried="0.61.0",
    package=Package(name="@google/gemini-cli", executable="gemini"),
    prepare=_prepare,
    ready="Type your message",
    busy=r"esc to cancel, \d",
    blocked=r"Allow once|Enter to select|Enter to submit|Do you trust",
    working_title="^✦",
    dialog_rows=10,
    start=(
        Dialog(
            state="first_run_trust",
            kind="trust",
            mark=_TRUST.replace("?", r"\?"),
            question=_TRUST,
            keys=("Enter",),
        ),
        Dialog(
            state="first_run_trust",
            kind="trust",
            mark=_TRUST_FILES.replace("?", r"\?"),
            question=_TRUST_FILES,
            keys=("Enter",),
        ),
    ),
    approvals=(
        Approval(state="approval_shell", scenario="approve_shell", question=_EXECUTE),
        Approval(
            state="approval_shell_multi",
            scenario="approve_long",
            question=_EXECUTE,
            more=("Down",),
        ),
        Approval(state="approval_edit", scenario="approve_edit", question=_CHANGE),
        Approval(state="approval_write", scenario="approve_write", question=_CHANGE),
        Approval(
            state="approval_fetch", scenario="approve_fetch", question="Do you want to proceed?"
        ),
    ),
    overlays=(
        Overlay(state="menu_slash", text="/", mark="clear", enter=False),
        Overlay(state="menu_model", text="/model", mark="Select Model"),
    ),
    # A 500 is retried without a word on the screen.
    errors=("error_400",),
    approves_tools=True,
)
