"""The commands, run as a user runs them, against tmux servers of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from openbus.corpus import decode

CORPUS = Path(__file__).parents[2] / "evals" / "corpus"
ASK = CORPUS / "codex/0.171.0/approval_shell--80x24.json"
IDLE = CORPUS / "codex/0.171.0/idle_done--80x24.json"
NAME = "obtest-cli"


class Cli:
    """`openbus` in an environment of its own: sockets, settings and home below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "TMUX_TMPDIR": str(folder),
            "OPENBUS_CONFIG_DIR": str(folder / "config"),
            "LC_ALL": "C.UTF-8",
        }

    def __call__(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-c", "from openbus.cli import main; main()", *arguments],
            input=stdin,
            capture_output=True,
            env=self.environ,
            timeout=60,
            check=False,
        )

    def json(self, *arguments: str) -> Any:
        done = self(*arguments)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def tmux(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-L", NAME, "-f", "/dev/null", *arguments]
        done = subprocess.run(
            command, env=self.environ, capture_output=True, check=True, timeout=20
        )
        return done.stdout.decode()


@pytest.fixture
def cli() -> Iterator[Cli]:
    tmux = shutil.which("tmux")
    assert tmux, "tmux is missing; `make setup` installs it"
    # A short path: a socket's address may have about 100 bytes.
    with tempfile.TemporaryDirectory(prefix="ob", dir="/tmp") as folder:
        made = Cli(Path(folder).resolve())
        (made.folder / "home").mkdir()
        yield made
        environ = {"TMUX_TMPDIR": folder}
        subprocess.run([tmux, "-L", NAME, "kill-server"], env=environ, capture_output=True)


@pytest.fixture
def asking(cli: Cli) -> Cli:
    """A server with a shell at its prompt and a script that asks."""
    cli.tmux("new-session", "-d", "-s", "main", "-x", "100", "-y", "30", "bash --norc")
    cli.tmux(
        "split-window", "-d", "-t", "main", """bash -c 'read -r -p "Remove it? [y/N] " answer'"""
    )
    until(lambda: "Remove it?" in cli.tmux("capture-pane", "-p", "-t", "main:0.1"))
    return cli


def until(true: Callable[[], bool]) -> None:
    for _ in range(200):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen within 10 s")


def stderr(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    return done.stderr.decode().splitlines()


def test_ls_shows_who_needs_you_first(asking: Cli) -> None:
    states = asking.json("ls", "--json")
    assert [state["needs_you"] for state in states] == [True, False]
    assert states[0]["question"]["text"].startswith("Remove it?")
    assert states[0]["attention"] == "needs_you"
    assert states[1]["program"]["name"] == "shell"
    assert states[1]["activity"] == "idle"


def test_ls_prints_states_of_the_published_schema(asking: Cli) -> None:
    schema = asking.json("schema")
    validator = jsonschema.Draft202012Validator(schema)
    for state in asking.json("ls", "--json"):
        validator.validate(state)
        assert state["schema"] == "openbus.pane/1"


def test_ls_as_a_table(asking: Cli) -> None:
    done = asking("ls")
    text = done.stdout.decode()
    assert done.returncode == 0
    assert "needs you" in text
    assert "Remove it? [y/N]" in text
    assert "main:0.1" in text


def test_ls_filters(asking: Cli) -> None:
    assert len(asking.json("ls", "--json", "--needs-you")) == 1
    assert asking.json("ls", "--json", "--host", "elsewhere") == []
    assert len(asking.json("ls", "--json", "-L", NAME)) == 2
    socket = asking.folder / f"tmux-{os.geteuid()}" / NAME
    assert len(asking.json("ls", "--json", "--socket-path", str(socket))) == 2


def test_ls_leaves_out_what_the_settings_ignore(asking: Cli) -> None:
    asking.environ["OPENBUS_TMUX_IGNORE"] = "main:*.1, nothing-else"
    assert [state["pane"]["index"] for state in asking.json("ls", "--json")] == [0]


def test_ls_without_any_server_fails_in_one_line(cli: Cli) -> None:
    done = cli("ls", "--json")
    assert done.returncode == 1
    assert done.stdout == b""
    (line,) = stderr(done)
    assert line.startswith("openbus: no tmux server is running")
    assert "`tmux`" in line


def test_ls_names_a_server_that_is_missing_and_shows_the_others(asking: Cli) -> None:
    done = asking("ls", "--json", "-L", NAME, "-L", "obtest-none")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)) == 2
    (line,) = stderr(done)
    assert "obtest-none" in line


