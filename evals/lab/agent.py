"""What the lab must know about an agent to drive it: its files, its marks, its dialogs.

The marks only pace the driver (has the turn ended, is the dialog there?). They are no labels and
are kept apart from the manifests that OpenBus reads screens with.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from evals.lab.npm import Package


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where one run happens: a home nobody else uses, a project, and the model to talk to."""

    version: str
    home: Path
    project: Path
    url: str


class Dialog(msgspec.Struct, frozen=True, kw_only=True):
    """A dialog at the start. `mark` is a pattern on the screen, `question` what a label says,
    `keys` give the answer that lets the session go on."""

    state: str
    kind: str
    mark: str
    question: str
    keys: tuple[str, ...]


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that ends in a request for permission. `words` are its buttons where the agent
    has no numbered menu; `more` are keys that move the choice for a second recording."""

    state: str
    scenario: str
    question: str
    words: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How a plan comes to be approved: `mode` is the pattern that plan mode shows."""

    mode: str
    keys: tuple[str, ...]
    question: str


class Overlay(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the user opens by typing `text` and, where it is a command, Enter."""

    state: str
    text: str
    mark: str
    enter: bool = True


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """One program.

    `prepare` writes its settings and gives its environment. Patterns: `ready` while the composer
    can be typed into, `busy` while a turn runs, `blocked` while a dialog is up, `working_title` on
    the pane's title while a turn runs (empty: the title says nothing).
    """

    program: str
    tried: str
    """The newest version that every step was tried with."""

    package: Package
    prepare: Callable[[Place], dict[str, str]]
    ready: str
    busy: str
    blocked: str
    working_title: str = ""
    dialog_rows: int = 4
    """How many rows at the bottom `blocked` is looked for in: an answer may quote a dialog."""

    start: tuple[Dialog, ...] = ()
    approvals: tuple[Approval, ...] = ()
    questions: tuple[str, ...] = ("ask_one", "ask_many", "ask_two")
    questions_in_plan_mode: bool = False
    plan: Plan | None = None
    overlays: tuple[Overlay, ...] = ()
    queue: str = "Enter"
    interrupt: tuple[str, ...] = ("Escape",)
    refusal_mark: str = ""
    """A page that a refusal leads to and that takes Enter (OpenCode asks for a reason)."""

    background_mark: str = ""
    retry_mark: str = ""
    errors: tuple[str, ...] = ("error_500", "error_401")
    approves_tools: bool = False
    """Every tool call asks, the harmless one of the `tool` scenario as well."""

    leave: str = "/quit"


CLOSED_PROXY = "http://127.0.0.1:9"
"""Nothing listens there: whatever an agent wants from the internet fails at once."""


def offline() -> dict[str, str]:
    """Environment that keeps every request on loopback."""
    return {
        "HTTP_PROXY": CLOSED_PROXY,
        "HTTPS_PROXY": CLOSED_PROXY,
        "NO_PROXY": "127.0.0.1,localhost",
    }
