"""What the dialects share: the request they read, the parts of an answer they encode."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

from evals.lab.scenario import COMPACT, FALLBACK, TITLE, Fail, Pause, Say, Scenario, Think, find

INPUT_TOKENS = 5_200
OUTPUT_TOKENS = 240
"""Usage every answer reports: plausible on screen, never near a limit."""

_COMPACTION = (
    "detailed summary of the conversation",
    "CONTEXT CHECKPOINT COMPACTION",
    "<state_snapshot>",
    "anchored summary",
    "detailed prompt for continuing our conversation",
    "context summarization agent",
)
"""Words of the agents' own requests for a summary (Codex 0.128-0.171, Claude Code 2.0-2.1,
OpenCode 1.18, Gemini 0.61)."""

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent asks: the scenario its prompt names, how many rounds of tool results have
    come back since, and the tools it offers by name (their declarations as sent)."""

    scenario: Scenario
    round: int
    tools: dict[str, dict[str, Any]]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call under the agent's own name. `arguments` is a string for a freeform tool."""

    name: str
    arguments: dict[str, Any] | str
    namespace: str | None = None


Part = Say | Think | Pause | Call


class Encoder(Protocol):
    """Turns the parts of one answer into bytes for the wire, in order."""

    def start(self) -> bytes: ...
    def open(self, part: Say | Think) -> bytes: ...
    def piece(self, part: Say | Think, text: str) -> bytes: ...
    def close(self, part: Say | Think, text: str) -> bytes: ...
    def call(self, call: Call) -> bytes: ...
    def keep_alive(self) -> bytes: ...
    def end(self) -> bytes: ...


class Dialect(Protocol):
    """A protocol. `name` is what `tools` knows it by."""

    @property
    def name(self) -> str: ...
    def read(self, body: dict[str, Any]) -> Request: ...
    def encoder(self, body: dict[str, Any]) -> Encoder: ...
    def whole(self, body: dict[str, Any], parts: Iterable[Part]) -> dict[str, Any]: ...
    def failure(self, fail: Fail) -> dict[str, Any]: ...


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a conversation, newest last: words of a person, or results of tools (which may
    come with words that were queued meanwhile)."""

    words: str = ""
    results: bool = False


def settle(turns: Iterable[Turn], tools: dict[str, dict[str, Any]]) -> Request:
    """The request behind a conversation.

    The newest sentence that is a scenario decides; tool results after it count as rounds. Words
    that are no scenario (and no markup that an agent adds by itself) end the search.
    """
    rounds = 0
    for turn in reversed(list(turns)):
        words = plain(turn.words)
        scenario = find(words)
        if scenario is not None:
            return Request(scenario=scenario, round=rounds, tools=tools)
        if turn.results:
            rounds += 1
        elif words and not words.startswith(("<", "# AGENTS")):
            break
    return Request(scenario=FALLBACK, round=0, tools=tools)


def housekeeping(latest: str, tools: dict[str, dict[str, Any]]) -> Request | None:
    """The agent's own requests: a summary of the conversation, or (no tools) a title."""
    if any(mark in latest for mark in _COMPACTION):
        return Request(scenario=COMPACT, round=0, tools=tools)
    if not tools:
        return Request(scenario=TITLE, round=0, tools=tools)
    return None


def plain(words: str) -> str:
    """Words without what the agent put among them."""
    return _REMINDER.sub("", words).strip()


def text_of(content: Any) -> str:
    """The text of a message content: a string, or the `text` of each of its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        part["text"]
        for part in parts
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    )


def dicts(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list; nothing for anything else."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


def event(data: dict[str, Any], kind: str | None = None) -> bytes:
    """One server-sent event."""
    head = f"event: {kind}\n" if kind else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def said(parts: Iterable[Part]) -> str:
    """The text of an answer that is not streamed."""
    return "".join(part.text for part in parts if isinstance(part, Say))


class Ids:
    """Ids in the shape providers use, counted so that runs are alike."""

    def __init__(self) -> None:
        self._last = 0

    def next(self, prefix: str) -> str:
        self._last += 1
        return f"{prefix}_lab{self._last:08d}"
