from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from openbus.client import find
from openbus.door import now_ms
from openbus.pairing import Pairing, Role, pairing_url
from tests.e2e.stage import Stage
from tests.openbus.tmux.lab import Lab
from tests.web.browser import WIDE, Watched, chromium
from tests.web.fake import Fake, served


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Lab() as lab:
        made = Stage(lab, tmp_path)
        try:
            yield made
        finally:
            made.close()


def base(stage: Stage) -> str:
    """The address of the page, ending in a slash."""
    running = find(stage.state)
    assert running is not None and running.url is not None
    return running.url


def link(stage: Stage, role: Role = "full") -> str:
    """A fresh pairing link."""
    return pairing_url(base(stage), Pairing(stage.state).invite(role, now_ms()))


@pytest.fixture
def visit(browser: Browser, stage: Stage) -> Iterator[Callable[..., Page]]:
    """A paired page of a new browser profile; what it must never do is checked at the end."""
    opened: list[Watched] = []

    def make(role: Role = "full", **options: Any) -> Page:
        watched = Watched(browser, base(stage), **{**WIDE, **options})
        opened.append(watched)
        page = watched.page()
        page.goto(link(stage, role))
        page.wait_for_selector("#connection.live")
        return page

    yield make
    for watched in opened:
        watched.close()


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    with served(tmp_path / "state") as running:
        yield running


@pytest.fixture
def look(browser: Browser, fake: Fake) -> Iterator[Callable[..., Page]]:
    """A paired page on the fake's states."""
    opened: list[Watched] = []

    def make(**options: Any) -> Page:
        watched = Watched(browser, fake.base, **{**WIDE, **options})
        opened.append(watched)
        page = watched.page()
        page.goto(fake.link())
        page.wait_for_selector("#connection.live")
        return page

    yield make
    for watched in opened:
        watched.close()
