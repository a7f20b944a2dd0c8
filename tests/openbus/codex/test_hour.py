"""A generated hour of mixed events: with the adapter on, everything published is byte-identical.

The screens are recorded ones, time is virtual, the server is the fake one with events, approvals,
renames, restarts and hangs of its own. The two runs differ in nothing but the adapter.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

from openbus.codex.worker import CodexSource
from tests.openbus.codex.fake_server import FakeCodex
from tests.openbus.codex.terminal import Terminal, screen
from tests.openbus.codex.world import A, B, C, Machine, source

START = 1_796_070_000_000
HOUR = 3_600_000
SCREENS = [
    "idle_done--120x40",
    "working_tool--120x40",
    "approval_edit--120x40",
    "plan_approval--120x40",
    "question_two--120x40",
    "error_400--120x40",
    "interrupted--120x40",
    "agents_center--120x40",
    "menu_model--120x40",
    "idle_bg_shell--120x40",
    "working_draft--120x40",
]
THREADS = [A, B, C]


class Hour:
    """One run. `native` does what happens on the server's side; off, nothing does."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = START
        self.terminal = Terminal()
        self.native: Callable[[int], Awaitable[None]] | None = None

    async def run(self) -> Terminal:
        panes = [1, 2, 3]
        while self.now < START + HOUR:
            self.now += self.random.randrange(100, 8_000)
            number, what = self.random.choice(panes), self.random.random()
            name = self.random.choice(SCREENS)
            title = self.random.choice([None, f"{THREADS[number - 1][:29]}..."])
            dice = self.random.randrange(1_000)
            if what < 0.85:
                self.terminal.see(number, screen(name, title), self.now)
            elif what < 0.88:
                self.terminal.gone(number, self.now)
            self.terminal.advance(self.now)
            if self.native is not None:
                await self.native(dice)
        return self.terminal


async def with_adapter(seed: int, home: Path) -> tuple[Terminal, CodexSource, FakeCodex]:
    hour = Hour(seed)
    fake = FakeCodex(home)
    for thread in THREADS:
        fake.add(thread, name="A native name")
    await fake.start()
    machine = Machine(home)
    machine.target = lambda: fake.target
    for number in (1, 2, 3):
        machine.place(number, pid=1001, sockets=frozenset({9001}))
    observer = source(home, machine)
    observer._now = lambda: hour.now
    for link in observer._links:
        link._now = lambda: hour.now
    feed = hour.terminal.feed(observer, lambda: hour.now)
    task = asyncio.create_task(observer.run())

    async def native(dice: int) -> None:
        thread = THREADS[dice % 3]
        fake.hang = {"thread/read"} if 900 <= dice < 905 else set()
        if dice < 300:
            flags = ["waitingOnApproval"] if dice % 2 else []
            await fake.set_status(thread, ("active", "idle", "systemError")[dice % 3], *flags)
        elif dice < 400:
            fake.threads[thread]["name"] = f"name {dice}"
            await fake.notify("thread/name/updated", {"threadId": thread})
        elif dice < 450:
            await fake.ask_client(thread, dice)
        elif dice < 460:
            await fake.send("garbage")
        elif dice < 470:
            await fake.restart()
        feed.hand_over()
        await asyncio.sleep(0.003)

    hour.native = native
    try:
        return await hour.run(), observer, fake
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await fake.stop()
        fake.assert_lawful()


async def test_an_hour_is_published_identically_with_and_without_the_adapter(home: Path) -> None:
    alone = await Hour(7).run()
    observed, observer, fake = await with_adapter(7, home)
    assert len(alone.published) > 500 and alone.announced() > 20
    assert observed.published == alone.published
    assert observed.classified == alone.classified
    report = observer.report(START + HOUR).detail
    assert report["servers"][0]["connections"] >= 2
    assert report["servers"][0]["dropped"]["server_request"] > 0
    assert sum(method == "thread/read" for method, _ in fake.law.requests) > 20
    assert report["failures"] == {}
    assert all(b'"native":null' in e for e in observed.published if b'"state":{' in e)
