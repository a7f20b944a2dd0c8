"""What the Codex evidence source costs the service that it runs in.

`python -m evals bench codex`: one process with an event loop, the source with 50 bound panes, and a
fake app-server in a process of its own. Measured: requests a second, processor time and memory in
steady state, and how late a 5 ms ticker (the capture loop's place) gets while the server is quiet,
hangs, floods, dies, or sends 20 MB frames – beside the same ticker without the source.
Budgets: 2 requests a second, 0.5 points of a core, 15 MB, no visible lateness.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from websockets.asyncio.server import ServerConnection, unix_serve
from websockets.exceptions import ConnectionClosed

from openbus.codex.processes import Tui, UnixSocket
from openbus.codex.worker import CodexSource, Options
from openbus.evidence import PaneView
from openbus.model import Pane, Process, Server, Window

PANES = 50
TICK = 0.005
SETTLE = 40.0
"""Seconds until the burst after a connection is over."""
STEADY = 90.0
"""Seconds of steady state: three rounds of reads where events are not proved."""
MODES = ("quiet", "hang", "flood", "die", "huge")


def thread_id(number: int) -> str:
    return f"01a22e50-c83d-7c33-86b0-{number:012x}"


# --- the other process --------------------------------------------------------------------------


def serve(home: str, version: str, mode: Any) -> None:
    """A fake app-server: 50 loaded threads; `mode` says how it misbehaves."""
    asyncio.run(_serve(Path(home), version, mode))


async def _serve(home: Path, version: str, mode: Any) -> None:
    threads = {thread_id(n): _thread(thread_id(n)) for n in range(PANES)}

    async def handle(connection: ServerConnection) -> None:
        flooding = asyncio.create_task(_flood(connection, mode))
        try:
            async for data in connection:
                await _reply(connection, json.loads(data), threads, home, version, mode)
        except ConnectionClosed:
            return
        finally:
            flooding.cancel()

    (home / "app-server-control").mkdir(mode=0o700)
    target = home / "app-server-control" / "app-server-control.sock"
    server = await unix_serve(handle, str(target), compression=None, max_size=1 << 24)
    target.chmod(0o600)
    await server.wait_closed()


async def _flood(connection: ServerConnection, mode: Any) -> None:
    frame = json.dumps({"method": "thread/status/changed", "params": {"threadId": thread_id(0)}})
    with contextlib.suppress(ConnectionClosed):
        while True:
            if MODES[mode.value] == "flood":
                for _ in range(200):
                    await connection.send(frame)
            if MODES[mode.value] == "die":
                connection.transport.abort()
            await asyncio.sleep(0.01)


async def _reply(
    connection: ServerConnection,
    frame: dict[str, Any],
    threads: dict[str, dict[str, Any]],
    home: Path,
    version: str,
    mode: Any,
) -> None:
    method = frame["method"]
    behaviour = MODES[mode.value]
    if method == "initialized" or (behaviour == "hang" and method != "initialize"):
        return
    result: dict[str, Any]
    match method:
        case "initialize":
            result = {"userAgent": f"codex-tui/{version} (x)", "codexHome": str(home)}
        case "thread/loaded/list":
            result = {"data": list(threads), "nextCursor": None}
        case "thread/list":
            result = {"data": list(threads.values()), "nextCursor": None}
        case _:
            result = {"thread": threads[frame["params"]["threadId"]]}
    if behaviour == "huge":
        result = {**result, "padding": "x" * 20_000_000}
    await connection.send(json.dumps({"id": frame["id"], "result": result}))


def _thread(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "status": {"type": "idle"},
        "ephemeral": False,
        "cwd": "/home/dev/proj",
        "name": f"Work on part {name[-2:]}",
        "model": "gpt-5.5",
        "historyMode": "paginated",
        "preview": "a first message " * 60,
        "turns": [],
    }


# --- this process -------------------------------------------------------------------------------


class _Machine:
    """Process and socket tables with 50 TUIs that are clients of the server."""

    def __init__(self, home: str) -> None:
        self.home = os.path.realpath(home)
        self.target = Path(home) / "app-server-control" / "app-server-control.sock"

    def tui(self, pid: int) -> Tui:
        return Tui(
            pid=pid,
            ticks=1,
            started_at=0,
            home=self.home,
            executable=None,
            sockets=frozenset({100_000 + pid}),
        )

    def sockets(self) -> list[UnixSocket]:
        file = self.target.stat().st_ino
        return [UnixSocket(inode=n, peer=100_000 + 1000 + n, file=file) for n in range(PANES)]


def _view(number: int, seen_at: int) -> PaneView:
    name = thread_id(number)
    return PaneView(
        pane=Pane(
            key=f"here:default:77-1:%{number}:{500 + number}",
            id=f"%{number}",
            server=Server(socket="/tmp/x", pid=77, started=1),
            pid=500 + number,
            session="main",
            window=Window(index=0, name="w"),
            index=0,
            cwd="/home/dev/proj",
        ),
        program="codex",
        processes=(Process(comm="codex", foreground=True, depth=0, pid=1000 + number),),
        rows=("", "› Ask Codex to do anything", "", f"  GPT-5.5 default · ~/proj · {name}"),
        title="proj",
        activity="idle",
        seen_at=seen_at,
    )


async def lateness(seconds: float) -> list[float]:
    """How late a ticker of 5 ms gets, in milliseconds."""
    late = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        before = time.perf_counter()
        await asyncio.sleep(TICK)
        late.append((time.perf_counter() - before - TICK) * 1000)
    return sorted(late)


def _summary(late: list[float]) -> dict[str, float]:
    last = len(late) - 1
    return {
        "p50_ms": round(late[last // 2], 2),
        "p99_ms": round(late[last * 99 // 100], 2),
        "max_ms": round(late[-1], 2),
    }


async def measure(version: str, seconds: float) -> dict[str, Any]:
    """All figures for a server of this version."""
    figures: dict[str, Any] = {"version": version, "alone": _summary(await lateness(seconds))}
    with tempfile.TemporaryDirectory() as home:
        mode = multiprocessing.Value("i", 0)
        server = multiprocessing.Process(target=serve, args=(home, version, mode), daemon=True)
        server.start()
        try:
            await _measure(home, mode, seconds, figures)
        finally:
            server.kill()
            server.join()
    return figures


async def _measure(home: str, mode: Any, seconds: float, figures: dict[str, Any]) -> None:
    machine = _Machine(home)
    await _until(machine.target.exists)
    source = CodexSource(
        Options(homes=(home,)),
        host="here",
        now=lambda: int(time.time() * 1000),
        facts=machine,  # type: ignore[arg-type]
        sockets=machine.sockets,
        spread=random.random,
    )
    process = psutil.Process()
    memory = process.memory_info().rss
    tasks = [asyncio.create_task(source.run()), asyncio.create_task(_show(source))]
    await _until(lambda: _verdicts(source).get("bound", 0) == PANES)
    await asyncio.sleep(SETTLE)
    figures["quiet"] = _summary(await lateness(seconds))
    figures["extra_memory_mb"] = round((process.memory_info().rss - memory) / 1e6, 1)
    for number, name in enumerate(MODES[1:], start=1):
        mode.value = number
        figures[name] = _summary(await lateness(seconds))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def steady(version: str) -> dict[str, float]:
    """Points of a core and requests a second with 50 bound threads, nothing else in the loop."""
    with tempfile.TemporaryDirectory() as home:
        mode = multiprocessing.Value("i", 0)
        server = multiprocessing.Process(target=serve, args=(home, version, mode), daemon=True)
        server.start()
        machine = _Machine(home)
        await _until(machine.target.exists)
        source = CodexSource(
            Options(homes=(home,)),
            host="here",
            now=_now,
            facts=machine,  # type: ignore[arg-type]
            sockets=machine.sockets,
        )
        tasks = [asyncio.create_task(source.run()), asyncio.create_task(_show(source))]
        await _until(lambda: _verdicts(source).get("bound", 0) == PANES)
        await asyncio.sleep(SETTLE)
        asked, before, started = _requests(source), time.process_time(), time.perf_counter()
        await asyncio.sleep(STEADY)
        spent = time.process_time() - before
        took = time.perf_counter() - started
        asked = _requests(source) - asked
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        server.kill()
        server.join()
    return {
        "core_points": round(100 * spent / took, 2),
        "requests_per_second": round(asked / took, 2),
    }


async def _show(source: CodexSource) -> None:
    views = [_view(number, 0) for number in range(PANES)]
    while True:
        source.observe(views, _now())
        await asyncio.sleep(1.0)


async def _until(true: Callable[[], object]) -> None:
    while not true():  # noqa: ASYNC110 - other processes have no events for us
        await asyncio.sleep(0.05)


def _now() -> int:
    return int(time.time() * 1000)


def _verdicts(source: CodexSource) -> dict[str, int]:
    return dict(source.report(_now()).verdicts)


def _requests(source: CodexSource) -> int:
    return sum(source.report(_now()).detail["servers"][0]["requests"].values())


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="evals bench codex", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="length of each measurement")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    options = parser.parse_args(argv)
    import logging

    import structlog

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    found = []
    for version in ("0.171.0", "0.999.0"):
        figures = asyncio.run(measure(version, options.seconds))
        figures.update(asyncio.run(steady(version)))
        found.append(figures)
    if options.json:
        print(json.dumps(found))
        return 0
    for figures in found:
        events = "events" if figures["version"] == "0.171.0" else "polled"
        print(
            f"{PANES} bound threads, {events}: {figures['requests_per_second']} requests a second, "
            f"{figures['core_points']} points of a core, {figures['extra_memory_mb']} MB more"
        )
        for name in ("alone", *MODES):
            row = figures[name]
            print(
                f"  {name:6} a 5 ms tick is late by p50 {row['p50_ms']} ms, "
                f"p99 {row['p99_ms']} ms, at most {row['max_ms']} ms"
            )
    return 0