def test_ls_without_tmux_says_how_to_get_it(cli: Cli) -> None:
    cli.environ["PATH"] = str(cli.folder)
    done = cli("ls")
    assert done.returncode == 1
    (line,) = stderr(done)
    assert "apt install tmux" in line


def test_ls_leaves_tmux_as_it_is(asking: Cli) -> None:
    def world() -> list[str]:
        return [
            asking.tmux(*command.split())
            for command in (
                "show-options -g",
                "show-options -gw",
                "show-options -s",
                "show-hooks -g",
                "list-windows -a -F #{window_layout}#{window_active}",
                "list-panes -a -F #{pane_id}#{pane_width}x#{pane_height}#{pane_pipe}#{pane_active}",
                "list-sessions -F #{session_name}#{session_attached}#{session_windows}",
                "list-clients",
            )
        ]

    before = world()
    assert asking("ls").returncode == 0
    assert asking("capture", "%0").returncode == 0
    assert world() == before


def test_control_characters_of_a_screen_do_not_reach_the_terminal(cli: Cli) -> None:
    title = r'printf "\033]2;evil\302\2331mtitle\007\033[31m"'
    ask = r'read -r -p "Ri$(printf "\302\233")sk? [y/N] " answer'
    script = f"bash -c '{title}; {ask}'"
    cli.tmux("new-session", "-d", "-s", "main", "-x", "80", "-y", "24", script)
    until(lambda: "[y/N]" in cli.tmux("capture-pane", "-p"))
    done = cli("ls")
    assert done.returncode == 0
    assert not {char for char in done.stdout.decode() if ord(char) < 32 and char != "\n"}
    assert "\x9b" not in done.stdout.decode()


def test_classify_prints_one_reading_per_file(cli: Cli) -> None:
    done = cli("classify", "--json", str(ASK), str(IDLE))
    assert done.returncode == 0
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["file"] == str(ASK)
    assert first["program"]["name"] == "codex"
    assert (first["activity"], first["needs_you"]) == ("waiting", True)
    assert len(first["question"]["options"]) == 3
    assert (second["activity"], second["needs_you"]) == ("idle", False)
    for name in ("overlay", "background", "draft", "why"):
        assert name in second


def test_classify_reads_stdin(cli: Cli) -> None:
    done = cli("classify", "--json", "-", stdin=ASK.read_bytes())
    assert json.loads(done.stdout)["file"] == "-"
    assert json.loads(done.stdout)["needs_you"] is True


