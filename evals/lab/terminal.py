"""A tmux server of the lab's own, and panes in it that are typed into and captured."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from evals.lab.errors import LabError
from openbus.model import Capture, Cursor
from openbus.tmux.processes import ProcessTable

KEY_GAP = 0.15
"""Seconds between keys: agents take faster ones for pasted text."""

POLL = 0.2
PROMPT = r"^dev@lab:\S*[$#]\s*$"
"""The shell's prompt, with nothing typed behind it."""

END_TIMEOUT = 3.0

_FIELDS = (
    "pane_pid",
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "cursor_flag",
    "alternate_on",
    "pane_in_mode",
    "pane_dead",
    "pane_current_command",
    "pane_current_path",
    "pane_title",
)


class Tmux:
    """The server, while the `with` block lasts. Its environment is clean: agents read many
    variables, and none of the user's may leak into a recorded screen."""

    def __init__(self, socket: Path, home: Path, path: str) -> None:
        program = shutil.which("tmux")
        if program is None:
            raise LabError("tmux is not on the PATH; install it (apt install tmux)")
        self._command = [program, "-S", str(socket), "-f", os.devnull]
        self._environment = {
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PATH": path,
            "SHELL": "/bin/sh",
            "TERM": "xterm-256color",
        }

    def __enter__(self) -> Self:
        # A session that stays keeps the server alive between panes.
        self.run("new-session", "-d", "-s", "keeper", "-x", "80", "-y", "24", "cat")
        self.run("set-option", "-g", "default-terminal", "tmux-256color")
        self.run("set-option", "-g", "status", "off")
        self.run("set-option", "-g", "history-limit", "20000")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(LabError):
            self.run("kill-server")

    def run(self, *words: str) -> str:
        """What the command prints. Raises `LabError`."""
        done = subprocess.run(
            [*self._command, *words],
            env=self._environment,
            capture_output=True,
            text=True,
            errors="replace",
        )
        if done.returncode:
            raise LabError(f"tmux {words[0]} failed: {done.stderr.strip() or done.returncode}")
        return done.stdout


class Terminal:
    """One pane with a plain shell in `project`."""

    def __init__(
        self,
        tmux: Tmux,
        name: str,
        size: tuple[int, int],
        project: Path,
        environment: Mapping[str, str],
    ) -> None:
        self._tmux = tmux
        self._target = f"={name}:"
        self._name = name
        width, height = (str(number) for number in size)
        variables = [word for item in environment.items() for word in ("-e", "=".join(item))]
        shape = ("-d", "-s", name, "-x", width, "-y", height, "-c", str(project))
        shell = ("bash", "--noprofile", "--norc", "-i")
        tmux.run("new-session", *shape, *variables, *shell)
        self.line("PS1='dev@lab:\\w\\$ '; HISTFILE=; clear")
        self.wait(PROMPT)

    def type(self, text: str) -> None:
        self._tmux.run("send-keys", "-t", self._target, "-l", text)
        time.sleep(2 * KEY_GAP)

    def keys(self, *names: str) -> None:
        """Keys by tmux's names, such as `Enter`, `Escape`, `C-c`."""
        for name in names:
            self._tmux.run("send-keys", "-t", self._target, name)
            time.sleep(KEY_GAP)

    def line(self, text: str) -> None:
        self.type(text)
        self.keys("Enter")

    def screen(self) -> str:
        """The visible grid as text, wrapped lines joined."""
        return self._tmux.run("capture-pane", "-p", "-J", "-t", self._target)

    def title(self) -> str:
        return self._tmux.run("display-message", "-p", "-t", self._target, "#{pane_title}").strip()

    def wait(self, pattern: str, timeout: float = 30.0, settle: float = 0.0) -> bool:
        """Whether `pattern` (multi-line regular expression) comes up within `timeout` seconds."""
        seen = re.compile(pattern, re.MULTILINE)
        if not self.until(lambda: seen.search(self.screen()) is not None, timeout):
            return False
        time.sleep(settle)
        return True

    def until(self, true: Callable[[], bool], timeout: float) -> bool:
        """Whether `true` becomes so within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while not true():
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL)
        return True

    def capture(self) -> Capture:
        """The screen with attributes, what tmux says about it, and the processes below it."""
        words = " ".join(f"#{{{name}}}" for name in _FIELDS[:9])
        texts = "\n".join(f"#{{{name}}}" for name in _FIELDS[9:])
        shown = self._tmux.run(
            *("display-message", "-p", "-t", self._target, f"{words}\n{texts}", ";"),
            *("capture-pane", "-p", "-e", "-t", self._target),
        )
        numbers, command, cwd, title, ansi = shown.split("\n", 4)
        pid, width, height, x, y, visible, alternate, mode, dead = map(int, _padded(numbers))
        below = ProcessTable.take().below(pid)
        return Capture(
            ansi=ansi,
            width=width,
            height=height,
            cursor=Cursor(x=x, y=y, visible=visible == 1),
            alternate_on=alternate == 1,
            in_mode=mode > 0,
            dead=dead == 1,
            title=title,
            command=command,
            cwd=cwd,
            processes=tuple(process for process in below if process.depth > 0),
        )

    def close(self) -> None:
        with contextlib.suppress(LabError):
            self._tmux.run("kill-session", "-t", f"={self._name}")


def end_leftovers(home: Path) -> None:
    """End every process whose HOME is `home`: Codex's and Claude Code's daemons outlive their
    screen (Codex 0.159, Claude Code 2.1 and later)."""
    found = [process for process in psutil.process_iter() if _lives_in(process, home)]
    for process in found:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, left = psutil.wait_procs(found, timeout=END_TIMEOUT)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()


def make_project(folder: Path) -> None:
    """A small git repository to work in. `slow_tests.sh` runs until `.go` appears beside it."""
    files = {
        "cart.py": "def total(lines):\n    return round(sum(p * q for p, q in lines), 2)\n",
        "README.md": "# Shop API\n\nA small shop.\n",
        "logs/app.log": "started\n",
        "build/old.txt": "old\n",
        "slow_tests.sh": (
            "#!/bin/sh\necho collecting 3 tests\nn=0\n"
            "while [ $n -lt 90 ] && [ ! -f .go ]; do n=$((n+1)); echo test $n ok; sleep 1; done\n"
            "echo 3 passed\n"
        ),
        "dev_server.sh": "#!/bin/sh\necho ready on http://127.0.0.1:5173/\nexec sleep 600\n",
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        if name.endswith(".sh"):
            path.chmod(0o755)
    who = ["-c", "user.name=lab", "-c", "user.email=lab@example.invalid"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Start"]):
        try:
            subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)
        except FileNotFoundError:
            raise LabError("git is not on the PATH; install it (apt install git)") from None


def _padded(words: str) -> list[str]:
    """tmux leaves numbers of a dead pane empty."""
    return [word or "0" for word in words.split(" ")]


def _lives_in(process: psutil.Process, home: Path) -> bool:
    try:
        return process.environ().get("HOME") == str(home)
    except (psutil.Error, OSError):
        return False
