"""Who looks: only a person at an attached terminal, or at a focused page."""

from __future__ import annotations

import time

import msgspec

from openbus.model import PaneState, Program, Server
from openbus.notify.policy import Presence
from openbus.notify.presence import PAGE_MS, Pages, clients_of, look
from openbus.tmux.connection import Connection
from tests.openbus.live_support import pane
from tests.openbus.tmux.lab import SHOWN, Lab


def state(lab: Lab, pane_id: str) -> PaneState:
    server = Server(socket=lab.path(), pid=1, started=2)
    here = pane(key=f"box:work:1-2:{pane_id}:3", server=server)
    return PaneState(host="box", pane=here, program=Program(name="codex"), activity="waiting")


async def seen(lab: Lab, *panes: str) -> Presence:
    states = [state(lab, pane_id) for pane_id in panes]
    return await look(states, {}, Connection)


def keys(presence: Presence) -> tuple[set[str], set[str]]:
    return (
        {key.split(":")[3] for key in presence.looking},
        {key.split(":")[3] for key in presence.visible},
    )


async def test_nobody_is_at_a_session_without_a_client(lab: Lab) -> None:
    lab.start("-s", "a", SHOWN)
    assert keys(await seen(lab, "%0")) == (set(), set())


async def test_a_person_looks_at_the_active_pane_and_sees_those_beside_it(lab: Lab) -> None:
    lab.start("-s", "a", SHOWN)
    lab.tmux("split-window", "-d", "-t", "a", SHOWN)
    lab.tmux("new-window", "-d", "-t", "a", SHOWN)
    lab.attach("a")
    presence = await seen(lab, "%0", "%1", "%2")
    assert keys(presence) == ({"%0"}, {"%1"})
    [at] = presence.looking.values()
    assert abs(at - time.time() * 1000) < 60_000
    lab.tmux("resize-pane", "-Z", "-t", "%0")
    assert keys(await seen(lab, "%0", "%1")) == ({"%0"}, set())


async def test_a_control_client_is_nobody(lab: Lab) -> None:
    lab.start("-s", "a", SHOWN)
    lab.control_client("a")
    assert await clients_of(Connection(lab.path())) == []


async def test_a_server_that_is_gone_has_nobody_in_front_of_it(lab: Lab) -> None:
    lab.start("-s", "a", SHOWN)
    lab.attach("a")
    lab.kill()
    assert keys(await seen(lab, "%0")) == (set(), set())


async def test_input_moves_the_time_of_the_last_input(lab: Lab) -> None:
    lab.start("-s", "a", "cat")
    lab.attach("a")
    before = (await clients_of(Connection(lab.path())))[0].input_at
    lab.until(lambda: int(time.time()) * 1000 > before + 1000)
    lab.tmux("send-keys", "x", name="glass-a")
    lab.until(lambda: "x" in lab.tmux("capture-pane", "-p", "-t", "%0"))
    assert (await clients_of(Connection(lab.path())))[0].input_at > before


def test_a_page_counts_until_it_says_otherwise_or_falls_silent() -> None:
    pages = Pages()
    pages.report("b1", "pane", 1000)
    pages.report("b2", "other", 1000)
    pages.report("b2", None, 1500)
    assert pages.shown(2000) == {"b1": "pane"}
    assert pages.shown(1000 + PAGE_MS) == {}


async def test_pages_are_handed_on() -> None:
    presence = await look([], {"b1": "pane"}, Connection)
    assert msgspec.structs.asdict(presence)["pages"] == {"b1": "pane"}
