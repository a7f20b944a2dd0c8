"""The door of the web server: `Host`, `Origin`, keys, roles, writes, and what every answer carries.

An ASGI middleware around everything else. In order: a name that is not ours (DNS rebinding), an
origin that is not ours, the few open paths, the pairing link, then a key: the cookie of a paired
browser or `Authorization: Bearer`. A `view` key only looks. A write by cookie must come from our
own page. Callers on the local socket are this user (its file is 0600) and need no key.
"""

from __future__ import annotations

import contextlib
import html
import time
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from openbus.pairing import Key, Lockout, Pairing, PairingError
from openbus.store import StoreError

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
COOKIE_LIFE = 180 * 24 * 3600
OPEN = frozenset({"/healthz", "/door.css", "/icon.svg", "/favicon.ico"})
"""Paths without a key: they show nothing of anybody."""

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
KEY = "openbus.key"
"""Where the key of a request is found in its scope; None on the local socket or without a door."""

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class RevokedError(OSError):
    """The key of an open stream was revoked."""


class Door:
    """`pairing` None = open to everybody who reaches the address; `hosts` = names it may be asked
    for by, beside loopback and addresses; `allow` names the methods of a path."""

    def __init__(
        self,
        app: ASGIApp,
        pairing: Pairing | None,
        hosts: frozenset[str],
        now: Callable[[], int] = now_ms,
        allow: Callable[[str], str] = lambda path: "GET, HEAD, OPTIONS",
    ) -> None:
        self._app = app
        self._pairing = pairing
        self._hosts = hosts
        self._now = now
        self._allow = allow
        self._lockout = Lockout()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def headed(message: Any) -> None:
            if message["type"] == "http.response.start":
                have = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.encode(), value.encode())
                        for name, value in HEADERS.items()
                        if name.lower().encode() not in have
                    ),
                ]
            if message.get("more_body") and self._revoked(scope):
                await send({"type": "http.response.body", "body": b""})
                raise RevokedError
            await send(message)

        answer = self._answer(Request(scope))
        with contextlib.suppress(RevokedError):
            await (self._app if answer is None else answer)(scope, receive, headed)

    def _revoked(self, scope: Scope) -> bool:
        """An open stream ends when its key is revoked."""
        key = scope.get(KEY)
        return key is not None and self._pairing is not None and not self._pairing.holds(key)

    def _answer(self, request: Request) -> Response | None:
        """What the door says itself; None = come in."""
        local = request.scope.get("client") is None
        host = request.headers.get("host", "")
        if not local and not self._known_host(host):
            return problem(421, "Misdirected Request", _UNKNOWN_HOST)
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return problem(403, "Forbidden")
        if request.url.path in OPEN and request.method in SAFE:
            return self._methods(request)
        if self._pairing is None or local:
            return self._methods(request) or (self._foreign_write(request) if not local else None)
        try:
            if request.url.path == "/pair":
                return self._pair(request, self._pairing)
            return self._check(request, self._pairing)
        except StoreError as error:
            return problem(507, "Insufficient Storage", str(error))

    def _check(self, request: Request, pairing: Pairing) -> Response | None:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        by_header = scheme.lower() == "bearer"
        given = bearer.strip() if by_header else request.cookies.get(cookie_name(request), "")
        key = pairing.who(given, self._now()) if given else None
        if key is None:
            return self._refuse(request, wrong=bool(given))
        request.scope[KEY] = key
        if request.method in SAFE:
            return self._methods(request)
        if key.role != "full":
            return problem(403, "Forbidden", "this browser may only look")
        return None if by_header else self._foreign_write(request)

    def _foreign_write(self, request: Request) -> Response | None:
        """A write must come from our own page: browsers name the origin of every one."""
        if request.method in SAFE:
            return None
        same = request.headers.get("sec-fetch-site")
        if request.headers.get("origin") is not None and same in (None, "same-origin"):
            return None
        if same == "same-origin":
            return None
        return problem(403, "Forbidden", "a write needs the Origin of this page")

    def _refuse(self, request: Request, *, wrong: bool) -> Response:
        now = self._now()
        address = _address(request)
        locked = self._lockout.seconds(address, now)
        if wrong and not locked:
            self._lockout.wrong(address, now)
        if wrong and locked:
            return _locked(request, locked)
        if _wants_page(request):
            refused: Response = page(401, "This browser is not paired", _UNPAIRED)
        else:
            refused = problem(401, "Unauthorized")
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused

    def _pair(self, request: Request, pairing: Pairing) -> Response:
        """The pairing link: take the code into a cookie and out of the address bar."""
        now = self._now()
        if (locked := self._lockout.seconds(_address(request), now)) > 0:
            return _locked(request, locked)
        if request.method != "GET":
            return problem(405, "Method Not Allowed")
        code = parse_qs(request.url.query).get("token", [""])[0]
        label = browser_label(request.headers.get("user-agent", ""))
        try:
            secret = pairing.redeem(code, label, now) if code else None
        except PairingError as error:
            return page(409, "Too many devices", html.escape(str(error)))
        if secret is None:
            given = request.cookies.get(cookie_name(request), "")
            if given and pairing.who(given, now) is not None:
                return _opened("This browser is paired already")
            self._lockout.wrong(_address(request), now)
            return page(401, "This link no longer works", _SPENT)
        answer = _opened("Paired")
        answer.set_cookie(
            cookie_name(request),
            secret,
            max_age=COOKIE_LIFE,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
            path="/",
        )
        return answer

    def _methods(self, request: Request) -> Response | None:
        """The answer to OPTIONS; None for every other method."""
        if request.method != "OPTIONS":
            return None
        return Response(status_code=204, headers={"Allow": self._allow(request.url.path)})

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


