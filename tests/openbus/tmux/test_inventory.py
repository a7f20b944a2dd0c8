from __future__ import annotations

import pytest

from openbus.model import Server
from openbus.tmux.connection import Connection
from openbus.tmux.inventory import active_since, census, inventory, pane_key
from tests.openbus.tmux.lab import SHOWN, Lab


async def test_a_pane_is_listed_with_its_place_and_key(lab: Lab) -> None:
    pid = lab.start("-s", "work", "-n", "build", SHOWN, size=(100, 30))
    listed = await inventory(Connection(lab.path()), host="box")
    (row,) = listed.panes
    started = int(lab.tmux("display-message", "-p", "#{start_time}"))
    pane_pid = int(lab.tmux("display-message", "-p", "#{pane_pid}"))
    assert listed.server == Server(socket=lab.path(), pid=pid, started=started)
    assert row.pane.key == f"box:work:{pid}-{started}:%0:{pane_pid}"
    assert (row.pane.session, row.pane.window.name, row.pane.window.index) == ("work", "build", 0)
    assert (row.pane.width, row.pane.height) == (100, 30)
    assert row.tty == lab.tmux("display-message", "-p", "#{pane_tty}")
    assert not row.pane.viewed


async def test_names_and_titles_may_hold_anything(lab: Lab) -> None:
    title = "a | b ⠋ 完成 🚀 #{pid} 'q' \"d\" $HOME `x` ob0123 %H \\037"
    lab.start("-s", "näme x", "-n", "wín;dow |", SHOWN)
    lab.tmux("select-pane", "-T", title)
    (row,) = (await inventory(Connection(lab.path()))).panes
    assert row.pane.title == lab.tmux("display-message", "-p", "#{pane_title}")
    assert "完成 🚀" in row.pane.title
    assert row.pane.session == "näme x"
    assert row.pane.window.name == "wín;dow |"


async def test_a_title_set_by_a_program_with_control_bytes_stays_one_row(lab: Lab) -> None:
    first = r"printf '\033]2;one\tt\037wo 漢字\007'"
    last = r"printf '\033]0;last 🟢 #{pid} %%H | x\007'"
    lab.start(f"{first}; {last}; {SHOWN}")
    lab.tmux("split-window", SHOWN)
    lab.until(lambda: "last" in lab.tmux("list-panes", "-F", "#{pane_title}"))
    listed = await inventory(Connection(lab.path()))
    assert [row.pane.id for row in listed.panes] == ["%0", "%1"]
    assert listed.panes[0].pane.title == "last 🟢 #{pid} %H | x"


async def test_a_folder_with_a_newline_in_its_name_stays_one_row(lab: Lab) -> None:
    strange = lab.folder / "new\nline | x"
    strange.mkdir()
    lab.start("-c", str(strange), SHOWN)
    lab.tmux("split-window", "-c", "/", SHOWN)
    # tmux knows the folder of a process only once that has taken its terminal.
    lab.until(lambda: lab.tmux("display-message", "-pt", "%1", "#{pane_current_path}") == "/")
    listed = await inventory(Connection(lab.path()))
    assert [row.pane.cwd for row in listed.panes] == [str(strange), "/"]


async def test_a_linked_window_counts_once(lab: Lab) -> None:
    lab.start("-s", "first", SHOWN)
    lab.start("-s", "second", SHOWN)
    lab.tmux("link-window", "-s", "first:0", "-t", "second:5")
    listed = await inventory(Connection(lab.path()))
    assert [row.pane.id for row in listed.panes] == ["%0", "%1"]
    assert listed.panes[0].pane.session == "first"
    assert len(listed.panes[0].sessions) == 2


async def test_grouped_sessions_count_once_and_the_attached_one_names_the_pane(lab: Lab) -> None:
    lab.start("-s", "old", SHOWN)
    lab.start("-s", "mate", "-t", "old")
    lab.attach("mate")
    (row,) = (await inventory(Connection(lab.path()))).panes
    assert row.pane.session == "mate"
    assert row.pane.viewed


async def test_only_the_active_pane_of_the_current_window_is_viewed(lab: Lab) -> None:
    lab.start("-s", "work", SHOWN)
    lab.tmux("split-window", "-t", "work", SHOWN)
    lab.tmux("new-window", "-d", "-t", "work", SHOWN)
    lab.start("-s", "away", SHOWN)
    lab.attach("work")
    listed = await inventory(Connection(lab.path()))
    assert {row.pane.id: row.pane.viewed for row in listed.panes} == {
        "%0": False,
        "%1": True,
        "%2": False,
        "%3": False,
    }


