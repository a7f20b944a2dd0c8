"""One Codex thread, line by line, into the state that a `Session` and a `Detail` are made from.

Pure: rows in, state out; no file, no clock. Both dialects write the same content twice, once as
events or items and once for the model: prompts are counted from events and items, calls and the
agent's words from `response_item`.

One module above 400 lines: it is one state machine over one record stream, and its handlers share
all of its state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from agent_history.calls import Calls, CallState
from agent_history.changes import Changes, unified
from agent_history.codex.replay import Replay
from agent_history.codex.rows import Item, Payload, Row, Usage
from agent_history.codex.texts import (
    content_text,
    error_message,
    exit_code_of,
    patched_path,
    script_command,
)
from agent_history.codex.usage import TokenBook
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
    shell_text,
)
from agent_history.kinds import kind_of_tool
from agent_history.options import Options
from agent_history.plan import PlanReplay
from agent_history.reading.decode import as_dict, loads
from agent_history.records import Failure, HistoryPoint, Prompt, TurnOutcome
from agent_history.redact import excerpt

QUESTION_TOOL = "request_user_input"
PERMISSION_TOOL = "request_permissions"
PLAN_NEEDLES = (b'"update_plan"',)
SAME_MOMENT_MS = 100
# Events that say nothing a record of ours shows.
# fmt: off
PASSED_OVER = (
    "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "background_event",
    "context_compacted", "entered_review_mode", "exited_review_mode", "item_started",
    "mcp_tool_call_begin", "thread_rolled_back", "thread_settings_applied", "turn_diff",
    "undo_completed", "undo_started", "view_image_tool_call", "warning", "web_search_begin",
    "web_search_end",
)
# fmt: on


class CodexFold:
    """The state of one thread. Attributes are read by `codex.sessions`."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.thread = ""
        self.parent = ""
        self.nickname = self.role = ""
        self.hidden = False
        """A guardian or review thread: not a conversation of the user."""
        self.cwd = self.first_cwd = self.branch = self.version = ""
        self.model = self.effort = ""
        self.first_prompt = ""
        self.started_at: int | None = None
        self.last_at: int | None = None
        self.prompts = 0
        self.open = False
        self.turn = ""
        self.turn_started_at: int | None = None
        self.ended_at: int | None = None
        self.outcome: TurnOutcome | None = None
        self.excerpt: str | None = None
        self.tokens = TokenBook()
        self.context: int | None = None
        self.parts: Usage | None = None
        """The latest request; None right after a compaction, whose parts nobody wrote."""
        self.context_at = 0
        self.limit = 0
        self.sample = ContextSample()
        self.history: deque[HistoryPoint] = deque(maxlen=MAX_HISTORY)
        self.limits = b""
        self.limits_at = 0
        self.calls = Calls()
        self.changes = Changes()
        self.plan = PlanReplay()
        self.recover_plan = True
        """Look for the plan before a long file's tail; off where it is known that there is none."""
        self.recent_prompts: deque[Prompt] = deque(maxlen=MAX_PROMPTS)
        self.errors: deque[Failure] = deque(maxlen=MAX_ERRORS)
        self.sizes = BreakdownSizes()
        self.agents: dict[str, str] = {}
        """Child thread to nickname, as this thread recorded it."""
        self.waiting: CallState | None = None
        self.waiting_for = ""
        """`approval` or `question` while an event asks for one."""
        self.unknown: dict[str, int] = {}
        self._replay = Replay()
        self._fork_model = ""
        self._prompt_side = ""
        self._events: dict[str, Callable[[Payload, int], None]] = {
            "token_count": self._token_count,
            "task_started": self._turn_started,
            "turn_started": self._turn_started,
            "task_complete": self._turn_complete,
            "turn_complete": self._turn_complete,
            "turn_aborted": self._turn_aborted,
            "user_message": self._user_message,
            "item_completed": self._item_completed,
            "error": self._error,
            "exec_command_end": self._command_end,
            "patch_apply_end": self._patch_end,
            "collab_agent_spawn_end": self._spawned,
            "sub_agent_activity": self._activity,
            "mcp_tool_call_end": self._mcp_end,
            "request_user_input": self._input_request,
            "exec_command_begin": self._began,
            "patch_apply_begin": self._began,
        }
        self._events.update(dict.fromkeys(PASSED_OVER, _nothing))
        self._responses: dict[str, Callable[[Payload, int], None]] = {
            "function_call": self._function_call,
            "custom_tool_call": self._custom_call,
            "local_shell_call": self._shell_call,
            "web_search_call": _nothing,
            "function_call_output": self._output,
            "custom_tool_call_output": self._output,
            "message": self._message,
            "additional_tools": self._additional_tools,
            "reasoning": _nothing,
            "agent_message": _nothing,
        }

    def feed(self, row: Row) -> None:
        """Take one line."""
        payload, kind = row.payload, row.type
        if payload is None or kind is None:
            return
        if payload.type == "token_count" and self._repeated(payload):
            return
        at = epoch_ms(row.timestamp) or self.last_at or 0
        if kind == "session_meta":
            self._session_meta(payload, at)
            return
        if self._replay.active and self._parents(kind, payload, at):
            return
        if self.last_at is None or at > self.last_at:
            self.last_at = at
        if kind == "event_msg":
            name = payload.type or ""
            handler = self._events.get(name)
            if handler is not None:
                handler(payload, at)
            elif name.endswith("_approval_request"):
                self._approval_request(payload, name, at)
            else:
                self._count_unknown(name)
        elif kind == "response_item":
            handler = self._responses.get(payload.type or "")
            if handler is not None:
                handler(payload, at)
            else:
                self._count_unknown(payload.type or "")
        elif kind == "turn_context":
            self._turn_context(payload)
        elif kind == "compacted":
            self.sizes.compaction()

    def _count_unknown(self, name: str) -> None:
        self.unknown[name] = self.unknown.get(name, 0) + 1

    def next_file(self) -> None:
        """Another rollout of the same thread follows: its first lines are its own."""
        self._replay = Replay()

    def _parents(self, kind: str, payload: Payload, at: int) -> bool:
        """Is this line one that the parent wrote? Only its counters and its model are kept."""
        begins = payload.type in ("task_started", "turn_started") or kind == "turn_context"
        turn = payload.turn_id if begins else None
        started = payload.started_at if begins else None
        if not self._replay.parents(at, turn, started):
            return False
        if payload.type == "token_count" and payload.info and payload.info.total_token_usage:
            self.tokens.base(payload.info.total_token_usage)
        elif kind == "turn_context":
            self._fork_model = payload.model or self._fork_model
        return True

    def _session_meta(self, meta: Payload, at: int) -> None:
        thread = meta.id or ""
        created = epoch_ms(meta.timestamp) or at
        self._replay.meta(thread, meta.forked_from_id is not None, created)
        if self.thread and thread != self.thread:
            self.sizes.mid_session = True
            return
        self.thread = thread
        self.started_at = created if self.started_at is None else self.started_at
        self.last_at = max(self.last_at or 0, at)
        self.cwd = meta.cwd or self.cwd
        self.first_cwd = self.first_cwd or self.cwd
        self.version = meta.cli_version or self.version
        branch = as_dict(meta.git).get("branch")
        self.branch = branch if isinstance(branch, str) else self.branch
        source = loads(meta.source) if meta.source else None
        spawned = source.get("subagent") if isinstance(source, dict) else None
        if isinstance(spawned, dict):
            spawn = spawned.get("thread_spawn")
            spawn = spawn if isinstance(spawn, dict) else {}
            self.parent = str(spawn.get("parent_thread_id") or self.parent)
            self.nickname = str(spawn.get("agent_nickname") or self.nickname)
            self.role = str(spawn.get("agent_role") or self.role)
        self.hidden = spawned is not None and not isinstance(spawned, dict)
        self.hidden = self.hidden or (isinstance(spawned, dict) and "other" in spawned)
        self.parent = meta.parent_thread_id or self.parent
        self.nickname = meta.agent_nickname or self.nickname
        self.role = meta.agent_role or self.role
        instructions = as_dict(meta.base_instructions).get("text")
        if isinstance(instructions, str):
            self.sizes.fixed_text("system", "base", len(instructions))

    def _turn_context(self, context: Payload) -> None:
        self.model = context.model or self.model
        self.cwd = context.cwd or self.cwd
        self.first_cwd = self.first_cwd or self.cwd
        effort = context.effort
        if effort is None and context.collaboration_mode:
            settings = as_dict(context.collaboration_mode).get("settings")
            effort = settings.get("reasoning_effort") if isinstance(settings, dict) else None
        self.effort = effort or ""

    def _turn_started(self, event: Payload, at: int) -> None:
        self.open = True
        self.turn = event.turn_id or ""
        self.turn_started_at = at
        self.outcome = None
        self.waiting, self.waiting_for = None, ""
        self.calls.forget_open()
        self.limit = event.model_context_window or self.limit

    def _turn_complete(self, event: Payload, at: int) -> None:
        if event.turn_id and self.turn and event.turn_id != self.turn:
            return
        failed = error_message(loads(event.error)) if event.error else None
        if failed is not None:
            self.errors.append(Failure(at=at, message=cut(failed, TEXT)))
        if event.last_agent_message and self.options.excerpts:
            self.excerpt = event.last_agent_message[: 2 * LONG_TEXT]
        broken = failed is not None or self.outcome == "failed"
        self._close(at, "failed" if broken else "completed")

    def _turn_aborted(self, event: Payload, at: int) -> None:
        if not event.turn_id or not self.turn or event.turn_id == self.turn:
            self._close(at, "interrupted")

    def _close(self, at: int, outcome: TurnOutcome) -> None:
        self.open = False
        self.turn_started_at = None
        self.ended_at = at
        self.outcome = outcome
        self.waiting, self.waiting_for = None, ""
        self.calls.forget_open()

    def _error(self, event: Payload, at: int) -> None:
        self.errors.append(Failure(at=at, message=cut(event.message or "", TEXT)))
        self._close(at, "failed")

    def _token_count(self, event: Payload, at: int) -> None:
        limits = event.rate_limits
        if len(limits) > len(b"null"):
            self._limits(bytes(limits), at)
        info = event.info
        if info is None or info.total_token_usage is None:
            return
        last = info.last_token_usage
        self.limit = info.model_context_window or self.limit
        model = self.model or self._fork_model or "unknown"
        if self.tokens.count(model, info.total_token_usage, last):
            if last is not None and last.input_tokens + last.output_tokens:
                self._reply(last, at)
        elif last is not None and not last.input_tokens + last.output_tokens and last.total_tokens:
            # After a compaction: the new size of the context, and no reply.
            self.context, self.parts, self.context_at = last.total_tokens, None, at

    def _reply(self, last: Usage, at: int) -> None:
        used = last.total_tokens or last.input_tokens + last.output_tokens
        self.context, self.parts, self.context_at = used, last, at
        self.sizes.request(last.input_tokens)
        self.sample.add(used)
        self.history.append(HistoryPoint(at=at, context=used, output=last.output_tokens))

    def _repeated(self, event: Payload) -> bool:
        """Is this the second of the two equal counts that every reply writes?"""
        info = event.info
        return (
            info is not None
            and info.total_token_usage == self.tokens.before
            and info.last_token_usage is not None
            and info.last_token_usage.input_tokens > 0
            and len(event.rate_limits) <= len(b"null")
            and not self._replay.active
        )

    def _limits(self, data: bytes, at: int) -> None:
        if data != self.limits:
            # Most lines repeat the same limits, or hold none: look only at new bytes.
            limits = as_dict(data)
            if not (limits.get("primary") or limits.get("secondary")):
                return
            known = as_dict(self.limits).get("limit_id") if self.limits else None
            if known == "codex" and limits.get("limit_id") not in (None, "codex"):
                return
            self.limits = data
        self.limits_at = at

    def _user_message(self, event: Payload, at: int) -> None:
        self._prompt("event", event.message or "", at)

    def _prompt(self, side: str, text: str, at: int) -> None:
        if not text:
            return
        newest = self.recent_prompts[-1] if self.recent_prompts else None
        other = newest is not None and self._prompt_side != side
        if newest is not None and other and abs(at - newest.at) < SAME_MOMENT_MS:
            # A thread that changes its dialect says one prompt in both, at the same moment.
            return
        self._prompt_side = side
        self.prompts += 1
        self.sizes.message("prompts", len(text))
        self.first_prompt = self.first_prompt or first_line(text)
        self.recent_prompts.append(Prompt(at=at, text=cut(text, LONG_TEXT)))

    def _item_completed(self, event: Payload, at: int) -> None:
        item = event.item
        if item is None:
            return
        if item.type == "UserMessage":
            self._prompt("item", content_text(item.content), at)
        elif item.type == "CommandExecution":
            self._command_item(item)
        elif item.type == "FileChange":
            if item.status in (None, "completed"):
                self._apply(loads(item.changes))
        elif item.type == "SubAgentActivity" and item.agent_thread_id:
            self.agents.setdefault(item.agent_thread_id, "")

    def _command_item(self, item: Item) -> None:
        state = self._call_behind(item.id)
        if state is not None and item.exit_code is not None:
            self._exit(state, item.exit_code, item.aggregated_output)

    def _call_behind(self, call: str | None) -> CallState | None:
        """The open call of this id. In code mode the script is the call, and what it ran comes
        with an id of its own: then it is the newest script."""
        state = self.calls.open.get(call or "")
        return state if state is not None else self.open_call("exec")

    def _exit(self, state: CallState, code: int, output: str | None) -> None:
        state.error = code != 0
        if code and output:
            state.error_text = cut(output, TEXT)

    def _command_end(self, event: Payload, at: int) -> None:
        self._resolved(event.call_id)
        state = self.calls.open.get(event.call_id or "")
        if state is not None and event.exit_code is not None:
            self._exit(state, event.exit_code, event.aggregated_output)

    def _patch_end(self, event: Payload, at: int) -> None:
        self._resolved(event.call_id)
        if event.success:
            self._apply(loads(event.changes))

    def _apply(self, changes: Any) -> None:
        for path, change in changes.items() if isinstance(changes, dict) else ():
            if not isinstance(change, dict):
                continue
            diff, content = change.get("unified_diff"), change.get("content")
            if isinstance(diff, str):
                self.changes.edit(path, unified(diff))
            elif isinstance(content, str):
                sign = "-" if change.get("type") == "delete" else "+"
                lines = [sign + line for line in content.splitlines()]
                self.changes.edit(path, [(1, 1, lines)] if lines else [])

    def _spawned(self, event: Payload, at: int) -> None:
        if event.new_thread_id:
            self.agents[event.new_thread_id] = event.new_agent_nickname or ""

    def _activity(self, event: Payload, at: int) -> None:
        if event.agent_thread_id:
            self.agents.setdefault(event.agent_thread_id, "")

    def _mcp_end(self, event: Payload, at: int) -> None:
        result = as_dict(event.result)
        state = self._call_behind(event.call_id)
        if state is not None:
            failure = result.get("Err")
            state.error = failure is not None
            if isinstance(failure, str):
                state.error_text = cut(failure, TEXT)

    def _began(self, event: Payload, at: int) -> None:
        self._resolved(event.call_id)

    def _approval_request(self, event: Payload, name: str, at: int) -> None:
        call = event.call_id or ""
        state = self.calls.open.get(call)
        if state is None:
            tool = "apply_patch" if "patch" in name else "exec_command"
            argv = loads(event.command) if event.command else None
            command = shell_text([str(part) for part in argv]) if isinstance(argv, list) else None
            state = CallState(call, tool, at, b"", command=command)
        self.waiting, self.waiting_for = state, "approval"

    def _input_request(self, event: Payload, at: int) -> None:
        data = b'{"questions":' + bytes(event.questions or b"[]") + b"}"
        state = CallState(event.call_id or "", QUESTION_TOOL, at, data)
        self.waiting, self.waiting_for = state, "question"

    def _resolved(self, call: str | None) -> None:
        if self.waiting is not None and self.waiting.id == (call or ""):
            self.waiting, self.waiting_for = None, ""

    def _function_call(self, item: Payload, at: int) -> None:
        name = item.name or ""
        data = (item.arguments or "").encode("utf-8", "replace")
        self._called(item, name, data, at, None)
        if name == "update_plan" and self.options.plans:
            steps = as_dict(data).get("plan")
            if isinstance(steps, list):
                self.plan.full_list(steps, "step")

    def _custom_call(self, item: Payload, at: int) -> None:
        name, text = item.name or "", item.input or ""
        if name == "exec":
            command, single = script_command(text)
            state = self._called(item, name, b"", at, command)
            state.command_cut = state.command_cut or not single
            state.target = name
        else:
            state = self._called(item, name, b"", at, None)
            if name == "apply_patch":
                state.path = patched_path(text)
                state.target = state.path

    def _shell_call(self, item: Payload, at: int) -> None:
        self._called(item, "local_shell", bytes(item.action or b"{}"), at, None)

    def _called(
        self, item: Payload, name: str, data: bytes, at: int, command: str | None
    ) -> CallState:
        self.sizes.message("tool", len(data), name)
        if self.options.excerpts:
            self.excerpt = name
        return self.calls.start(item.call_id or item.id or "", name, data, at, command)

    def _output(self, item: Payload, at: int) -> None:
        call = item.call_id or ""
        self._resolved(call)
        state = self.calls.open.get(call)
        if state is None:
            return
        self.sizes.message("tool", len(item.output), state.name)
        error, text = state.error, state.error_text
        if error is None:
            code, text = exit_code_of(item.output)
            error = None if code is None else code != 0
        self.calls.end(call, at, error, text)

    def _message(self, item: Payload, at: int) -> None:
        if item.role == "assistant":
            text = content_text(item.content)
            self.sizes.message("replies", len(text))
            if text and self.options.excerpts:
                self.excerpt = text[: 2 * LONG_TEXT]
        elif item.role == "developer":
            old = self.sizes.fixed["system"].get("developer", 0)
            if self.sizes.first_input is None:
                self.sizes.fixed_text("system", "developer", old + len(item.content))
        elif item.role == "user" and b"AGENTS.md" in bytes(item.content)[:200]:
            text = content_text(item.content)
            title, _, _ = text.partition("\n")
            folder = title.partition(" for ")[2].strip()
            path = f"{folder}/AGENTS.md" if folder else "AGENTS.md"
            self.sizes.fixed_text("memory", path, len(text))

    def _additional_tools(self, item: Payload, at: int) -> None:
        tools = loads(item.tools) if item.tools else None
        for tool in tools if isinstance(tools, list) else ():
            if not isinstance(tool, dict):
                continue
            name = str(tool.get("name") or "")
            inner = tool.get("tools")
            if name.startswith("mcp__") and isinstance(inner, list):
                server = name.removeprefix("mcp__").strip("_")
                self.sizes.fixed_text("mcpTools", server, len(str(inner)))
                self.sizes.mcp_tools[server] = len(inner)
            else:
                self.sizes.fixed_text("builtInTools", name, len(str(tool)))

    @property
    def plan_needles(self) -> tuple[bytes, ...]:
        """Bytes that a line about the plan holds."""
        return PLAN_NEEDLES if self.options.plans and self.recover_plan else ()

    full_plan_needles = plan_needles

    def feed_plan(self, row: Row) -> None:
        """Take a line for the plan only."""
        payload = row.payload
        if payload is not None and payload.name == "update_plan" and payload.arguments:
            steps = as_dict(payload.arguments.encode()).get("plan")
            if isinstance(steps, list):
                self.plan.full_list(steps, "step")

    def gap(self) -> None:
        """Lines are missing here: what was open before says nothing about what follows."""
        self.tokens.carried = not self._replay.active
        self.plan = PlanReplay()
        self.calls.forget_open()
        self.open = False
        self.outcome = None
        self.waiting, self.waiting_for = None, ""
        self.sizes.mid_session = True

    def latest_excerpt(self) -> str | None:
        """The latest words, cut and redacted; None when there are none or they are switched off."""
        return excerpt(self.excerpt) if self.excerpt else None

    def open_call(self, name: str) -> CallState | None:
        """The newest open call of a tool."""
        for state in reversed(self.calls.open.values()):
            if state.name == name:
                return state
        return None

    def only_agents_open(self) -> bool:
        """Are the open calls only such that start subagents or wait for them?"""
        calls = self.calls.open.values()
        return bool(calls) and all(kind_of_tool(call.name) == "agent" for call in calls)


def _nothing(payload: Payload, at: int) -> None:
    """A known line that says nothing new."""