def problem(status: int, title: str, detail: str | None = None) -> Response:
    """An RFC 9457 answer."""
    body: dict[str, Any] = {"type": "about:blank", "title": title, "status": status}
    if detail is not None:
        body["detail"] = detail
    return Response(
        msgspec.json.encode(body), status_code=status, media_type="application/problem+json"
    )


def key_of(request: Request) -> Key | None:
    """The key that let this request in; None on the local socket or without a door."""
    found = request.scope.get(KEY)
    return found if isinstance(found, Key) else None


def cookie_name(request: Request) -> str:
    """Cookies are shared between the ports of a machine, so each port has its own."""
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"openbus_{port}" if port.isdigit() else "openbus"


def browser_label(agent: str) -> str:
    """ "Firefox on Android": enough to know a device again in a list."""
    browsers = (("Edg", "Edge"), ("Firefox", "Firefox"), ("Chrom", "Chrome"), ("Safari", "Safari"))
    systems = (
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Mac OS", "macOS"),
        ("Windows", "Windows"),
        ("Linux", "Linux"),
    )
    browser = next((name for sign, name in browsers if sign in agent), "A browser")
    system = next((name for sign, name in systems if sign in agent), "")
    return f"{browser} on {system}" if system else browser


def page(status: int, title: str, body: str, head: str = "") -> Response:
    """A page of the door itself; `body` and `head` are markup of ours."""
    return HTMLResponse(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title} – OpenBus</title>\n{head}"
        '<link rel="icon" href="/icon.svg">\n<link rel="stylesheet" href="/door.css">\n'
        f"</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n",
        status_code=status,
    )


_UNKNOWN_HOST = "asked for by a name that is not ours; add it to [service] hosts"
_UNPAIRED = (
    "<p>In a terminal on the machine that runs OpenBus:</p>\n<pre>openbus pair</pre>\n"
    "<p>Open the link it prints here, or scan its code with your phone.</p>"
)
_SPENT = (
    "<p>A pairing link works once, for ten minutes. Make a new one:</p>\n<pre>openbus pair</pre>"
)


def _opened(title: str) -> Response:
    """Goes on by itself. A redirect would not carry the strict cookie when the link was opened
    from another site's page."""
    return page(
        200,
        title,
        '<p><a href="/">Open OpenBus</a></p>',
        '<meta http-equiv="refresh" content="0; url=/">\n',
    )


def _locked(request: Request, seconds: int) -> Response:
    text = f"too many wrong keys from this address; try again in {seconds} s"
    if _wants_page(request):
        answer = page(429, "Try again later", f"<p>{text.capitalize()}.</p>")
    else:
        answer = problem(429, "Too Many Requests", text)
    answer.headers["Retry-After"] = str(seconds)
    return answer


def _wants_page(request: Request) -> bool:
    path = request.url.path
    is_api = path.startswith("/api/") or path == "/metrics"
    return not is_api and "text/html" in request.headers.get("accept", "")


def _address(request: Request) -> str:
    return request.client.host if request.client is not None else ""