async def test_a_control_client_does_not_view(lab: Lab) -> None:
    lab.start("-s", "work", SHOWN)
    lab.control_client("work")
    (row,) = (await inventory(Connection(lab.path()))).panes
    assert not row.pane.viewed


async def test_base_index_is_the_users(lab: Lab) -> None:
    lab.start("-s", "work", SHOWN)
    lab.tmux("set-option", "-g", "base-index", "1")
    lab.tmux("set-option", "-g", "pane-base-index", "1")
    lab.tmux("new-session", "-d", "-s", "one", SHOWN)
    rows = {row.pane.session: row.pane for row in (await inventory(Connection(lab.path()))).panes}
    assert (rows["one"].window.index, rows["one"].index) == (1, 1)


async def test_a_dead_pane_is_dead_and_a_respawned_one_is_another(lab: Lab) -> None:
    lab.start("-s", "work", SHOWN)
    lab.tmux("set-option", "-g", "remain-on-exit", "on")
    lab.tmux("split-window", "true")
    lab.until(lambda: "1" in lab.tmux("list-panes", "-F", "#{pane_dead}"))
    before = (await inventory(Connection(lab.path()))).panes[1].pane
    lab.tmux("respawn-pane", "-t", "%1", SHOWN)
    after = (await inventory(Connection(lab.path()))).panes[1].pane
    assert before.dead
    assert not after.dead
    assert before.id == after.id == "%1"
    assert before.key != after.key


async def test_copy_mode_and_zoom_are_told(lab: Lab) -> None:
    lab.start("-s", "work", SHOWN)
    lab.tmux("split-window", SHOWN)
    lab.tmux("copy-mode", "-t", "%0")
    lab.tmux("resize-pane", "-Z", "-t", "%1")
    rows = (await inventory(Connection(lab.path()))).panes
    assert [row.pane.in_mode for row in rows] == [True, False]
    assert (rows[1].pane.width, rows[1].pane.height) == (80, 24)


async def test_a_server_without_sessions_has_no_panes(lab: Lab) -> None:
    lab.start("-s", "work", SHOWN)
    lab.tmux("set-option", "-s", "exit-empty", "off")
    lab.tmux("kill-session", "-t", "work")
    assert (await inventory(Connection(lab.path()))).panes == ()
    assert (await census(Connection(lab.path()))).panes == {}


async def test_active_since_gives_only_windows_with_later_output(lab: Lab) -> None:
    lab.start("-s", "work", SHOWN)
    lab.tmux("new-window", "cat")
    conn = Connection(lab.path())
    activity = {row.pane.id: row.window_activity for row in (await inventory(conn)).panes}
    latest = max(activity.values())
    expected = [pane for pane, seconds in activity.items() if seconds >= latest]
    assert [row.pane.id for row in (await active_since(conn, latest)).panes] == expected
    assert len((await active_since(conn, 0)).panes) == 2
    assert (await active_since(conn, latest + 1000)).panes == ()


async def test_the_census_shows_resize_death_and_cursor(lab: Lab) -> None:
    lab.start("-s", "work", "cat")
    lab.tmux("set-option", "-g", "remain-on-exit", "on")
    conn = Connection(lab.path())
    first = (await census(conn)).panes["%0"]
    assert (await census(conn)).panes["%0"] == first
    lab.tmux("send-keys", "-t", "%0", "abc")
    lab.until(lambda: lab.tmux("display-message", "-pt", "%0", "#{cursor_x}") == "3")
    typed = (await census(conn)).panes["%0"]
    assert typed.cursor_x == 3
    lab.tmux("resize-window", "-x", "60", "-y", "10")
    assert (await census(conn)).panes["%0"].width == 60
    lab.tmux("send-keys", "-t", "%0", "C-c")
    lab.until(lambda: lab.tmux("display-message", "-pt", "%0", "#{pane_dead}") == "1")
    assert (await census(conn)).panes["%0"].dead


@pytest.mark.parametrize("label", ["work", "with:colon"])
def test_the_key_can_be_taken_apart_from_the_right(label: str) -> None:
    key = pane_key("box", label, Server(socket="/x", pid=7, started=9), "%3", 11)
    host, _, rest = key.partition(":")
    assert [host, *rest.rsplit(":", 3)] == ["box", label, "7-9", "%3", "11"]
