"""`/api/sessions` and `/api/plan-ticks`: sessions that agents keep on disk, read when asked.

Nothing is read while nobody looks. Excerpts, plan text and prompts go to the browser that asked
and stay in memory otherwise; a tick is kept as the key of its step alone.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_history.ticks import Ticks
from openbus.agent_history import SessionSource
from openbus.evidence import PaneView
from openbus.model import Capture, PaneState

READS = ["GET", "HEAD", "OPTIONS"]
AGE_MS = 2_000
"""A scan this young answers again."""

TICKS = "plan-ticks.json"
_KEY = re.compile(r"[0-9A-Za-z:_-]{4,100}")


class Sessions:
    """`states` and `capture` are the panes of now, to say which pane shows which session."""

    def __init__(
        self,
        source: SessionSource,
        folder: Path,
        states: Callable[[], list[PaneState]],
        capture: Callable[[str], Capture | None],
        now: Callable[[], int],
    ) -> None:
        self._source = source
        self._ticks = Ticks(str(folder / TICKS))
        self._states = states
        self._capture = capture
        self._now = now
        self._scanned_at = 0
        self._lock = asyncio.Lock()

    async def refresh(self) -> None:
        """Scan, unless that was done just now."""
        async with self._lock:
            now = self._now()
            if 0 <= now - self._scanned_at < AGE_MS:
                return
            if not self._scanned_at:
                self._source.tick(self._ticks.keys())
            self._source.observe([self._view(state) for state in self._states()], now)
            await self._source.scan()
            self._scanned_at = self._now()

    def tick(self, key: str, ticked: bool) -> None:
        """Tick or untick a step. Raises `OSError`."""
        self._ticks.set(key, ticked)
        self._source.tick(self._ticks.keys())
        self._scanned_at = 0

    def _view(self, state: PaneState) -> PaneView:
        capture = self._capture(state.pane.key)
        return PaneView(
            pane=state.pane,
            program=state.program.name,
            processes=capture.processes if capture is not None else (),
            title=state.pane.title,
        )

    def routes(self) -> list[Route]:
        return [
            Route("/api/sessions", self._list, methods=READS),
            Route("/api/sessions/{id:path}", self._one, methods=READS),
            Route("/api/plan-ticks/{key}", self._tick, methods=["PUT", "DELETE"]),
        ]

    async def _list(self, request: Request) -> Response:
        await self.refresh()
        return _json(self._source.sessions())

    async def _one(self, request: Request) -> Response:
        await self.refresh()
        found = await self._source.session(
            request.path_params["id"], request.query_params.get("subagent")
        )
        if found is None:
            raise HTTPException(404, "no session has this id; GET /api/sessions lists them")
        return _json(found)

    async def _tick(self, request: Request) -> Response:
        key = request.path_params["key"]
        if not _KEY.fullmatch(key):
            raise HTTPException(422, "that is no key of a plan step")
        try:
            await asyncio.to_thread(self.tick, key, request.method == "PUT")
        except OSError as error:
            raise HTTPException(507, f"the tick is not kept: {error.strerror}") from None
        return Response(status_code=204)


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
