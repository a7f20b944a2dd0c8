"""The vocabulary in code: every record that crosses a boundary.

All records are frozen msgspec structs: they compare, hash and encode without code of their own.
Public names follow the field: tmux's words for tmux things, the agents' words for theirs.
`PaneState` is what users and scripts rely on (`openbus.pane/1`); `openbus schema` exports its
JSON Schema.

Times are epoch milliseconds, except `Server.started`, which is tmux's own `start_time` in seconds.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

PANE_SCHEMA = "openbus.pane/1"

Activity = Literal["working", "waiting", "idle", "error", "exited", "unknown"]
WaitingOn = Literal["user", "external"]
Attention = Literal["needs_you", "limit", "error", "asked", "done", "none"]
Kind = Literal[
    "approval",
    "question",
    "plan",
    "trust",
    "login",
    "setup",
    "update",
    "limit",
    "password",
    "confirm",
    "menu",
    "prompt",
]

ATTENTION_ORDER: tuple[Attention, ...] = ("needs_you", "limit", "error", "asked", "done", "none")
"""Most urgent first."""


# --- what tmux says -----------------------------------------------------------------------------


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One tmux server. `socket` is its absolute path; `started` is `#{start_time}` in seconds."""

    socket: str
    pid: int
    started: int


class Window(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    name: str


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """One process below a pane. `depth` 0 is the pane's own process, 1 its children.

    `foreground`: it belongs to the terminal's foreground process group. `argv` is cut to what names
    the program (executable and script paths); arguments that a user typed are never kept.
    """

    comm: str
    foreground: bool
    depth: int
    argv: tuple[str, ...] = ()
    pid: int | None = None


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """Terminal cursor; `x` counts columns and `y` rows, both from 0."""

    x: int = 0
    y: int = 0
    visible: bool = True


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """One read of a pane's visible grid (`capture-pane -p -e`) and what tmux said just then.

    `line_mode`: the terminal is in canonical mode, so what reads there reads whole lines; None
    where that is not known.
    """

    ansi: str
    width: int
    height: int
    cursor: Cursor = Cursor()
    alternate_on: bool = False
    in_mode: bool = False
    dead: bool = False
    title: str = ""
    command: str = ""
    cwd: str = ""
    line_mode: bool | None = None
    processes: tuple[Process, ...] = ()


class Pane(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pane is. `key` never repeats: `HOST:SOCKET:PID-START:%N:PANEPID`.

    `viewed`: it is the active pane of the current window of a session with an attached client.
    """

    key: str
    id: str
    server: Server
    pid: int
    session: str
    window: Window
    index: int
    title: str = ""
    cwd: str = ""
    command: str = ""
    width: int = 0
    height: int = 0
    in_mode: bool = False
    dead: bool = False
    viewed: bool = False


# --- what a reader says -------------------------------------------------------------------------


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What runs in a pane. `via` names the evidence: `process`, `screen`, or `none`."""

    name: str
    version: str | None = None
    via: Literal["process", "screen", "none"] = "none"
    confidence: Literal["high", "low"] = "low"


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One visible choice. `key` is the key that the screen names for it; `checked` is None without
    a check box."""

    label: str
    key: str | None = None
    selected: bool = False
    checked: bool | None = None


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """Identity of one ask: `key` from dialog rule, question and command; `episode` counts its
    separate appearances in this pane."""

    key: str
    episode: int = 0


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked, as visible. `rows` is first and last row of the dialog, from 0."""

    kind: Kind
    text: str
    options: tuple[Option, ...] = ()
    multi: bool = False
    free_text: bool = False
    clipped: bool = False
    command: str | None = None
    rows: tuple[int, int] = (0, 0)
    contract: Contract | None = None


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """One reason: the rule that fired and the rows (from 0) that prove it."""

    rule: str
    rows: tuple[int, ...] = ()


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What one screen says, before grounding and push. Every claim is proved by rows in `why`.

    `asked`: the turn is over and the last reply ends in a question in prose. `limit`: a usage-limit
    message stands above a free composer; `limit_reset` is its reset time as visible.
    `keep`: the screen says nothing about the activity (an overlay covers it); a caller with
    history keeps the previous one. `dialog` is the id of the dialog rule, part of the contract key.
    """

    program: Program
    activity: Activity
    detail: str | None = None
    waiting_on: WaitingOn | None = None
    question: Question | None = None
    overlay: str | None = None
    background: int = 0
    draft: bool = False
    asked: bool = False
    limit: bool = False
    limit_reset: str | None = None
    keep: bool = False
    dialog: str | None = None
    title: str | None = None
    model: str | None = None
    headline: str | None = None
    why: tuple[Why, ...] = ()

    @property
    def needs_you(self) -> bool:
        """A person is waited for, by the contract's definition."""
        return self.activity == "waiting" and self.waiting_on == "user"


# --- what is published --------------------------------------------------------------------------


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """Name of the language model and where it was seen: `screen` or `native`."""

    value: str
    source: str


class Repo(msgspec.Struct, frozen=True, kw_only=True):
    root: str
    branch: str | None = None
    origin: str | None = None


class Clocks(msgspec.Struct, frozen=True, kw_only=True):
    """Three independent clocks and two marks, epoch milliseconds; None = never seen.

    `changed_at` physical change, `parsed_at` last successful read, `progress_at` the conversation
    moved, `since` start of this activity, `published_at` this record.
    """

    changed_at: int | None = None
    parsed_at: int | None = None
    progress_at: int | None = None
    since: int | None = None
    published_at: int | None = None


class Session(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    harness: str
    binding: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Progress only; `current` is an index, never text."""

    done: int
    total: int
    current: int | None = None


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    title: str
    base: str
    url: str
    relation: str
    reason: str
    fetched_at: int


class Native(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    binding: str
    observed_at: int
    health: str


class PaneState(msgspec.Struct, frozen=True, kw_only=True):
    """One pane, as published: schema `openbus.pane/1` (see `docs/contract.md`)."""

    schema: str = PANE_SCHEMA
    rev: int = 0
    host: str
    pane: Pane
    program: Program
    activity: Activity
    detail: str | None = None
    waiting_on: WaitingOn | None = None
    needs_you: bool = False
    attention: Attention = "none"
    question: Question | None = None
    stale: bool = False
    background: int = 0
    overlay: str | None = None
    draft: bool = False
    title: str | None = None
    model: Model | None = None
    headline: str | None = None
    repo: Repo | None = None
    clocks: Clocks = Clocks()
    session: Session | None = None
    plan: Plan | None = None
    prs: tuple[PullRequest, ...] = ()
    native: Native | None = None
    why: tuple[Why, ...] = ()


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of `PaneState`."""
    schema = msgspec.json.schema(PaneState)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": PANE_SCHEMA,
        **schema,
    }
