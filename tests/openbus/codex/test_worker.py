"""A binding lives as long as the pane, its process, its program and its server do."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from openbus.codex import link
from openbus.codex.worker import CodexSource
from tests.openbus.codex.conftest import Running
from tests.openbus.codex.fake_server import FakeCodex
from tests.openbus.codex.world import (
    DIALOG_ROWS,
    A,
    B,
    Machine,
    idle_rows,
    now_ms,
    source,
    until,
    view,
)

SHOWN = view(1, rows=idle_rows(A))


def verdict(given: CodexSource, key: str = SHOWN.pane.key) -> str | None:
    found = given.evidence(key, now_ms())
    return None if found is None else found.binding.verdict


async def bound(running: Running, fake: FakeCodex) -> CodexSource:
    fake.add(A)
    fake.add(B)
    await fake.start()
    given = running()
    given.observe([SHOWN], now_ms())
    await until(lambda: verdict(given) == "bound", "bound")
    return given


async def test_a_pane_that_is_gone_has_no_evidence(running: Running, fake: FakeCodex) -> None:
    given = await bound(running, fake)
    given.observe([], now_ms())
    assert given.evidence(SHOWN.pane.key, now_ms()) is None


async def test_another_program_in_the_foreground_ends_the_binding(
    running: Running, fake: FakeCodex
) -> None:
    given = await bound(running, fake)
    given.observe([msgspec.structs.replace(SHOWN, program="shell")], now_ms())
    assert given.evidence(SHOWN.pane.key, now_ms()) is None


async def test_a_suspended_codex_ends_the_binding(running: Running, fake: FakeCodex) -> None:
    given = await bound(running, fake)
    behind = tuple(msgspec.structs.replace(p, foreground=False) for p in SHOWN.processes)
    given.observe([msgspec.structs.replace(SHOWN, processes=behind)], now_ms())
    await until(lambda: verdict(given) == "none", "none")


async def test_a_restarted_codex_behind_a_dialog_is_not_held(
    running: Running, fake: FakeCodex, machine: Machine
) -> None:
    given = await bound(running, fake)
    covered = view(1, rows=DIALOG_ROWS, dialog=True)
    given.observe([covered], now_ms())

    def held() -> bool:
        found = given.evidence(SHOWN.pane.key, now_ms())
        return found is not None and found.binding.held

    await until(held, "held")
    machine.place(1, pid=1002, ticks=9999)
    given.observe([view(1, rows=DIALOG_ROWS, dialog=True, pid=1002)], now_ms())
    await until(lambda: verdict(given) != "bound", "the new process has proved nothing")


async def test_an_embedded_tui_needs_no_server(running: Running, machine: Machine) -> None:
    machine.place(1, embedded=(A,), sockets=frozenset())
    given = running()
    given.observe([view(1)], now_ms())
    await until(lambda: verdict(given) == "bound", "bound by open files")
    found = given.evidence(SHOWN.pane.key, now_ms())
    assert found is not None and found.binding.thread == A and found.snapshot is None


async def test_a_home_outside_the_opt_in_is_not_bound(running: Running, machine: Machine) -> None:
    machine.place(1, home="/home/dev/other", embedded=(A,), sockets=frozenset())
    given = running()
    given.observe([view(1)], now_ms())
    await asyncio.sleep(0.2)
    found = given.evidence(SHOWN.pane.key, now_ms())
    assert found is not None and found.binding.how == "its home is not in the opt-in"


async def test_a_tui_of_another_home_does_not_open_the_door(
    running: Running, fake: FakeCodex, machine: Machine
) -> None:
    machine.place(1, home="/home/dev/other")
    await fake.start()
    given = running()
    given.observe([view(1)], now_ms())
    await asyncio.sleep(0.3)
    assert fake.opened == 0
    assert given.report(now_ms()).detail["other_servers"] == 1


async def test_a_tui_that_has_only_just_connected_gets_a_head_start(
    running: Running, fake: FakeCodex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "HEAD_START", 600)
    fake.add(A)
    await fake.start()
    given = running()
    given.observe([SHOWN], now_ms())
    await asyncio.sleep(0.3)
    assert fake.opened == 0
    await until(lambda: verdict(given) == "bound", "connected later")


async def test_without_the_kernels_socket_table_nothing_connects(
    fake: FakeCodex, machine: Machine, running: Running
) -> None:
    await fake.start()
    machine.sockets = lambda: None  # type: ignore[method-assign]
    given = running()
    given.observe([view(1)], now_ms())
    await asyncio.sleep(0.2)
    report = given.report(now_ms()).detail
    assert fake.opened == 0 and report["peers_visible"] is False
    assert report["servers"][0]["health"] == "unavailable"


async def test_values_travel_in_the_envelope_with_their_provenance(
    running: Running, fake: FakeCodex
) -> None:
    given = await bound(running, fake)
    found = given.evidence(SHOWN.pane.key, now_ms())
    assert found is not None and found.snapshot is not None
    assert found.source == "codex-app-server/1"
    assert found.pane == SHOWN.pane.key and found.incarnation == "%1:501"
    scope = found.snapshot.scope
    assert (scope.host, scope.home) == ("here", str(fake.home))
    assert scope.endpoint.endswith("app-server-control.sock")
    assert found.snapshot.server_version == "0.171.0"
    assert found.snapshot.values.model == "gpt-5.5" and found.snapshot.values.cwd


async def test_a_source_outlives_a_look_that_fails(
    home: object, machine: Machine, fake: FakeCodex, running: Running
) -> None:
    calls = 0

    def broken(pid: int) -> None:
        nonlocal calls
        calls += 1
        raise RuntimeError("planted text")

    machine.tui = broken  # type: ignore[assignment]
    given = running()
    given.observe([view(1)], now_ms())
    await until(lambda: calls > 2, "it goes on")
    assert given.report(now_ms()).detail["failures"]["RuntimeError"] >= 2


async def test_homes_named_twice_are_one_server(machine: Machine, fake: FakeCodex) -> None:
    given = source(fake.home, machine, sockets=("/run/a.sock", "/run/a.sock"))
    assert len(given.report(now_ms()).detail["servers"]) == 2
