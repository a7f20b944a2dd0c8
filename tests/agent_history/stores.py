"""Small stores written row by row, in the shapes that real agents write (see `fixtures/`)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from agent_history.claude.reader import ClaudeCode
from agent_history.codex.reader import Codex
from agent_history.homes import Homes, homes_of
from agent_history.options import Options
from agent_history.records import Detail, Session
from agent_history.registry import Monitor

FIXTURES = Path(__file__).parent / "fixtures"
NOW = 1_796_074_800_000
"""2026-11-30T21:40:00Z, a few minutes after the last record of the fixtures."""
MINUTE = 60_000
SESSION = "0f0f0f0f-1111-2222-3333-444444444444"
THREAD = "01a22e46-5e42-7772-9f82-5d1a64a30b5b"
MODEL = "claude-sonnet-4-5-20250929"


def stamp(ms: int) -> str:
    """Epoch milliseconds as agents write them."""
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"


def line(row: dict[str, Any]) -> bytes:
    """One compact JSON line."""
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def fixture_home(name: str, into: Path) -> Homes:
    """A copy of a recorded home, so that nothing can touch the fixture."""
    shutil.copytree(FIXTURES / name, into, dirs_exist_ok=True)
    return homes_of({}, str(into), proc=str(into / "no-proc"))


class Claude:
    """A Claude Code home below a folder."""

    def __init__(self, root: Path, project: str = "-home-dev-shop") -> None:
        self.root = root
        self.home = root / ".claude"
        self.project = self.home / "projects" / project
        self.project.mkdir(parents=True, exist_ok=True)
        self.proc = root / "proc"
        self.proc.mkdir(exist_ok=True)
        self.reader: ClaudeCode | None = None

    def path(self, session: str = SESSION) -> Path:
        return self.project / f"{session}.jsonl"

    def write(self, *rows: dict[str, Any], session: str = SESSION) -> Path:
        """Append rows to a transcript."""
        with self.path(session).open("ab") as file:
            for row in rows:
                file.write(line(row))
        return self.path(session)

    def agent(
        self, agent: str, *rows: dict[str, Any], flat: bool = False, description: str = ""
    ) -> Path:
        """Append rows to a subagent's transcript, in either layout."""
        folder = self.project if flat else self.project / SESSION / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"agent-{agent}.jsonl"
        with path.open("ab") as file:
            for row in rows:
                file.write(line({**row, "isSidechain": True, "agentId": agent}))
        if description:
            meta = {"agentType": "general-purpose", "description": description}
            path.with_suffix("").with_suffix(".meta.json").write_text(json.dumps(meta))
        return path

    def live(self, pid: int = 4242, start: int = 1000, **fields: Any) -> None:
        """A registry record and its process."""
        folder = self.home / "sessions"
        folder.mkdir(exist_ok=True)
        record = {"pid": pid, "sessionId": SESSION, "procStart": "1000", **fields}
        (folder / f"{pid}.json").write_text(json.dumps(record))
        self.process(pid, start)

    def process(self, pid: int, start: int) -> None:
        """A process in the fake process table; its name holds a blank and a bracket."""
        (self.proc / str(pid)).mkdir(parents=True, exist_ok=True)
        fields = ["S", *("0" for _ in range(18)), str(start), "0"]
        (self.proc / str(pid) / "stat").write_text(f"{pid} (claude) x) " + " ".join(fields))

    def app(self, **fields: Any) -> None:
        """The desktop app's record of the session."""
        folder = self.root / ".config/Claude/claude-code-sessions/acct/space"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "local_1.json").write_text(json.dumps({"cliSessionId": SESSION, **fields}))

    def homes(self) -> Homes:
        return homes_of({}, str(self.root), proc=str(self.proc))

    def read(self, options: Options | None = None) -> ClaudeCode:
        """The reader; the same one every time unless options are given."""
        if self.reader is None or options is not None:
            self.reader = ClaudeCode(self.homes(), options or Options(every_age=True))
        return self.reader

    def session(self, now: int = NOW, options: Options | None = None) -> Session:
        """The one session a scan lists."""
        (found,) = self.read(options).scan(now)
        return found

    def detail(self, now: int = NOW, subagent: str | None = None) -> Detail:
        """Its details."""
        session = self.session(now)
        detail = self.read().detail(session.id, now, subagent)
        assert isinstance(detail, Detail)
        return detail


def row(kind: str, at: int, **fields: Any) -> dict[str, Any]:
    """A conversation row of Claude Code."""
    return {
        "isSidechain": False, "cwd": "/home/dev/shop", "sessionId": SESSION,
        "version": "2.1.197", "gitBranch": "main", "type": kind, "timestamp": stamp(at), **fields,
    }  # fmt: skip


def prompt(text: str, at: int = NOW - MINUTE, **fields: Any) -> dict[str, Any]:
    """A typed prompt."""
    message = {"role": "user", "content": text}
    return row("user", at, message=message, origin={"kind": "human"}, **fields)


def usage(fresh: int = 10, output: int = 5, read: int = 0, write: int = 0) -> dict[str, Any]:
    """A reply's usage."""
    return {
        "input_tokens": fresh, "output_tokens": output, "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
    }  # fmt: skip


