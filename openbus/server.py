"""The HTTP API: states, the event stream, metrics, and the files of the web page.

Everything but `/healthz` is behind the door (`openbus.door`): the cookie that the pairing link
sets, or `Authorization: Bearer`. Errors are `application/problem+json`; a refused request learns
nothing but that it was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from openbus import __version__, server_paired, server_push, static
from openbus.api_screen import etag, styled
from openbus.bus import Bus, Filter
from openbus.door import Door, problem
from openbus.evidence import SourceReport
from openbus.model import Capture, PaneState
from openbus.notify.reactor import Notifier
from openbus.openapi import document
from openbus.pairing import Pairing
from openbus.snapshot import most_urgent_first
from openbus.sse import EventStream

_METHODS = ["GET", "HEAD", "OPTIONS"]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What the API serves from. `fresh` gives a state the clocks of now, `capture` the last screen
    of a pane, `metrics` the Prometheus text, `healthy` whether the watcher lives, `evidence` what
    the evidence sources count, `notifier` who tells people (None = nobody does),
    `routes` what further parts serve."""

    bus: Bus
    fresh: Callable[[PaneState], PaneState]
    capture: Callable[[str], Capture | None]
    metrics: Callable[[], bytes]
    healthy: Callable[[], bool]
    evidence: Callable[[], Sequence[SourceReport]] = tuple
    notifier: Notifier | None = None
    routes: Sequence[Route] = ()


def application(source: Source, pairing: Pairing | None, hosts: frozenset[str]) -> ASGIApp:
    """The ASGI application. `pairing` None = open; `hosts` = names it may be asked for by beside
    loopback and addresses."""
    api = _Api(source)
    files = static.files()
    routes = [
        Route("/healthz", api.healthz, methods=_METHODS),
        Route("/metrics", api.metrics, methods=_METHODS),
        Route("/api/openapi.json", api.openapi, methods=_METHODS),
        Route("/api/panes", api.panes, methods=_METHODS),
        Route("/api/panes/{key}", api.pane, methods=_METHODS),
        Route("/api/panes/{key}/screen", api.screen, methods=_METHODS),
        Route("/api/events", api.events, methods=_METHODS),
        Route("/api/shadow", api.shadow, methods=_METHODS),
        *server_paired.routes(pairing),
        *(server_push.routes() if source.notifier is not None else ()),
        *source.routes,
        *static.routes(files, _METHODS),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={HTTPException: _http_problem, Exception: _defect},
    )
    app.router.redirect_slashes = False
    app.state.notifier = source.notifier
    app.state.locked = pairing is not None
    app.state.build = static.build(files)
    app.state.features = server_paired.features(routes)
    return Door(app, pairing, hosts, allow=lambda path: _allowed(routes, path))


def _allowed(routes: Sequence[Route], path: str) -> str:
    """The methods that a path takes, as `Allow` says them."""
    found = {"OPTIONS"}
    for route in routes:
        if route.path_regex.match(path):
            found |= set(route.methods or ())
    return ", ".join(sorted(found if len(found) > 1 else {"GET", "HEAD", "OPTIONS"}))


class _Api:
    def __init__(self, source: Source) -> None:
        self._source = source

    async def healthz(self, request: Request) -> Response:
        healthy = self._source.healthy()
        return _json({"status": "ok" if healthy else "failed"}, 200 if healthy else 503)

    async def metrics(self, request: Request) -> Response:
        return Response(
            self._source.metrics(), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    async def openapi(self, request: Request) -> Response:
        served = {
            route.path.replace(":path}", "}")
            for route in request.app.routes
            if isinstance(route, Route)
        }
        return _json(document(__version__, served, locked=request.app.state.locked))

    async def panes(self, request: Request) -> Response:
        wanted = _filter(request, {"host"})
        host = request.query_params.get("host")
        states = [
            self._source.fresh(state)
            for state in self._source.bus.states
            if wanted.shows(state) and host in (None, state.host)
        ]
        return _json(most_urgent_first(states))

    async def pane(self, request: Request) -> Response:
        return _json(self._source.fresh(self._state(request)))

    async def screen(self, request: Request) -> Response:
        state = self._state(request)
        capture = self._source.capture(state.pane.key)
        if capture is None:
            raise HTTPException(404, "no screen was captured yet")
        tag = etag(capture)
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag})
        answer = _json(styled(state.pane.key, capture))
        answer.headers["ETag"] = tag
        return answer

    async def events(self, request: Request) -> Response:
        wanted = _filter(request, {"heartbeat", "last_event_id"})
        beat = request.query_params.get("heartbeat", "15")
        if not (beat.isascii() and beat.isdigit() and 1 <= int(beat) <= 60):
            raise HTTPException(422, "heartbeat is a number of seconds from 1 to 60")
        since = request.headers.get("last-event-id") or request.query_params.get("last_event_id")
        return EventStream(self._source.bus, wanted, since, float(beat), request.method == "HEAD")

    async def shadow(self, request: Request) -> Response:
        return _json({"sources": self._source.evidence()})

    def _state(self, request: Request) -> PaneState:
        state = self._source.bus.state(request.path_params["key"])
        if state is None:
            raise HTTPException(404, "no pane has this key; GET /api/panes lists them")
        return state


def _filter(request: Request, more: set[str]) -> Filter:
    """The filter of a request; a parameter that is not known or not valid is 422."""
    unknown = request.query_params.keys() - {"needs_you", "pane", "token"} - more
    if unknown:
        raise HTTPException(422, "unknown filter; there are: needs_you, pane")
    needs_you = request.query_params.get("needs_you", "0")
    if needs_you not in ("0", "1", "true", "false"):
        raise HTTPException(422, "needs_you is 1 or 0")
    panes = frozenset(request.query_params.getlist("pane"))
    if any(not name or len(name) > 400 or "%" not in name for name in panes):
        raise HTTPException(422, "pane is a full key, %N or SOCKET:%N")
    return Filter(needs_you=needs_you in ("1", "true"), panes=panes)


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    titles = {404: "Not Found", 405: "Method Not Allowed", 422: "Unprocessable Content"}
    title = titles.get(error.status_code, error.detail)
    detail = error.detail if error.status_code in (404, 422) else None
    answer = problem(error.status_code, title, detail if detail != title else None)
    if error.status_code == 405:
        answer.headers["Allow"] = (error.headers or {}).get("Allow", ", ".join(_METHODS))
    return answer


async def _defect(request: Request, error: Exception) -> Response:
    return problem(500, "Internal Server Error")
