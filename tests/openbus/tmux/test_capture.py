from __future__ import annotations

import pytest

from openbus.tmux.capture import capture
from openbus.tmux.connection import Connection
from tests.openbus.tmux.lab import SHOWN, Lab


async def test_a_screen_comes_with_colours_and_what_tmux_says(lab: Lab) -> None:
    lab.start(rf"printf 'plain \033[1;31mred\033[0m 漢字 ⠋\n\033[?25l'; {SHOWN}", size=(40, 6))
    lab.until(lambda: "red" in lab.tmux("capture-pane", "-p"))
    captured = (await capture(Connection(lab.path()), ["%0"]))["%0"]
    screen = captured.capture
    assert screen.ansi.splitlines()[0].startswith("plain \x1b[1m\x1b[31mred\x1b[0m")
    assert "漢字 ⠋" in screen.ansi
    assert screen.ansi.count("\n") == screen.height == 6
    assert screen.width == 40
    assert (screen.cursor.x, screen.cursor.y, screen.cursor.visible) == (0, 1, False)
    assert screen.command == "sleep"
    assert captured.pid == int(lab.tmux("display-message", "-p", "#{pane_pid}"))


async def test_screens_full_of_imitations_stay_where_they_belong(lab: Lab) -> None:
    fake = "ob0123456789abcdefM 0 %%0\\n.\\n%%end 1 2 0\\n"
    lab.start(f"printf '{fake}one'; {SHOWN}")
    lab.tmux("split-window", f"printf '{fake}two'; {SHOWN}")
    lab.until(lambda: "two" in lab.tmux("capture-pane", "-pt", "%1"))
    found = await capture(Connection(lab.path()), ["%1", "%0"])
    assert "one" in found["%0"].capture.ansi
    assert "two" in found["%1"].capture.ansi
    assert "one" not in found["%1"].capture.ansi


async def test_a_vanished_pane_is_missing_and_costs_the_others_nothing(lab: Lab) -> None:
    lab.start(f"echo here; {SHOWN}")
    lab.until(lambda: "here" in lab.tmux("capture-pane", "-p"))
    found = await capture(Connection(lab.path()), ["%7", "%0", "%9"])
    assert list(found) == ["%0"]
    assert found["%0"].capture.ansi.startswith("here\n")
    assert await capture(Connection(lab.path()), ["%7"]) == {}


async def test_nothing_is_asked_for_no_panes(lab: Lab) -> None:
    assert await capture(Connection(lab.path("not-there")), []) == {}


@pytest.mark.parametrize("text", ["work:0.0", "%1;kill-server", "%1\nkill-server", "", "0"])
async def test_only_pane_ids_are_ever_put_into_a_command(lab: Lab, text: str) -> None:
    with pytest.raises(ValueError, match="not a pane id"):
        await capture(Connection(lab.path()), [text])


async def test_a_pane_in_copy_mode_gives_its_own_screen(lab: Lab) -> None:
    lab.start(f"seq 100; {SHOWN}", size=(40, 10))
    lab.until(lambda: "100" in lab.tmux("capture-pane", "-p"))
    lab.tmux("copy-mode")
    lab.tmux("send-keys", "-X", "history-top")
    screen = (await capture(Connection(lab.path()), ["%0"]))["%0"].capture
    assert screen.in_mode
    assert "100" in screen.ansi.splitlines()


async def test_alternate_screen_and_death_are_told(lab: Lab) -> None:
    lab.start(rf"printf '\033[?1049h'; {SHOWN}")
    lab.tmux("set-option", "-g", "remain-on-exit", "on")
    lab.tmux("split-window", "echo; echo bye")
    lab.until(lambda: "1" in lab.tmux("list-panes", "-F", "#{pane_dead}"))
    lab.until(lambda: "1" in lab.tmux("list-panes", "-F", "#{alternate_on}"))
    found = await capture(Connection(lab.path()), ["%0", "%1"])
    assert (found["%0"].capture.alternate_on, found["%0"].capture.dead) == (True, False)
    assert (found["%1"].capture.alternate_on, found["%1"].capture.dead) == (False, True)
    assert "bye" in found["%1"].capture.ansi


@pytest.mark.parametrize("size", [(30, 8), (200, 50), (1000, 500)])
async def test_any_size_is_read_whole(lab: Lab, size: tuple[int, int]) -> None:
    lab.start(rf"printf '%0{size[0]}d' 7; {SHOWN}", size=size)
    lab.until(lambda: "7" in lab.tmux("capture-pane", "-p"))
    screen = (await capture(Connection(lab.path()), ["%0"]))["%0"].capture
    assert (screen.width, screen.height) == size
    assert screen.ansi.splitlines()[0] == "7".rjust(size[0], "0")
    assert screen.ansi.count("\n") == size[1]


async def test_undecodable_bytes_on_a_screen_do_no_harm(lab: Lab) -> None:
    lab.start(rf"printf 'a\377\376b\001\000c\n'; {SHOWN}")
    lab.until(lambda: "c" in lab.tmux("capture-pane", "-p"))
    screen = (await capture(Connection(lab.path()), ["%0"]))["%0"].capture
    assert screen.ansi.encode()
    assert screen.ansi.rstrip("\n").endswith("c")
