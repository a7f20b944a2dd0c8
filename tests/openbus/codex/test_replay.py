"""Recorded connections of real Codex, played back to the real client over a real socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openbus.codex.worker import CodexSource
from tests.openbus.codex.conftest import Running
from tests.openbus.codex.fake_server import Replay
from tests.openbus.codex.world import FIXTURES, Machine, idle_rows, now_ms, until, view

SAMPLES = [
    path
    for path in sorted(FIXTURES.glob("*/*.jsonl"))
    if '"method": "initialize"' in path.read_text()[:400] and "handshake_errors" not in path.name
]


def server(source: CodexSource) -> dict[str, Any]:
    found: dict[str, Any] = source.report(now_ms()).detail["servers"][0]
    return found


def loaded_thread(replay: Replay) -> str | None:
    """A thread that the recording lists as loaded and reads, when there is one."""
    loaded = [
        thread
        for frame in replay.frames
        for thread in frame["msg"].get("result", {}).get("data", [])
        if isinstance(thread, str)
    ]
    read = {
        frame["msg"]["params"]["threadId"]
        for frame in replay.frames
        if frame["msg"].get("method") == "thread/read" and frame["dir"] == ">"
    }
    return next((thread for thread in loaded if thread in read), None)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: f"{p.parent.name}-{p.stem[:32]}")
async def test_a_recorded_connection_is_followed_without_an_answer(
    path: Path, home: Path, machine: Machine, running: Running
) -> None:
    replay = Replay(home, path)
    machine.target = lambda: replay.target
    await replay.start()
    try:
        source = running()
        thread = loaded_thread(replay)
        shown = view(1, rows=idle_rows(thread))
        source.observe([shown], now_ms())
        await until(lambda: server(source)["connected"], "connected")
        await until(lambda: server(source)["requests"].get("thread/list"), "asked")
        assert server(source)["version"] == path.parent.name
        requests = sum(
            frame["dir"] == "<" and {"id", "method"} <= set(frame["msg"]) for frame in replay.frames
        )
        await until(
            lambda: server(source)["dropped"].get("server_request", 0) == requests, "dropped"
        )
        assert server(source)["health"] in ("ok", "unsupported_method")
        assert server(source)["drift"] == []
    finally:
        await replay.stop()
    replay.assert_lawful()
