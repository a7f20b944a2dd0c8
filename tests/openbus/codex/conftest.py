"""Fixtures for adapter tests: a quick pace, a home, a fake server, a machine with one TUI."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from openbus.codex import link, worker
from openbus.codex.worker import CodexSource
from tests.openbus.codex.fake_server import FakeCodex
from tests.openbus.codex.world import Machine, source

Running = Callable[..., CodexSource]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rounds, closer together."""
    monkeypatch.setattr(worker, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(link, "WAIT", 0.02)
    monkeypatch.setattr(link, "STEP", 0.01)
    monkeypatch.setattr(link, "HEAD_START", 0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "codex"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
async def fake(home: Path) -> AsyncIterator[FakeCodex]:
    """Started by the test; every test that uses it also proves the law was kept."""
    server = FakeCodex(home)
    yield server
    await server.stop()
    server.assert_lawful()


@pytest.fixture
def machine(home: Path, fake: FakeCodex) -> Machine:
    """One TUI, in pane %1, connected to the fake server."""
    found = Machine(home)
    found.target = lambda: fake.target
    found.place(1)
    return found


@pytest.fixture
async def running(home: Path, machine: Machine) -> AsyncIterator[Running]:
    """Call it to get a source that runs until the test ends."""
    tasks: list[asyncio.Task[None]] = []

    def start(**options: object) -> CodexSource:
        given = source(home, machine, **options)
        tasks.append(asyncio.create_task(given.run()))
        return given

    yield start
    for task in tasks:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


Starter = Callable[[], Awaitable[None]]
