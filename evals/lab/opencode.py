"""OpenCode (npm `opencode-ai`), looked at from 1.0 to 1.18."""

from __future__ import annotations

import json

from evals.lab.agent import Agent, Approval, Overlay, Place, offline
from evals.lab.npm import Package


def _prepare(place: Place) -> dict[str, str]:
    folder = place.home / ".config" / "opencode"
    folder.mkdir(parents=True)
    model = {"name": "Lab model", "limit": {"context": 200_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Lab",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": "lab-key"},
        "models": {"lab-model": model},
    }
    commands = {"*": "ask", "./slow_tests.sh*": "allow", "nohup ./dev_server.sh*": "allow"}
    settings = {
        "model": "lab/lab-model",
        "small_model": "lab/lab-model",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"lab": provider},
        "permission": {"edit": "ask", "bash": commands, "webfetch": "ask"},
    }
    (folder / "opencode.json").write_text(json.dumps(settings))
    return {
        **offline(),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


_ASKS = "Permission required"
_BUTTONS = ("Allow once", "Allow always", "Reject")

AGENT = Agent(
    program="opencode",
    tried="1.18.33",
    package=Package(name="opencode-ai", executable="opencode", repair="postinstall.mjs"),
    prepare=_prepare,
    ready=r"Ask anything|ctrl\+p commands|Lab model",
    busy="esc interrupt|esc again to interrupt|esc to interrupt",
    blocked="Allow once +Allow always|Confirm +Cancel|esc dismiss|enter confirm|enter submit",
    approvals=(
        Approval(state="approval_shell", scenario="approve_shell", question=_ASKS, words=_BUTTONS),
        Approval(
            state="approval_shell_multi",
            scenario="approve_long",
            question=_ASKS,
            words=_BUTTONS,
            more=("Right",),
        ),
        Approval(state="approval_edit", scenario="approve_edit", question=_ASKS, words=_BUTTONS),
        Approval(state="approval_write", scenario="approve_write", question=_ASKS, words=_BUTTONS),
        Approval(state="approval_fetch", scenario="approve_fetch", question=_ASKS, words=_BUTTONS),
        Approval(
            state="approval_subagent",
            scenario="subagent_approve",
            question=_ASKS,
            words=_BUTTONS,
        ),
    ),
    overlays=(
        Overlay(state="menu_slash", text="/", mark=r"/\w+ ", enter=False),
        Overlay(state="menu_model", text="/models", mark="Select model"),
        Overlay(state="menu_sessions", text="/sessions", mark="Sessions"),
    ),
    interrupt=("Escape", "Escape"),
    refusal_mark="(?i)reject permission|tell opencode what to do",
    retry_mark="(?i)retrying",
    # It retries a 500 without end.
    errors=("error_401",),
    leave="/exit",
)
