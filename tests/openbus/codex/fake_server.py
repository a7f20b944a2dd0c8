"""A Codex app-server that fails the test when the observer does what an observer must not do.

Two ways to use it: *scripted* (`FakeCodex`), a dictionary of threads with knobs for damage, and
*replay* (`Replay`), a recorded connection played back. Both enforce the same law on every frame
that comes from the client (`Law`); a test ends with `assert_lawful()`.

The socket layout is the real one: a stable link in the home, a socket in a private directory.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, unix_serve
from websockets.exceptions import ConnectionClosed

READS = {
    "thread/loaded/list": {"limit", "cursor"},
    "thread/list": {"limit", "sortKey", "useStateDbOnly", "modelProviders"},
    "thread/read": {"threadId", "includeTurns"},
}


class Law:
    """What the observer may send. Everything else is remembered as a violation."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self._ids: set[object] = set()
        self._frames = 0

    def new_connection(self) -> None:
        self._ids = set()
        self._frames = 0

    def judge(self, data: str | bytes) -> dict[str, Any] | None:
        """The frame, or None when it broke the law."""
        self._frames += 1
        before = len(self.violations)
        if not isinstance(data, str):
            self._broken("a binary frame")
            return None
        frame = json.loads(data)
        method = frame.get("method")
        if "result" in frame or "error" in frame:
            self._broken("an answer to the server")
        if self._frames == 1 and method != "initialize":
            self._broken("the first frame is not initialize")
        if method == "initialized":
            if set(frame) != {"method"}:
                self._broken("initialized carries more than its name")
        elif method == "initialize":
            self._greeting(frame)
        elif method in READS:
            self._read(method, frame)
        else:
            self._broken(f"method {method!r}")
        if method != "initialized":
            if frame.get("id") in self._ids or "id" not in frame:
                self._broken("a request id is missing or used again")
            self._ids.add(frame.get("id"))
        if isinstance(method, str):
            self.requests.append((method, frame.get("params") or {}))
        return frame if len(self.violations) == before else None

    def _greeting(self, frame: dict[str, Any]) -> None:
        params = frame["params"]
        if set(params["capabilities"]) != {"experimentalApi", "optOutNotificationMethods"}:
            self._broken("a capability beyond the two that ask for less")
        if params["capabilities"]["experimentalApi"] is not False:
            self._broken("the experimental interface")
        if params["clientInfo"]["name"] != "openbus":
            self._broken("a name that is not ours")

    def _read(self, method: str, frame: dict[str, Any]) -> None:
        params = frame.get("params")
        if not isinstance(params, dict) or not set(params) <= READS[method]:
            self._broken(f"parameters of {method}")
            return
        if method == "thread/read" and params.get("includeTurns") is not False:
            self._broken("turns were asked for")
        if method == "thread/list" and params.get("useStateDbOnly") is not True:
            self._broken("a listing that scans rollouts")
        if method != "thread/read" and not 0 < params.get("limit", 0) <= 200:
            self._broken("a listing without a limit")

    def _broken(self, what: str) -> None:
        self.violations.append(what)

    def assert_lawful(self) -> None:
        assert self.violations == []


def thread(thread_id: str, **fields: Any) -> dict[str, Any]:
    """A thread as the server tells it, with the fields that its schema requires."""
    return {
        "id": thread_id,
        "sessionId": thread_id,
        "status": {"type": "idle"},
        "ephemeral": False,
        "cwd": "/home/dev/proj",
        "cliVersion": "0.171.0",
        "createdAt": 1796073375,
        "updatedAt": 1796073375,
        "modelProvider": "fake",
        "preview": "hello",
        "projectId": None,
        "source": "vscode",
        "turns": [],
        "name": None,
        "model": "gpt-5.5",
        "reasoningEffort": None,
        "parentThreadId": None,
        "historyMode": "paginated",
        "gitInfo": None,
        "canAcceptDirectInput": None,
        **fields,
    }


