"""`/api/push/…`: devices, presence of pages, mutes, the log. Mounted behind the server's door.

Handlers find the `Notifier` in `app.state.notifier`. Every route that changes something takes JSON
only, so that no form of another site can call it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from openbus.notify.content import trial
from openbus.notify.devices import SubscriptionError
from openbus.notify.policy import Mute, Scope
from openbus.notify.reactor import Notifier
from openbus.notify.records import Device
from openbus.store import StoreError

BODY_MOST = 8192
T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=400)]


class SubscriptionKeys(msgspec.Struct, frozen=True, kw_only=True):
    """What a browser gives in `PushSubscription.toJSON().keys`."""

    p256dh: Name
    auth: Name


class NewSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """`PushSubscription.toJSON()` with what we ask beside it. `browser` is a random name that the
    page keeps; it reports its presence under it."""

    endpoint: Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
    keys: SubscriptionKeys
    device: Device = "phone"
    label: Annotated[str, msgspec.Meta(max_length=60)] = ""
    browser: Name | None = None


class PagePresence(msgspec.Struct, frozen=True, kw_only=True):
    """A page is focused and shows `pane` (its key); None: it is not, or shows none."""

    browser: Name
    pane: Name | None = None


class NewMute(msgspec.Struct, frozen=True, kw_only=True):
    """`seconds` None = until undone."""

    scope: Scope
    name: Name
    seconds: Annotated[int, msgspec.Meta(ge=1, le=31_536_000)] | None = None


class _RefusedError(Exception):
    def __init__(self, status: int, title: str, detail: str | None = None) -> None:
        super().__init__(title)
        self.status, self.title, self.detail = status, title, detail


def routes() -> list[Route]:
    """Routes that only read are GET; a read-only role must be refused the others."""
    return [
        Route("/api/push/key", _safe(_key), methods=["GET"]),
        Route("/api/push/status", _safe(_status), methods=["GET"]),
        Route("/api/push/log", _safe(_log), methods=["GET"]),
        Route("/api/push/subscriptions", _safe(_subscriptions), methods=["GET"]),
        Route("/api/push/subscriptions", _safe(_subscribe), methods=["POST"]),
        Route("/api/push/subscriptions/{id}", _safe(_unsubscribe), methods=["DELETE"]),
        Route("/api/push/presence", _safe(_presence), methods=["PUT"]),
        Route("/api/push/mutes", _safe(_mutes), methods=["GET"]),
        Route("/api/push/mutes", _safe(_mute), methods=["PUT"]),
        Route("/api/push/mutes/{scope}/{name:path}", _safe(_unmute), methods=["DELETE"]),
        Route("/api/push/test", _safe(_test), methods=["POST"]),
    ]


def _safe(handler: Handler) -> Handler:
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except _RefusedError as refusal:
            return _problem(refusal.status, refusal.title, refusal.detail)
        except StoreError as error:
            return _problem(507, "Insufficient Storage", str(error))

    return answer


def _problem(status: int, title: str, detail: str | None) -> Response:
    body = {"type": "about:blank", "title": title, "status": status}
    if detail is not None:
        body["detail"] = detail
    return Response(
        msgspec.json.encode(body), status_code=status, media_type="application/problem+json"
    )


def _notifier(request: Request) -> Notifier:
    notifier = getattr(request.app.state, "notifier", None)
    if not isinstance(notifier, Notifier) or not notifier.running:
        raise _RefusedError(503, "Service Unavailable", "notifications have not started yet")
    return notifier


async def _body(request: Request, kind: type[T]) -> T:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise _RefusedError(415, "Unsupported Media Type", "send application/json")
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > BODY_MOST:
            raise _RefusedError(413, "Content Too Large")
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise _RefusedError(422, "Unprocessable Content", str(error)) from None


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")


def _now() -> int:
    return time.time_ns() // 1_000_000


async def _key(request: Request) -> Response:
    return _json({"key": _notifier(request).post.vapid().public})


async def _status(request: Request) -> Response:
    notifier = _notifier(request)
    return _json({"channels": notifier.reports(), "warnings": notifier.warnings()})


async def _log(request: Request) -> Response:
    limit = request.query_params.get("limit", "200")
    if not (limit.isascii() and limit.isdigit() and 1 <= int(limit) <= 10_000):
        raise _RefusedError(422, "Unprocessable Content", "limit is a number from 1 to 10000")
    return _json(await _notifier(request).log(int(limit)))


async def _subscriptions(request: Request) -> Response:
    return _json(
        [
            {
                "id": one.id,
                "device": one.device,
                "label": one.label,
                "browser": one.browser,
                "added_at": one.added_at,
            }
            for one in _notifier(request).post.devices.all()
        ]
    )


async def _subscribe(request: Request) -> Response:
    notifier = _notifier(request)
    wanted = await _body(request, NewSubscription)
    notifier.post.vapid()
    try:
        kept = notifier.post.devices.add(
            wanted.endpoint,
            wanted.keys.p256dh,
            wanted.keys.auth,
            device=wanted.device,
            label=wanted.label,
            browser=wanted.browser,
            now=_now(),
        )
    except SubscriptionError as error:
        raise _RefusedError(422, "Unprocessable Content", str(error)) from None
    notifier.look_again()
    return _json({"id": kept.id}, 201)


async def _unsubscribe(request: Request) -> Response:
    notifier = _notifier(request)
    if not notifier.post.devices.remove(request.path_params["id"]):
        raise _RefusedError(404, "Not Found", "no such subscription")
    notifier.look_again()
    return Response(status_code=204)


async def _presence(request: Request) -> Response:
    notifier = _notifier(request)
    page = await _body(request, PagePresence)
    notifier.pages.report(page.browser, page.pane, notifier.now())
    notifier.look_again()
    return Response(status_code=204)


async def _mutes(request: Request) -> Response:
    notifier = _notifier(request)
    return _json(notifier.mutes.current(notifier.now()))


async def _mute(request: Request) -> Response:
    notifier = _notifier(request)
    wanted = await _body(request, NewMute)
    now = notifier.now()
    until = None if wanted.seconds is None else now + wanted.seconds * 1000
    notifier.mutes.add(Mute(scope=wanted.scope, name=wanted.name, until=until), now)
    notifier.look_again()
    return Response(status_code=204)


async def _unmute(request: Request) -> Response:
    notifier = _notifier(request)
    scope: Scope
    for scope in ("pane", "session", "program"):
        if scope == request.path_params["scope"]:
            break
    else:
        raise _RefusedError(404, "Not Found", "scope is pane, session or program")
    if not notifier.mutes.remove(scope, request.path_params["name"], notifier.now()):
        raise _RefusedError(404, "Not Found", "that was not muted")
    notifier.look_again()
    return Response(status_code=204)


async def _test(request: Request) -> Response:
    notifier = _notifier(request)
    results = []
    for name, sender in notifier.post.senders.items():
        if not sender.channel.human:
            continue
        outcome = await sender.send(trial(_now()))
        results.append({"name": name, "result": outcome.result, "reason": outcome.reason})
    return _json(results)
