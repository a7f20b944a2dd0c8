"""Codex CLI (npm `@openai/codex`), looked at from 0.107 to 0.171."""

from __future__ import annotations

from evals.lab.agent import Agent, Approval, Dialog, Overlay, Place, Plan, offline
from evals.lab.npm import Package

_MODELS = ((159, "gpt-6-sol"), (140, "gpt-5.6-sol"), (120, "gpt-5.5"), (0, "gpt-5.3-codex"))
"""The newest model that each minor version knows and that asks nothing at the start."""

_CONFIG = """model = "{model}"
model_provider = "lab"
check_for_update_on_startup = false
approval_policy = "on-request"
sandbox_mode = "read-only"

[model_providers.lab]
name = "Lab"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LAB_KEY"
request_max_retries = 2
stream_max_retries = 2

[analytics]
enabled = false
"""


def _prepare(place: Place) -> dict[str, str]:
    folder = place.home / ".codex"
    folder.mkdir()
    model = next(name for minor, name in _MODELS if minor <= _minor(place.version))
    (folder / "config.toml").write_text(_CONFIG.format(model=model, url=place.url))
    # Codex refuses a home below the folder for temporary files.
    temporary = place.home / "tmp"
    temporary.mkdir()
    return {
        **offline(),
        "CODEX_HOME": str(folder),
        "LAB_KEY": "lab-key",
        "TMPDIR": str(temporary),
    }


def _minor(version: str) -> int:
    parts = version.split(".")
    return int(parts[1]) if len(parts) > 1 and parts[1].isdecimal() else 0


_COMMAND = "Would you like to run the following command?"
_EDITS = "Would you like to make the following edits?"

AGENT = Agent(
    program="codex",
    tried="0.171.0",
    package=Package(name="@openai/codex", executable="codex"),
    prepare=_prepare,
    ready=r"^› (?!\d\.)",
    busy=r"esc to interrupt\)|esc to interrupt · ",
    blocked=r"(?i)(enter to|press enter to|enter) (confirm|continue|submit)|enter select|"
    r"enter/esc confirm|esc to go back",
    working_title=r"^[⠁-⣿]",
    start=(
        Dialog(
            state="first_run_trust",
            kind="trust",
            mark=r"Trust this folder\?",
            question="Trust this folder?",
            keys=("Enter",),
        ),
        Dialog(
            state="first_run_trust",
            kind="trust",
            mark=r"Do you trust the contents of this directory\?",
            question="Do you trust the contents of this directory?",
            keys=("Enter",),
        ),
    ),
    approvals=(
        Approval(state="approval_shell", scenario="approve_shell", question=_COMMAND),
        Approval(
            state="approval_shell_multi",
            scenario="approve_long",
            question=_COMMAND,
            more=("Down",),
        ),
        Approval(state="approval_edit", scenario="approve_edit", question=_EDITS),
        Approval(state="approval_write", scenario="approve_write", question=_EDITS),
        Approval(state="approval_subagent", scenario="subagent_approve", question=_COMMAND),
    ),
    questions=("ask_one", "ask_two"),
    questions_in_plan_mode=True,
    plan=Plan(mode=r"Plan mode(?! is|\.)", keys=("BTab",), question="Implement this plan?"),
    overlays=(
        Overlay(state="menu_slash", text="/", mark="/model", enter=False),
        Overlay(state="menu_model", text="/model", mark="Select Model"),
    ),
    queue="Tab",
    background_mark="background terminal running",
    retry_mark=r"Reconnecting\.\.\.",
)
