"""The lab from end to end, with a small stand-in for an agent: real tmux, real model, real files.

The stand-in (`STAND_IN`) is a terminal program of the test's own that asks the model over HTTP and
draws a composer, a busy row and a dialog.
"""

import sys
from pathlib import Path

import psutil
import pytest

from evals.lab.agent import Agent, Approval, Dialog, Place
from evals.lab.errors import LabError
from evals.lab.flow import Pace
from evals.lab.npm import Package, install
from evals.lab.record import Job, record
from evals.lab.terminal import Terminal, Tmux, end_leftovers, make_project
from openbus import corpus

STAND_IN = """#!{python}
import json, os, sys, threading, urllib.request
def draw(text): print(text, end="", flush=True)
def ask(words):
    tools = [{{"function": {{"name": "bash"}}}}]
    body = {{"stream": True, "tools": tools, "messages": [{{"role": "user", "content": words}}]}}
    request = urllib.request.Request(
        os.environ["STAND_IN_URL"] + "/v1/chat/completions", json.dumps(body).encode(),
        {{"content-type": "application/json"}})
    said = call = ""
    for line in urllib.request.urlopen(request):
        line = line.decode().strip().removeprefix("data: ")
        if line.startswith("{{"):
            delta = json.loads(line)["choices"][0]["delta"]
            said += delta.get("content") or ""
            for made in delta.get("tool_calls", []):
                call = json.loads(made["function"]["arguments"])["command"]
    return said, call
def turn(words):
    draw("\\x1b[2J\\x1b[HYou said: " + words + "\\nBusy (esc to interrupt)\\n")
    said, call = ask(os.getcwd() + " " + words)
    draw("\\x1b[2J\\x1b[H" + said + "\\n")
    if call:
        draw("May I run it?\\n  1. Yes\\n  2. No\\nEnter to confirm\\n")
        sys.stdin.readline()
draw("\\x1b[2J\\x1b[HMay I work here?\\n  1. Yes\\n  2. No\\nEnter to confirm\\n")
sys.stdin.readline()
draw("\\x1b[2J\\x1b[H")
while True:
    draw("Ask me: ")
    words = sys.stdin.readline().strip()
    if words == "/quit":
        break
    if words:
        turn(words)
draw("\\x1b[2J\\x1b[H")
"""


def prepare(place: Place) -> dict[str, str]:
    return {"STAND_IN_URL": place.url}


AGENT = Agent(
    program="stand-in",
    tried="1.0",
    package=Package(name="stand-in", executable="stand-in"),
    prepare=prepare,
    ready="^Ask me:",
    busy="esc to interrupt",
    blocked="Enter to confirm",
    start=(
        Dialog(
            state="first_run_trust",
            kind="trust",
            mark="May I work here",
            question="May I work here?",
            keys=("Enter",),
        ),
    ),
    approvals=(
        Approval(state="approval_shell", scenario="approve_shell", question="May I run it?"),
        Approval(state="approval_write", scenario="approve_write", question="May I write it?"),
    ),
    questions=(),
    errors=(),
)


PACE = Pace(start=20.0, turn=10.0, settle=0.2)
"""The stand-in draws at once: no need to wait for it as for a real agent."""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache in which the stand-in is installed already."""
    folder = tmp_path / "cache" / "stand-in-1.0" / "node_modules" / ".bin"
    folder.mkdir(parents=True)
    script = folder / "stand-in"
    script.write_text(STAND_IN.format(python=sys.executable))
    script.chmod(0o755)
    return tmp_path / "cache"


def job(cache: Path, out: Path, *only: str) -> Job:
    return Job(
        program="stand-in", version="1.0", sizes=((100, 30),), out=out, cache=cache, only=only
    )


def test_screens_are_recorded_with_their_truth(cache: Path, tmp_path: Path) -> None:
    told: list[str] = []
    agents = {"stand-in": AGENT}
    outcome = record(job(cache, tmp_path / "out", "idle", "approval"), told.append, agents, PACE)
    cases = {case.state: case for case in map(corpus.read, outcome.files)}
    assert told == [str(path) for path in outcome.files]
    assert cases["first_run_trust"].expect["kind"] == "trust"
    asked = cases["approval_shell"]
    assert asked.expect["question"] == "May I run it?"
    assert asked.expect["options"] == ["Yes", "No"]
    assert "remove the old build output" in asked.capture.ansi
    assert any(process.foreground for process in asked.capture.processes)
    assert cases["idle_draft"].expect["draft"] is True
    assert cases["exited"].expect["activity_any"] == ["exited", "idle"]
    assert not cases["exited"].capture.processes


def test_a_dialog_that_does_not_come_is_named_and_not_recorded(cache: Path, tmp_path: Path) -> None:
    agents = {"stand-in": AGENT}
    outcome = record(job(cache, tmp_path / "out", "approval_write"), print, agents, PACE)
    assert [line for line in outcome.missed if "approval_write" in line]
    assert "approval_write" not in {corpus.read(path).state for path in outcome.files}


def test_files_do_not_say_where_they_were_recorded(cache: Path, tmp_path: Path) -> None:
    outcome = record(job(cache, tmp_path / "out", "idle"), print, {"stand-in": AGENT}, PACE)
    for path in outcome.files:
        content = path.read_text()
        assert str(tmp_path) not in content
        assert "/lab-" not in content
        assert corpus.read(path).capture.cwd.startswith("/home/dev/project/w/")


def test_an_unknown_program_is_named_with_those_there_are(tmp_path: Path) -> None:
    wanted = Job(program="nano", version="1", sizes=(), out=tmp_path, cache=tmp_path)
    with pytest.raises(LabError, match="unknown program 'nano'; there is: claude-code, codex"):
        record(wanted, print)


def test_without_npm_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="npm is not on the PATH; install"):
        install("codex", Package(name="@openai/codex", executable="codex"), "1", tmp_path)


def test_an_npm_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho 'npm error notarget No matching version' >&2\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    package = Package(name="@openai/codex", executable="codex")
    with pytest.raises(LabError, match=r"codex@9\.9\.9 could not be installed: npm error no"):
        install("codex", package, "9.9.9", tmp_path / "cache")


def test_without_tmux_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="tmux is not on the PATH; install"):
        Tmux(tmp_path / "sock", tmp_path, "/usr/bin")


def test_a_pane_has_a_clean_environment_and_tells_what_runs(tmp_path: Path) -> None:
    project = tmp_path / "project"
    make_project(project)
    with Tmux(tmp_path / "sock", tmp_path, "/usr/local/bin:/usr/bin:/bin") as tmux:
        home = {"HOME": str(tmp_path / "home")}
        terminal = Terminal(tmux, "one", (80, 24), project, home)
        terminal.line("env | sort | head -40; sleep 61")
        assert terminal.wait("^TERM=tmux-256color")
        assert terminal.wait(f"^HOME={tmp_path}/home")
        assert "PYTEST" not in terminal.screen()
        assert terminal.until(lambda: "sleep" in names(terminal), 10)
        capture = terminal.capture()
        [pid] = [process.pid for process in capture.processes if process.comm == "sleep"]
        assert (capture.width, capture.height) == (80, 24)
        assert capture.cwd == str(project.resolve())
        end_leftovers(tmp_path / "home")
        assert not psutil.pid_exists(pid or 0)


def names(terminal: Terminal) -> list[str]:
    return [process.comm for process in terminal.capture().processes]