def test_classify_names_bad_files_and_reads_the_others(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bare.json").write_text("{}")
    with (tmp_path / "huge.json").open("wb") as huge:
        huge.truncate(50 * 1024 * 1024)
    done = cli(
        "classify",
        "--json",
        str(tmp_path / "bare.json"),
        str(tmp_path / "huge.json"),
        str(tmp_path / "gone.json"),
        str(ASK),
    )
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 1
    lines = stderr(done)
    assert len(lines) == 3
    assert "lacks `ansi`" in lines[0]
    assert "too large (50 MB" in lines[1]
    assert "no such file" in lines[2]


def test_explain_says_why_a_saved_screen_asks(cli: Cli) -> None:
    done = cli("explain", str(ASK))
    text = done.stdout.decode()
    assert done.returncode == 0
    assert "waiting on you" in text
    assert "Would you like to run the following command?" in text
    assert "fired  codex/" in text
    assert "nearly" in text


def test_explain_prints_the_decision_that_ls_prints(asking: Cli) -> None:
    explained = asking.json("explain", "main:0.1", "--json")
    (listed,) = asking.json("ls", "--json", "--needs-you")
    assert explained["state"]["why"] == listed["why"]
    assert explained["state"]["question"] == listed["question"]
    assert explained["reading"]["activity"] == listed["activity"]
    assert [fired["rule"] for fired in explained["fired"]] == [w["rule"] for w in listed["why"]]


def test_explain_of_a_file_has_no_state_and_of_a_missing_one_fails(cli: Cli) -> None:
    explained = cli.json("explain", "--json", str(IDLE))
    assert explained["state"] is None
    assert explained["program"]["name"] == "codex"
    assert explained["composer"] is not None
    done = cli("explain", "gone.json")
    assert done.returncode == 1
    assert "no such file" in stderr(done)[0]


def test_a_captured_pane_is_a_corpus_file(asking: Cli) -> None:
    done = asking("capture", "main:0.1")
    assert done.returncode == 0
    file = decode(done.stdout, "captured")
    assert "Remove it?" in file.capture.ansi
    assert file.capture.width == 100
    assert json.loads(done.stdout)["text"].startswith("Remove it?")
    again = asking("classify", "--json", "-", stdin=done.stdout)
    assert json.loads(again.stdout)["needs_you"] is True


def test_a_redacted_capture_does_not_name_the_home_folder(cli: Cli) -> None:
    home = cli.environ["HOME"]
    command = f"bash -c 'echo {home}/secret-shop; sleep 600'"
    cli.tmux("new-session", "-d", "-s", "main", "-c", home, command)
    until(lambda: "secret-shop" in cli.tmux("capture-pane", "-p"))
    plain, redacted = cli("capture", "%0").stdout, cli("capture", "%0", "--redact").stdout
    assert b"secret-shop" in plain
    assert b"secret-shop" not in redacted
    assert "home/xxxxxx-xxxx" in decode(redacted, "x").capture.ansi


def test_an_unknown_pane_is_a_failure(asking: Cli) -> None:
    done = asking("capture", "%99")
    assert done.returncode == 1
    assert "`openbus ls` lists them all" in stderr(done)[0]


def test_usage_errors_end_with_two(cli: Cli) -> None:
    assert cli("ls", "--no-such-option").returncode == 2
    assert cli("no-such-command").returncode == 2
    assert cli("classify").returncode == 2


def test_help_is_for_a_reader(cli: Cli) -> None:
    done = cli("--help")
    assert done.returncode == 0
    for command in ("ls", "explain", "classify", "capture", "doctor", "schema"):
        assert command in done.stdout.decode()


def test_doctor_looks_and_changes_nothing(asking: Cli) -> None:
    checks = asking.json("doctor", "--json")
    names = {check["name"]: check for check in checks}
    assert names["tmux"]["ok"]
    assert NAME in names["tmux servers"]["detail"]
    assert asking("doctor").returncode == 0
    assert list((asking.folder / "home").iterdir()) == []


def test_a_wrong_setting_is_one_clear_line(cli: Cli) -> None:
    (cli.folder / "config").mkdir()
    (cli.folder / "config" / "config.toml").write_text("[tmux]\nsockets = 1\n")
    done = cli("ls")
    assert done.returncode == 1
    (line,) = stderr(done)
    assert "config.toml" in line
    assert "sockets" in line


def test_doctor_looks_at_the_rest_when_the_settings_are_wrong(cli: Cli) -> None:
    (cli.folder / "config").mkdir()
    (cli.folder / "config" / "config.toml").write_text("[tmux]\nsockets = 1\n")
    checks = {check["name"]: check for check in cli.json("doctor", "--json")}
    assert "sockets" in checks["settings"]["detail"] and not checks["settings"]["ok"]
    assert checks["tmux"]["ok"]


def test_a_broken_manifest_of_the_user_is_reported_and_the_shipped_ones_stay(cli: Cli) -> None:
    folder = cli.folder / "config" / "agents"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('schema = "openbus.agent/1"\nid = "mine"\ncolour = 1\n')
    done = cli("classify", "--json", str(ASK))
    assert done.returncode == 0
    assert json.loads(done.stdout)["needs_you"] is True
    (line,) = stderr(done)
    assert "mine.toml:3" in line
    assert "colour" in line
