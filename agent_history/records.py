"""The records this library gives out: `Session`, `Detail` and what they are made of.

Field names are Python's; `to_json` writes them in camelCase. Times are epoch milliseconds, tokens
and lines are counts, money is US dollars. `None` means "this agent does not record it", never
"zero". All of them are frozen: a record can be handed to another thread as it is.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["asking", "working", "delegating", "done", "error", "idle"]
StatusReason = Literal[
    "question",
    "approval",
    "waiting",
    "marked-blocked",
    "turn-open",
    "process-busy",
    "new-prompt",
    "subagents",
    "awaiting",
    "turn-failed",
    "unread",
    "recent",
    "process-idle",
    "read",
    "quiet",
]
TurnOutcome = Literal["completed", "interrupted", "failed"]


class Record(msgspec.Struct, frozen=True, rename="camel"):
    """Base of every record: frozen, camelCase in JSON."""


class Tokens(Record, frozen=True):
    """Token totals. `input` leaves cache reads and writes out; reasoning counts into `output`."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class Context(Record, frozen=True):
    """Tokens in the window after the last reply; `limit` is 0 when the window is unknown."""

    used: int
    limit: int


class RunningTool(Record, frozen=True):
    """The call that runs right now. `target` is '' when the agent records none."""

    name: str
    started_at: int
    target: str
    kind: str


class Lines(Record, frozen=True):
    """Lines changed by the agent's edits."""

    added: int
    removed: int


class PlanProgress(Record, frozen=True):
    """How far the plan is. `current` is the text of the step in progress, or None."""

    total: int
    done: int
    current: str | None


class NamedAgent(Record, frozen=True):
    """A subagent by its own id and name."""

    id: str
    name: str


class Awaited(Record, frozen=True):
    """Another session this one asked to hear from."""

    id: str
    title: str


class Child(Record, frozen=True):
    """A child session, by its session id."""

    id: str


class UsageWindow(Record, frozen=True):
    """One usage window of the account; `resets_at` in epoch milliseconds."""

    id: str
    used_percent: float
    window_minutes: int | None
    resets_at: int | None


class UsageLimits(Record, frozen=True):
    """The account's usage limits as this session last recorded them, at `at`."""

    at: int
    subscription: str | None
    windows: tuple[UsageWindow, ...]


class AskOption(Record, frozen=True):
    """One answer to choose."""

    label: str
    description: str


class AskedQuestion(Record, frozen=True):
    """One question with its answers."""

    header: str
    text: str
    options: tuple[AskOption, ...]
    multiple: bool


class QuestionAsk(Record, frozen=True, tag_field="type", tag="question"):
    """A question tool is open: at most four questions with eight options each."""

    questions: tuple[AskedQuestion, ...]


class ApprovalAsk(Record, frozen=True, tag_field="type", tag="approval"):
    """A tool waits for permission."""

    tool: str
    target: str
    kind: str


class ErrorAsk(Record, frozen=True, tag_field="type", tag="error"):
    """The last turn failed; `text` is '' when only the failure was recorded."""

    text: str


class UnknownAsk(Record, frozen=True, tag_field="type", tag="unknown"):
    """The session needs its user, and nothing on disk says why."""


Ask = QuestionAsk | ApprovalAsk | ErrorAsk | UnknownAsk


class Session(Record, frozen=True):
    """One session as a scan lists it; see the table in `docs/history.md`."""

    id: str
    harness: str
    title: str
    project: str
    project_path: str
    worktree: str
    cwd: str
    git_branch: str
    model: str
    effort: str
    status: Status
    status_reason: StatusReason
    ask: Ask | None
    usage_limits: UsageLimits | None
    live: bool
    started_at: int | None
    last_activity_at: int | None
    tool: RunningTool | None
    tokens: Tokens | None
    context: Context | None
    context_history: tuple[int, ...] | None
    cost_usd: float | None
    lines: Lines | None
    plan: PlanProgress | None
    subagents: int
    working_subagents: tuple[NamedAgent, ...] | None
    prompts: int | None
    turn_started_at: int | None
    awaiting: tuple[Awaited, ...] | msgspec.UnsetType = msgspec.UNSET
    children: tuple[Child, ...] = ()
    turn_outcome: TurnOutcome | None = None
    agent_version: str = ""
    partial: bool = False
    """True when totals come from the head and the tail of a long, older transcript only."""
    notes: tuple[str, ...] = ()
    """What could not be read of this session, in words for a person."""
    excerpt: str | None = None
    """The agent's latest words, cut and redacted; for the API only, see `to_json`."""


