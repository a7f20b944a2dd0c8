"""OpenAI Responses (`POST /v1/responses`), as Codex speaks it."""

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

name = "responses"

_RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
_IDS = Ids()

_USAGE = {
    "input_tokens": INPUT_TOKENS,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": OUTPUT_TOKENS,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
}


def read(body: dict[str, Any]) -> Request:
    """Body to request. Tools stand in `tools` and, in Codex's code mode (0.145 and later), in an
    input item `additional_tools`; namespaces hold tools of their own."""
    source = body.get("input")
    items = (
        [{"role": "user", "content": source}] if isinstance(source, str) else list(dicts(source))
    )
    tools = _tools(body, items)
    latest = items[-1] if items else {}
    shape = (body.get("text") or {}).get("format") or {}
    wants_title = shape.get("type") == "json_schema"
    own = housekeeping(text_of(latest.get("content")), {} if wants_title else tools)
    return own or settle(_turns(items), tools)


def _turns(items: list[dict[str, Any]]) -> Iterator[Turn]:
    """Results that came back together are one round."""
    before_was_result = False
    for item in items:
        is_result = item.get("type") in _RESULTS
        if is_result and not before_was_result:
            yield Turn(results=True)
        elif item.get("role") == "user":
            yield Turn(words=text_of(item.get("content")))
        elif item.get("type") == "agent_message":
            # What a root agent hands to its subagent (Codex multi-agent).
            yield Turn(words=json.dumps(item))
        before_was_result = is_result


def _tools(body: dict[str, Any], items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    declared = list(dicts(body.get("tools")))
    for item in items:
        if item.get("type") == "additional_tools":
            declared += dicts(item.get("tools"))
    offered: dict[str, dict[str, Any]] = {}
    for tool in declared:
        if tool.get("type") == "namespace":
            for inner in dicts(tool.get("tools")):
                offered[str(inner.get("name"))] = {**inner, "namespace": tool.get("name")}
        else:
            offered[str(tool.get("name") or tool.get("type"))] = tool
    return offered


class ResponsesEncoder:
    def __init__(self) -> None:
        self._response = _IDS.next("resp")
        self._item = ""
        self._index = 0

    def start(self) -> bytes:
        response = {"id": self._response, "object": "response", "status": "in_progress"}
        return _event("response.created", response={**response, "output": []})

    def open(self, part: Say | Think) -> bytes:
        self._item = _IDS.next("item")
        if isinstance(part, Say):
            return self._added(_message(self._item, None))
        return self._added(_reasoning(self._item, None)) + self._event(
            "response.reasoning_summary_part.added",
            summary_index=0,
            part={"type": "summary_text", "text": ""},
        )

    def piece(self, part: Say | Think, text: str) -> bytes:
        if isinstance(part, Say):
            return self._event("response.output_text.delta", content_index=0, delta=text)
        return self._event("response.reasoning_summary_text.delta", summary_index=0, delta=text)

    def close(self, part: Say | Think, text: str) -> bytes:
        if isinstance(part, Say):
            return self._done(_message(self._item, text))
        finished = self._event("response.reasoning_summary_text.done", summary_index=0, text=text)
        return finished + self._done(_reasoning(self._item, text))

    def call(self, call: Call) -> bytes:
        item: dict[str, Any] = {"id": _IDS.next("item"), "call_id": _IDS.next("call")}
        if isinstance(call.arguments, str):
            item |= {"type": "custom_tool_call", "name": call.name, "input": call.arguments}
            blank: dict[str, Any] = {"input": ""}
        else:
            arguments = json.dumps(call.arguments)
            item |= {"type": "function_call", "name": call.name, "arguments": arguments}
            blank = {"arguments": ""}
        if call.namespace:
            item["namespace"] = call.namespace
        added = self._added({**item, **blank, "status": "in_progress"})
        return added + self._done({**item, "status": "completed"})

    def keep_alive(self) -> bytes:
        return b": waiting\n\n"

    def end(self) -> bytes:
        response = {"id": self._response, "object": "response", "status": "completed"}
        return _event("response.completed", response={**response, "output": [], "usage": _USAGE})

    def _added(self, item: dict[str, Any]) -> bytes:
        return _event("response.output_item.added", output_index=self._index, item=item)

    def _done(self, item: dict[str, Any]) -> bytes:
        data = _event("response.output_item.done", output_index=self._index, item=item)
        self._index += 1
        return data

    def _event(self, kind: str, **fields: Any) -> bytes:
        return _event(kind, item_id=self._item, output_index=self._index, **fields)


def encoder(body: dict[str, Any]) -> ResponsesEncoder:
    return ResponsesEncoder()


def whole(body: dict[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    message = _message(_IDS.next("item"), said(parts))
    head = {"id": _IDS.next("resp"), "object": "response", "status": "completed"}
    return {**head, "output": [message], "usage": _USAGE}


def failure(fail: Fail) -> dict[str, Any]:
    return {
        "error": {"message": fail.message, "type": fail.reason, "code": fail.reason, "param": None}
    }


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


def _message(item: str, text: str | None) -> dict[str, Any]:
    content = [] if text is None else [{"type": "output_text", "text": text, "annotations": []}]
    status = "in_progress" if text is None else "completed"
    head = {"type": "message", "id": item, "role": "assistant", "status": status}
    return {**head, "content": content}


def _reasoning(item: str, text: str | None) -> dict[str, Any]:
    summary = [] if text is None else [{"type": "summary_text", "text": text}]
    return {"type": "reasoning", "id": item, "summary": summary, "encrypted_content": None}
