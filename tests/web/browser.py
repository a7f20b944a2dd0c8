"""One real Chromium for the tests of the page, and what every page must never do.

The system's Chromium, or Playwright's own where the system has none. Each page is watched: a
request to another origin, a violation of the content security policy, an exception or an error on
the console fails the test that caused it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

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


def program(playwright: Playwright) -> str:
    """The path of the system's Chromium, else of Playwright's own.

    Raises `AssertionError` that says how to get one.
    """
    own = playwright.chromium.executable_path
    for found in (shutil.which("chromium"), shutil.which("google-chrome"), own):
        if found and Path(found).exists():
            return found
    raise AssertionError("Chromium is missing: sh scripts/setup tests")


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(playwright), args=ARGUMENTS)
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


if __name__ == "__main__":  # for scripts/setup: does a Chromium start?
    with chromium() as started:
        print(started.version)
