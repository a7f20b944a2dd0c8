"""The real web server on states of the test's own making: no tmux, any text, a thousand panes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from openbus.bus import Bus
from openbus.events import Change
from openbus.model import (
    Capture,
    Clocks,
    Contract,
    Option,
    Pane,
    PaneState,
    Program,
    Question,
    Server,
    Why,
    Window,
)
from openbus.pairing import Pairing, pairing_url
from openbus.server import Source, application

NOW = 1_790_000_000_000


def state(number: int, **fields: Any) -> PaneState:
    """An idle Codex pane. `fields` replace those of the state, `pane_<name>` those of the pane."""
    pane: dict[str, Any] = {
        name.removeprefix("pane_"): fields.pop(name)
        for name in list(fields)
        if name.startswith("pane_")
    }
    made = Pane(
        key=f"here:work:77-1790000000:%{number}:{5000 + number}",
        id=f"%{number}",
        server=Server(socket="/tmp/tmux-0/work", pid=77, started=1_790_000_000),
        pid=5000 + number,
        session=f"s{number // 4}",
        window=Window(index=number % 4, name="sh"),
        index=0,
        cwd=f"/home/me/project-{number % 20}",
        command="codex",
        width=80,
        height=24,
    )
    return PaneState(
        host="here",
        pane=msgspec.structs.replace(made, **pane),
        program=Program(name="codex", via="process", confidence="high"),
        activity=fields.pop("activity", "idle"),
        clocks=fields.pop("clocks", Clocks(since=int(time.time() * 1000) - 60_000)),
        **fields,
    )


def asking(number: int, text: str = "Run it?", **question: Any) -> PaneState:
    """A pane that asks for an approval."""
    return state(
        number,
        activity="waiting",
        waiting_on="user",
        needs_you=True,
        attention="needs_you",
        question=Question(
            kind="approval",
            text=text,
            options=question.pop(
                "options",
                (Option(label="Yes", key="y", selected=True), Option(label="No", key="n")),
            ),
            contract=Contract(key=f"ask-{number}", episode=1),
            **question,
        ),
        why=(Why(rule="codex/approval", rows=(3, 4, 5)),),
    )


class Fake:
    """A served bus. `publish` and `gone` may be called from the test's thread."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.pairing = Pairing(folder)
        self.screens: dict[str, Capture] = {}
        self.bus = Bus()
        self._port = port
        self._server: uvicorn.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._port}/"

    def link(self, role: Any = "full") -> str:
        return pairing_url(self.base, self.pairing.invite(role, int(time.time() * 1000)))

    def start(self) -> None:
        self.bus = Bus()
        source = Source(
            bus=self.bus,
            fresh=lambda one: one,
            capture=self.screens.get,
            metrics=lambda: b"",
            healthy=lambda: True,
        )
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        self._port = listener.getsockname()[1]
        app = application(source, self.pairing, frozenset())
        self._server = uvicorn.Server(
            uvicorn.Config(app, lifespan="off", log_config=None, timeout_graceful_shutdown=1)
        )
        self._thread = threading.Thread(target=self._serve, args=(listener,), daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def _serve(self, listener: socket.socket) -> None:
        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            assert self._server is not None
            with contextlib.suppress(asyncio.CancelledError):
                await self._server.serve(sockets=[listener])

        asyncio.run(main())

    def stop(self) -> None:
        assert self._server is not None and self._thread is not None
        self._call(self.bus.close)
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(10)

    def _call(self, work: Callable[[], Any]) -> Any:
        async def run() -> Any:
            return work()

        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(30)

    def publish(self, *states: PaneState) -> None:
        at = int(time.time() * 1000)
        changes = [Change(event="pane", key=one.pane.key, at=at, state=one) for one in states]
        self._call(lambda: self.bus.publish(changes))

    def gone(self, key: str) -> None:
        at = int(time.time() * 1000)
        self._call(lambda: self.bus.publish([Change(event="gone", key=key, at=at)]))


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Fake]:
    fake = Fake(folder)
    fake.start()
    try:
        yield fake
    finally:
        fake.stop()
