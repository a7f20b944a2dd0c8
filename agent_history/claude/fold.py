"""One transcript, row by row, into the state that a `Session` and a `Detail` are made from.

Pure: rows in, state out; no file, no clock. The same fold serves the main transcript and a
subagent's. Main rows and inline side-chain rows (versions before 2.1) are told apart.

One module above 400 lines: it is one state machine over one record stream, and its handlers share
all of its state.
"""

from __future__ import annotations

from collections import deque

import msgspec

from agent_history.calls import Calls, CallState
from agent_history.changes import Changes
from agent_history.claude.attachments import read_attachment, read_shape
from agent_history.claude.rows import (
    INTERRUPTED,
    NOT_TYPED,
    NOTIFICATIONS,
    PASSED_OVER,
    Block,
    Message,
    Row,
    texts_of,
)
from agent_history.claude.usage import SYNTHETIC, Reply, UsageBook, reply_of
from agent_history.context import BreakdownSizes, ContextSample
from agent_history.fields import (
    LONG_TEXT,
    MAX_ERRORS,
    MAX_HISTORY,
    MAX_PROMPTS,
    TEXT,
    cut,
    epoch_ms,
    first_line,
)
from agent_history.kinds import kind_of_tool
from agent_history.options import Options
from agent_history.plan import CLAUDE_PLAN_TOOLS, PlanReplay
from agent_history.reading.decode import as_dict, loads
from agent_history.records import Compaction, Failure, HistoryPoint, Prompt, TurnOutcome
from agent_history.redact import excerpt

AGENT_TOOLS = frozenset({"Agent", "Task"})
ENDS = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal"})
# Tools whose structured result is looked into; every other result is passed over unread.
RESULT_TOOLS = frozenset(
    {"Edit", "Write", "MultiEdit", "NotebookEdit", "TaskCreate", "TaskUpdate", "Agent", "Task"}
)
PLAN_NEEDLES = (
    b'"TodoWrite"',
    b'"TaskCreate"',
    b'"TaskUpdate"',
    b'"mcp__ccd_turn__',
    b'"taskId"',
    b'"task"',
)
FULL_PLAN_NEEDLES = (b'"TodoWrite"', b'"mcp__ccd_turn__update_plan"')


