"""The line in tmux: shown to people, and never more than a line."""

from __future__ import annotations

import os
import pty
import re

import msgspec

from openbus.notify.content import Parcel, Place
from openbus.notify.records import Channel
from openbus.notify.tmux_message import TmuxSender, _ring, literal
from openbus.tmux.connection import Connection
from tests.openbus.tmux.lab import SHOWN, Lab

CHANNEL = Channel(name="tmux", type="tmux", device="desk")


def parcel(lab: Lab, title: str) -> Parcel:
    place = Place(
        key="k", program="codex", kind="needs_you", name="a:0.0", id="%0", socket=lab.path()
    )
    return Parcel(verb="announce", tag="t", title=title, places=(place,))


def sender(style: str = "message") -> TmuxSender:
    return TmuxSender(CHANNEL, style, Connection, "tmux")  # type: ignore[arg-type]


async def test_an_attached_terminal_shows_the_line(lab: Lab) -> None:
    lab.start("-s", "a", SHOWN)
    lab.attach("a")
    outcome = await sender().send(parcel(lab, "codex needs you"))
    assert outcome.result == "accepted"
    # The terminal of the test is not UTF-8, so the dot between the two becomes something else.
    shown = re.compile("codex needs you . a:0.0")
    lab.until(lambda: shown.search(lab.tmux("capture-pane", "-p", name="glass-a")))


async def test_text_of_a_screen_runs_nothing_and_expands_nothing(lab: Lab) -> None:
    lab.start("-s", "a", SHOWN)
    lab.attach("a")
    target = lab.folder / "owned"
    hostile = f'#(touch {target}) #{{pane_id}} %H \';kill-server "$(touch {target})" \\;'
    outcome = await sender().send(parcel(lab, hostile))
    assert outcome.result == "accepted"
    shown = "#{pane_id} %H ';kill-server"
    lab.until(lambda: shown in lab.tmux("capture-pane", "-p", "-J", name="glass-a"))
    assert lab.tmux("list-sessions", "-F", "#{session_name}") == "a"
    assert "owned" not in os.listdir(lab.folder)


async def test_nobody_attached_is_said(lab: Lab) -> None:
    lab.start("-s", "a", SHOWN)
    outcome = await sender("both").send(parcel(lab, "x"))
    assert (outcome.result, outcome.reason) == ("refused", "no terminal is attached")


async def test_nothing_can_be_taken_back(lab: Lab) -> None:
    withdrawal = msgspec.structs.replace(parcel(lab, ""), verb="withdraw")
    assert (await sender().send(withdrawal)).result == "cannot"


async def test_the_bell_reaches_the_terminal(lab: Lab) -> None:
    lab.start("-s", "a", SHOWN)
    lab.attach("a")
    lab.tmux("set-option", "-g", "bell-action", "any", name="glass-a")
    lab.tmux("new-window", SHOWN, name="glass-a")
    assert (await sender("bell").send(parcel(lab, "x"))).result == "accepted"
    lab.until(lambda: "1" in lab.tmux("list-windows", "-F", "#{window_bell_flag}", name="glass-a"))


def test_a_bell_is_one_character() -> None:
    master, slave = pty.openpty()
    assert _ring(os.ttyname(slave))
    assert os.read(master, 10) == b"\a"
    os.close(master)
    os.close(slave)
    assert not _ring("/dev/nowhere")


def test_a_line_is_literal() -> None:
    assert literal("-x #S;\n\x1b") == " -x ##S; "
