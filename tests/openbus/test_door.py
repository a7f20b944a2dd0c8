"""The door: names, origins, keys, roles, writes, and what every answer carries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from openbus.door import Door, browser_label
from openbus.pairing import CODE_LIFE, WRONG_MOST, Pairing

NOW = 1_790_000_000_000
PAGE = {"Accept": "text/html"}
OURS = {"Origin": "http://127.0.0.1:7368"}


async def _inside(request: Request) -> Response:
    return PlainTextResponse("inside")


@pytest.fixture
def pairing(tmp_path: Path) -> Pairing:
    return Pairing(tmp_path)


def client(pairing: Pairing | None, address: str = "127.0.0.1") -> httpx.AsyncClient:
    methods = ["GET", "POST", "PUT", "DELETE"]
    paths = ("/", "/healthz", "/api/panes")
    app = Starlette(routes=[Route(path, _inside, methods=methods) for path in paths])
    door = Door(app, pairing, frozenset({"desk.example.ts.net"}), now=lambda: NOW)
    transport = httpx.ASGITransport(door, client=(address, 5))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7368")


@pytest.fixture
async def web(pairing: Pairing) -> AsyncIterator[httpx.AsyncClient]:
    async with client(pairing) as made:
        yield made


async def test_without_a_key_one_learns_nothing(web: httpx.AsyncClient) -> None:
    for path in ("/", "/api/panes", "/nothing", "/api/panes?token=x"):
        answer = await web.get(path)
        assert answer.status_code == 401
        assert "inside" not in answer.text
    assert (await web.get("/healthz")).text == "inside"
    assert "openbus pair" in (await web.get("/", headers=PAGE)).text


async def test_a_link_gives_a_cookie_that_scripts_cannot_read(
    web: httpx.AsyncClient, pairing: Pairing
) -> None:
    answer = await web.get(f"/pair?token={pairing.invite('full', NOW)}")
    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 200
    assert "openbus_7368=" in cookie and "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert "Secure" not in cookie
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert (await web.get("/api/panes")).text == "inside"


async def test_over_https_the_cookie_is_secure(pairing: Pairing) -> None:
    async with client(pairing) as web:
        link = f"https://127.0.0.1:7368/pair?token={pairing.invite('full', NOW)}"
        assert "Secure" in (await web.get(link)).headers["set-cookie"]


async def test_spent_old_and_wrong_links_open_nothing(
    web: httpx.AsyncClient, pairing: Pairing
) -> None:
    old = pairing.invite("full", NOW - CODE_LIFE)
    for code in (old, "", "x", "x" * 5000, "%00"):
        answer = await web.get(f"/pair?token={code}")
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
    assert (await web.post("/pair?token=x")).status_code in (403, 405)


async def test_other_names_and_origins_are_refused(
    web: httpx.AsyncClient, pairing: Pairing
) -> None:
    web.headers["Authorization"] = f"Bearer {pairing.issue('full', 'x', NOW)}"
    for host in ("evil.example", "evil.example:7368", "127.0.0.1.evil.example", ""):
        answer = await web.get("/api/panes", headers={"Host": host})
        assert answer.status_code == 421, host
    for host in ("localhost:7368", "[::1]:7368", "192.168.1.4:7368", "desk.example.ts.net"):
        assert (await web.get("/api/panes", headers={"Host": host})).status_code == 200, host
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9"):
        answer = await web.get("/api/panes", headers={"Origin": origin})
        assert answer.status_code == 403, origin


async def test_a_write_by_cookie_must_come_from_our_page(
    web: httpx.AsyncClient, pairing: Pairing
) -> None:
    await web.get(f"/pair?token={pairing.invite('full', NOW)}")
    assert (await web.post("/api/panes")).status_code == 403
    foreign = {**OURS, "Sec-Fetch-Site": "same-site"}
    assert (await web.post("/api/panes", headers=foreign)).status_code == 403
    assert (await web.post("/api/panes", headers=OURS)).status_code == 200
    same = {"Sec-Fetch-Site": "same-origin"}
    assert (await web.post("/api/panes", headers=same)).status_code == 200


async def test_without_a_token_a_write_must_still_come_from_our_page() -> None:
    async with client(None) as web:
        assert (await web.get("/api/panes")).status_code == 200
        assert (await web.put("/api/panes")).status_code == 403
        assert (await web.put("/api/panes", headers=OURS)).status_code == 200


async def test_a_view_key_only_looks(web: httpx.AsyncClient, pairing: Pairing) -> None:
    web.headers["Authorization"] = f"Bearer {pairing.issue('view', 'x', NOW)}"
    assert (await web.get("/api/panes")).status_code == 200
    for method in ("POST", "PUT", "DELETE"):
        answer = await web.request(method, "/api/panes", headers=OURS)
        assert answer.status_code == 403
        assert answer.headers["content-type"] == "application/problem+json"


async def test_wrong_keys_lock_out_their_address_but_not_who_is_paired(
    web: httpx.AsyncClient, pairing: Pairing
) -> None:
    good = {"Authorization": f"Bearer {pairing.issue('full', 'x', NOW)}"}
    for _ in range(WRONG_MOST):
        answer = await web.get("/api/panes", headers={"Authorization": "Bearer wrong"})
        assert answer.status_code == 401
    answer = await web.get("/api/panes", headers={"Authorization": "Bearer wrong"})
    assert answer.status_code == 429 and int(answer.headers["retry-after"]) > 0
    assert (await web.get(f"/pair?token={pairing.invite('full', NOW)}")).status_code == 429
    assert (await web.get("/api/panes", headers=good)).status_code == 200


async def test_every_answer_carries_the_policy(web: httpx.AsyncClient) -> None:
    for path in ("/", "/healthz", "/pair?token=x"):
        headers = (await web.get(path, headers=PAGE)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-opener-policy"] == "same-origin"


def test_a_device_is_known_again_by_its_label() -> None:
    firefox = "Mozilla/5.0 (Android 16; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0"
    safari = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1"
    assert browser_label(firefox) == "Firefox on Android"
    assert browser_label(safari) == "Safari on iPhone"
    assert browser_label("curl/8") == "A browser"