class _Listener:
    """Binds behind the real layout and runs one handler per connection."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.law = Law()
        self.connections: set[ServerConnection] = set()
        self.opened = 0
        self._server: Server | None = None
        self._private = home / "run"
        self._generation = 0
        self.target: Path | None = None

    @property
    def stable(self) -> Path:
        return self.home / "app-server-control" / "app-server-control.sock"

    async def start(self) -> None:
        self._generation += 1
        self.stable.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._private.mkdir(mode=0o700, exist_ok=True)
        self.target = self._private / f"s{self._generation}"
        self._server = await unix_serve(
            self._connected, str(self.target), compression=None, max_size=16 * 1024 * 1024
        )
        os.chmod(self.target, 0o600)
        self.stable.unlink(missing_ok=True)
        self.stable.symlink_to(self.target)

    async def stop(self, *, leave_files: bool = False) -> None:
        """End abruptly, without a close frame, as the real server does."""
        if self._server is None:
            return
        for connection in list(self.connections):
            connection.transport.abort()
        self._server.close(close_connections=False)
        await asyncio.sleep(0)
        self._server = None
        if leave_files:
            return
        self.stable.unlink(missing_ok=True)
        if self.target is not None:
            self.target.unlink(missing_ok=True)

    async def restart(self) -> None:
        """Another life: a new socket, so a new inode."""
        await self.stop()
        await self.start()

    async def _connected(self, connection: ServerConnection) -> None:
        self.law.new_connection()
        self.connections.add(connection)
        self.opened += 1
        try:
            await self.handle(connection)
        except ConnectionClosed:
            pass
        finally:
            self.connections.discard(connection)

    async def handle(self, connection: ServerConnection) -> None:
        raise NotImplementedError

    def assert_lawful(self) -> None:
        self.law.assert_lawful()


class FakeCodex(_Listener):
    """Scripted state. Knobs are attributes; tests set them before or during a connection."""

    def __init__(self, home: Path, *, version: str = "0.171.0") -> None:
        super().__init__(home)
        self.version = version
        self.threads: dict[str, dict[str, Any]] = {}
        self.loaded: list[str] = []
        self.listed: list[str] | None = None
        """Ids in `thread/list`; None means all with a preview."""
        self.hang: set[str] = set()
        """Methods that get no answer."""
        self.delay: dict[str, float] = {}
        self.errors: dict[str, dict[str, Any]] = {}
        """Method to error object."""
        self.results: dict[str, Callable[[dict[str, Any]], Any]] = {}
        """Method to another result than the scripted one."""
        self.greeting: dict[str, Any] = {}
        """Fields that replace those of the answer to `initialize`."""
        self.before_answer: list[str | bytes] = []
        """Frames sent before every answer: garbage, other ids."""
        self.answers_twice = False

    def add(self, thread_id: str, *, loaded: bool = True, **fields: Any) -> None:
        self.threads[thread_id] = thread(thread_id, **fields)
        if loaded and thread_id not in self.loaded:
            self.loaded.append(thread_id)

    async def set_status(self, thread_id: str, kind: str, *flags: str) -> None:
        status: dict[str, Any] = {"type": kind}
        if kind == "active":
            status["activeFlags"] = list(flags)
        self.threads[thread_id]["status"] = status
        params = {"threadId": thread_id, "status": status}
        await self.notify("thread/status/changed", params)

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        await self.send({"method": method, "params": params, "emittedAtMs": 1796073375319})

    async def ask_client(self, thread_id: str, number: int = 0) -> None:
        """What a sub-agent's approval looks like to every subscribed connection."""
        params = {
            "kind": "command",
            "threadId": thread_id,
            "turnId": "01a22e50-d66a-7871-b24e-ba32f122a4ca",
            "itemId": "call_1",
            "reason": "may I?",
            "command": "/bin/bash -lc 'touch planted-secret'",
            "availableDecisions": ["accept", "cancel"],
        }
        await self.send(
            {"id": number, "method": "item/commandExecution/requestApproval", "params": params}
        )

    async def send(self, frame: dict[str, Any] | str | bytes) -> None:
        data = json.dumps(frame) if isinstance(frame, dict) else frame
        for connection in list(self.connections):
            with contextlib.suppress(ConnectionClosed):
                await connection.send(data)

    async def handle(self, connection: ServerConnection) -> None:
        async for data in connection:
            frame = self.law.judge(data)
            if frame is None or frame["method"] == "initialized":
                continue
            method = frame["method"]
            if method in self.hang:
                continue
            if method in self.delay:
                await asyncio.sleep(self.delay[method])
            for extra in self.before_answer:
                await connection.send(extra)
            answer = json.dumps({**self._answer(method, frame["params"]), "id": frame["id"]})
            for _ in range(2 if self.answers_twice else 1):
                await connection.send(answer)

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method in self.errors:
            return {"error": self.errors[method]}
        if method in self.results:
            return {"result": self.results[method](params)}
        match method:
            case "initialize":
                return {
                    "result": {
                        "userAgent": f"codex-tui/{self.version} (Debian 12.0.0; x86_64) "
                        f"xterm-256color (openbus; 0)",
                        "codexHome": str(self.home),
                        "platformFamily": "unix",
                        "platformOs": "linux",
                        **self.greeting,
                    }
                }
            case "thread/loaded/list":
                limit = params["limit"]
                start = self.loaded.index(params["cursor"]) + 1 if params.get("cursor") else 0
                page = self.loaded[start : start + limit]
                more = start + limit < len(self.loaded)
                return {"result": {"data": page, "nextCursor": page[-1] if more else None}}
            case "thread/list":
                ids = self.listed
                if ids is None:
                    ids = [t for t, fields in self.threads.items() if fields["preview"]]
                rows = [self.threads[t] for t in ids[: params["limit"]]]
                more = len(ids) > params["limit"]
                cursor = "opaque" if more else None
                return {"result": {"data": rows, "nextCursor": cursor, "backwardsCursor": None}}
            case _:
                found = self.threads.get(params["threadId"])
                if found is None:
                    message = f"thread not loaded: {params['threadId']}"
                    return {"error": {"code": -32600, "message": message}}
                return {"result": {"thread": found}}


