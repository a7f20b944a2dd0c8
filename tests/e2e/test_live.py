"""The live service on real tmux: states, announcements, and everything that can go away."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.e2e.stage import Stage
from tests.openbus.tmux.lab import Lab

SNAPSHOT = (
    "show-options -g",
    "show-options -s",
    "show-options -gw",
    "show-hooks -g",
    "list-sessions -F '#{session_id} #{session_name} #{session_attached} #{session_width}'",
    "list-windows -a -F '#{window_id} #{window_layout} #{window_active}'",
    "list-panes -a -F '#{pane_id} #{pane_pid} #{pane_width}x#{pane_height} #{pane_pipe} "
    "#{pane_in_mode} #{pane_active}'",
    "list-clients",
)


def snapshot(lab: Lab) -> list[str]:
    """Everything of the user's tmux that OpenBus must leave alone."""
    return [lab.tmux(*_words(command)) for command in SNAPSHOT]


def _words(command: str) -> list[str]:
    head, _, formatted = command.partition(" -F ")
    return [*head.split(), "-F", formatted.strip("'")] if formatted else head.split()


def test_an_ask_is_published_announced_once_and_withdrawn_when_answered(stage: Stage) -> None:
    heard = stage.folder / "heard"
    hook = stage.folder / "hook"
    hook.write_text(f'#!/bin/sh\n{{ cat; echo; }} >> "{heard}"\n')
    hook.chmod(0o755)
    (stage.config / "config.toml").write_text(f'[hook]\ncommand = ["{hook}"]\n')
    player = stage.player("alice")
    stage.up()
    stage.wait_for("alice", "idle")
    player.show("working")
    stage.wait_for("alice", "working")
    player.show("approval_shell")
    state = stage.wait_for("alice", "waiting")
    assert state.needs_you
    assert state.program.name == "codex"
    assert state.question is not None
    assert state.question.kind == "approval"
    assert len(state.question.options) >= 2
    Lab.until(lambda: stage.told() == [("announce", "needs_you")])
    player.show("working")
    stage.wait_for("alice", "working")
    Lab.until(lambda: stage.told()[1:] == [("withdraw", "needs_you")])
    Lab.until(lambda: heard.exists() and len(heard.read_text().splitlines()) == 2)
    lines = [json.loads(line) for line in heard.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["announce", "withdraw"]
    assert lines[0]["contract"] == lines[1]["contract"]
    assert lines[0]["question"]["text"] == state.question.text


def test_nothing_of_the_users_tmux_changes(stage: Stage) -> None:
    player = stage.player("alice")
    stage.lab.tmux("split-window", "-d", "-t", "alice", "sleep 1000")
    before = snapshot(stage.lab)
    stage.up()
    stage.wait_for("alice", "idle")
    player.show("approval_shell")
    stage.wait_for("alice", "waiting")
    player.show("idle")
    stage.wait_for("alice", "idle")
    stage.stop()
    assert snapshot(stage.lab) == before


def test_killed_and_started_again_it_announces_a_standing_ask_no_second_time(stage: Stage) -> None:
    player = stage.player("alice")
    stage.up()
    player.show("approval_shell")
    stage.wait_for("alice", "waiting")
    Lab.until(lambda: stage.told() == [("announce", "needs_you")])
    key = stage.panes()[0].pane.key
    Lab.until(lambda: key in (stage.state / "panes.json").read_text())
    time.sleep(0.6)
    stage.stop(signal.SIGKILL)
    stage.up()
    stage.wait_for("alice", "waiting")
    time.sleep(1.5)
    assert stage.told() == []
    player.show("idle")
    Lab.until(lambda: stage.told() == [("withdraw", "needs_you")])
    assert stage.pane("alice") is not None


def test_a_server_killed_and_restarted_reuses_ids_but_never_keys(stage: Stage) -> None:
    player = stage.player("alice")
    stage.up()
    player.show("approval_shell")
    old = stage.wait_for("alice", "waiting")
    Lab.until(lambda: stage.told() == [("announce", "needs_you")])
    stage.lab.kill()
    Lab.until(lambda: stage.panes() == [])
    Lab.until(lambda: ("withdraw", "needs_you") in stage.told())
    stage.lab.start("-s", "bob", "exec sleep 1000")
    new = stage.wait_for("bob", "working", seconds=30)
    assert new.pane.id == old.pane.id
    assert new.pane.key != old.pane.key
    assert not new.needs_you


def test_a_respawned_pane_is_another_pane(stage: Stage) -> None:
    player = stage.player("alice")
    stage.up()
    player.show("approval_shell")
    old = stage.wait_for("alice", "waiting")
    stage.lab.tmux("respawn-pane", "-k", "-t", "alice", "exec sleep 1000")
    Lab.until(lambda: stage.panes() and stage.panes()[0].pane.key != old.pane.key)
    [new] = stage.panes()
    assert new.pane.id == old.pane.id
    assert not new.needs_you


def test_a_server_that_stops_answering_keeps_its_states_marked_stale(stage: Stage) -> None:
    player = stage.player("alice")
    stage.player("carol", server="other")
    stage.up()
    player.show("approval_shell")
    stage.wait_for("alice", "waiting")
    stage.wait_for("carol", "idle")
    pid = int(stage.lab.tmux("display-message", "-p", "#{pid}"))
    os.kill(pid, signal.SIGSTOP)
    try:
        Lab.until(lambda: (state := stage.pane("alice")) is not None and state.stale, seconds=30)
        state = stage.pane("alice")
        assert state is not None
        assert state.needs_you
        other = stage.pane("carol")
        assert other is not None
        assert not other.stale
    finally:
        os.kill(pid, signal.SIGCONT)
    Lab.until(lambda: (state := stage.pane("alice")) is not None and not state.stale, seconds=30)
    assert stage.told() == [("announce", "needs_you")]


def test_a_flood_in_one_pane_delays_no_ask_in_another(stage: Stage) -> None:
    player = stage.player("alice")
    stage.lab.start("-s", "flood", "exec yes flooding")
    stage.up()
    stage.wait_for("alice", "idle")
    player.show("working")
    stage.wait_for("alice", "working")
    time.sleep(3)
    memory, files = stage.resident(), stage.descriptors()
    player.show("approval_shell")
    began = time.monotonic()
    stage.wait_for("alice", "waiting")
    assert time.monotonic() - began < 3
    time.sleep(5)
    assert stage.resident() - memory < 8 * 1024 * 1024
    assert stage.descriptors() <= files + 4
    flood = stage.pane("flood")
    assert flood is not None
    assert not flood.needs_you


def test_a_client_that_never_reads_stalls_nobody(stage: Stage) -> None:
    player = stage.player("alice")
    stage.up()
    stage.wait_for("alice", "idle")
    host, port, _ = stage.url()
    deaf = socket.create_connection((host, port))
    try:
        deaf.sendall(stage.events_request())
        for number in range(6):
            state = ("approval_shell", "idle")[number % 2]
            player.show(state)
            stage.wait_for("alice", "waiting" if state == "approval_shell" else "idle")
    finally:
        deaf.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_cleanly_within_two_seconds(stage: Stage, number: int) -> None:
    stage.player("alice")
    stage.up()
    stage.wait_for("alice", "idle")
    host, port, _ = stage.url()
    reader = socket.create_connection((host, port))
    reader.sendall(stage.events_request())
    assert reader.recv(100)
    service = stage.service
    assert service is not None
    assert stage.stop(number) < 2.5
    reader.close()
    assert service.returncode == 0
    left = {path.name for path in stage.state.iterdir()}
    assert not left & {"service.json", "openbus.sock"}
    assert stage.state.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in stage.state.iterdir())


