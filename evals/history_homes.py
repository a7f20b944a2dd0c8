"""Generated homes of Claude Code and Codex, in the shapes that real agents write.

Sizes and ages are what long use leaves: a few very long sessions, most of them old. The same seed
gives the same bytes, but for the times.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CLAUDE_FILES = 2_000
CODEX_FILES = 500
HOME_BYTES = 1_000_000_000
BIG_ROLLOUT_BYTES = 150_000_000
DAY_MS = 86_400_000
WORDS = [
    "the",
    "cart",
    "total",
    "rounds",
    "each",
    "line",
    "before",
    "summing",
    "and",
    "the",
    "worker",
    "waits",
    "for",
    "the",
    "webhook",
    "of",
    "the",
    "provider",
    "def",
    "return",
    "self",
    "import",
    "value",
    "path",
    "error",
    "retry",
    "cache",
    "index",
    "token",
    "stream",
    "buffer",
]


def text(rng: random.Random, size: int) -> str:
    """About `size` characters of words, line breaks and the odd quote, like tool output."""
    base = " ".join(rng.choices(WORDS, k=400)) + "\n    \"quoted\": 'é'\n"
    return (base * (size // len(base) + 1))[:size]


def stamp(ms: int) -> str:
    """Epoch milliseconds as the ISO-8601 UTC time both agents write."""
    base = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000))
    return f"{base}.{ms % 1000:03d}Z"


def dump(record: dict[str, Any]) -> bytes:
    """One compact JSON line; ccusage finds its rows by bytes and needs it compact."""
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def claude_turn(
    rng: random.Random, session: str, at: int, number: int, scale: int
) -> Iterator[bytes]:
    """One prompt, one tool call with its result, one reply: the rows Claude Code 2.1 writes."""
    row = {
        "parentUuid": f"{session}-{number}",
        "isSidechain": False,
        "userType": "external",
        "entrypoint": "cli",
        "cwd": "/home/dev/shop",
        "sessionId": session,
        "version": "2.1.197",
        "gitBranch": "main",
        "timestamp": stamp(at),
    }
    yield dump(
        row
        | {
            "type": "user",
            "message": {"role": "user", "content": f"Look at part {number}"},
            "uuid": f"{session}-u{number}",
            "origin": {"kind": "human"},
            "promptSource": "typed",
        }
    )
    for step in range(2):
        written = rng.randrange(0, 4000)
        message: dict[str, Any] = {
            "id": f"msg_{session[:8]}_{number}_{step}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "stop_reason": "tool_use" if step == 0 else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": rng.randrange(1, 50),
                "cache_creation_input_tokens": written,
                "cache_read_input_tokens": rng.randrange(10_000, 90_000),
                "cache_creation": {
                    "ephemeral_5m_input_tokens": written,
                    "ephemeral_1h_input_tokens": 0,
                },
                "output_tokens": rng.randrange(20, 900),
                "service_tier": "standard",
            },
        }
        call = f"toolu_{session[:8]}_{number}"
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text(rng, rng.randrange(80, 900))}]
        if step == 0:
            blocks.append(
                {
                    "type": "tool_use",
                    "id": call,
                    "name": "Bash",
                    "input": {"command": f"pytest tests/part_{number}.py -q", "description": "Run"},
                }
            )
        for index, block in enumerate(blocks):
            yield dump(
                row
                | {
                    "type": "assistant",
                    "message": message | {"content": [block]},
                    "requestId": f"req_{session[:8]}_{number}_{step}",
                    "uuid": f"{session}-a{number}-{step}-{index}",
                    "timestamp": stamp(at + 1000 * step + 500 + index),
                }
            )
        if step == 0:
            output = text(rng, min(40_000, int(rng.expovariate(1 / scale)) + 100))
            yield dump(
                row
                | {
                    "type": "user",
                    "message": {
                        "role": "user",
                        "content": [
                            {
                                "tool_use_id": call,
                                "type": "tool_result",
                                "content": output,
                                "is_error": False,
                            }
                        ],
                    },
                    "uuid": f"{session}-r{number}",
                    "timestamp": stamp(at + 900),
                    "toolUseResult": {"stdout": output, "stderr": "", "interrupted": False},
                }
            )


def write_claude_home(root: Path, size: int, files: int, now: int) -> None:
    """A Claude Code home: `files` transcripts in 40 projects, ages spread over 60 days."""
    rng = random.Random(7)
    for number in range(files):
        session = f"{rng.getrandbits(128):032x}"
        session = "-".join(
            (session[:8], session[8:12], session[12:16], session[16:20], session[20:])
        )
        folder = root / "projects" / f"-home-dev-shop-{number % 40}"
        folder.mkdir(parents=True, exist_ok=True)
        age = int(60 * DAY_MS * number / files)
        start = now - age - 3_600_000
        target = int(size / files * rng.uniform(0.2, 1.8))
        path = folder / f"{session}.jsonl"
        with path.open("wb") as out:
            turn = 0
            while out.tell() < target:
                for line in claude_turn(rng, session, start + turn * 20_000, turn, 6_000):
                    out.write(line)
                turn += 1
        os.utime(path, ((now - age) / 1000, (now - age) / 1000))


def codex_turn(rng: random.Random, at: int, turn: str, totals: dict[str, int]) -> Iterator[bytes]:
    """One turn of a paginated rollout: prompt, command with output, reply, two token counts."""

    def line(ms: int, kind: str, payload: dict[str, Any]) -> bytes:
        return dump({"timestamp": stamp(ms), "type": kind, "payload": payload})

    yield line(
        at,
        "event_msg",
        {
            "type": "task_started",
            "turn_id": turn,
            "started_at": at // 1000,
            "model_context_window": 258_400,
        },
    )
    yield line(
        at + 1,
        "turn_context",
        {"turn_id": turn, "cwd": "/home/dev/shop", "model": "gpt-5.5", "effort": "medium"},
    )
    yield line(at + 2, "event_msg", {"type": "user_message", "message": f"Look at {turn}"})
    call = f"call_{turn}"
    output = text(rng, min(40_000, int(rng.expovariate(1 / 8_000)) + 100))
    arguments = json.dumps({"cmd": "pytest -q", "yield_time_ms": 1000})
    yield line(
        at + 5,
        "response_item",
        {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call},
    )
    yield line(
        at + 900,
        "response_item",
        {
            "type": "function_call_output",
            "call_id": call,
            "output": f"Process exited with code 0\n{output}",
        },
    )
    last = {
        "input_tokens": rng.randrange(20_000, 90_000),
        "cached_input_tokens": rng.randrange(0, 19_000),
        "output_tokens": rng.randrange(20, 900),
        "reasoning_output_tokens": rng.randrange(0, 20),
    }
    last["total_tokens"] = last["input_tokens"] + last["output_tokens"]
    for name, value in last.items():
        totals[name] = totals.get(name, 0) + value
    reply = text(rng, rng.randrange(80, 900))
    yield line(at + 950, "event_msg", {"type": "agent_message", "message": reply})
    yield line(
        at + 951,
        "response_item",
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": reply}],
        },
    )
    for _ in range(2):
        yield line(
            at + 952,
            "event_msg",
            {
                "type": "token_count",
                "info": {
                    "total_token_usage": dict(totals),
                    "last_token_usage": last,
                    "model_context_window": 258_400,
                },
                "rate_limits": None,
            },
        )
    yield line(
        at + 960,
        "event_msg",
        {
            "type": "task_complete",
            "turn_id": turn,
            "last_agent_message": reply[:200],
            "completed_at": at // 1000 + 1,
            "duration_ms": 960,
        },
    )


def write_codex_home(root: Path, size: int, files: int, big: int, now: int) -> None:
    """A Codex home: `files` rollouts spread over 60 days, the newest one `big` bytes long."""
    rng = random.Random(11)
    for number in range(files):
        age = int(60 * DAY_MS * number / files)
        start = now - age - 3_600_000
        thread = f"01a2{number:04x}-{rng.getrandbits(16):04x}-7000-8000-{rng.getrandbits(48):012x}"
        day = time.strftime("%Y/%m/%d", time.gmtime(start // 1000))
        folder = root / "sessions" / day
        folder.mkdir(parents=True, exist_ok=True)
        name = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime(start // 1000))
        path = folder / f"rollout-{name}-{thread}.jsonl"
        target = big if number == 0 else int((size - big) / (files - 1) * rng.uniform(0.2, 1.8))
        totals: dict[str, int] = {}
        with path.open("wb") as out:
            out.write(
                dump(
                    {
                        "timestamp": stamp(start),
                        "type": "session_meta",
                        "payload": {
                            "id": thread,
                            "timestamp": stamp(start),
                            "cwd": "/home/dev/shop",
                            "originator": "codex-tui",
                            "cli_version": "0.128.0",
                            "source": "cli",
                            "model_provider": "openai",
                        },
                    }
                )
            )
            turn = 0
            while out.tell() < target:
                for line in codex_turn(rng, start + turn * 1_000, f"{thread}-{turn}", totals):
                    out.write(line)
                turn += 1
        os.utime(path, ((now - age) / 1000, (now - age) / 1000))
