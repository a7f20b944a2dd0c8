"""A model endpoint on loopback that speaks enough of the Responses API to drive Codex.

The first words of the latest user message choose the answer:

- `slow N`: N seconds of text, two pieces a second
- `shell COMMAND`: asks to run COMMAND outside the sandbox, which opens an approval dialog
- `ask`: asks the user a question (Codex accepts it in Plan mode only)
- `spawnshell`: starts a sub-agent which then asks for an approval
- `fail`: HTTP 400, the turn ends in an error
- anything else: one short sentence

After a tool result the answer is one closing sentence. Works with Codex 0.159.2 and 0.171.0.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOOL_RESULTS = ("function_call_output", "custom_tool_call_output")


def latest_request(items: list[dict[str, Any]]) -> tuple[str, bool]:
    """The latest words of a person, and whether a tool has answered since."""
    words, answered = "", False
    for item in items:
        if item.get("type") in TOOL_RESULTS:
            answered = True
        elif item.get("role") == "user":
            parts = [part.get("text", "") for part in item.get("content", [])]
            text = " ".join(parts).strip()
            if text and not text.startswith(("<", "# AGENTS")):
                words, answered = text, False
    return words, answered


class _Reply:
    """One streamed answer."""

    def __init__(self, handler: _Handler, number: int) -> None:
        self._handler = handler
        self._number = number
        self._items: list[dict[str, Any]] = []

    def __enter__(self) -> _Reply:
        self._handler.begin_stream()
        self._event("response.created", response=self._summary("in_progress"))
        return self

    def __exit__(self, *failure: object) -> None:
        if failure[0] is None:
            self._event("response.completed", response=self._summary("completed"))
            self._handler.end_stream()

    def _summary(self, status: str) -> dict[str, Any]:
        summary: dict[str, Any] = {
            "id": f"resp_{self._number}",
            "object": "response",
            "status": status,
            "output": self._items,
        }
        if status == "completed":
            summary["usage"] = {
                "input_tokens": 10,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 15,
            }
        return summary

    def _event(self, kind: str, **fields: Any) -> None:
        body = json.dumps({"type": kind, **fields})
        self._handler.write_chunk(f"event: {kind}\ndata: {body}\n\n")

    def _item(self, opening: dict[str, Any], closing: dict[str, Any]) -> None:
        self._event("response.output_item.added", output_index=len(self._items), item=opening)
        self._event("response.output_item.done", output_index=len(self._items), item=closing)
        self._items.append(closing)

    def say(self, pieces: list[str], pause: float = 0.0) -> None:
        base = {"type": "message", "id": f"msg_{self._number}", "role": "assistant"}
        index = len(self._items)
        opening = {**base, "status": "in_progress", "content": []}
        self._event("response.output_item.added", output_index=index, item=opening)
        for piece in pieces:
            time.sleep(pause)
            self._event(
                "response.output_text.delta",
                item_id=base["id"],
                output_index=index,
                content_index=0,
                delta=piece,
            )
        content = [{"type": "output_text", "text": "".join(pieces), "annotations": []}]
        closing = {**base, "status": "completed", "content": content}
        self._event("response.output_item.done", output_index=index, item=closing)
        self._items.append(closing)

    def call(self, tool: str, arguments: dict[str, Any], namespace: str | None = None) -> None:
        item: dict[str, Any] = {
            "type": "function_call",
            "id": f"fc_{self._number}",
            "call_id": f"call_{self._number}",
            "name": tool,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        if namespace is not None:
            item["namespace"] = namespace
        self._item({**item, "arguments": "", "status": "in_progress"}, item)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeResponses

    def log_message(self, format: str, *args: object) -> None:
        """Silent: the test reads `FakeResponses.requests`."""

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def write_chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _json(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self._json(200, {"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)) or b"{}")
        words, answered = latest_request(body.get("input") or [])
        self.server.requests.append(
            {
                "user_agent": self.headers.get("user-agent", ""),
                "originator": self.headers.get("originator", ""),
                "words": words,
            }
        )
        if words.startswith("fail"):
            self._json(400, {"error": {"message": "the fake model refuses", "type": "error"}})
            return
        try:
            with _Reply(self, next(self.server.numbers)) as reply:
                self._answer(reply, body, words, answered)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the agent interrupted the turn

    def _answer(self, reply: _Reply, body: dict[str, Any], words: str, answered: bool) -> None:
        verb, _, rest = words.partition(" ")
        tools = body.get("tools") or []
        spawner = next((t["name"] for t in tools if _can_spawn(t)), None)
        asked = any(item.get("name") == "exec_command" for item in body.get("input") or [])
        if verb == "spawnshell" and spawner is None and not asked:
            reply.call("exec_command", _escalated("touch child-file"))
        elif answered:
            reply.say(["The tool has finished."])
        elif verb == "slow":
            reply.say([f"piece {i} " for i in range(2 * int(rest.split()[0]))], pause=0.5)
        elif verb == "shell":
            reply.call("exec_command", _escalated(rest))
        elif verb == "spawnshell":
            task = {"message": "spawnshell in the child", "task_name": "child_one"}
            reply.call("spawn_agent", task, spawner)
        elif verb == "ask":
            options = [
                {"label": "Red", "description": "warm"},
                {"label": "Blue", "description": "cold"},
            ]
            question = {
                "id": "color",
                "header": "Color",
                "question": "Which color should it be?",
                "options": options,
            }
            reply.call("request_user_input", {"questions": [question]})
        else:
            reply.say([f"You said: {words[:40]}"])


def _can_spawn(tool: dict[str, Any]) -> bool:
    return tool.get("type") == "namespace" and any(
        inner.get("name") == "spawn_agent" for inner in tool.get("tools", [])
    )


def _escalated(command: str) -> dict[str, Any]:
    return {
        "cmd": command,
        "sandbox_permissions": "require_escalated",
        "justification": "May this test command run?",
        "yield_time_ms": 1000,
    }


class FakeResponses(ThreadingHTTPServer):
    """Listens on a free loopback port; `requests` records who asked (headers, first words)."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, str]] = []
        self.numbers = itertools.count(1)
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def __enter__(self) -> FakeResponses:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()
