"""A model endpoint on loopback: OpenAI Responses and chat completions, Anthropic Messages, Gemini.

    with FakeModel(work=tmp_path) as model:
        ...  # point an agent at model.url
        model.release(project)   # ends the slow answers of the agent that works in `project`

The sentence a person typed decides what is answered (`scenario`). `work` is the folder below which
the agents' projects lie: the first path below it that a request names tells which project asks.
Requests are counted, never stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from evals.lab import tools
from evals.lab.scenario import Fail, Pause, Say, Think, Use
from evals.lab.wire import chat, gemini, messages, responses
from evals.lab.wire.common import INPUT_TOKENS, Call, Dialect, Encoder, Part

PIECE = 24
"""Characters of one streamed piece."""

BEAT = 0.1
"""Seconds between two looks whether a slow answer has been released."""

KEEP_ALIVE = 5.0
"""Seconds of silence after which an open stream says that it is alive."""

START_TIMEOUT = 10.0

_PLAN_FILE = re.compile(r"/[\w./-]+/plans/[\w.-]+\.md")


class Seen(msgspec.Struct, frozen=True):
    """One request that came in."""

    dialect: str
    project: str
    scenario: str
    round: int


class FakeModel:
    """The server, in a thread of its own, while the `with` block lasts.

    `port` 0 takes a free one. Raises `OSError` when the port is taken.
    """

    def __init__(self, work: Path, port: int = 0) -> None:
        self.work = work
        self.seen: list[Seen] = []
        self._releases: Counter[str] = Counter()
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._wanted = port
        self._server = uvicorn.Server(
            uvicorn.Config(_app(self), log_config=None, access_log=False, lifespan="off")
        )
        self._thread = threading.Thread(target=self._serve, name="fake-model", daemon=True)

    @property
    def url(self) -> str:
        host, port = self._socket.getsockname()
        return f"http://{host}:{port}"

    def __enter__(self) -> Self:
        self._socket.bind(("127.0.0.1", self._wanted))
        self._socket.listen(64)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(START_TIMEOUT)
        self._socket.close()

    def release(self, project: str) -> None:
        """End every slow answer under way for that project (its folder name below `work`)."""
        self._releases[project] += 1

    def released(self, project: str) -> Callable[[], bool]:
        """Whether `release` has been called since now."""
        now = self._releases[project]
        return lambda: self._releases[project] != now

    def project_of(self, raw: str) -> str:
        """The folder below `work` that a request names first; empty when it names none."""
        found = re.search(re.escape(str(self.work)) + r"/([\w.-]+)", raw)
        return found[1] if found else ""

    def _serve(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(self._server.serve(sockets=[self._socket]))


def _app(model: FakeModel) -> Starlette:
    def serve(dialect: Dialect) -> Callable[[HttpRequest], Any]:
        async def endpoint(http: HttpRequest) -> Response:
            return await _answer(model, dialect, http)

        return endpoint

    routes = []
    for prefix in ("", "/v1"):
        routes += [
            Route(f"{prefix}/responses", serve(responses), methods=["POST"]),
            Route(f"{prefix}/messages/count_tokens", _count, methods=["POST"]),
            Route(f"{prefix}/messages", serve(messages), methods=["POST"]),
            Route(f"{prefix}/chat/completions", serve(chat), methods=["POST"]),
            Route(f"{prefix}/models", _models),
        ]
    for version in ("v1beta", "v1beta1", "v1"):
        path = f"/{version}/models/{{model:path}}"
        routes.append(Route(path, serve(gemini), methods=["POST"]))
    return Starlette(routes=routes)


async def _answer(model: FakeModel, dialect: Dialect, http: HttpRequest) -> Response:
    raw = (await http.body()).decode("utf-8", "replace")
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        fail = Fail(400, "invalid_request_error", "the body is no JSON object")
        return JSONResponse(dialect.failure(fail), 400)
    if "countTokens" in http.url.path:
        return JSONResponse({"totalTokens": INPUT_TOKENS})
    request = dialect.read(body)
    project = model.project_of(raw)
    model.seen.append(Seen(dialect.name, project, request.scenario.name, request.round))
    rounds = request.scenario.rounds
    acts = rounds[request.round] if request.round < len(rounds) else (Say("Done."),)
    parts: list[Part] = []
    for act in acts:
        if isinstance(act, Fail):
            waits = {} if act.retry_after is None else {"retry-after": str(act.retry_after)}
            return JSONResponse(dialect.failure(act), act.status, headers=waits)
        if isinstance(act, Use):
            use = _with_plan_file(act, raw)
            folder = model.work / project
            parts += tools.parts_for(use, dialect.name, request.tools, folder)
        else:
            parts.append(act)
    if not _streams(dialect, body, http):
        return JSONResponse(dialect.whole(body, parts))
    stream = play(parts, dialect.encoder(body), model.released(project))
    return StreamingResponse(stream, media_type="text/event-stream")


async def play(
    parts: list[Part], encoder: Encoder, released: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """One answer as it goes over the wire, in its own time, or at once when `released`."""
    yield encoder.start()
    for part in parts:
        if isinstance(part, Call):
            yield encoder.call(part)
        elif isinstance(part, Pause):
            async for data in _silence(part.seconds, encoder, released):
                yield data
        else:
            async for data in _streamed(part, encoder, released):
                yield data
    yield encoder.end()


async def _streamed(
    part: Say | Think, encoder: Encoder, released: Callable[[], bool]
) -> AsyncIterator[bytes]:
    pieces = [part.text[at : at + PIECE] for at in range(0, len(part.text), PIECE)] or [""]
    if part.seconds <= 0:
        pieces = [part.text]
    said = ""
    yield encoder.open(part)
    for piece in pieces:
        said += piece
        yield encoder.piece(part, piece)
        # A released answer stops where it is: the turn is over, the screen stays short.
        if await _slept(part.seconds / len(pieces), released):
            break
    yield encoder.close(part, said)


async def _silence(
    seconds: float, encoder: Encoder, released: Callable[[], bool]
) -> AsyncIterator[bytes]:
    while seconds > 0 and not await _slept(min(seconds, KEEP_ALIVE), released):
        seconds -= KEEP_ALIVE
        yield encoder.keep_alive()


async def _slept(seconds: float, released: Callable[[], bool]) -> bool:
    """Sleep; True as soon as the answer has been released."""
    while seconds > 0:
        if released():
            return True
        await asyncio.sleep(min(seconds, BEAT))
        seconds -= BEAT
    return released()


def _streams(dialect: Dialect, body: dict[str, Any], http: HttpRequest) -> bool:
    if dialect.name == "gemini":
        return "stream" in http.url.path
    return body.get("stream") is True


def _with_plan_file(use: Use, raw: str) -> Use:
    """Claude Code names the file its plan must stand in; the last one named counts."""
    found = _PLAN_FILE.findall(raw) if use.tool == "plan" else []
    return Use(use.tool, {**use.given, "plan_file": found[-1]}) if found else use


async def _count(http: HttpRequest) -> Response:
    return JSONResponse({"input_tokens": INPUT_TOKENS})


async def _models(http: HttpRequest) -> Response:
    return JSONResponse({"object": "list", "data": [{"id": "fake-model", "object": "model"}]})
