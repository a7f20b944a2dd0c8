"""The key pair by which push services know this OpenBus (VAPID, RFC 8292).

Made on first use and kept in `vapid.pem` (0600) of the state folder. A new key would make every
subscription worthless, so an unreadable file is an error and never replaced.
"""

from __future__ import annotations

import base64
import time
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from openbus import store

FILE = "vapid.pem"
LIFE = 12 * 3600
"""Seconds that a signature is valid; push services take at most a day."""


class Vapid:
    """Signs requests to push services. `contact` is a `mailto:` or `https:` address."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, contact: str) -> None:
        self._key = key
        self._contact = contact
        self._headers: dict[str, tuple[float, str]] = {}

    @property
    def public(self) -> str:
        """The public key as browsers want it: an uncompressed point in base64url."""
        point = self._key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        return base64.urlsafe_b64encode(point).rstrip(b"=").decode()

    def authorization(self, origin: str) -> str:
        """The `Authorization` header for the push service at `origin` (`https://host`)."""
        from py_vapid import Vapid02  # type: ignore[import-untyped]

        made_at, header = self._headers.get(origin, (0.0, ""))
        now = time.time()
        if not header or not 0 <= now - made_at < LIFE / 2:
            claims = {"aud": origin, "exp": int(now) + LIFE, "sub": self._contact}
            signer = Vapid02()
            signer.private_key = self._key
            header = str(signer.sign(claims)["Authorization"])
            self._headers[origin] = (now, header)
        return header


def load(folder: Path, contact: str) -> Vapid:
    """The key of this state folder, made if there is none. Raises `StoreError`."""
    path = folder / FILE
    with store.locked(path):
        try:
            pem = path.read_bytes()
        except FileNotFoundError:
            key = ec.generate_private_key(ec.SECP256R1())
            pem = key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            store.write(path, pem)
            return Vapid(key, contact)
        except OSError as error:
            raise store.StoreError(
                f"cannot read {path}: {error.strerror}; correct its mode"
            ) from None
    try:
        known = serialization.load_pem_private_key(pem, password=None)
    except ValueError:
        known = None
    if not isinstance(known, ec.EllipticCurvePrivateKey) or known.curve.name != "secp256r1":
        raise store.StoreError(
            f"{path} holds no P-256 key; restore it, or remove it and subscribe every device again"
        )
    path.chmod(0o600)
    return Vapid(known, contact)