class ClaudeFold:
    """The state of one transcript. Attributes are read by `claude.sessions`."""

    def __init__(self, options: Options, subagent: bool = False) -> None:
        self.options = options
        self.subagent = subagent
        self.session_id = ""
        self.agent_id = ""
        self.cwd = self.first_cwd = ""
        self.branch = self.version = self.effort = self.model = ""
        self.custom_title = self.ai_title = self.summary = self.first_prompt = ""
        self.worktree = ""
        self.started_at: int | None = None
        self.last_at: int | None = None
        self.prompts = 0
        self.open = False
        self.turn_started_at: int | None = None
        self.ended_at: int | None = None
        self.outcome: TurnOutcome | None = None
        self.excerpt: str | None = None
        self.usage = UsageBook()
        self.side = UsageBook()
        self.latest: Reply | None = None
        self.latest_at = 0
        self.sample = ContextSample()
        self.history: deque[HistoryPoint] = deque(maxlen=MAX_HISTORY)
        self.compactions: list[Compaction] = []
        self.calls = Calls()
        self.changes = Changes()
        self.plan = PlanReplay()
        self.recover_plan = True
        """Look for the plan before a long file's tail; off where it is known that there is none."""
        self.recent_prompts: deque[Prompt] = deque(maxlen=MAX_PROMPTS)
        self.errors: deque[Failure] = deque(maxlen=MAX_ERRORS)
        self.recorded_cost: float | None = None
        self.sizes = BreakdownSizes()
        self.agents: dict[str, tuple[str, str, bool]] = {}
        """Agent id to description, type and "its result is here"."""
        self.by_tool_use: dict[str, tuple[str, str]] = {}
        self.unknown: dict[str, int] = {}
        self._await_after: int | None = None
        self._key: tuple[str, str | None] | None = None

    def feed(self, row: Row) -> None:
        """Take one row."""
        kind = row.type
        if kind == "assistant" or kind == "user":
            at = self._meta(row)
            if row.message is None:
                return
            if row.is_sidechain and not self.subagent:
                self._side(row)
            elif kind == "assistant":
                self._assistant(row, row.message, at)
            else:
                self._user(row, row.message, at)
        elif kind == "system":
            self._system(row, self._meta(row))
        elif kind == "attachment":
            self._meta(row)
            read_attachment(self.sizes, as_dict(row.attachment))
        else:
            self._bookkeeping(kind, row)

    def _meta(self, row: Row) -> int:
        """Keep what every conversation row carries; gives the row's time."""
        at = epoch_ms(row.timestamp)
        if at is not None:
            if self.started_at is None or at < self.started_at:
                self.started_at = at
            if self.last_at is None or at > self.last_at:
                self.last_at = at
        if row.cwd and row.cwd != self.cwd:
            self.cwd = row.cwd
            self.first_cwd = self.first_cwd or row.cwd
        self.branch = row.git_branch or self.branch
        self.version = row.version or self.version
        if row.session_id and not self.session_id:
            self.session_id = row.session_id
        if row.agent_id and not self.agent_id:
            self.agent_id = row.agent_id
        return at or self.last_at or 0

    def _bookkeeping(self, kind: str | None, row: Row) -> None:
        if kind == "custom-title":
            self.custom_title = row.custom_title or ""
        elif kind == "ai-title":
            self.ai_title = row.ai_title or self.ai_title
        elif kind == "summary":
            self.summary = row.summary or self.summary
        elif kind == "cost-state":
            self.recorded_cost = row.total_cost_usd
        elif kind == "api-request-shape":
            read_shape(self.sizes, as_dict(row.shape))
        elif kind == "relocated":
            self.cwd = row.cwd or self.cwd
        elif kind == "worktree-state":
            name = as_dict(row.worktree_session).get("worktreeName")
            self.worktree = name if isinstance(name, str) else self.worktree
        elif kind is not None and kind not in PASSED_OVER:
            self.unknown[kind] = self.unknown.get(kind, 0) + 1

    def _side(self, row: Row) -> None:
        """An inline side-chain row: its tokens are a subagent's, nothing else is the session's."""
        message = row.message
        if row.type != "assistant" or message is None or message.usage is None:
            return
        if message.model and message.model != SYNTHETIC:
            key = (message.id, row.request_id) if message.id else None
            self.side.book(key, reply_of(message.model, message.usage))

    def _assistant(self, row: Row, message: Message, at: int) -> None:
        if row.is_api_error_message:
            text = "\n".join(texts_of(message.content))
            self.errors.append(Failure(at=at, message=cut(text, TEXT)))
            self._close(at, "failed")
            return
        if message.model and message.model != SYNTHETIC:
            self.model = message.model
            self.effort = row.effort or ""
            if message.usage is not None:
                self._usage(row, message, at)
        for block in message.content if isinstance(message.content, list) else ():
            if block.type == "text":
                if block.text:
                    self._reply_text(block.text)
            elif block.type == "tool_use" and block.name:
                self._call(block, at)
        if message.stop_reason in ENDS:
            self._close(at, "completed")
        else:
            self._reopen(at)

    def _reply_text(self, text: str) -> None:
        self.sizes.message("replies", len(text))
        if self.options.excerpts:
            self.excerpt = text[: LONG_TEXT * 2]

    def _usage(self, row: Row, message: Message, at: int) -> None:
        assert message.usage is not None and message.model is not None
        reply = reply_of(message.model, message.usage)
        key = (message.id, row.request_id) if message.id else None
        if key is not None and key == self._key and reply == self.latest:
            return
        first = self.usage.book(key, reply)
        newest = first or key == self._key
        used = reply.used
        if not used or not newest:
            return
        self.latest, self.latest_at, self._key = reply, at, key
        point = HistoryPoint(at=at, context=used, output=reply.output)
        if first:
            self.sizes.request(used - reply.output)
            self.sample.add(used)
            self.history.append(point)
            if self._await_after is not None:
                index = self._await_after
                self.compactions[index] = msgspec.structs.replace(
                    self.compactions[index], after=used
                )
                self._await_after = None
        else:
            self.sample.replace(used)
            if self.history:
                self.history[-1] = point

    def _call(self, block: Block, at: int) -> None:
        name, call = block.name or "", block.id or ""
        data = bytes(block.input)
        self.sizes.message("tool", len(data), name)
        self.calls.start(call, name, data, at)
        if name in CLAUDE_PLAN_TOOLS and self.options.plans:
            self.plan.claude_call(call, name, as_dict(data))
        if name in AGENT_TOOLS:
            arguments = as_dict(data)
            described = str(arguments.get("description") or "")
            self.by_tool_use[call] = (described, str(arguments.get("subagent_type") or ""))
        if self.options.excerpts:
            described = ""
            if b'"description"' in data:
                described = str(as_dict(data).get("description") or "")
            self.excerpt = f"{name}: {described}" if described else name

    def _user(self, row: Row, message: Message, at: int) -> None:
        content = message.content
        if isinstance(content, list):
            results = False
            for block in content:
                if block.type == "tool_result" and block.tool_use_id:
                    results = True
                    self._result(row, block, at)
            if results:
                self._reopen(at)
                return
        text = "\n".join(texts_of(content))
        if text.startswith(INTERRUPTED):
            self._close(at, "interrupted")
            return
        if row.is_compact_summary or row.is_visible_in_transcript_only:
            self.sizes.compaction()
            return
        if row.is_meta or not text or text.startswith(NOT_TYPED):
            return
        human = row.origin is None or row.origin.kind in (None, "human")
        if human and not text.startswith(NOTIFICATIONS) and row.prompt_source != "system":
            self._prompt(text, at)
        self._begin(at)

    def _prompt(self, text: str, at: int) -> None:
        self.prompts += 1
        self.sizes.message("prompts", len(text))
        if not self.first_prompt:
            self.first_prompt = first_line(text)
        self.recent_prompts.append(Prompt(at=at, text=cut(text, LONG_TEXT)))

    def _result(self, row: Row, block: Block, at: int) -> None:
        call = block.tool_use_id or ""
        failed = bool(block.is_error)
        state = self.calls.open.get(call)
        if state is None:
            return
        self.sizes.message("tool", len(block.content), state.name)
        self.calls.end(call, at, failed, result_text(block) if failed else None)
        if state.name in RESULT_TOOLS and row.tool_use_result:
            result = loads(row.tool_use_result)
            if state.name in CLAUDE_PLAN_TOOLS:
                if self.options.plans:
                    self.plan.claude_result(call, failed, result)
            elif isinstance(result, dict) and not failed:
                if state.name in AGENT_TOOLS:
                    self._agent_result(call, result)
                else:
                    self._edit_result(state, result)

    def _agent_result(self, call: str, result: dict[str, object]) -> None:
        agent = result.get("agentId")
        if isinstance(agent, str):
            described, kind = self.by_tool_use.get(call, ("", ""))
            kind = str(result.get("agentType") or kind)
            self.agents[agent] = (described, kind, result.get("status") == "completed")

    def _edit_result(self, state: CallState, result: dict[str, object]) -> None:
        path = result.get("filePath")
        patches = result.get("structuredPatch")
        if not isinstance(path, str):
            return
        hunks = []
        for patch in patches if isinstance(patches, list) else ():
            if isinstance(patch, dict) and isinstance(patch.get("lines"), list):
                lines = [line for line in patch["lines"] if isinstance(line, str)]
                hunks.append((number(patch.get("newStart")), number(patch.get("oldStart")), lines))
        if not hunks and result.get("type") == "create" and isinstance(result.get("content"), str):
            created = str(result["content"]).splitlines()
            hunks = [(1, 0, ["+" + line for line in created])]
        self.changes.edit(path, hunks)
        state.line = hunks[-1][0] if hunks else None

    def _system(self, row: Row, at: int) -> None:
        if row.subtype in ("turn_duration", "stop_hook_summary"):
            if self.open:
                self._close(at, "completed")
        elif row.subtype == "compact_boundary":
            meta = as_dict(row.compact_metadata)
            before, after = number(meta.get("preTokens")), number(meta.get("postTokens"))
            if after is None:
                self._await_after = len(self.compactions)
            self.compactions.append(Compaction(at=at, before=before, after=after))
            self.sizes.compaction()
        elif row.subtype == "api_error":
            self.errors.append(Failure(at=at, message=cut(error_text(row.error), TEXT)))

    def _close(self, at: int, outcome: TurnOutcome) -> None:
        self.open = False
        self.turn_started_at = None
        self.ended_at = at
        self.outcome = outcome
        self.calls.forget_open()

    def _begin(self, at: int) -> None:
        """A prompt begins a turn. One that never wrote its end is over, and no call survives it.

        Rows are not always in the order of their times (2.1.197 wrote a prompt behind its reply):
        a prompt older than the turn that is open is that turn's own.
        """
        if self.open and self.turn_started_at is not None and at <= self.turn_started_at:
            self.turn_started_at = at
            return
        self.open = False
        self.calls.forget_open()
        self._reopen(at)

    def _reopen(self, at: int) -> None:
        if not self.open:
            self.open = True
            self.turn_started_at = at
            self.outcome = None

    @property
    def plan_needles(self) -> tuple[bytes, ...]:
        """Bytes that a row about the plan holds: the tools' names and their result envelopes."""
        return PLAN_NEEDLES if self.options.plans and self.recover_plan else ()

    @property
    def full_plan_needles(self) -> tuple[bytes, ...]:
        """Bytes that a row with a full list may hold."""
        return FULL_PLAN_NEEDLES if self.options.plans and self.recover_plan else ()

    def feed_plan(self, row: Row) -> None:
        """Take a row for the plan only."""
        message = row.message
        if message is None or not isinstance(message.content, list):
            return
        if row.is_sidechain and not self.subagent:
            return
        for block in message.content:
            if block.type == "tool_use" and block.name in CLAUDE_PLAN_TOOLS:
                self.plan.claude_call(block.id or "", block.name, as_dict(block.input))
            elif block.type == "tool_result" and block.tool_use_id:
                result = loads(row.tool_use_result) if row.tool_use_result else None
                self.plan.claude_result(block.tool_use_id, bool(block.is_error), result)

    def gap(self) -> None:
        """Rows are missing here: what was open before says nothing about what follows."""
        self.plan = PlanReplay()
        self.calls.forget_open()
        self.open = False
        self.outcome = None
        self.sizes.mid_session = True
        self._key = None

    def latest_excerpt(self) -> str | None:
        """The latest words, cut and redacted; None when there are none or they are switched off."""
        return excerpt(self.excerpt) if self.excerpt else None

    def question_open(self) -> CallState | None:
        """The newest open question call."""
        for state in reversed(self.calls.open.values()):
            if state.name == "AskUserQuestion":
                return state
        return None

    def only_agents_open(self) -> bool:
        """Are the open calls only such that start subagents?"""
        open_calls = self.calls.open.values()
        return bool(open_calls) and all(kind_of_tool(call.name) == "agent" for call in open_calls)


def number(value: object) -> int | None:
    """A whole number, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def result_text(block: Block) -> str:
    """The text of a tool result."""
    value = loads(block.content) if block.content else None
    if isinstance(value, str):
        return value[:LONG_TEXT]
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))[:LONG_TEXT]
    return ""


def error_text(data: msgspec.Raw) -> str:
    """The words in an `api_error` record, wherever this version puts them."""
    value = loads(data) if data else None
    for _ in range(4):
        if isinstance(value, str):
            return value
        if not isinstance(value, dict):
            break
        message = value.get("message")
        value = message if isinstance(message, str) else value.get("error")
    return ""
