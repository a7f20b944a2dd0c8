from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from openbus.sweep import sweep
from tests.openbus.tmux.lab import SHOWN, Lab


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    with Lab() as servers:
        monkeypatch.setenv("TMUX_TMPDIR", str(servers.folder))
        monkeypatch.setenv("LC_ALL", "C")
        monkeypatch.delenv("TMUX", raising=False)
        yield servers


def _state_of(lab: Lab) -> str:
    """Everything a user could notice in his tmux, as text: options, hooks, keys, sizes,
    layouts, clients, environment, buffers, activity times."""
    asked = [
        ["show-options", "-s"],
        ["show-options", "-g"],
        ["show-options", "-gw"],
        ["show-hooks", "-g"],
        ["show-hooks", "-gw"],
        ["show-environment", "-g"],
        ["list-keys"],
        ["list-buffers"],
        ["list-clients", "-F", "#{client_name} #{client_width} #{client_flags} #{session_id}"],
        [
            "list-sessions",
            "-F",
            "#{session_id} #{session_name} #{session_attached} #{session_activity} "
            "#{session_last_attached} #{session_windows} #{session_alerts}",
        ],
        [
            "list-windows",
            "-a",
            "-F",
            "#{window_id} #{window_index} #{window_layout} #{window_visible_layout} "
            "#{window_flags} #{window_name}",
        ],
        [
            "list-panes",
            "-a",
            "-F",
            "#{pane_id} #{pane_pid} #{pane_tty} #{pane_width} #{pane_height} #{pane_active} "
            "#{pane_pipe} #{pane_mode} #{scroll_position} #{pane_title} #{pane_input_off} "
            "#{pane_synchronized} #{history_size} #{window_activity}",
        ],
    ]
    for session in lab.tmux("list-sessions", "-F", "#{session_id}").split():
        asked += [["show-options", "-t", session], ["show-hooks", "-t", session]]
        asked.append(["show-environment", "-t", session])
    for pane in lab.tmux("list-panes", "-a", "-F", "#{pane_id}").split():
        asked += [["show-options", "-wt", pane], ["show-options", "-pt", pane]]
        asked += [["show-hooks", "-wt", pane], ["show-hooks", "-pt", pane]]
    return "\n".join(lab.tmux(*words) for words in asked)


async def test_nothing_of_the_users_tmux_changes(lab: Lab) -> None:
    lab.start("-s", "work", SHOWN)
    lab.tmux("set-option", "-g", "remain-on-exit", "on")
    # tmux renames windows by a timer of its own: not our doing.
    lab.tmux("set-option", "-gw", "automatic-rename", "off")
    lab.tmux("set-hook", "-g", "after-select-pane", "resize-pane -Z")
    lab.tmux("split-window", "-h", f"seq 200; {SHOWN}")
    lab.tmux("split-window", "true")
    lab.tmux("new-window", "-d", SHOWN)
    lab.tmux("new-session", "-d", "-s", "mate", "-t", "work")
    lab.tmux("new-session", "-d", "-s", "other", SHOWN)
    lab.tmux("link-window", "-s", "other:0", "-t", "work:7")
    lab.tmux("copy-mode", "-t", "%1")
    lab.tmux("send-keys", "-t", "%1", "-X", "page-up")
    lab.attach("work", size=(70, 20))
    lab.until(lambda: "1" in lab.tmux("list-panes", "-a", "-F", "#{pane_dead}").split())
    before = _state_of(lab)
    for _ in range(3):
        assert len((await sweep(socket_names=["work"])).panes) == 5
    assert _state_of(lab) == before


async def test_panes_come_with_screen_and_processes(lab: Lab) -> None:
    lab.start("-s", "work", f"echo hello; {SHOWN}")
    lab.until(lambda: "hello" in lab.tmux("capture-pane", "-p"))
    found = await sweep(host="box")
    ((pane, capture),) = found.panes
    assert pane.key.startswith("box:work:")
    assert "hello" in capture.ansi
    assert (capture.width, capture.height) == (pane.width, pane.height)
    assert [(p.comm, p.foreground, p.depth, p.pid) for p in capture.processes] == [
        ("sleep", True, 0, pane.pid)
    ]
    assert (found.answered, found.problems) == (1, ())


async def test_a_silent_server_costs_its_time_and_the_others_are_shown(lab: Lab) -> None:
    stopped = lab.start(SHOWN, name="stopped")
    lab.start(SHOWN, name="lively")
    lab.start(SHOWN, name="killed")
    lab.kill("killed")
    lab.sockets.joinpath("file").touch()
    os.kill(stopped, signal.SIGSTOP)
    found = await sweep(timeout=0.5)
    assert [pane.server.socket for pane, _ in found.panes] == [lab.path("lively")]
    assert found.answered == 1
    assert sorted(p.kind for p in found.problems) == ["not_a_socket", "silent", "stale"]


async def test_without_any_server_there_is_a_line_and_no_pane(lab: Lab) -> None:
    found = await sweep()
    assert (found.panes, found.answered) == ((), 0)
    assert len(found.problems) == 1


async def test_without_tmux_there_is_a_line_and_no_pane(lab: Lab) -> None:
    found = await sweep(binary="no-tmux-here")
    assert [p.kind for p in found.problems] == ["missing"]


async def test_a_dead_pane_has_no_processes(lab: Lab) -> None:
    lab.start("-s", "work", SHOWN)
    lab.tmux("set-option", "-g", "remain-on-exit", "on")
    lab.tmux("split-window", "true")
    lab.until(lambda: "1" in lab.tmux("list-panes", "-F", "#{pane_dead}").split())
    dead = [c for pane, c in (await sweep()).panes if pane.dead]
    assert [c.processes for c in dead] == [()]


async def test_two_hundred_panes_are_swept_once_each(lab: Lab) -> None:
    lab.start("-s", "work", f"echo pane-0; {SHOWN}")
    for first in range(1, 200, 20):
        commands: list[str] = []
        for number in range(first, min(first + 20, 200)):
            commands += ["new-window", "-d", "-t", "work", f"echo pane-{number}; {SHOWN}", ";"]
        lab.tmux(*commands[:-1])
    lab.until(lambda: "pane-199" in lab.tmux("capture-pane", "-pt", "%199"))
    began = time.perf_counter()
    found = await sweep()
    took = time.perf_counter() - began
    assert [pane.id for pane, _ in found.panes] == [f"%{n}" for n in range(200)]
    assert len({pane.key for pane, _ in found.panes}) == 200
    for number, (_, capture) in enumerate(found.panes):
        assert capture.ansi.startswith(f"pane-{number}\n")
        assert [p.comm for p in capture.processes] == ["sleep"]
    # Far above what it takes (about 0.1 s): only a request per pane would not fit.
    assert took < 4
