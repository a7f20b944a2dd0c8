"""A push service and its browsers: takes real requests on loopback, checks the signature, and
decrypts as a browser does (RFC 8188, RFC 8291), with nothing of the sender's library."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import secrets
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import uvicorn
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

HOST = "fcm.googleapis.com"
POINT = (serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Browser:
    """One subscription, as `PushSubscription.toJSON()` gives it, and what the device shows."""

    def __init__(self, host: str = HOST) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.auth = secrets.token_bytes(16)
        self.name = secrets.token_hex(8)
        self.endpoint = f"https://{host}/fcm/send/{self.name}"
        self.received: list[dict[str, Any]] = []
        self.shows: dict[str, dict[str, Any]] = {}

    @property
    def keys(self) -> dict[str, str]:
        return {"p256dh": b64(self.key.public_key().public_bytes(*POINT)), "auth": b64(self.auth)}

    def decrypt(self, body: bytes) -> dict[str, Any]:
        salt, record_size, id_length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        assert len(body) <= record_size + 21 + id_length
        point = body[21 : 21 + id_length]
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        shared = self.key.exchange(ec.ECDH(), theirs)
        ours = self.key.public_key().public_bytes(*POINT)
        secret = _hkdf(self.auth, shared, b"WebPush: info\0" + ours + point, 32)
        key = _hkdf(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _hkdf(salt, secret, b"Content-Encoding: nonce\0", 12)
        plain = AESGCM(key).decrypt(nonce, body[21 + id_length :], None).rstrip(b"\0")
        assert plain.endswith(b"\x02"), "not the last record"
        message = json.loads(plain[:-1])
        assert isinstance(message, dict)
        return message

    def take(self, body: bytes) -> None:
        message = self.decrypt(body)
        self.received.append(message)
        if message["type"] == "close":
            self.shows.pop(message["tag"], None)
        else:
            self.shows[message["tag"]] = message


class PushService:
    """Knows the browsers and the key each was subscribed with; `status` answers all requests."""

    def __init__(self, browsers: list[Browser], public_key: str) -> None:
        self.browsers = {browser.name: browser for browser in browsers}
        self.public_key = public_key
        self.status = 201
        self.headers: dict[str, str] = {}
        self.requests: list[Request] = []
        self.port = 0
        self.app = Starlette(routes=[Route("/fcm/send/{name}", self.push, methods=["POST"])])

    async def push(self, request: Request) -> Response:
        self.requests.append(request)
        body = await request.body()
        if self.status != 201:
            return Response(status_code=self.status, headers=self.headers)
        browser = self.browsers.get(request.path_params["name"])
        if browser is None:
            return Response(status_code=410)
        if not self.signed(request.headers["authorization"]):
            return Response(status_code=403)
        assert request.headers["content-encoding"] == "aes128gcm"
        assert request.headers["urgency"] in ("very-low", "low", "normal", "high")
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,32}", request.headers["topic"])
        assert 0 < int(request.headers["ttl"]) <= 28 * 86_400
        if len(body) > 4096:
            return Response(status_code=413)
        browser.take(body)
        return Response(status_code=201)

    def signed(self, header: str) -> bool:
        """RFC 8292: `vapid t=JWT, k=KEY`, ES256, for this origin, valid now and at most a day."""
        match = re.fullmatch(r"vapid t=([\w.-]+), ?k=([\w-]+)", header)
        if match is None or match[2] != self.public_key:
            return False
        head, body, signature = match[1].split(".")
        assert json.loads(unb64(head)) == {"typ": "JWT", "alg": "ES256"}
        raw = unb64(signature)
        der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
        point = unb64(self.public_key)
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        key.verify(der, f"{head}.{body}".encode(), ec.ECDSA(hashes.SHA256()))
        claims = json.loads(unb64(body))
        assert claims["sub"].startswith(("mailto:", "https:"))
        in_time = time.time() < claims["exp"] <= time.time() + 86_400
        return bool(in_time and claims["aud"] == f"https://{HOST}")

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[httpx.AsyncBaseTransport]:
        """Serves on loopback; gives a transport that leads the push host's name there."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(self.app, log_config=None, lifespan="off", access_log=False)
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        try:
            yield _Rerouted(self.port)
        finally:
            server.should_exit = True
            await task


class _Rerouted(httpx.AsyncBaseTransport):
    def __init__(self, port: int) -> None:
        self._port = port
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
        moved = httpx.Request(
            request.method,
            url,
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return await self._inner.handle_async_request(moved)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def public_address(host: str) -> list[str]:
    return ["142.250.1.1"]


def _hkdf(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)