def test_what_cannot_start_says_so_in_one_line_and_leaves_nothing(stage: Stage) -> None:
    stage.player("alice")
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    port = taken.getsockname()[1]
    wrong = stage.folder / "wrong"
    wrong.mkdir()
    cases = {
        f"port {port}": ["up", "--listen", f"127.0.0.1:{port}"],
        "without a token": ["up", "--listen", "0.0.0.0:0", "--no-token"],
        "no tmux server": ["up", "-L", "nowhere"],
        "give HOST:PORT": ["up", "--listen", "nonsense"],
    }
    for expected, arguments in cases.items():
        done = stage.run(*arguments)
        assert done.returncode == 1, arguments
        assert expected in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
        assert not (stage.state / "service.json").exists()
        assert not (stage.state / "openbus.sock").exists()
    taken.close()


def test_a_bad_settings_file_or_state_folder_is_one_line(stage: Stage) -> None:
    stage.player("alice")
    for content in ("[service]\nlisen = 1\n", "[service]\ntoken = 7\n", "[hook]\ncommand = 1\n"):
        (stage.config / "config.toml").write_text(content)
        done = stage.run("up")
        assert done.returncode == 1, content
        assert "config.toml" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    (stage.config / "config.toml").unlink()
    stage.state.write_text("a file where the folder should be")
    done = stage.run("up")
    assert done.returncode == 1
    assert "state folder" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_second_instance_points_to_the_first(stage: Stage) -> None:
    stage.player("alice")
    stage.up()
    done = stage.run("up", "--listen", "127.0.0.1:0")
    assert done.returncode == 1
    assert "already running" in done.stderr
    assert stage.service is not None
    assert str(stage.service.pid) in done.stderr
    assert stage.panes()