class ModelUse(Record, frozen=True):
    """What one model used."""

    model: str
    tokens: Tokens
    cost_usd: float | None


class ContextParts(Record, frozen=True):
    """What filled the context in the latest request; the four add up to `Context.used`."""

    input: int
    cache_read: int
    cache_write: int
    output: int


class HistoryPoint(Record, frozen=True):
    """Context and output after one reply."""

    at: int
    context: int
    output: int


class Compaction(Record, frozen=True):
    """One compaction of the context, with its size before and after where known."""

    at: int
    before: int | None
    after: int | None


class Call(Record, frozen=True):
    """One tool call. Fields the agent does not record are None."""

    id: str
    name: str
    kind: str
    server: str | None
    target: str | None
    input: str | None
    path: str | None
    line: int | None
    started_at: int
    ended_at: int | None
    running: bool
    error: bool | None
    error_text: str | None


class ToolTotal(Record, frozen=True):
    """All calls of one tool; `ms` is the time between calls and their results."""

    name: str
    kind: str
    server: str | None
    calls: int
    errors: int
    ms: int


class PlanItem(Record, frozen=True):
    """One step of the plan. `ticked` is the user's own tick, stored by `key` alone."""

    content: str
    status: Literal["pending", "in_progress", "completed"]
    key: str
    ticked: bool = False


class Subagent(Record, frozen=True):
    """A subagent, finished or not."""

    id: str
    name: str
    type: str
    status: Status
    model: str
    tokens: Tokens | None
    tool: RunningTool | None
    started_at: int | None
    last_activity_at: int | None


class Hunk(Record, frozen=True):
    """One change as diff lines; `cut` counts the lines left out."""

    line: int | None
    old_line: int | None
    lines: tuple[str, ...]
    cut: int


class FileChange(Record, frozen=True):
    """Lines changed in one file; `path` relative to the session's folder where it lies in it."""

    path: str
    added: int
    removed: int
    edits: int
    line: int | None
    hunks: tuple[Hunk, ...] | None


class Prompt(Record, frozen=True, omit_defaults=True):
    """A prompt of the user. `via` names the program that delivered it, if one did."""

    at: int
    text: str
    via: str | None = None


class Said(Record, frozen=True):
    """Text of the agent: a reply or a thought."""

    at: int
    text: str


class Failure(Record, frozen=True):
    """An API error or a failed turn."""

    at: int
    message: str


class BreakdownItem(Record, frozen=True, omit_defaults=True):
    """One line of a context part; which of `id`, `name`, `path` is set depends on the part."""

    tokens: int
    id: str | None = None
    name: str | None = None
    path: str | None = None
    tools: int | None = None


class BreakdownPart(Record, frozen=True):
    """One part of the context: an estimate."""

    id: str
    tokens: int
    items: tuple[BreakdownItem, ...]


class ContextBreakdown(Record, frozen=True):
    """What fills the context. Only `total` is measured; the parts are estimates that add up."""

    at: int
    total: int
    limit: int
    reserved: int
    parts: tuple[BreakdownPart, ...]


class Detail(Record, frozen=True):
    """One session in depth; see the table in `docs/history.md`."""

    id: str
    session_id: str
    source: str
    models: tuple[ModelUse, ...] | None
    context_parts: ContextParts | None
    history: tuple[HistoryPoint, ...] | None
    compactions: tuple[Compaction, ...] | None
    activity: tuple[Call, ...]
    tools: tuple[ToolTotal, ...]
    plan: tuple[PlanItem, ...]
    subagents: tuple[Subagent, ...] | None
    files: tuple[FileChange, ...] | None
    prompts: tuple[Prompt, ...]
    thoughts: tuple[Said, ...] | None
    replies: tuple[Said, ...]
    errors: tuple[Failure, ...]
    context_breakdown: ContextBreakdown | None
    agent_id: str | msgspec.UnsetType = msgspec.UNSET
    context_limit: int | msgspec.UnsetType | None = msgspec.UNSET


class FilePath(Record, frozen=True):
    """A file by its path alone."""

    path: str


class FilesOnly(Record, frozen=True):
    """The answer to `files_only`: what the scan already holds, nothing opened."""

    id: str
    session_id: str
    files: tuple[FilePath, ...]


def to_json(record: Record) -> dict[str, object]:
    """The record as plain data in camelCase, without the excerpt.

    An excerpt is for the live API of a paired browser, never for a command's output or an export.
    """
    data: dict[str, object] = msgspec.to_builtins(record)
    data.pop("excerpt", None)
    return data
