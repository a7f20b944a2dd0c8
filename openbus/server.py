"""The HTTP API: states, the event stream, metrics and a plain first page.

Everything but `/healthz` is behind the token: `Authorization: Bearer`, the cookie that the pairing
link sets, or `?token=`. Nothing here changes anything: there is no route but GET and HEAD. Errors
are `application/problem+json`; a refused request learns nothing but that it was refused.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from importlib import resources
from ipaddress import ip_address
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from openbus import __version__
from openbus.bus import Bus, Filter
from openbus.evidence import SourceReport
from openbus.model import Capture, PaneState
from openbus.openapi import document
from openbus.screen.grid import parse
from openbus.snapshot import most_urgent_first
from openbus.sse import EventStream

COOKIE = "openbus"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
}
_METHODS = ["GET", "HEAD", "OPTIONS"]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What the API serves from. `fresh` gives a state the clocks of now, `capture` the last screen
    of a pane, `metrics` the Prometheus text, `healthy` whether the watcher lives, `evidence` what
    the evidence sources count."""

    bus: Bus
    fresh: Callable[[PaneState], PaneState]
    capture: Callable[[str], Capture | None]
    metrics: Callable[[], bytes]
    healthy: Callable[[], bool]
    evidence: Callable[[], Sequence[SourceReport]] = tuple


def problem(status: int, title: str, detail: str | None = None) -> Response:
    """An RFC 9457 answer."""
    body: dict[str, Any] = {"type": "about:blank", "title": title, "status": status}
    if detail is not None:
        body["detail"] = detail
    return Response(
        msgspec.json.encode(body), status_code=status, media_type="application/problem+json"
    )


def application(source: Source, token: str | None, hosts: frozenset[str]) -> ASGIApp:
    """The ASGI application. `token` None = open; `hosts` = names it may be asked for by beside
    loopback and addresses."""
    api = _Api(source)
    routes = [
        Route("/healthz", api.healthz, methods=_METHODS),
        Route("/metrics", api.metrics, methods=_METHODS),
        Route("/api/openapi.json", api.openapi, methods=_METHODS),
        Route("/api/panes", api.panes, methods=_METHODS),
        Route("/api/panes/{key}", api.pane, methods=_METHODS),
        Route("/api/panes/{key}/screen", api.screen, methods=_METHODS),
        Route("/api/events", api.events, methods=_METHODS),
        Route("/api/shadow", api.shadow, methods=_METHODS),
        *(Route(path, _page(*page), methods=_METHODS) for path, page in _PAGES.items()),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={HTTPException: _http_problem, Exception: _defect},
    )
    app.router.redirect_slashes = False
    return Door(app, token, hosts)


class Door:
    """Who may come in: checks `Host`, `Origin` and the token before anything else runs."""

    def __init__(self, app: ASGIApp, token: str | None, hosts: frozenset[str]) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts
        self._cookie = cookie_value(token) if token else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        refusal = self._refusal(request)

        async def headed(message: Any) -> None:
            if message["type"] == "http.response.start":
                have = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.encode(), value.encode())
                        for name, value in _HEADERS.items()
                        if name.lower().encode() not in have
                    ),
                ]
            await send(message)

        if refusal is not None:
            await refusal(scope, receive, headed)
        elif request.method == "OPTIONS":
            allowed = Response(status_code=204, headers={"Allow": ", ".join(_METHODS)})
            await allowed(scope, receive, headed)
        else:
            await self._app(scope, receive, headed)

    def _refusal(self, request: Request) -> Response | None:
        local = request.scope.get("client") is None
        if not local and not self._known_host(request.headers.get("host", "")):
            return problem(421, "Misdirected Request")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
            return problem(403, "Forbidden")
        if request.url.path == "/healthz" or self._token is None:
            return None
        given = request.query_params.get("token")
        if request.url.path == "/" and given is not None and self._is_token(given):
            return self._pair()
        if self._let_in(request, given):
            return None
        refused = problem(401, "Unauthorized")
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused

    def _known_host(self, header: str) -> bool:
        """Names that point to us by somebody else's DNS are refused; addresses cannot be faked."""
        name = header.rpartition(":")[0] if header.rpartition(":")[2].isdigit() else header
        name = name.strip("[]").lower()
        if name in _LOCAL or name in self._hosts:
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True

    def _is_token(self, given: str) -> bool:
        return self._token is not None and hmac.compare_digest(
            given.encode("utf-8", "replace"), self._token.encode()
        )

    def _let_in(self, request: Request, given: str | None) -> bool:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(bearer.strip()):
            return True
        cookie = request.cookies.get(COOKIE, "")
        if hmac.compare_digest(cookie.encode("utf-8", "replace"), self._cookie.encode()):
            return True
        return given is not None and self._is_token(given)

    def _pair(self) -> Response:
        """The pairing link: take the token into a cookie and out of the address bar."""
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(
            COOKIE,
            self._cookie,
            max_age=180 * 24 * 3600,
            httponly=True,
            samesite="strict",
            path="/",
        )
        return answer


def cookie_value(token: str) -> str:
    """What a paired browser holds instead of the token itself."""
    return hashlib.sha256(b"openbus cookie " + token.encode()).hexdigest()


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
        return _json(document(__version__))

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
        return _json(styled(state.pane.key, capture))

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


def styled(key: str, capture: Capture) -> dict[str, Any]:
    """A screen as rows of runs `{text, fg, bg, flags}`; colours as SGR parameters, flags as the
    bits of `openbus.screen.grid`."""
    screen = parse(capture.ansi, capture.width, capture.height)
    rows = []
    for row in screen.rows:
        starts = [start for start, _ in row.runs] + [len(row.text)]
        rows.append(
            [
                {"text": row.text[start:end], "fg": style.fg, "bg": style.bg, "flags": style.flags}
                for (start, style), end in zip(row.runs, starts[1:], strict=True)
                if row.text[start:end]
            ]
        )
    return {
        "key": key,
        "width": capture.width,
        "height": capture.height,
        "cursor": msgspec.to_builtins(capture.cursor),
        "rows": rows,
    }


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


def _page(name: str, media: str) -> Callable[[Request], Response]:
    def page(request: Request) -> Response:
        body = resources.files("openbus").joinpath("web", name).read_bytes()
        return Response(body, media_type=media)

    return page


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    titles = {404: "Not Found", 405: "Method Not Allowed", 422: "Unprocessable Content"}
    title = titles.get(error.status_code, error.detail)
    detail = error.detail if error.status_code in (404, 422) else None
    answer = problem(error.status_code, title, detail if detail != title else None)
    if error.status_code == 405:
        answer.headers["Allow"] = ", ".join(_METHODS)
    return answer


async def _defect(request: Request, error: Exception) -> Response:
    return problem(500, "Internal Server Error")
