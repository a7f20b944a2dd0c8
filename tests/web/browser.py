"""One real Chromium for the tests of the page, and what every page must never do.

Debian's `chromium` is driven by Playwright's Python package; no browser is downloaded. Each page
is watched: a request to another origin, a violation of the content security policy, an exception
or an error on the console fails the test that caused it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "has_touch": True,
    "is_mobile": True,
}
WIDE: dict[str, Any] = {"viewport": {"width": 1400, "height": 900}}

WATCH = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`csp: ${event.violatedDirective} ${event.blockedURI}`);
});
"""
HARMLESS = ("Failed to load resource", "net::ERR_")
"""What a browser says itself about answers that a test wants to be refused or absent."""


def program() -> str:
    """The path of Chromium. Raises `AssertionError` that says how to get it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "Chromium is missing: apt-get install chromium (macOS: brew install chromium)"
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A context whose pages are watched; `troubles` must be empty at the end."""

    def __init__(self, browser: Browser, origin: str, **options: Any) -> None:
        self.origin = origin
        self.context: BrowserContext = browser.new_context(**options)
        self.context.add_init_script(WATCH)
        self.troubles: list[str] = []
        self.bytes = 0
        self.context.on("request", self._requested)
        self.context.on("console", self._said)
        self.context.on("weberror", lambda error: self.troubles.append(f"exception: {error.error}"))

    def page(self) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(15_000)
        return page

    def _requested(self, request: Any) -> None:
        if not request.url.startswith((self.origin, "data:", "blob:", "about:")):
            self.troubles.append(f"another origin: {request.url}")

    def _said(self, message: Any) -> None:
        if message.type == "error" and not any(words in message.text for words in HARMLESS):
            self.troubles.append(f"console: {message.text}")

    def close(self) -> None:
        self.context.close()
        assert not self.troubles, self.troubles


def until(page: Page, expression: str, seconds: float = 15.0) -> None:
    """Wait until an expression holds. Playwright's own waiting evaluates in the page, which a
    strict policy forbids; this asks again and again through the protocol."""
    for _ in range(int(seconds * 20)):
        if page.evaluate(f"Boolean({expression})"):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never came true: {expression}")
