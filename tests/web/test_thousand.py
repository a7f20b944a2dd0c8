"""A page of a thousand panes: quick to open, quick to change, and it does not grow."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable

from playwright.sync_api import Page

from openbus.model import PaneState
from tests.web.browser import until
from tests.web.fake import Fake, asking, state

PANES = 1000
MINUTES = float(os.environ.get("OPENBUS_WEB_SOAK_MINUTES", "0.5"))
"""Ten for the promise in full; less of it in every run."""


def changed(number: int, turn: int) -> PaneState:
    """One of the states that a pane goes through."""
    if (number * 7 + turn) % 40 == 0:
        return asking(number, f"Run step {turn} of {number}?")
    activity = ("idle", "working")[(number + turn) % 2]
    return state(number, activity=activity, headline=f"Turn {turn} of pane {number}")


def heap(page: Page) -> int:
    session = page.context.new_cdp_session(page)
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    used: int = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return used


def test_a_thousand_panes(fake: Fake, look: Callable[..., Page]) -> None:
    fake.publish(*(changed(number, 0) for number in range(PANES)))
    page = look()
    page.wait_for_selector(".card")
    page.wait_for_timeout(1500)
    opened = []
    for _ in range(3):
        page.reload()
        until(
            page,
            f"document.querySelector('.chip .n')?.textContent === '{PANES}'"
            " && document.querySelectorAll('.card').length >= 50",
        )
        opened.append(page.evaluate("performance.now()"))
        page.wait_for_timeout(500)
    first_view = statistics.median(opened)

    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def script() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        found = {one["name"]: one["value"] for one in metrics}
        return float(found["ScriptDuration"]) * 1000

    costs = []
    chance = random.Random(7)
    for turn in range(1, 21):
        before = script()
        numbers = chance.sample(range(PANES), PANES // 20)
        fake.publish(*(changed(number, turn) for number in numbers))
        page.wait_for_timeout(250)
        costs.append(script() - before)
    update = statistics.median(costs)

    start = heap(page)
    end = time.monotonic() + MINUTES * 60
    turn = 100
    while time.monotonic() < end:
        turn += 1
        fake.publish(*(changed(n, turn) for n in chance.sample(range(PANES), PANES // 20)))
        page.wait_for_timeout(500)
    growth = heap(page) / start - 1
    print(
        f"\n{PANES} panes: first view {first_view:.0f} ms, an update of 5 % {update:.0f} ms of "
        f"script, heap {start / 1e6:.1f} MB, growth {growth:+.1%} in {MINUTES:g} min"
    )
    assert first_view <= 1500
    assert update <= 50
    assert growth <= 0.10
