"""Every kind of damage has its health value, and none reaches a pane.

The source runs against a fake server or a socket of another kind; what it was shown of panes stays
what it was, and its evidence never says more than it did before.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from openbus.codex import client, link
from openbus.codex.worker import CodexSource
from openbus.evidence import SourceReport
from tests.openbus.codex.conftest import Running
from tests.openbus.codex.fake_server import FakeCodex
from tests.openbus.codex.world import A, B, Machine, idle_rows, now_ms, until, view

PANE = view(1, rows=idle_rows(A))


def server(source: CodexSource) -> dict[str, Any]:
    found: dict[str, Any] = source.report(now_ms()).detail["servers"][0]
    return found


def verdict(source: CodexSource) -> str:
    found = source.evidence(PANE.pane.key, now_ms())
    return "none" if found is None else found.binding.verdict


def bound(source: CodexSource) -> Callable[[], bool]:
    return lambda: verdict(source) == "bound"


async def ends_as(source: CodexSource, health: str, reason: str) -> SourceReport:
    """Wait for this health; the pane must not be bound then."""
    source.observe([PANE], now_ms())
    found = lambda: (server(source)["health"], server(source)["reason"])  # noqa: E731
    await until(lambda: found() == (health, reason), f"{health}/{reason}, is {found()}")
    assert verdict(source) in ("none", "stale")
    return source.report(now_ms())


# --- the socket file


async def test_a_missing_socket_is_unavailable(running: Running) -> None:
    await ends_as(running(), "unavailable", "missing")


async def test_a_dangling_link_is_unavailable(running: Running, fake: FakeCodex) -> None:
    await fake.start()
    target = fake.target
    await fake.stop(leave_files=True)
    assert target is not None
    target.unlink()
    await ends_as(running(), "unavailable", "dangling")


async def test_a_socket_of_another_user_is_unavailable(
    running: Running, fake: FakeCodex, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fake.start()
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    await ends_as(running(), "unavailable", "not_ours")
    assert fake.opened == 0


async def test_a_socket_that_others_may_open_is_unavailable(
    running: Running, fake: FakeCodex
) -> None:
    await fake.start()
    assert fake.target is not None
    fake.target.chmod(0o666)
    await ends_as(running(), "unavailable", "mode")
    assert fake.opened == 0


async def test_a_stale_socket_file_is_unavailable(running: Running, fake: FakeCodex) -> None:
    await fake.start()
    await fake.stop(leave_files=True)
    await ends_as(running(), "unavailable", "refused")


async def test_a_regular_file_is_unavailable(running: Running, fake: FakeCodex) -> None:
    await fake.start()
    await fake.stop(leave_files=True)
    assert fake.target is not None
    fake.target.unlink()
    fake.target.touch(mode=0o600)
    await ends_as(running(), "unavailable", "not_a_socket")


async def test_a_home_that_does_not_exist_is_unavailable(
    running: Running, home: Path, machine: Machine
) -> None:
    os.rmdir(home)
    await ends_as(running(), "unavailable", "missing")


# --- the peer


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


@pytest.fixture
async def raw(home: Path, machine: Machine) -> AsyncIterator[Callable[[Handler], Any]]:
    """Bind anything that is not the fake server at the server's place."""
    opened: list[asyncio.Server] = []

    async def start(handler: Handler) -> None:
        target = home / "raw.sock"
        server = await asyncio.start_unix_server(handler, str(target))
        target.chmod(0o600)
        (home / "app-server-control").mkdir(mode=0o700)
        (home / "app-server-control" / "app-server-control.sock").symlink_to(target)
        machine.target = lambda: target
        opened.append(server)

    yield start
    for server in opened:
        server.close()