def reply(
    *blocks: dict[str, Any] | str,
    at: int = NOW - MINUTE + 1000,
    message_id: str = "m1",
    stop: str | None = "end_turn",
    used: dict[str, Any] | None = None,
    model: str = MODEL,
    **fields: Any,
) -> dict[str, Any]:
    """A reply; a text stands for a text block."""
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    message = {
        "id": message_id, "role": "assistant", "model": model, "content": content,
        "stop_reason": stop, "usage": used or usage(),
    }  # fmt: skip
    return row("assistant", at, message=message, requestId=f"req-{message_id}", **fields)


def call(name: str, call_id: str = "t1", **arguments: Any) -> dict[str, Any]:
    """A tool_use block."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def calls(
    *blocks: dict[str, Any], at: int = NOW - MINUTE + 1000, message_id: str = "m1"
) -> dict[str, Any]:
    """A reply that ends in tool calls."""
    return reply(*blocks, at=at, message_id=message_id, stop="tool_use")


def result(
    call_id: str = "t1",
    text: str = "ok",
    at: int = NOW - MINUTE + 2000,
    error: bool = False,
    structured: Any = None,
) -> dict[str, Any]:
    """A tool result row."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": error}
    message = {"role": "user", "content": [block]}
    extra = {} if structured is None else {"toolUseResult": structured}
    return row("user", at, message=message, **extra)


class Rollouts:
    """A Codex home below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / ".codex"
        self.folder = self.home / "sessions/2026/11/30"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.proc = root / "proc"
        self.reader: Codex | None = None

    def path(self, thread: str = THREAD, time: str = "2026-11-30T21-04-53") -> Path:
        return self.folder / f"rollout-{time}-{thread}.jsonl"

    def write(self, *rows: dict[str, Any], thread: str = THREAD, time: str = "") -> Path:
        """Append lines to a rollout."""
        path = self.path(thread, time) if time else self.path(thread)
        with path.open("ab") as file:
            for item in rows:
                file.write(line(item))
        return path

    def read(self, options: Options | None = None) -> Codex:
        """The reader; the same one every time unless options are given."""
        if self.reader is None or options is not None:
            homes = homes_of({}, str(self.root), proc=str(self.proc))
            self.reader = Codex(homes, options or Options(every_age=True))
        return self.reader

    def session(self, now: int = NOW, options: Options | None = None) -> Session:
        """The one thread a scan lists."""
        (found,) = self.read(options).scan(now)
        return found

    def detail(self, now: int = NOW) -> Detail:
        """Its details."""
        detail = self.read().detail(self.session(now).id, now)
        assert isinstance(detail, Detail)
        return detail


def meta(thread: str = THREAD, at: int = NOW - 2 * MINUTE, **fields: Any) -> dict[str, Any]:
    """A session_meta line."""
    payload = {
        "id": thread, "timestamp": stamp(at), "cwd": "/home/dev/shop", "cli_version": "0.171.0",
        "source": "cli", "git": {"branch": "main"}, **fields,
    }  # fmt: skip
    return {"timestamp": stamp(at), "type": "session_meta", "payload": payload}


def event(kind: str, at: int = NOW - MINUTE, **fields: Any) -> dict[str, Any]:
    """An event line."""
    return {"timestamp": stamp(at), "type": "event_msg", "payload": {"type": kind, **fields}}


def response(kind: str, at: int = NOW - MINUTE, **fields: Any) -> dict[str, Any]:
    """A response_item line."""
    return {"timestamp": stamp(at), "type": "response_item", "payload": {"type": kind, **fields}}


def item(kind: str, at: int = NOW - MINUTE, **fields: Any) -> dict[str, Any]:
    """A completed item of the paginated dialect."""
    return event("item_completed", at, item={"type": kind, **fields})


def context(model: str = "gpt-5.5", at: int = NOW - MINUTE, **fields: Any) -> dict[str, Any]:
    """A turn_context line."""
    payload = {"turn_id": "turn-1", "cwd": "/home/dev/shop", "model": model, **fields}
    return {"timestamp": stamp(at), "type": "turn_context", "payload": payload}


def counted(fresh: int, output: int, cached: int = 0, reasoning: int = 0) -> dict[str, Any]:
    """Codex's usage numbers."""
    return {
        "input_tokens": fresh, "cached_input_tokens": cached, "output_tokens": output,
        "reasoning_output_tokens": reasoning, "total_tokens": fresh + output,
    }  # fmt: skip


def tokens(
    total: dict[str, Any], last: dict[str, Any], at: int = NOW - MINUTE, limits: Any = None
) -> dict[str, Any]:
    """A token_count line."""
    info = {"total_token_usage": total, "last_token_usage": last, "model_context_window": 258_400}
    return event("token_count", at, info=info, rate_limits=limits)


def function(name: str, call_id: str = "c1", at: int = NOW - MINUTE, **arguments: Any) -> Any:
    """A function_call line."""
    return response(
        "function_call", at, name=name, call_id=call_id, arguments=json.dumps(arguments)
    )


def output(text: Any = "ok", call_id: str = "c1", at: int = NOW - MINUTE) -> dict[str, Any]:
    """A function_call_output line."""
    return response("function_call_output", at, call_id=call_id, output=text)


def monitor(root: Path, options: Options | None = None) -> Monitor:
    """All readers over one home."""
    homes = homes_of({}, str(root), proc=str(root / "proc"))
    return Monitor(homes, options or Options(every_age=True))
