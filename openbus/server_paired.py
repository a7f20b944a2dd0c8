"""`/api/me` and `/api/paired`: who asks, what this service offers, who else is paired."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from openbus import __version__
from openbus.door import key_of, now_ms, problem
from openbus.pairing import Pairing
from openbus.store import StoreError

READS = ["GET", "HEAD", "OPTIONS"]
_FEATURES = {
    "/api/sessions": "sessions",
    "/api/shadow": "shadow",
    "/api/history": "timeline",
    "/api/push/key": "push",
    "/api/plan-ticks/{key}": "ticks",
    "/api/settings": "settings",
    "/api/paired": "paired",
}
"""What the page shows a section for, by the route that serves it."""


def features(routes: Iterable[BaseRoute]) -> list[str]:
    paths = {route.path for route in routes if isinstance(route, Route)}
    return [name for path, name in _FEATURES.items() if path in paths]


def routes(pairing: Pairing | None) -> list[Route]:
    """Without a door nobody is paired, and there is only `/api/me`."""
    found = [Route("/api/me", _me, methods=READS)]
    if pairing is not None:
        book = _Paired(pairing)
        found += [
            Route("/api/paired", _safe(book.list), methods=READS),
            Route("/api/paired/{id}", _safe(book.revoke), methods=["DELETE"]),
        ]
    return found


async def _me(request: Request) -> Response:
    key = key_of(request)
    state = request.app.state
    return _json(
        {
            "version": __version__,
            "build": state.build,
            "features": state.features,
            "role": key.role if key is not None else "full",
            "id": key.id if key is not None else None,
            "label": key.label if key is not None else "",
            "now": now_ms(),
        }
    )


class _Paired:
    def __init__(self, pairing: Pairing) -> None:
        self._pairing = pairing

    async def list(self, request: Request) -> Response:
        """Everybody, without what a key is checked by."""
        return _json(
            [
                {
                    "id": key.id,
                    "kind": key.kind,
                    "role": key.role,
                    "label": key.label,
                    "added_at": key.added_at,
                    "seen_at": key.seen_at,
                }
                for key in self._pairing.everybody()
            ]
        )

    async def revoke(self, request: Request) -> Response:
        if not self._pairing.revoke(request.path_params["id"]):
            return problem(404, "Not Found", "no key has this id")
        return Response(status_code=204)


def _safe(
    handler: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except StoreError as error:
            return problem(507, "Insufficient Storage", str(error))

    return answer


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