async def test_a_peer_that_speaks_no_websocket_is_unavailable(
    raw: Callable[[Handler], Any], running: Running
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n\r\n")
        await writer.drain()
        writer.close()

    await raw(talk)
    await ends_as(running(), "unavailable", "not_websocket")


async def test_a_peer_that_refuses_by_http_is_unavailable(
    raw: Callable[[Handler], Any], running: Running
) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    await raw(refuse)
    await ends_as(running(), "unavailable", "not_websocket")


async def test_a_peer_that_says_nothing_times_out(
    raw: Callable[[Handler], Any], running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "OPEN_TIMEOUT", 0.2)

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    await raw(hang)
    await ends_as(running(), "timeout", "handshake_timeout")


async def test_a_listener_that_never_accepts_times_out(
    home: Path, running: Running, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "OPEN_TIMEOUT", 0.2)
    target = home / "raw.sock"
    (home / "app-server-control").mkdir(mode=0o700)
    (home / "app-server-control" / "app-server-control.sock").symlink_to(target)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(target))
        target.chmod(0o600)
        listener.listen(1)
        machine.target = lambda: target
        await ends_as(running(), "timeout", "handshake_timeout")


async def test_a_server_for_another_home_is_unavailable(
    running: Running, fake: FakeCodex, tmp_path: Path
) -> None:
    fake.greeting = {"codexHome": str(tmp_path / "other")}
    await fake.start()
    await ends_as(running(), "unavailable", "other_home")


async def test_a_server_that_is_not_the_daemon_of_the_pid_file_is_unavailable(
    running: Running, fake: FakeCodex, home: Path
) -> None:
    (home / "app-server-daemon").mkdir(mode=0o700)
    (home / "app-server-daemon" / "daemon.pid").write_text('{"pid":1}')
    await fake.start()
    await ends_as(running(), "unavailable", "other_process")


# --- what it says


async def test_a_server_that_hangs_after_the_handshake_times_out(
    running: Running, fake: FakeCodex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "REQUEST_TIMEOUT", 0.1)
    monkeypatch.setattr(link, "TIMEOUTS", 2)
    fake.add(A)
    fake.hang = {"thread/loaded/list", "thread/list", "thread/read"}
    await fake.start()
    await ends_as(running(), "timeout", "requests")


async def test_a_server_that_does_not_answer_the_greeting_times_out(
    running: Running, fake: FakeCodex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "REQUEST_TIMEOUT", 0.1)
    fake.hang = {"initialize"}
    await fake.start()
    await ends_as(running(), "timeout", "handshake_timeout")


@pytest.mark.parametrize(
    "garbage", ["no json", "[]", '{"method":7}', '{"id":1', '"' + "x" * 100_000 + '"']
)
async def test_garbage_is_schema_drift_and_the_rest_goes_on(
    running: Running, fake: FakeCodex, garbage: str
) -> None:
    fake.add(A)
    fake.before_answer = [garbage]
    await fake.start()
    source = running()
    source.observe([PANE], now_ms())
    await until(bound(source), "bound in spite of garbage")
    assert server(source)["health"] == "schema_drift"


async def test_a_frame_of_20_megabytes_ends_the_connection_as_truncated(
    running: Running, fake: FakeCodex
) -> None:
    fake.add(A)
    fake.results["thread/loaded/list"] = lambda params: {"data": [], "x": "y" * 20_000_000}
    await fake.start()
    await ends_as(running(), "truncated", "frame_too_big")


async def test_a_large_preview_below_the_limit_is_skipped(
    running: Running, fake: FakeCodex
) -> None:
    fake.add(A, preview="secret " * 700_000)
    await fake.start()
    source = running()
    source.observe([PANE], now_ms())
    await until(bound(source), "bound")
    assert server(source)["health"] == "ok"
    assert "secret" not in repr(source.evidence(PANE.pane.key, now_ms()))


async def test_unknown_methods_are_unsupported_and_not_repeated(
    running: Running, fake: FakeCodex
) -> None:
    fake.add(A)
    message = "Invalid request: unknown variant `thread/list`, expected one of `initialize`"
    fake.errors["thread/list"] = {"code": -32600, "message": message}
    await fake.start()
    source = running()
    source.observe([PANE], now_ms())
    await until(bound(source), "bound by the other reads")
    await until(lambda: server(source)["health"] == "unsupported_method", "unsupported")
    assert [method for method, _ in fake.law.requests].count("thread/list") == 1


