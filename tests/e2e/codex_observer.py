"""The real evidence source in a thread of its own, for tests that drive real terminals."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from openbus.codex.worker import CodexSource, Options
from openbus.evidence import Envelope, PaneView
from tests.e2e.codex_lab import Lab, until


def now_ms() -> int:
    return int(time.time() * 1000)


class Observer:
    """Runs one `CodexSource`; `show` hands it panes as the service would, once a second."""

    def __init__(self, homes: tuple[str, ...], sockets: tuple[str, ...] = ()) -> None:
        self._options = Options(homes=homes, sockets=sockets)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._main, daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._source: CodexSource | None = None

    def __enter__(self) -> Observer:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *failure: object) -> None:
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(15)
        assert not self._thread.is_alive()

    def _main(self) -> None:
        asyncio.run(self._run())

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._source = CodexSource(self._options, host="here", now=now_ms)
        task = asyncio.create_task(self._source.run())
        self._ready.set()
        await self._stop.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    def _call(self, work: Callable[[CodexSource], Any]) -> Any:
        async def run() -> Any:
            assert self._source is not None
            return work(self._source)

        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)

    def show(self, *views: PaneView) -> None:
        self._call(lambda source: source.observe(views, now_ms()))

    def envelope(self, view: PaneView) -> Envelope | None:
        found: Envelope | None = self._call(lambda source: source.evidence(view.pane.key, now_ms()))
        return found

    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = self._call(lambda source: dict(source.report(now_ms()).detail))
        return found

    def server(self, number: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = self.report()["servers"][number]
        return found

    def waits_for(
        self,
        lab: Lab,
        panes: tuple[str, ...],
        true: Callable[[dict[str, Envelope | None]], object],
        why: str,
        *,
        dialog: bool = False,
        seconds: float = 60.0,
    ) -> dict[str, Envelope | None]:
        """Keep showing these panes until the evidence is as wanted."""
        found: dict[str, Envelope | None] = {}

        def look() -> bool:
            views = {pane: lab.view(pane, dialog=dialog) for pane in panes}
            self.show(*views.values())
            found.update({pane: self.envelope(view) for pane, view in views.items()})
            return bool(true(found))

        try:
            until(look, seconds, why)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{found}\n{self.report()}") from None
        return found
