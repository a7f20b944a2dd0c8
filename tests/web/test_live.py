"""The page on a real service that watches real tmux panes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from playwright.sync_api import Page

from openbus.pairing import Pairing
from tests.e2e.stage import Stage
from tests.web.browser import PHONE
from tests.web.conftest import base, link

Visit = Callable[..., Page]
ASKS = ".card.needs_you"


def test_a_link_pairs_one_browser_once(stage: Stage, visit: Visit, browser: object) -> None:
    stage.player("alice")
    stage.up()
    page = visit()
    page.wait_for_selector(".card")
    assert page.url.rstrip("/") == base(stage).rstrip("/")
    (cookie,) = page.context.cookies()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
    spent = link(stage)
    page.goto(spent)
    other = visit(role="view")
    other.context.clear_cookies()
    other.goto(spent)
    assert "no longer works" in other.inner_text("h1")
    other.goto(base(stage))
    assert "not paired" in other.inner_text("h1")
    kept = (stage.state / "paired.json").read_text()
    assert str(cookie["value"]) not in kept and spent.partition("=")[2] not in kept
    assert spent.partition("=")[2] not in stage.log()


def test_an_ask_appears_and_clears_by_itself(stage: Stage, visit: Visit) -> None:
    alice = stage.player("alice")
    stage.up()
    page = visit(**PHONE)
    page.wait_for_selector(".card.idle")
    alice.show("approval_shell")
    page.wait_for_selector(ASKS)
    assert page.inner_text(f"{ASKS} .text") == "Would you like to run the following command?"
    assert page.inner_text(f"{ASKS} .command") == "rm -rf build/ && mkdir build"
    assert page.locator(f"{ASKS} .option").count() == 3
    assert page.title() == "(1) OpenBus"
    assert "alice needs you" in page.inner_text("p[aria-live]")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    alice.show("working")
    page.wait_for_selector(".card.working")
    assert page.locator(ASKS).count() == 0
    assert page.title() == "OpenBus"


def test_the_screen_is_drawn_as_captured(stage: Stage, visit: Visit) -> None:
    alice = stage.player("alice")
    stage.up()
    alice.show("approval_shell")
    page = visit(**PHONE)
    page.click(ASKS)
    page.wait_for_selector(".screen .r")
    state = stage.pane("alice")
    assert state is not None
    lines = stage.lab.tmux("capture-pane", "-p", "-t", "=alice:").split("\n")
    drawn = page.eval_on_selector_all(
        ".screen .r", "rows => rows.map(row => row.textContent.trimEnd())"
    )
    assert drawn[: len(lines)] == [line.rstrip() for line in lines]
    page.click(".why .rule")
    assert page.locator(".r.lit").count() > 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_is_visible_soon_after_it_was_painted(stage: Stage, visit: Visit) -> None:
    alice = stage.player("alice")
    stage.up()
    page = visit()
    page.wait_for_selector(".card.idle")
    page.evaluate(
        """() => {
          window.seen = [];
          new MutationObserver(() => {
            const kind = document.querySelector(".card").className;
            const last = window.seen[window.seen.length - 1];
            if (!last || last[0] !== kind) window.seen.push([kind, Date.now()]);
          }).observe(document.querySelector("main"),
            { subtree: true, childList: true, attributes: true });
        }"""
    )
    waits: list[float] = []
    cues: list[float] = []
    for _ in range(10):
        for screen, sign in (("approval_shell", "needs_you"), ("working", "working")):
            painted = time.time() * 1000
            alice.show(screen)
            cues.append(time.time() * 1000 - painted)
            page.wait_for_selector(f".card.{sign}")
            seen = page.evaluate("window.seen[window.seen.length - 1][1]")
            waits.append(seen - painted)
            time.sleep(0.4)
    median = statistics.median(waits)
    cue = statistics.median(cues)
    print(f"\npaint to visible: p50 {median:.0f} ms, worst {max(waits):.0f} ms, cue {cue:.0f} ms")
    assert median - cue <= 300


def test_a_restarted_service_is_found_again(stage: Stage, visit: Visit) -> None:
    alice = stage.player("alice")
    stage.up()
    page = visit()
    page.wait_for_selector(".card.idle")
    port = base(stage).rstrip("/").rpartition(":")[2]
    stage.stop()
    page.wait_for_selector("#connection.lost")
    assert "does not answer" in page.inner_text(".notice.lost")
    assert page.locator(".card").count() == 1
    alice.show("approval_shell")
    stage.up("--listen", f"127.0.0.1:{port}")
    page.wait_for_selector("#connection.live")
    page.wait_for_selector(ASKS)
    assert page.locator(".notice").count() == 0


def test_a_revoked_browser_is_told_and_stops(stage: Stage, visit: Visit) -> None:
    stage.player("alice")
    stage.up()
    page = visit()
    page.wait_for_selector(".card")
    (key,) = Pairing(stage.state).everybody()
    assert stage.run("pair", "--revoke", key.id).returncode == 0
    page.wait_for_selector("#connection.unpaired", timeout=25_000)
    assert "openbus pair" in page.inner_text(".notice.unpaired")
