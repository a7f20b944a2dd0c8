"""`/api/push/…` with a running notifier behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from openbus.notify.post import Post
from openbus.notify.reactor import Notifier
from openbus.notify.settings import NOBODY, NotifySettings
from openbus.server_push import routes
from tests.openbus.live_support import asking
from tests.openbus.notify.push_service import Browser
from tests.openbus.notify.test_reactor import World

PANE = "box:default:100-1700000000:%1:201"


class Api:
    def __init__(self, client: httpx.AsyncClient, notifier: Notifier, world: World) -> None:
        self.client = client
        self.notifier = notifier
        self.world = world


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    world = World(tmp_path)
    async with world.notified(post=Post(NotifySettings(), tmp_path)) as notifier:
        app = Starlette(routes=routes())
        app.state.notifier = notifier
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://box") as client:
            yield Api(client, notifier, world)


def subscription(browser: Browser) -> dict[str, object]:
    return {
        "endpoint": browser.endpoint,
        "expirationTime": None,
        "keys": browser.keys,
        "device": "phone",
        "label": "my phone",
        "browser": "b1",
    }


async def test_a_browser_subscribes_and_leaves(api: Api) -> None:
    key = (await api.client.get("/api/push/key")).json()["key"]
    assert len(key) == 87
    browser = Browser()
    made = await api.client.post("/api/push/subscriptions", json=subscription(browser))
    assert made.status_code == 201
    listed = (await api.client.get("/api/push/subscriptions")).text
    assert "my phone" in listed and browser.endpoint not in listed
    path = f"/api/push/subscriptions/{made.json()['id']}"
    assert (await api.client.delete(path)).status_code == 204
    assert (await api.client.delete(path)).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 422),
        (b"[]", 422),
        (b'{"endpoint": "https://127.0.0.1/", "keys": {"p256dh": "a", "auth": "b"}}', 422),
        (
            b'{"endpoint": "https://fcm.googleapis.com/a", "keys": {"p256dh": "a", "auth": "b"}}',
            422,
        ),
        (b'{"endpoint": 7}', 422),
        (b" " * 9000, 413),
        (b"\xff\xfe", 422),
    ],
)
async def test_a_bad_subscription_is_a_problem(api: Api, body: bytes, status: int) -> None:
    answer = await api.client.post(
        "/api/push/subscriptions", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


async def test_only_json_changes_anything(api: Api) -> None:
    answer = await api.client.put("/api/push/mutes", content=b'{"scope":"program","name":"x"}')
    assert answer.status_code == 415


async def test_mutes(api: Api) -> None:
    mute = {"scope": "pane", "name": PANE, "seconds": 600}
    assert (await api.client.put("/api/push/mutes", json=mute)).status_code == 204
    [kept] = (await api.client.get("/api/push/mutes")).json()
    assert (kept["scope"], kept["name"]) == ("pane", PANE)
    path = f"/api/push/mutes/pane/{PANE.replace('%', '%25')}"
    assert (await api.client.delete(path)).status_code == 204
    assert (await api.client.delete(path)).status_code == 404
    assert (await api.client.delete("/api/push/mutes/house/x")).status_code == 404
    for bad in ({"scope": "house", "name": "x"}, mute | {"seconds": 0}, mute | {"name": ""}):
        assert (await api.client.put("/api/push/mutes", json=bad)).status_code == 422


async def test_presence_is_reported(api: Api) -> None:
    for pane, shown in ((PANE, {"b1": PANE}), (None, {})):
        body = {"browser": "b1", "pane": pane}
        assert (await api.client.put("/api/push/presence", json=body)).status_code == 204
        assert api.notifier.pages.shown(api.notifier.now()) == shown


async def test_status_and_log(api: Api) -> None:
    status = (await api.client.get("/api/push/status")).json()
    assert status["warnings"] == [NOBODY]
    assert [channel["name"] for channel in status["channels"]] == ["none"]
    api.world.sees(asking())
    await api.world.settles(0.6)
    log = (await api.client.get("/api/push/log?limit=5")).json()
    assert [entry["what"] for entry in log] == ["no channel", "would send"]
    assert (await api.client.get("/api/push/log?limit=x")).status_code == 422


async def test_a_test_message_without_a_way_to_a_person_claims_no_success(api: Api) -> None:
    assert (await api.client.post("/api/push/test")).json() == []


async def test_before_the_start_it_says_so() -> None:
    app = Starlette(routes=routes())
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://box") as client:
        answer = await client.get("/api/push/key")
    assert answer.status_code == 503
