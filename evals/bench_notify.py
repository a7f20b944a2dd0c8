"""Cost of notifications: a burst, a publish beside it, and an hour with fifty asks.

`python -m evals bench notify [--json]`. Everything is real but the network: bus, push manager,
reactor, outbox on disk, encryption for two browsers. *Points* are CPU time of this process as a
share of an hour; the hour is played in about 40 s, since between asks nothing happens. Budgets: 0.2
points of a core for fifty asks an hour; three messages alone and one group for a thousand at once.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from openbus.bus import Bus
from openbus.clock import Clock
from openbus.events import Change
from openbus.model import Pane, Program, Question, Reading, Server, Window
from openbus.notify.desk import SINGLES
from openbus.notify.post import Post
from openbus.notify.reactor import Notifier
from openbus.notify.settings import NotifySettings
from openbus.push import PushManager, Sighting

ASKS = 50
PANES = 1000
BUDGET_POINTS = 0.2
SERVER = Server(socket="/nonexistent/tmux", pid=1, started=1)


def asking(number: int, count: int) -> Sighting:
    """A pane that shows an approval; `count` makes it another ask."""
    pane = Pane(
        key=f"box:bench:1-1:%{number}:{number}",
        id=f"%{number}",
        server=SERVER,
        pid=number,
        session="bench",
        window=Window(index=0, name="agent"),
        index=0,
    )
    question = Question(kind="approval", text="Run this command?", command=f"make step-{count}")
    reading = Reading(
        program=Program(name="codex"),
        activity="waiting",
        waiting_on="user",
        question=question,
        dialog="approval",
    )
    return Sighting(pane=pane, reading=reading)


class Bench:
    """A push manager, a bus and a notifier with two browsers whose push service says yes."""

    def __init__(self, folder: Path) -> None:
        self.bus = Bus(log_length=10_000)
        self.manager = PushManager("box")
        self.clock = Clock()
        self.requests = 0
        self.post = Post(
            NotifySettings(),
            folder,
            transport=httpx.MockTransport(self._accept),
            resolve=_public,
            binary="/nonexistent/tmux",
        )
        self.notifier = Notifier(
            self.bus,
            self.manager.remember,
            folder,
            NotifySettings(),
            warn=lambda line: None,
            clock=self.clock,
            binary="/nonexistent/tmux",
            post=lambda: self.post,
        )

    def _accept(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        return httpx.Response(201)

    def add_browser(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1()).public_key()
        point = key.public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        self.post.devices.add(
            f"https://fcm.googleapis.com/fcm/send/{os.urandom(8).hex()}",
            base64.urlsafe_b64encode(point).decode(),
            base64.urlsafe_b64encode(os.urandom(16)).decode(),
            device="phone",
            label="",
            browser=None,
            now=1,
        )

    async def until(self, requests: int) -> None:
        while self.requests < requests:  # noqa: ASYNC110 - the transport only counts
            await asyncio.sleep(0.005)


async def _public(host: str) -> list[str]:
    return ["142.250.1.1"]


def timed(work: Callable[[], Any]) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


async def measure(folder: Path) -> dict[str, float]:
    bench = Bench(folder)
    bench.add_browser()
    bench.add_browser()
    bench.bus.listen(bench.notifier.hear)
    task = asyncio.create_task(bench.notifier.run())
    await bench.notifier.started()
    result = await hour(bench)
    result |= await burst(bench)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return result


async def hour(bench: Bench) -> dict[str, float]:
    """Fifty asks, each announced on two browsers and withdrawn."""
    waits = []
    before = time.process_time()
    for count in range(ASKS):
        base = bench.requests
        now = bench.clock.now()
        changes: list[Change] = []
        changes += bench.manager.observe(asking(1, count), now)
        changes += bench.manager.advance(now + 300)
        started = time.perf_counter()
        bench.bus.publish(changes)
        await bench.until(base + 2)
        waits.append((time.perf_counter() - started) * 1000)
        bench.bus.publish(bench.manager.gone("box:bench:1-1:%1:1", now + 400))
        await bench.until(base + 4)
        # The next one comes outside the two seconds of a burst; waiting costs nothing.
        await asyncio.sleep(2.1 / SINGLES)
    used = time.process_time() - before
    waits.sort()
    return {
        "cpu_ms_per_ask": used / ASKS * 1000,
        "points_of_a_core": used / 3600 * 100,
        "announce_ms_p50": waits[len(waits) // 2],
        "announce_ms_max": waits[-1],
    }


async def burst(bench: Bench) -> dict[str, float]:
    """A thousand asks at once, with nothing sent just before."""
    await asyncio.sleep(2.1)
    now = bench.clock.now()
    for number in range(1, PANES + 1):
        bench.bus.publish(bench.manager.observe(asking(number, 99), now))
    changes = bench.manager.advance(now + 300)
    alone = timed(lambda: Bus(log_length=10_000).publish(changes))
    base = bench.requests
    beside = timed(lambda: bench.bus.publish(changes))
    started = time.perf_counter()
    await bench.until(base + 8)
    return {
        "burst_publish_ms": beside,
        "burst_publish_alone_ms": alone,
        "burst_messages_per_device": (bench.requests - base) / 2,
        "burst_done_s": time.perf_counter() - started,
    }


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m evals bench notify", description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(measure(Path(folder)))
    if options.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:28} {value:10.3f}")
    within = result["points_of_a_core"] <= BUDGET_POINTS
    return 0 if within and result["burst_messages_per_device"] == 4 else 1
