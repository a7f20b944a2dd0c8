"""Anthropic Messages (`POST /v1/messages`), as Claude Code speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from evals.lab.scenario import Fail, Say, Think
from evals.lab.wire.common import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Call,
    Ids,
    Part,
    Request,
    Turn,
    dicts,
    event,
    housekeeping,
    said,
    settle,
    text_of,
)

name = "messages"

_IDS = Ids()
_USAGE = {
    "input_tokens": INPUT_TOKENS,
    "output_tokens": 1,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


def read(body: dict[str, Any]) -> Request:
    tools = {str(tool.get("name")): tool for tool in dicts(body.get("tools"))}
    messages = list(dicts(body.get("messages")))
    latest = ""
    for message in reversed(messages):
        if message.get("role") == "assistant":
            break
        latest = text_of(message.get("content")) + "\n" + latest
    return housekeeping(latest, tools) or settle(_turns(messages), tools)


def _turns(messages: list[dict[str, Any]]) -> Iterator[Turn]:
    for message in messages:
        if message.get("role") == "user":
            content = message.get("content")
            results = any(part.get("type") == "tool_result" for part in dicts(content))
            yield Turn(words=text_of(content), results=results)


class MessagesEncoder:
    """`thinking`: the request switched extended thinking on; else reasoning is silence."""

    def __init__(self, model: str, thinking: bool) -> None:
        self._model = model
        self._thinking = thinking
        self._index = 0
        self._called = False

    def start(self) -> bytes:
        message = {**_message(self._model, []), "stop_reason": None}
        return _event("message_start", message=message) + self.keep_alive()

    def open(self, part: Say | Think) -> bytes:
        if isinstance(part, Say):
            return self._open({"type": "text", "text": ""})
        if not self._thinking:
            return b""
        return self._open({"type": "thinking", "thinking": "", "signature": ""})

    def piece(self, part: Say | Think, text: str) -> bytes:
        if isinstance(part, Say):
            return self._delta({"type": "text_delta", "text": text})
        if not self._thinking:
            return self.keep_alive()
        return self._delta({"type": "thinking_delta", "thinking": text})

    def close(self, part: Say | Think, text: str) -> bytes:
        if isinstance(part, Say):
            return self._close()
        if not self._thinking:
            return b""
        return self._delta({"type": "signature_delta", "signature": "bGFi"}) + self._close()

    def call(self, call: Call) -> bytes:
        self._called = True
        block = {"type": "tool_use", "id": _IDS.next("toolu"), "name": call.name, "input": {}}
        arguments = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        return self._open(block) + self._delta(arguments) + self._close()

    def keep_alive(self) -> bytes:
        return _event("ping")

    def end(self) -> bytes:
        delta = {"stop_reason": "tool_use" if self._called else "end_turn", "stop_sequence": None}
        usage = {"output_tokens": OUTPUT_TOKENS}
        return _event("message_delta", delta=delta, usage=usage) + _event("message_stop")

    def _open(self, block: dict[str, Any]) -> bytes:
        return _event("content_block_start", index=self._index, content_block=block)

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("content_block_delta", index=self._index, delta=delta)

    def _close(self) -> bytes:
        data = _event("content_block_stop", index=self._index)
        self._index += 1
        return data


def encoder(body: dict[str, Any]) -> MessagesEncoder:
    thinking = body.get("thinking")
    on = isinstance(thinking, dict) and thinking.get("type") != "disabled"
    return MessagesEncoder(str(body.get("model", "claude")), on)


def whole(body: dict[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    content = [{"type": "text", "text": said(parts)}]
    return {**_message(str(body.get("model", "claude")), content), "stop_reason": "end_turn"}


def failure(fail: Fail) -> dict[str, Any]:
    return {"type": "error", "error": {"type": fail.reason, "message": fail.message}}


def _message(model: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    head = {"id": _IDS.next("msg"), "type": "message", "role": "assistant", "model": model}
    return {**head, "content": content, "stop_sequence": None, "usage": _USAGE}


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)
