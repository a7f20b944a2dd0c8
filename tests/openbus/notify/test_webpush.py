"""Web Push as the browser sees it: decrypted, signed, replaced and closed."""

from __future__ import annotations

import stat
from collections.abc import Collection
from pathlib import Path

import httpx
import msgspec
import pytest

from openbus.notify.content import Parcel, Place
from openbus.notify.devices import (
    PUSH_HOSTS,
    Devices,
    Subscription,
    SubscriptionError,
    check_endpoint,
)
from openbus.notify.records import Outcome
from openbus.notify.vapid import Vapid, load
from openbus.notify.webpush import WebPushSender, payload_of
from openbus.store import StoreError
from tests.openbus.notify.push_service import Browser, PushService, public_address

PARCEL = Parcel(
    verb="announce",
    tag="ob-0123456789abcdef01234567",
    title="codex needs you",
    body="work:0.0 · shop\nRun this?\n$ make deploy",
    options=("Yes", "No"),
    places=(Place(key="box:default:1-2:%1:3", program="codex", kind="needs_you"),),
    urgency="high",
)
CLOSE = Parcel(verb="withdraw", tag=PARCEL.tag)


def subscription(browser: Browser) -> Subscription:
    keys = browser.keys
    return Subscription(
        id="a1", endpoint=browser.endpoint, p256dh=keys["p256dh"], auth=keys["auth"]
    )


def sender(browser: Browser, vapid: Vapid, transport: httpx.AsyncBaseTransport) -> WebPushSender:
    client = httpx.AsyncClient(transport=transport)
    return WebPushSender(subscription(browser), vapid, client, PUSH_HOSTS, public_address)


@pytest.fixture
def vapid(tmp_path: Path) -> Vapid:
    return load(tmp_path, "mailto:me@example.com")


async def test_a_browser_decrypts_what_it_is_shown_and_closes_it(vapid: Vapid) -> None:
    browser = Browser()
    service = PushService([browser], vapid.public)
    async with service.listening() as transport:
        push = sender(browser, vapid, transport)
        assert (await push.send(PARCEL)).result == "accepted"
        shown = browser.shows[PARCEL.tag]
        assert (shown["title"], shown["body"]) == (PARCEL.title, PARCEL.body)
        assert shown["options"] == ["Yes", "No"]
        assert shown["panes"] == [{"key": "box:default:1-2:%1:3", "kind": "needs_you"}]
        assert shown["renotify"] and not shown["silent"]
        update = msgspec.structs.replace(PARCEL, verb="update", body="less", quiet=True)
        assert (await push.send(update)).result == "accepted"
        assert len(browser.shows) == 1
        assert browser.shows[PARCEL.tag]["silent"] and not browser.shows[PARCEL.tag]["renotify"]
        assert (await push.send(CLOSE)).result == "accepted"
        assert browser.shows == {}
    topics = {request.headers["topic"] for request in service.requests}
    assert topics == {PARCEL.tag}
    assert service.requests[0].headers["urgency"] == "high"


async def test_another_key_than_the_subscribed_one_is_refused_and_said_so(
    vapid: Vapid, tmp_path: Path
) -> None:
    browser = Browser()
    service = PushService([browser], vapid.public)
    async with service.listening() as transport:
        other = load(tmp_path / "other", "mailto:me@example.com")
        outcome = await sender(browser, other, transport).send(PARCEL)
    assert outcome.result == "later"
    assert "subscribe the device again" in outcome.reason


@pytest.mark.parametrize(
    ("status", "result"),
    [(404, "gone"), (410, "gone"), (413, "refused"), (429, "later"), (500, "later")],
)
async def test_the_service_says_no(vapid: Vapid, status: int, result: str) -> None:
    browser = Browser()
    service = PushService([browser], vapid.public)
    service.status, service.headers = status, {"Retry-After": "17"}
    async with service.listening() as transport:
        outcome = await sender(browser, vapid, transport).send(PARCEL)
    assert outcome.result == result
    if result == "later":
        assert outcome.retry_after == 17_000
    assert browser.endpoint not in outcome.reason