@pytest.mark.parametrize(
    "status",
    [{"type": "pondering"}, {"type": "active", "activeFlags": ["waitingOnTheMoon"]}],
)
async def test_unknown_enum_values_stay_unknown(
    running: Running, fake: FakeCodex, status: dict[str, Any]
) -> None:
    fake.add(A, status=status)
    await fake.start()
    source = running()
    source.observe([PANE], now_ms())
    await until(bound(source), "bound")
    found = source.evidence(PANE.pane.key, now_ms())
    assert found is not None and found.snapshot is not None
    assert found.snapshot.native_status.activity == "unknown"
    assert not found.snapshot.native_status.waiting
    assert server(source)["health"] == "unknown_variant"
    await until(lambda: row(source)["comparison"] == "not_comparable", "not compared")


def row(source: CodexSource) -> dict[str, Any]:
    found: dict[str, Any] = source.report(now_ms()).detail["bindings"][0]
    return found


async def test_answers_to_other_ids_and_repeated_answers_change_nothing(
    running: Running, fake: FakeCodex
) -> None:
    fake.add(A)
    fake.before_answer = [
        json.dumps({"id": number, "result": {"thread": {"id": B, "status": {"type": "active"}}}})
        for number in (0, 999_999)
    ]
    fake.answers_twice = True
    await fake.start()
    source = running()
    source.observe([PANE], now_ms())
    await until(bound(source), "bound")
    found = source.evidence(PANE.pane.key, now_ms())
    assert found is not None and found.snapshot is not None
    assert found.snapshot.thread == A and found.snapshot.native_status.activity == "idle"
    assert server(source)["dropped"]["late"] > 0


async def test_late_answers_are_dropped(
    running: Running, fake: FakeCodex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "REQUEST_TIMEOUT", 0.1)
    fake.add(A)
    fake.delay["thread/list"] = 0.15
    await fake.start()
    source = running()
    source.observe([PANE], now_ms())
    await until(lambda: server(source)["dropped"].get("late"), "the late answer is counted")
    await until(bound(source), "bound by the other reads")
    assert server(source)["health"] == "timeout"


async def test_a_server_replaced_under_us_is_another_generation(
    running: Running, fake: FakeCodex
) -> None:
    fake.add(A)
    await fake.start()
    source = running()
    source.observe([PANE], now_ms())
    await until(bound(source), "bound")
    before = source.evidence(PANE.pane.key, now_ms())
    fake.threads, fake.loaded = {}, []
    fake.add(B)
    await fake.restart()
    await until(lambda: server(source)["connections"] == 2, "connected again")
    await until(lambda: server(source)["loaded"] == 1, "the new inventory")
    await until(lambda: verdict(source) == "none", "the old thread is forgotten")
    assert before is not None and before.snapshot is not None
    generation = before.snapshot.generation
    source.observe([view(1, rows=idle_rows(B))], now_ms())
    await until(bound(source), "bound to the new thread")
    after = source.evidence(PANE.pane.key, now_ms())
    assert after is not None and after.snapshot is not None
    assert after.snapshot.generation != generation


async def test_a_server_that_dies_leaves_the_binding_stale(
    running: Running, fake: FakeCodex
) -> None:
    fake.add(A)
    await fake.start()
    source = running()
    source.observe([PANE], now_ms())
    await until(bound(source), "bound")
    await fake.stop()
    await until(lambda: verdict(source) == "stale", "stale")
    assert server(source)["health"] == "unavailable"


async def test_a_flood_of_events_ends_the_connection(running: Running, fake: FakeCodex) -> None:
    fake.add(A)
    await fake.start()
    source = running()
    source.observe([PANE], now_ms())
    await until(bound(source), "bound")
    for _ in range(2 * client.FLOOD_FRAMES):
        await fake.notify("thread/status/changed", {"threadId": A, "status": {"type": "idle"}})
    await until(lambda: server(source)["troubles"].get("flood"), "given up")


async def test_overload_is_unavailable_and_asks_no_faster(
    running: Running, fake: FakeCodex
) -> None:
    fake.add(A)
    error = {"code": -32001, "message": "Server overloaded; retry later."}
    fake.errors = dict.fromkeys(("thread/loaded/list", "thread/list"), error)
    await fake.start()
    source = running()
    source.observe([PANE], now_ms())
    await until(lambda: server(source)["requests"].get("thread/list"), "asked")
    await asyncio.sleep(0.3)
    assert server(source)["health"] == "unavailable"
    assert [method for method, _ in fake.law.requests].count("thread/loaded/list") == 1
