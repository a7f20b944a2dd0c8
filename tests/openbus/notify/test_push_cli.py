"""`openbus push …` as a user runs it, without the service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.openbus.notify.desk_support import PANE, Player, ask
from tests.openbus.notify.push_service import Browser
from tests.openbus.notify.test_webpush import add


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "config").mkdir()
    return tmp_path


def openbus(home: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from openbus.cli import main; main()", "push", *arguments],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMUX_TMPDIR": str(home),
            "OPENBUS_STATE_DIR": str(home / "state"),
            "OPENBUS_CONFIG_DIR": str(home / "config"),
            **environ,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def channels(home: Path, text: str) -> None:
    path = home / "config" / "notify.toml"
    path.write_text(text)
    path.chmod(0o600)


def test_without_any_channel_a_test_says_what_to_do(home: Path) -> None:
    done = openbus(home, "test")
    assert done.returncode == 1
    assert "nobody is told" in done.stderr and done.stdout == ""


def test_a_test_names_each_channel_with_its_outcome(home: Path) -> None:
    channels(
        home,
        "[channels.good]\ncommand = ['sh', '-c', 'cat > /dev/null']\n"
        "[channels.bad]\ncommand = ['false']\n"
        "[channels.worse]\nurl = 'nosuch://s3cret'\n",
    )
    done = openbus(home, "test")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "good (command): delivered",
        "bad (command): failed: the command ended with 1",
    ]
    assert "[channels.worse] url" in done.stderr and "s3cret" not in done.stderr
    channels(home, f"[channels.good]\ncommand = ['sh', '-c', 'cat > {home}/out']\n")
    assert openbus(home, "test", "--channel", "good").returncode == 0
    assert json.loads((home / "out").read_text())["title"] == "OpenBus can reach you here"
    assert openbus(home, "test", "--channel", "other").returncode == 1


def test_the_log_tells_what_happened_and_why(home: Path) -> None:
    player = Player(path=home / "state" / "outbox.sqlite3")
    player.announce(ask(), ask(2, kind="done"))
    player.withdraw(ask())
    done = openbus(home, "log")
    assert done.returncode == 0
    lines = [" ".join(line.split()[2:]) for line in done.stdout.splitlines()[2:]]
    assert lines == [
        "suppressed done default:%2 000000/1 phone kind done is switched off",
        "sent needs_you default:%1 000000/1 phone",
        "withdrawn needs_you default:%1 000000/1 phone",
    ]
    rows = json.loads(openbus(home, "log", "--json", "--limit", "1").stdout)
    assert [row["what"] for row in rows] == ["withdrawn"]


def test_a_log_that_is_not_there_or_broken(home: Path) -> None:
    assert openbus(home, "log").stderr == "openbus: nothing was told yet\n"
    (home / "state" / "outbox.sqlite3").write_bytes(b"x" * 4096)
    done = openbus(home, "log")
    assert done.returncode == 1 and done.stderr.count("\n") == 1


def test_devices_are_listed_without_their_keys_and_removed(home: Path) -> None:
    from openbus.notify.devices import Devices

    browser = Browser()
    one = add(Devices(home / "state"), browser)
    done = openbus(home, "devices", "--json")
    [row] = json.loads(done.stdout)
    assert (row["name"], row["label"], row["withdraws"]) == (f"webpush:{one.id}", "my phone", True)
    assert browser.endpoint not in done.stdout
    assert openbus(home, "devices", "--remove", one.id).returncode == 0
    assert "nobody is told" in openbus(home, "devices").stderr
    assert openbus(home, "devices", "--remove", one.id).returncode == 1


def test_mutes_are_set_listed_and_undone(home: Path) -> None:
    assert openbus(home, "mute", PANE, "--for", "2h").returncode == 0
    assert openbus(home, "mute", "--session", "work", "--program", "codex").returncode == 0
    rows = json.loads(openbus(home, "mute", "--json").stdout)
    assert [(row["scope"], row["name"]) for row in rows] == [
        ("pane", PANE),
        ("session", "work"),
        ("program", "codex"),
    ]
    assert rows[0]["until"] is not None and rows[1]["until"] is None
    assert openbus(home, "mute", "--session", "work", "--off").returncode == 0
    assert len(json.loads(openbus(home, "mute", "--json").stdout)) == 2


@pytest.mark.parametrize(
    "arguments", [["--for", "2h"], ["--off"], ["--session", "x", "--for", "z"]]
)
def test_wrong_use_is_status_two(home: Path, arguments: list[str]) -> None:
    done = openbus(home, "mute", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("openbus: ")