async def test_no_service_is_not_reached(vapid: Vapid) -> None:
    browser = Browser()
    service = PushService([browser], vapid.public)
    async with service.listening() as transport:
        pass
    outcome = await sender(browser, vapid, transport).send(PARCEL)
    assert outcome == Outcome(result="later", reason="the push service is not reached")


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "fe80::1%eth0"])
async def test_a_known_name_that_leads_home_is_not_called(vapid: Vapid, address: str) -> None:
    async def home(host: str) -> Collection[str]:
        return [address]

    browser = Browser()
    service = PushService([browser], vapid.public)
    async with service.listening() as transport:
        client = httpx.AsyncClient(transport=transport)
        push = WebPushSender(subscription(browser), vapid, client, PUSH_HOSTS, home)
        assert (await push.send(PARCEL)).result == "later"
    assert service.requests == []


def test_a_long_body_is_cut_until_it_fits() -> None:
    long = msgspec.structs.replace(PARCEL, body="ü" * 9000)
    assert len(payload_of(long)) <= 3000


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://fcm.googleapis.com/x",
        "https://localhost/x",
        "https://169.254.169.254/latest",
        "https://fcm.googleapis.com:8443/x",
        "https://fcm.googleapis.com@evil.example/x",
        "https://user@fcm.googleapis.com/x",
        "https://evilfcm.googleapis.com.example/x",
        "https://notfcm.googleapis.community/x",
        "file:///etc/passwd",
        "https://[::1/x",
        "",
    ],
)
def test_only_push_services_can_be_subscribed_at(endpoint: str) -> None:
    with pytest.raises(SubscriptionError) as error:
        check_endpoint(endpoint, PUSH_HOSTS)
    assert "\n" not in str(error.value)


def test_names_below_a_known_host_are_known() -> None:
    endpoint = "https://wns2-par02p.notify.windows.com/w/?token=x"
    assert check_endpoint(endpoint, PUSH_HOSTS) == "wns2-par02p.notify.windows.com"


def add(devices: Devices, browser: Browser, **fields: str) -> Subscription:
    keys = browser.keys | fields
    return devices.add(
        browser.endpoint,
        keys["p256dh"],
        keys["auth"],
        device="phone",
        label="my phone",
        browser=browser.name,
        now=1,
    )


def test_devices_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    devices = Devices(tmp_path)
    browser = Browser()
    first = add(devices, browser)
    assert add(devices, browser).id == first.id
    assert [one.label for one in devices.all()] == ["my phone"]
    assert stat.S_IMODE((tmp_path / "devices.json").stat().st_mode) == 0o600
    assert devices.remove(first.id)
    assert not devices.remove(first.id)
    assert devices.all() == ()


def test_a_browser_that_subscribes_anew_has_one_place(tmp_path: Path) -> None:
    devices = Devices(tmp_path)
    old, new = Browser(), Browser()
    new.name, endpoint = old.name, new.endpoint
    add(devices, old)
    add(devices, new)
    assert [one.endpoint for one in devices.all()] == [endpoint]


@pytest.mark.parametrize("field", [{"p256dh": "AAAA"}, {"p256dh": "é"}, {"auth": "c2hvcnQ"}])
def test_malformed_keys_are_refused(tmp_path: Path, field: dict[str, str]) -> None:
    with pytest.raises(SubscriptionError):
        add(Devices(tmp_path), Browser(), **field)


def test_the_key_is_made_once_and_stays(tmp_path: Path) -> None:
    first = load(tmp_path, "mailto:a@b.example")
    assert load(tmp_path, "mailto:a@b.example").public == first.public
    assert stat.S_IMODE((tmp_path / "vapid.pem").stat().st_mode) == 0o600


def test_a_damaged_key_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "vapid.pem").write_text("not a key")
    with pytest.raises(StoreError, match=r"vapid\.pem"):
        load(tmp_path, "mailto:a@b.example")
    assert (tmp_path / "vapid.pem").read_text() == "not a key"