def test_commands_ask_the_running_service(stage: Stage) -> None:
    player = stage.player("alice")
    stage.up()
    player.show("approval_shell")
    stage.wait_for("alice", "waiting")
    listed = json.loads(stage.run("ls", "--json").stdout)
    assert [pane["needs_you"] for pane in listed] == [True]
    assert listed[0]["rev"] > 0
    assert stage.run("statusline").stdout == "!1\n"
    done = stage.run("wait", "--pane", "alice:0.0", "--timeout", "20")
    assert (done.returncode, done.stdout.strip()) == (0, listed[0]["pane"]["key"])
    assert stage.run("wait", "--for", "idle", "--timeout", "1").returncode == 3
    assert "1 need you" in stage.run("service", "status").stdout


def test_commands_work_without_a_service(stage: Stage) -> None:
    player = stage.player("alice")
    Lab.until(lambda: stage.lab.tmux("capture-pane", "-p", "-t", "alice").strip())
    assert stage.run("statusline").stdout == "\n"
    player.show("approval_shell")
    done = stage.run("wait", "--timeout", "30")
    assert done.returncode == 0
    assert "no service is running" in done.stderr
    assert stage.run("service", "status").returncode == 1


def test_next_turns_the_client_to_the_pane_that_needs_you(stage: Stage) -> None:
    stage.player("alice")
    bob = stage.player("bob")
    stage.up()
    bob.show("approval_shell")
    stage.wait_for("bob", "waiting")
    stage.lab.attach("alice")
    done = stage.run("next")
    assert done.returncode == 0, done.stderr
    Lab.until(lambda: stage.lab.tmux("list-clients", "-F", "#{session_name}") == "bob")


def test_logs_hold_no_text_of_a_screen(stage: Stage) -> None:
    player = stage.player("alice")
    stage.up()
    player.show("approval_shell")
    state = stage.wait_for("alice", "waiting")
    stage.stop()
    log = "\n".join(line for line in stage.log().splitlines() if line.startswith("{"))
    assert "started" in log
    assert state.question is not None
    for text in (state.question.text, state.question.command or "-", state.pane.cwd, "alice"):
        assert text not in log
    kept = (stage.state / "panes.json").read_text()
    assert state.question.text not in kept
    assert (state.question.command or "-") not in kept.replace("-", "")


def test_a_vanished_folder_of_sockets_is_found_again(stage: Stage) -> None:
    stage.up()
    assert stage.panes() == []
    stage.player("late")
    stage.wait_for("late", "idle", seconds=30)
    assert Path(stage.lab.path()).exists()
