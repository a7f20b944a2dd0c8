"""Whatever the bytes: no exception, and the totals of a clean read once all bytes are there."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_history.claude.fold import ClaudeFold
from agent_history.claude.rows import Row as ClaudeRow
from agent_history.codex.fold import CodexFold
from agent_history.codex.rows import Row as CodexRow
from agent_history.kinds import kind_of_command
from agent_history.options import Options
from agent_history.reading.decode import Counts, LineDecoder
from agent_history.reading.files import BLOCK, Lines
from agent_history.records import Session
from agent_history.redact import EXCERPT, excerpt
from tests.agent_history.stores import (
    NOW,
    Claude,
    Rollouts,
    call,
    calls,
    context,
    counted,
    event,
    function,
    line,
    meta,
    monitor,
    output,
    prompt,
    reply,
    result,
    tokens,
    usage,
)

STEPS = [{"step": "Bump", "status": "completed"}]


def claude_bytes() -> bytes:
    todo = [{"content": "Bump", "status": "in_progress"}]
    rows = [
        prompt("gö"), calls(call("TodoWrite", todos=todo)), result(),
        reply("done \u2028 ✓", message_id="m2", used=usage(20, 7, 5, 3)),
    ]  # fmt: skip
    return b"".join(map(line, rows))


def codex_bytes() -> bytes:
    one, two = counted(100, 10), counted(300, 30)
    rows = [
        meta(), context(), event("task_started", turn_id="turn-1"), tokens(one, one),
        function("update_plan", plan=STEPS), output(), tokens(two, counted(200, 20)),
        event("task_complete", turn_id="turn-1", last_agent_message="dønè"),
    ]  # fmt: skip
    return b"".join(map(line, rows))


def stores(root: Path) -> tuple[Path, Path]:
    return Claude(root).path(), Rollouts(root).path()


def scanned(root: Path) -> list[Session]:
    found = monitor(root).scan(NOW)
    assert found.errors == {}
    return found.sessions


@pytest.mark.parametrize("part", range(8))
def test_cut_at_every_byte(tmp_path: Path, part: int) -> None:
    claude, codex = stores(tmp_path)
    one, two = claude_bytes(), codex_bytes()
    claude.write_bytes(one)
    codex.write_bytes(two)
    clean = scanned(tmp_path)
    following = monitor(tmp_path)
    for place in range(part, max(len(one), len(two)), 8):
        claude.write_bytes(one[:place])
        codex.write_bytes(two[:place])
        scanned(tmp_path)
        assert following.scan(NOW).errors == {}
    claude.write_bytes(one)
    codex.write_bytes(two)
    assert scanned(tmp_path) == clean
    assert following.scan(NOW).sessions == clean


@pytest.mark.parametrize("seed", range(20))
def test_written_in_any_pieces_while_it_is_followed(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    paths, wholes = stores(tmp_path), (claude_bytes() * 3, codex_bytes())
    following = monitor(tmp_path)
    places = [0, 0]
    while places[0] < len(wholes[0]) or places[1] < len(wholes[1]):
        which = rng.randrange(2)
        step = rng.randrange(1, 400)
        with paths[which].open("ab") as file:
            file.write(wholes[which][places[which] : places[which] + step])
        places[which] += step
        if rng.random() < 0.4:
            assert following.scan(NOW).errors == {}
    assert following.scan(NOW).sessions == scanned(tmp_path)


@pytest.mark.parametrize("seed", range(20))
def test_garbage_between_the_lines_changes_no_number(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    claude, codex = stores(tmp_path)
    claude.write_bytes(claude_bytes())
    codex.write_bytes(codex_bytes())
    clean = [(session.tokens, session.plan, session.prompts) for session in scanned(tmp_path)]

    def soiled(data: bytes) -> bytes:
        out = []
        for text in data.splitlines(keepends=True):
            for _ in range(rng.randrange(4)):
                junk = rng.randbytes(rng.randrange(200)).replace(b"\n", b"")
                out.append(
                    rng.choice([junk, b"null", b"[1]", b'{"type":', b"{}", b"\xff\xfe"]) + b"\n"
                )
            out.append(text)
        return b"".join(out)

    claude.write_bytes(soiled(claude_bytes()))
    codex.write_bytes(soiled(codex_bytes()))
    soiled_now = [(session.tokens, session.plan, session.prompts) for session in scanned(tmp_path)]
    assert soiled_now == clean


@pytest.mark.parametrize("seed", range(30))
def test_random_bytes_flipped_anywhere_raise_nothing(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for path, data in zip(stores(tmp_path), (claude_bytes(), codex_bytes()), strict=True):
        broken = bytearray(data)
        for _ in range(rng.randrange(1, 60)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        path.write_bytes(bytes(broken))
    everything = monitor(tmp_path)
    found = everything.scan(NOW)
    assert found.errors == {}
    for session in found.sessions:
        everything.detail(session.id, NOW)


# fmt: off
NAMES = st.sampled_from([
    "type", "message", "content", "role", "id", "usage", "input_tokens", "output_tokens",
    "model", "stop_reason", "timestamp", "toolUseResult", "isSidechain", "name", "input",
    "tool_use_id", "payload", "info", "total_token_usage", "item", "changes", "arguments",
    "call_id", "output", "rate_limits", "source", "git", "structuredPatch", "filePath", "lines",
    "plan", "todos", "attachment", "shape", "tools", "compactMetadata", "error",
    "last_agent_message", "cwd", "questions",
])
# fmt: on
# fmt: off
KINDS = st.sampled_from([
    "assistant", "user", "system", "attachment", "event_msg", "response_item", "session_meta",
    "turn_context", "token_count", "item_completed", "function_call", "function_call_output",
    "compacted",
])
# fmt: on
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=24,
)


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(NAMES, JSON), KINDS, KINDS)
def test_json_of_any_shape_is_taken(value: dict[str, Any], kind: str, inner: str) -> None:
    row = {**value, "type": kind}
    if isinstance(row.get("payload"), dict):
        row["payload"] = {**row["payload"], "type": inner}
    data = line(row) if _encodes(row) else b"{}\n"
    counts = Counts()
    for fold, shape in ((ClaudeFold(Options()), ClaudeRow), (CodexFold(Options()), CodexRow)):
        decoder: LineDecoder[Any] = LineDecoder(shape)
        for parsed in decoder.rows(data, counts):
            fold.feed(parsed)
        fold.latest_excerpt()


def _encodes(row: dict[str, Any]) -> bool:
    try:
        line(row)
    except UnicodeEncodeError:
        return False
    return True


@given(st.binary(max_size=400), st.integers(1, 50))
def test_chunks_never_change_the_lines(data: bytes, size: int) -> None:
    lines = Lines(Counts(), skipping=False)
    out = b"".join(lines.feed(data[i : i + size]) for i in range(0, len(data), size))
    assert out == data[: data.rfind(b"\n") + 1]
    assert BLOCK > 0


@given(st.text())
def test_any_command_has_a_kind(command: str) -> None:
    assert kind_of_command(command) in ("read", "search", "delete", "move", "execute")


@given(st.text())
def test_any_text_has_an_excerpt(text: str) -> None:
    assert len(excerpt(text)) <= EXCERPT and "\n" not in excerpt(text)


def test_a_transcript_replaced_while_it_is_followed(tmp_path: Path) -> None:
    claude, _ = stores(tmp_path)
    claude.write_bytes(claude_bytes())
    following = monitor(tmp_path)
    following.scan(NOW)
    claude.with_suffix(".new").write_bytes(line(prompt("other")) + line(reply("x")))
    os.replace(claude.with_suffix(".new"), claude)
    (session,) = following.scan(NOW).sessions
    assert session.title == "other" and session.tokens is not None and session.tokens.input == 10
