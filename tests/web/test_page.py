"""The page on states of the test's own making: what is hostile, large, absent or broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from openbus.model import Capture, Cursor, Model, Option, Plan, Repo
from tests.web.browser import PHONE, until
from tests.web.fake import Fake, asking, state

Look = Callable[..., Page]
AXE = Path(__file__).with_name("axe.min.js")
HOSTILE = (
    '<script>window.owned=1</script><img src=x onerror="window.owned=1">'
    "\u202egnp.exe\u2066\x1b[31mred\x1b[0m\u200b\u200dzero\ufeff"
)


def order(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        ".card .place", "cards => cards.map(card => card.textContent)"
    )
    return found


def test_what_needs_you_comes_first_then_errors_asked_done_working_idle(
    fake: Fake, look: Look
) -> None:
    fake.publish(
        state(0, pane_session="idle"),
        state(4, pane_session="working", activity="working"),
        state(8, pane_session="done", attention="done"),
        state(12, pane_session="asked", attention="asked"),
        state(16, pane_session="error", attention="error", activity="error"),
        state(20, pane_session="limit", attention="limit"),
        asking(24),
    )
    page = look()
    page.wait_for_selector(".card.needs_you")
    names = [name.partition(":")[0] for name in order(page)]
    assert names == ["s6", "limit", "error", "asked", "done", "working", "idle"]


def test_search_filters_and_groups(fake: Fake, look: Look) -> None:
    fake.publish(*(state(n) for n in range(8)), asking(9, "Deploy the moon?"))
    page = look()
    page.wait_for_selector(".card")
    page.keyboard.press("/")
    page.keyboard.type("moon")
    until(page, "document.querySelectorAll('.card').length === 1")
    page.keyboard.press("Escape")
    until(page, "document.querySelectorAll('.card').length === 9")
    page.click("button.chip.needs_you")
    until(page, "document.querySelectorAll('.card').length === 1")
    page.keyboard.press("a")
    page.select_option("select", "session")
    page.wait_for_selector("section.group.s1")
    page.reload()
    page.wait_for_selector("section.group.s1")


def test_the_keyboard_goes_everywhere(fake: Fake, look: Look) -> None:
    fake.publish(state(1), state(2), asking(3), asking(7))
    page = look()
    page.wait_for_selector(".card")
    page.keyboard.press("j")
    until(page, "document.activeElement.closest('.card')")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".pane h2")
    first = page.inner_text("#pane-title")
    page.keyboard.press("n")
    until(page, f"document.getElementById('pane-title').textContent !== {first!r}")
    page.keyboard.press("n")
    until(page, f"document.getElementById('pane-title').textContent === {first!r}")
    page.keyboard.press("Escape")
    page.wait_for_selector("main.list")
    page.keyboard.press("?")
    page.wait_for_selector("dialog.help[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.help", state="hidden")


def test_hostile_text_is_text(fake: Fake, look: Look) -> None:
    long = "A" * 10_000
    one = asking(
        1,
        HOSTILE + long,
        command=HOSTILE + long,
        options=(Option(label=HOSTILE), Option(label=long)),
    )
    two = state(
        2,
        pane_session=HOSTILE,
        pane_title=HOSTILE,
        pane_cwd=f"/tmp/{HOSTILE}",
        title=HOSTILE,
        headline=HOSTILE + long,
        detail=HOSTILE,
        overlay=HOSTILE,
        model=Model(value=HOSTILE, source="screen"),
        repo=Repo(root=f"/x/{HOSTILE}", branch=HOSTILE, origin="javascript:alert(1)"),
    )
    rows = "\n".join([HOSTILE, "<b>bold</b>", "漢字" * 30, long, "\x1b]8;;javascript:x\x07link"])
    for pane in (one, two):
        fake.screens[pane.pane.key] = Capture(ansi=rows, width=80, height=24)
    fake.publish(one, two)
    for options in ({}, PHONE):
        page = look(**options)
        page.wait_for_selector(".card.needs_you")
        for key in (one.pane.key, two.pane.key):
            page.evaluate("key => { location.hash = `#/pane/${encodeURIComponent(key)}`; }", key)
            page.wait_for_selector(".screen .r")
            assert page.evaluate("window.owned") is None
            text = page.inner_text("main")
            assert "<script>window.owned=1</script>" in text or "<b>bold</b>" in text
            assert not any(sign in text for sign in "\u202e\u2066\u200b\ufeff\x1b")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
        assert page.locator("main img, main script, main a[href^=javascript]").count() == 0


def test_wide_characters_take_two_cells_whatever_the_font(fake: Fake, look: Look) -> None:
    pane = state(1)
    ansi = "ab漢字cd|\n" + "12345678|\n" + "─│╭⠋é🙂|\n\x1b[7m  bar  \x1b[0m"
    fake.screens[pane.pane.key] = Capture(ansi=ansi, width=20, height=4, cursor=Cursor(x=8, y=1))
    fake.publish(pane)
    page = look()
    page.click(".card")
    page.wait_for_selector(".screen .r")
    ends = page.evaluate(
        """() => [...document.querySelectorAll(".screen .r")].slice(0, 2).map(row => {
          const range = document.createRange();
          const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
          let found = null;
          while (walker.nextNode()) {
            const at = walker.currentNode.data.indexOf("|");
            if (at >= 0) { range.setStart(walker.currentNode, at);
              range.setEnd(walker.currentNode, at + 1);
              found = range.getBoundingClientRect().left; }
          }
          return found;
        })"""
    )
    assert abs(ends[0] - ends[1]) < 0.6
    assert page.locator(".cursor").count() == 1
    assert page.inner_text(".screen .r:nth-child(4)").strip() == "bar"


def test_what_was_seen_is_no_longer_marked(fake: Fake, look: Look) -> None:
    fake.publish(state(1, attention="done"))
    page = look()
    page.wait_for_selector(".card .unseen")
    page.click(".card a")
    page.wait_for_selector("#pane-title")
    page.keyboard.press("Escape")
    until(page, "document.querySelectorAll('.unseen').length === 0")
    page.reload()
    page.wait_for_selector(".card")
    assert page.locator(".unseen").count() == 0


def test_plan_progress_background_and_staleness_are_shown(fake: Fake, look: Look) -> None:
    fake.publish(state(1, plan=Plan(done=3, total=7, current=3), background=2, stale=True))
    page = look()
    page.wait_for_selector(".card.stale")
    text = page.inner_text(".card")
    assert "3/7" in text and "2 in background" in text and "tmux does not answer" in text


def test_a_pane_that_ends_leaves_and_says_so(fake: Fake, look: Look) -> None:
    pane = asking(1)
    fake.publish(pane, state(2))
    page = look()
    page.click(".card.needs_you a")
    page.wait_for_selector(".question.now")
    fake.gone(pane.pane.key)
    page.wait_for_selector("text=This pane is gone")
    assert page.title() == "OpenBus"


def test_offline_says_so_keeps_what_was_and_goes_on(fake: Fake, look: Look) -> None:
    fake.publish(state(1))
    page = look()
    page.wait_for_selector(".card.idle")
    page.context.set_offline(True)
    page.evaluate("dispatchEvent(new Event('offline'))")
    page.wait_for_selector("#connection.offline")
    assert page.locator(".card").count() == 1
    fake.publish(asking(1))
    page.context.set_offline(False)
    page.wait_for_selector(".card.needs_you")
    page.wait_for_selector("#connection.live")


def test_the_shell_opens_without_the_service(fake: Fake, look: Look) -> None:
    fake.publish(state(1))
    page = look()
    page.evaluate("navigator.serviceWorker.ready.then(() => 1)")
    page.reload()
    page.wait_for_selector("#connection.live")
    fake.stop()
    page.reload()
    page.wait_for_selector("#connection.lost")
    assert "OpenBus" in page.inner_text("h1")
    kept = page.evaluate(
        "caches.keys().then(names => Promise.all(names.map(name => caches.open(name)"
        ".then(cache => cache.keys()).then(keys => keys.map(key => key.url))))).then(x => x.flat())"
    )
    assert kept and not any("/api/" in url for url in kept)
    fake.start()
    page.wait_for_selector("#connection.live", timeout=30_000)


def test_another_version_of_the_service_is_noticed(fake: Fake, look: Look) -> None:
    page = look()
    page.route(
        "**/api/me",
        lambda route: route.fulfill(
            json={"version": "9", "build": "other", "features": [], "role": "full", "now": 0}
        ),
    )
    fake.stop()
    fake.start()
    page.wait_for_selector(".notice.version", timeout=30_000)


def test_a_clock_that_is_off_is_said_and_does_not_spoil_ages(fake: Fake, look: Look) -> None:
    fake.publish(state(1))
    page = look()
    page.wait_for_selector(".card")
    page.context.add_init_script("{ const now = Date.now; Date.now = () => now() + 3 * 3600e3; }")
    page.reload()
    page.wait_for_selector(".notice.clock")
    assert "3 h" in page.inner_text(".notice.clock")
    assert page.inner_text(".card .age") in ("1 min", "2 min")


def test_blocked_storage_is_said_and_nothing_else_fails(fake: Fake, look: Look) -> None:
    fake.publish(asking(1))
    page = look()
    page.context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })"
    )
    page.reload()
    page.wait_for_selector(".notice.storage")
    page.click(".card.needs_you a")
    page.wait_for_selector(".question.now")


def test_a_browser_that_may_only_look_sees_no_way_to_write(fake: Fake, look: Look) -> None:
    page = look()
    page.context.clear_cookies()
    page.goto(fake.link("view"))
    page.wait_for_selector("#connection.live")
    page.goto(f"{fake.base}#/settings")
    page.wait_for_selector("text=Paired")
    page.wait_for_selector(".list-rows li")
    assert page.locator("button", has_text="Remove").count() == 0
    status = page.evaluate(
        "fetch('/api/paired/x', { method: 'DELETE' }).then(answer => answer.status)"
    )
    assert status == 403


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("where", ["deck", "pane", "settings", "shadow", "help"])
def test_axe_finds_nothing(fake: Fake, look: Look, scheme: str, where: str) -> None:
    pane = asking(1, command="rm -rf build")
    fake.screens[pane.pane.key] = Capture(ansi="\x1b[31mred\x1b[0m row", width=80, height=24)
    fake.publish(
        pane,
        state(2, attention="done", plan=Plan(done=1, total=2)),
        state(3, activity="working", headline="Runs the suite"),
        state(4, attention="error", activity="error"),
    )
    page = look(color_scheme=scheme, **({} if where == "help" else PHONE))
    page.wait_for_selector(".card")
    if where == "pane":
        page.click(".card.needs_you a")
        page.wait_for_selector(".screen .r")
    elif where == "help":
        page.keyboard.press("?")
        page.wait_for_selector("dialog.help[open]")
    elif where != "deck":
        page.goto(f"{fake.base}#/{where}")
        page.wait_for_selector(".page-head")
    found = axe(page)
    assert not found, json.dumps(found, indent=1)


def axe(page: Page) -> list[dict[str, Any]]:
    """What axe-core reports, in short. It is run past the page's policy, as an extension would."""
    page.evaluate(AXE.read_text(encoding="utf-8") + "\n0")
    result = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        {
            "id": one["id"],
            "help": one["help"],
            "nodes": [
                node["html"][:160] + " " + node["failureSummary"][:200] for node in one["nodes"][:3]
            ],
        }
        for one in result["violations"]
    ]


def test_all_of_it_is_small(fake: Fake, look: Look) -> None:
    fake.publish(*(state(n) for n in range(20)), asking(30))
    page = look()
    sizes: dict[str, int] = {}
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    names: dict[str, str] = {}
    session.on(
        "Network.responseReceived",
        lambda e: names.__setitem__(e["requestId"], e["response"]["url"]),
    )
    session.on(
        "Network.loadingFinished",
        lambda e: sizes.__setitem__(names[e["requestId"]], e["encodedDataLength"]),
    )
    session.send("Network.setBypassServiceWorker", {"bypass": True})
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.reload()
    page.wait_for_selector(".card")
    for section in ("shadow", "settings", "sessions", "timeline", "notifications"):
        page.goto(f"{fake.base}#/{section}")
        page.wait_for_timeout(300)
    page.evaluate("import('/vendor/uplot.js').then(() => 0)")
    files = {url: size for url, size in sizes.items() if "/api/" not in url}
    print(f"\ntransfer: {sum(files.values())} bytes in {len(files)} files")
    assert sum(files.values()) <= 200_000
