"""Web Push: encrypted for one browser (RFC 8291), signed with our key, replaced by tag."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import socket
from collections.abc import Awaitable, Callable, Collection
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from openbus.notify.content import Parcel
from openbus.notify.devices import Subscription, SubscriptionError, check_endpoint
from openbus.notify.records import Channel, Outcome
from openbus.notify.sender import TIMEOUT, outcome_of_status
from openbus.notify.vapid import Vapid

SHOW_TTL = 12 * 3600
CLOSE_TTL = 24 * 3600
"""Seconds that a push service keeps a message for a device that is off."""

PAYLOAD_MOST = 3000
"""Bytes before encryption; services take about 4000 after it."""

Resolve = Callable[[str], Awaitable[Collection[str]]]
"""The addresses of a host name. Raises `OSError`."""


def channel_of(subscription: Subscription) -> Channel:
    return Channel(
        name=f"webpush:{subscription.id}",
        type="webpush",
        device=subscription.device,
        replaces=True,
        withdraws=True,
        browser=subscription.browser,
    )


class WebPushSender:
    """Sends to one subscription. `client` is shared and belongs to the caller."""

    def __init__(
        self,
        subscription: Subscription,
        vapid: Vapid,
        client: httpx.AsyncClient,
        hosts: Collection[str],
        resolve: Resolve | None = None,
    ) -> None:
        self.channel = channel_of(subscription)
        self._subscription = subscription
        self._vapid = vapid
        self._client = client
        self._hosts = hosts
        self._resolve = resolve or resolve_host

    async def send(self, parcel: Parcel) -> Outcome:
        endpoint = self._subscription.endpoint
        try:
            host = check_endpoint(endpoint, self._hosts)
            await self._check_address(host)
            body = await asyncio.to_thread(encrypt, self._subscription, payload_of(parcel))
        except SubscriptionError as error:
            return Outcome(result="gone", reason=str(error))
        except OSError:
            return Outcome(result="later", reason="the push service's name is not found")
        parts = urlsplit(endpoint)
        headers = {
            "Authorization": self._vapid.authorization(f"{parts.scheme}://{parts.netloc}"),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(CLOSE_TTL if parcel.verb == "withdraw" else SHOW_TTL),
            "Urgency": parcel.urgency,
            # At most 32 characters of base64url (RFC 8030): a device that was off gets the last.
            "Topic": parcel.tag[:32],
        }
        try:
            answer = await self._client.post(
                endpoint, content=body, headers=headers, timeout=TIMEOUT, follow_redirects=False
            )
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            return Outcome(result="later", reason="the push service is not reached")
        except httpx.HTTPError:
            return Outcome(result="unknown", reason="the push service broke off")
        outcome = outcome_of_status(answer.status_code, answer.headers.get("Retry-After"))
        if outcome.result == "gone":
            return Outcome(result="gone", reason="the subscription has expired")
        if answer.status_code in (401, 403):
            return Outcome(
                result="later",
                reason=f"status {answer.status_code}: the key is not the one it was made with; "
                "subscribe the device again",
            )
        return msgspec.structs.replace(outcome, face=parcel.face)

    async def close(self) -> None:
        return None

    async def _check_address(self, host: str) -> None:
        """A known name must not lead to a machine of this network."""
        for address in await self._resolve(host):
            if not ip_address(address.partition("%")[0]).is_global:
                raise OSError(f"{host} leads to a private address")


async def warm() -> None:
    """Load what encrypts (about a second) before it is needed."""
    await asyncio.to_thread(importlib.import_module, "pywebpush")


async def resolve_host(host: str) -> set[str]:
    """Addresses by the system's resolver."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, 443, type=socket.SOCK_STREAM)
    return {str(entry[4][0]) for entry in found}


def payload_of(parcel: Parcel) -> bytes:
    """What the service worker gets: `type` `show` or `close`, `tag`, and for a show `title`,
    `body`, `options`, `panes[{key,kind}]`, `renotify`, `silent`, `at`."""
    if parcel.verb == "withdraw":
        return msgspec.json.encode({"type": "close", "tag": parcel.tag, "at": parcel.at})
    body = parcel.body
    while True:
        shown: dict[str, Any] = {
            "type": "show",
            "tag": parcel.tag,
            "title": parcel.title,
            "body": body,
            "options": parcel.options,
            "panes": [{"key": place.key, "kind": place.kind} for place in parcel.places],
            "renotify": not parcel.quiet,
            "silent": parcel.quiet,
            "at": parcel.at,
        }
        data = msgspec.json.encode(shown)
        if len(data) <= PAYLOAD_MOST or not body:
            return data
        body = body[: len(body) * 3 // 4]


def encrypt(subscription: Subscription, payload: bytes) -> bytes:
    """An `aes128gcm` body. Raises `SubscriptionError` for keys that are none."""
    from pywebpush import WebPusher, WebPushException

    info = {
        "endpoint": subscription.endpoint,
        "keys": {"p256dh": subscription.p256dh, "auth": subscription.auth},
    }
    with contextlib.suppress(WebPushException, ValueError, TypeError):
        body: bytes = WebPusher(info).encode(payload, "aes128gcm")["body"]
        return body
    raise SubscriptionError("the subscription's keys are malformed")
