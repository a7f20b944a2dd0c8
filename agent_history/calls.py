"""Tool calls while a transcript is read: which are open, the newest hundred, totals per tool."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from agent_history.fields import (
    CONTENT_KEYS,
    LONG_TEXT,
    MAX_CALLS,
    TEXT,
    command_of,
    cut,
    path_of,
    target_of,
)
from agent_history.kinds import kind_of_call, kind_of_tool, mcp_server
from agent_history.reading.decode import as_dict
from agent_history.records import Call, RunningTool, ToolTotal

# Inputs up to this size are kept as they were and looked into when somebody asks.
KEPT_INPUT = 4_096
MAX_ITEMS = 16


def shortened(value: object) -> object:
    """A JSON value with its texts cut and its lists short: bounded, whatever a call brings."""
    if isinstance(value, str):
        return cut(value, LONG_TEXT)
    if isinstance(value, list):
        return [shortened(item) for item in value[:MAX_ITEMS]]
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in list(value.items())[:MAX_ITEMS]}
    return value


class CallState(msgspec.Struct):
    """One call as it was read. `input` is the raw JSON, or what was kept of a large one."""

    id: str
    name: str
    started_at: int
    input: bytes
    command: str | None = None
    command_cut: bool = False
    target: str | None = None
    path: str | None = None
    line: int | None = None
    ended_at: int | None = None
    error: bool | None = None
    error_text: str | None = None

    def arguments(self) -> dict[str, object]:
        """The call's input as a dictionary; empty when it is none."""
        return as_dict(self.input)


class Calls:
    """All calls of one session, bounded in memory."""

    def __init__(self) -> None:
        self.open: dict[str, CallState] = {}
        self._recent: OrderedDict[str, CallState] = OrderedDict()
        self._totals: dict[str, list[int]] = {}

    def start(
        self, call: str, name: str, data: bytes, at: int, command: str | None = None
    ) -> CallState:
        """A call began. `data` is its input as JSON; `command` is given where it is known apart."""
        state = CallState(call, name, at, b"")
        if command is not None:
            state.command_cut = len(command) > KEPT_INPUT
            state.command = command[:KEPT_INPUT]
        if len(data) <= KEPT_INPUT:
            state.input = bytes(data)
        else:
            self._shrink(state, data)
        self.open[call] = state
        self._recent[call] = state
        if len(self._recent) > MAX_CALLS:
            self._recent.popitem(last=False)
        totals = self._totals.get(name)
        if totals is None:
            self._totals[name] = [1, 0, 0]
        else:
            totals[0] += 1
        return state

    def _shrink(self, state: CallState, data: bytes) -> None:
        arguments = as_dict(data)
        if state.command is None:
            command = command_of(arguments)
            if command is not None:
                state.command_cut = len(command) > KEPT_INPUT
                state.command = command[:KEPT_INPUT]
        state.target = target_of(arguments, "")
        small = {
            key: shortened(value) for key, value in arguments.items() if key not in CONTENT_KEYS
        }
        state.input = msgspec.json.encode(small)

    def end(
        self, call: str, at: int, error: bool | None, error_text: str | None = None
    ) -> CallState | None:
        """A call's result arrived; None for a result whose call is not open."""
        state = self.open.pop(call, None)
        if state is None:
            return None
        state.ended_at = at
        state.error = error
        if error and error_text is not None:
            state.error_text = cut(error_text, TEXT)
        totals = self._totals[state.name]
        totals[1] += bool(error)
        totals[2] += max(0, at - state.started_at)
        return state

    def forget_open(self) -> None:
        """The turn ended: whatever is still open will never get its result."""
        self.open.clear()

    def tools(self) -> tuple[ToolTotal, ...]:
        """Totals per tool, the most used first."""
        order = sorted(self._totals.items(), key=lambda item: (-item[1][0], item[0]))
        return tuple(
            ToolTotal(
                name=name,
                kind=kind_of_tool(name),
                server=mcp_server(name),
                calls=calls,
                errors=errors,
                ms=ms,
            )
            for name, (calls, errors, ms) in order
        )

    def activity(self, cwd: str, running: bool) -> tuple[Call, ...]:
        """The newest calls, oldest first. `running` says whether an open call can still run."""
        return tuple(
            finished(state, cwd, running and call in self.open)
            for call, state in self._recent.items()
        )


def running_tool(state: CallState, cwd: str) -> RunningTool:
    """The call as a `Session.tool`."""
    arguments = state.arguments()
    command = state.command if state.command is not None else command_of(arguments)
    return RunningTool(
        name=state.name,
        started_at=state.started_at,
        target=target(state, cwd),
        kind=kind_of_call(state.name, command, state.command_cut),
    )


def target(state: CallState, cwd: str) -> str:
    """The call's short target."""
    if state.command is not None:
        return target_of({"command": state.command}, cwd)
    return target_of(state.arguments(), cwd) or state.target or ""


def finished(state: CallState, cwd: str, running: bool) -> Call:
    """The call as a record of `Detail.activity`."""
    arguments = state.arguments()
    command = state.command if state.command is not None else command_of(arguments)
    shown = {key: value for key, value in arguments.items() if key not in CONTENT_KEYS}
    if command is not None:
        text = command
    else:
        text = msgspec.json.encode(shown).decode("utf-8", "replace") if shown else ""
    whole = len(text) <= LONG_TEXT and not state.command_cut
    line = state.line
    if line is None and isinstance(arguments.get("offset"), int):
        line = int(str(arguments["offset"]))
    return Call(
        id=state.id,
        name=state.name,
        kind=kind_of_call(state.name, command, was_cut=not whole),
        server=mcp_server(state.name),
        target=target(state, cwd),
        input=cut(text, LONG_TEXT) or None,
        path=state.path or path_of(arguments, cwd),
        line=line,
        started_at=state.started_at,
        ended_at=state.ended_at,
        running=running,
        error=state.error,
        error_text=state.error_text,
    )