def _unrecorded(method: str) -> dict[str, Any]:
    if method == "thread/read":
        return {"error": {"code": -32600, "message": "thread not loaded: not in the recording"}}
    return {"result": {"data": [], "nextCursor": None}}


class Replay(_Listener):
    """Plays one recorded connection back.

    An answer is released when its request has come (same method, same thread); notifications and
    requests of the server follow the frame before them at once. Recorded requests that this
    observer does not send (it asks for less) are stepped over; what the observer asks beyond the
    recording is answered with an empty page, or with the error for a thread that is not there.
    """

    def __init__(self, home: Path, sample: Path) -> None:
        super().__init__(home)
        self.frames = [json.loads(line) for line in sample.read_text().splitlines()]
        self.done = asyncio.Event()

    async def handle(self, connection: ServerConnection) -> None:
        answers, unasked = self._split()
        async for data in connection:
            frame = self.law.judge(data)
            if frame is None or frame["method"] == "initialized":
                continue
            method, params = frame["method"], frame["params"]
            key = (method, params.get("threadId"))
            queue = answers.get(key, []) or [_unrecorded(method)]
            answer = queue.pop(0) if len(queue) > 1 else queue[0]
            if method == "initialize":
                answer = {"result": {**answer["result"], "codexHome": str(self.home)}}
            await connection.send(json.dumps({**answer, "id": frame["id"]}))
            if method == "initialize":
                for event in unasked:
                    await connection.send(json.dumps(event))
                self.done.set()

    def _split(self) -> tuple[dict[tuple[str, str | None], list[dict[str, Any]]], list[Any]]:
        asked: dict[object, tuple[str, str | None]] = {}
        answers: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
        unasked: list[Any] = []
        for record in self.frames:
            message = record["msg"]
            if record["dir"] == ">":
                if "id" in message and "method" in message:
                    params = message.get("params") or {}
                    asked[message["id"]] = (message["method"], params.get("threadId"))
            elif "method" in message:
                unasked.append(message)
            elif message.get("id") in asked:
                answer = {k: v for k, v in message.items() if k in ("result", "error")}
                answers.setdefault(asked[message["id"]], []).append(answer)
        return answers, unasked
