"""Browsers that asked for Web Push, in `devices.json` (0600) of the state folder.

An endpoint is as good as a key to the device's inbox, so it is shown nowhere but there. Only known
push services over HTTPS are taken: a subscribe route that takes any address would let a page make
this machine call any other.
"""

from __future__ import annotations

import base64
from collections.abc import Collection
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec

from openbus import store
from openbus.notify.records import Device

FILE = "devices.json"
MOST = 50
PUSH_HOSTS = (
    "fcm.googleapis.com",
    "android.googleapis.com",
    "updates.push.services.mozilla.com",
    "web.push.apple.com",
    "notify.windows.com",
)
"""Hosts of push services; names below them count too. As of 2026: Chrome and Edge on Android,
Firefox, Safari, Edge on Windows."""


class SubscriptionError(Exception):
    """A subscription that is not taken; `str()` says why in one line."""


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """One browser. `id` names it in commands and logs; `label` is what the user called it;
    `browser` is the name under which its pages report what they show."""

    id: str
    endpoint: str
    p256dh: str
    auth: str
    device: Device = "phone"
    label: str = ""
    browser: str | None = None
    added_at: int = 0


class Devices:
    """The subscriptions below the state folder `folder`."""

    def __init__(self, folder: Path, hosts: Collection[str] = ()) -> None:
        self._path = folder / FILE
        self._hosts = (*PUSH_HOSTS, *hosts)

    def all(self) -> tuple[Subscription, ...]:
        """Raises `StoreError`."""
        return store.read(self._path, tuple[Subscription, ...]) or ()

    def stamp(self) -> int:
        """Changes with the file."""
        try:
            return self._path.stat().st_mtime_ns
        except OSError:
            return 0

    def add(
        self,
        endpoint: str,
        p256dh: str,
        auth: str,
        *,
        device: Device,
        label: str,
        browser: str | None,
        now: int,
    ) -> Subscription:
        """Keep a browser; the same endpoint again replaces it. Raises `SubscriptionError`,
        `StoreError`."""
        check_endpoint(endpoint, self._hosts)
        _check_keys(p256dh, auth)
        subscription = Subscription(
            id=blake2b(endpoint.encode(), digest_size=5).hexdigest(),
            endpoint=endpoint,
            p256dh=p256dh,
            auth=auth,
            device=device,
            label=label[:60],
            browser=browser,
            added_at=now,
        )
        with store.locked(self._path):
            kept = [
                one
                for one in self.all()
                if one.id != subscription.id and (browser is None or one.browser != browser)
            ]
            if len(kept) >= MOST:
                raise SubscriptionError(f"there are {MOST} devices; remove one first")
            store.write(self._path, msgspec.json.encode([*kept, subscription]))
        return subscription

    def remove(self, name: str) -> bool:
        """Forget the browser with this id or endpoint; whether there was one. Raises
        `StoreError`."""
        with store.locked(self._path):
            before = self.all()
            kept = [one for one in before if name not in (one.id, one.endpoint)]
            if len(kept) < len(before):
                store.write(self._path, msgspec.json.encode(kept))
        return len(kept) < len(before)


def check_endpoint(endpoint: str, hosts: Collection[str]) -> str:
    """The host of `endpoint`, if it is a push service. Raises `SubscriptionError`."""
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        raise SubscriptionError("the endpoint is no address") from None
    host = (parts.hostname or "").rstrip(".").lower()
    if parts.scheme != "https" or parts.username is not None or port not in (None, 443):
        raise SubscriptionError("the endpoint is not a plain https address")
    if not any(host == known or host.endswith("." + known) for known in hosts):
        raise SubscriptionError(
            "the endpoint is not at a known push service; others can be named in notify.toml, "
            "[webpush] hosts"
        )
    if len(endpoint) > 2000:
        raise SubscriptionError("the endpoint is longer than any push service's")
    return host


def _check_keys(p256dh: str, auth: str) -> None:
    try:
        point, secret = decode_key(p256dh), decode_key(auth)
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        raise SubscriptionError("p256dh is no public key of a browser") from None
    if len(secret) != 16:
        raise SubscriptionError("auth is not 16 bytes")


def decode_key(text: str) -> bytes:
    """Base64url with or without padding. Raises `ValueError`."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
