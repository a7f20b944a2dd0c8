"""OpenAI chat completions (`POST /v1/chat/completions`), as OpenCode speaks it."""

from __future__ import annotations

import json
import time
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

name = "chat"

_IDS = Ids()
_USAGE = {
    "prompt_tokens": INPUT_TOKENS,
    "completion_tokens": OUTPUT_TOKENS,
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
}


def read(body: dict[str, Any]) -> Request:
    functions = [tool.get("function") for tool in dicts(body.get("tools"))]
    tools = {str(function.get("name")): function for function in dicts(functions)}
    messages = list(dicts(body.get("messages")))
    # OpenCode's summariser says what it is in the system message and repeats the conversation.
    ends = messages[:1] + messages[-1:]
    latest = "\n".join(text_of(message.get("content")) for message in ends)
    return housekeeping(latest, tools) or settle(_turns(messages), tools)


def _turns(messages: list[dict[str, Any]]) -> Iterator[Turn]:
    before = ""
    for message in messages:
        role = str(message.get("role"))
        if role == "tool" and before != "tool":
            yield Turn(results=True)
        elif role == "user":
            yield Turn(words=text_of(message.get("content")))
        before = role


class ChatEncoder:
    def __init__(self, model: str) -> None:
        self._head = {
            "id": _IDS.next("chatcmpl"),
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }
        self._calls = 0

    def start(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def open(self, part: Say | Think) -> bytes:
        return b""

    def piece(self, part: Say | Think, text: str) -> bytes:
        return self._chunk({"content" if isinstance(part, Say) else "reasoning_content": text})

    def close(self, part: Say | Think, text: str) -> bytes:
        return b""

    def call(self, call: Call) -> bytes:
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        entry = {"index": self._calls, "id": _IDS.next("call"), "type": "function"}
        self._calls += 1
        return self._chunk({"tool_calls": [{**entry, "function": function}]})

    def keep_alive(self) -> bytes:
        return b": waiting\n\n"

    def end(self) -> bytes:
        reason = "tool_calls" if self._calls else "stop"
        return self._chunk({}, reason, {"usage": _USAGE}) + b"data: [DONE]\n\n"

    def _chunk(
        self, delta: dict[str, Any], reason: str | None = None, more: dict[str, Any] | None = None
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return event({**self._head, "choices": [choice], **(more or {})})


def encoder(body: dict[str, Any]) -> ChatEncoder:
    return ChatEncoder(str(body.get("model", "fake")))


def whole(body: dict[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    message = {"role": "assistant", "content": said(parts)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": _IDS.next("chatcmpl"), "object": "chat.completion"}
    return {**head, "model": body.get("model"), "choices": [choice], "usage": _USAGE}


def failure(fail: Fail) -> dict[str, Any]:
    return {"error": {"message": fail.message, "type": fail.reason, "code": fail.reason}}
