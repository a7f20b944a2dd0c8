"""Notifications in a real browser: asked for, shown, replaced, withdrawn.

The message is handed to the service worker through the DevTools protocol, as a push service would
hand it over; what is sent on the wire is tested with the notifications themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, CDPSession, Page

from tests.e2e.stage import Stage
from tests.web.conftest import base, link

Visit = Callable[..., Page]
SHOWN = (
    "navigator.serviceWorker.ready.then(worker => worker.getNotifications())"
    ".then(list => list.map(one => ({ title: one.title, body: one.body, tag: one.tag })))"
)


class Worker:
    """The page's service worker, seen through the DevTools protocol."""

    def __init__(self, page: Page, origin: str) -> None:
        self._origin = origin
        self._session: CDPSession = page.context.new_cdp_session(page)
        self._registration: str | None = None
        self._session.on("ServiceWorker.workerRegistrationUpdated", self._updated)
        self._session.send("ServiceWorker.enable")
        page.evaluate("navigator.serviceWorker.ready.then(() => 1)")
        page.wait_for_timeout(200)

    def _updated(self, event: dict[str, Any]) -> None:
        for one in event["registrations"]:
            if not one["isDeleted"]:
                self._registration = one["registrationId"]

    def push(self, message: object) -> None:
        """Deliver a push message."""
        assert self._registration is not None
        self._session.send(
            "ServiceWorker.deliverPushMessage",
            {
                "origin": self._origin,
                "registrationId": self._registration,
                "data": message if isinstance(message, str) else json.dumps(message),
            },
        )


@pytest.fixture
def page(stage: Stage, visit: Visit) -> Iterator[Page]:
    stage.player("alice")
    stage.up()
    made = visit()
    made.wait_for_selector(".card")
    origin = base(stage).rstrip("/")
    made.context.grant_permissions(["notifications"], origin=origin)
    made.reload()
    made.wait_for_selector(".card")
    yield made


def shown(page: Page, true: Callable[[list[Any]], bool]) -> list[Any]:
    for _ in range(50):
        found: list[Any] = page.evaluate(SHOWN)
        if true(found):
            return found
        page.wait_for_timeout(100)
    raise AssertionError(f"never came true; last {found}")


def show(tag: str, title: str, key: str | None = None) -> dict[str, Any]:
    return {
        "type": "show",
        "tag": tag,
        "title": title,
        "body": "Run it?\n1. Yes\n2. No",
        "options": ["Yes", "No"],
        "panes": [{"key": key, "kind": "needs_you"}] if key else [],
        "renotify": True,
        "silent": False,
        "at": 1_790_000_000_000,
    }


def test_a_notification_is_shown_replaced_and_withdrawn(stage: Stage, page: Page) -> None:
    worker = Worker(page, base(stage).rstrip("/"))
    worker.push(show("ob-1", "codex needs you"))
    (one,) = shown(page, lambda found: len(found) == 1)
    assert one["title"] == "codex needs you" and "Run it?" in one["body"]
    worker.push(show("ob-1", "codex asks another thing"))
    shown(page, lambda found: [n["title"] for n in found] == ["codex asks another thing"])
    worker.push(show("ob-2", "claude-code needs you"))
    shown(page, lambda found: len(found) == 2)
    worker.push({"type": "close", "tag": "ob-1", "at": 0})
    shown(page, lambda found: [n["tag"] for n in found] == ["ob-2"])
    worker.push({"type": "close", "tag": "ob-2", "at": 0})
    shown(page, lambda found: found == [])


def test_a_message_that_is_none_shows_nothing(stage: Stage, page: Page) -> None:
    worker = Worker(page, base(stage).rstrip("/"))
    for message in ("no json", {"type": "later"}, [1], ""):
        worker.push(message)
    worker.push(show("ob-3", "the last"))
    shown(page, lambda found: [n["title"] for n in found] == ["the last"])


def test_the_page_says_when_notifications_are_refused(
    stage: Stage, page: Page, browser: Any
) -> None:
    context: BrowserContext = browser.new_context()
    asked = context.new_page()
    asked.add_init_script(
        "Notification.requestPermission = () => Promise.resolve('denied');"
        "Object.defineProperty(Notification, 'permission', { get: () => 'denied' });"
    )
    asked.goto(link(stage))
    asked.wait_for_selector("#connection.live")
    asked.goto(f"{base(stage)}#/notifications")
    asked.wait_for_selector("text=Notifications are blocked for this page")
    asked.click("button.first")
    asked.wait_for_selector("text=refuses notifications")
    context.close()


def test_switching_on_subscribes_and_off_forgets(stage: Stage, page: Page) -> None:
    # A push service cannot be reached from a test: the browser's part is played, ours is real.
    page.add_init_script(
        """{
          let made = null;
          const b64 = "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1"
            + "XbjhazAkj7I99e8QcYP7DkM";
          PushManager.prototype.getSubscription = () => Promise.resolve(made);
          PushManager.prototype.subscribe = (options) => {
            window.keyLength = options.applicationServerKey.length;
            made = {
              unsubscribe: () => { made = null; return Promise.resolve(true); },
              toJSON: () => ({ endpoint: "https://fcm.googleapis.com/fcm/send/abc",
                keys: { p256dh: b64, auth: "tBHItJI5svbpez7KI4CCXg" } }),
            };
            return Promise.resolve(made);
          };
        }"""
    )
    page.reload()
    page.goto(f"{base(stage)}#/notifications")
    page.click("button.first")
    page.wait_for_selector("text=Notifications are on.")
    assert page.evaluate("window.keyLength") == 65
    assert "fcm.googleapis.com" not in page.content()
    page.click("text=Switch off")
    page.wait_for_selector("text=Notifications are off.")
