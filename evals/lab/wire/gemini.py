"""Gemini (`…:streamGenerateContent` and `…:generateContent`), as Gemini CLI speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from evals.lab.scenario import Fail, Say, Think
from evals.lab.wire.common import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Call,
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

name = "gemini"

_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}
_USAGE = {
    "promptTokenCount": INPUT_TOKENS,
    "candidatesTokenCount": OUTPUT_TOKENS,
    "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
}
_VERDICTS = {
    "reasoning": "lab",
    "model_choice": "pro",
    "complexity_reasoning": "lab",
    "complexity_score": 90,
    "next_speaker": "user",
    "title": "Shop",
    "summary": "Shop API work",
}
"""One answer to all of the CLI's own JSON questions: router, next speaker, title (0.20-0.61)."""


def read(body: dict[str, Any]) -> Request:
    tools = {
        str(function.get("name")): function
        for tool in dicts(body.get("tools"))
        for function in dicts(tool.get("functionDeclarations"))
    }
    contents = list(dicts(body.get("contents")))
    system = body.get("systemInstruction")
    latest = text_of(system.get("parts")) if isinstance(system, dict) else ""
    latest += "\n" + (text_of(contents[-1].get("parts")) if contents else "")
    own = housekeeping(latest, {} if _wants_json(body) else tools)
    return own or settle(_turns(contents), tools)


def _turns(contents: list[dict[str, Any]]) -> Iterator[Turn]:
    for content in contents:
        if content.get("role") == "user":
            parts = content.get("parts")
            results = any("functionResponse" in part for part in dicts(parts))
            yield Turn(words=text_of(parts), results=results)


def _wants_json(body: dict[str, Any]) -> bool:
    config = body.get("generationConfig") or {}
    return config.get("responseMimeType") == "application/json"


class GeminiEncoder:
    def start(self) -> bytes:
        return b""

    def open(self, part: Say | Think) -> bytes:
        return b""

    def piece(self, part: Say | Think, text: str) -> bytes:
        return _event({"text": text} if isinstance(part, Say) else {"text": text, "thought": True})

    def close(self, part: Say | Think, text: str) -> bytes:
        return b""

    def call(self, call: Call) -> bytes:
        return _event({"functionCall": {"name": call.name, "args": call.arguments}})

    def keep_alive(self) -> bytes:
        # The CLI's client reads no comments; an empty thought says nothing on the screen.
        return _event({"text": "", "thought": True})

    def end(self) -> bytes:
        return _event({"text": ""}, "STOP")


def encoder(body: dict[str, Any]) -> GeminiEncoder:
    return GeminiEncoder()


def whole(body: dict[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    text = json.dumps(_VERDICTS) if _wants_json(body) else said(parts)
    return _answer({"text": text}, "STOP")


def failure(fail: Fail) -> dict[str, Any]:
    status = _STATUS.get(fail.status, "INTERNAL")
    return {"error": {"code": fail.status, "message": fail.message, "status": status}}


def _event(part: dict[str, Any], reason: str | None = None) -> bytes:
    # Gemini's client splits events at CRLF pairs.
    return event(_answer(part, reason)).replace(b"\n\n", b"\r\n\r\n")


def _answer(part: dict[str, Any], reason: str | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [part]}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "modelVersion": "fake", "usageMetadata": _USAGE}
