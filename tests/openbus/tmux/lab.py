"""tmux servers of our own for tests: in a folder of their own, with no configuration, ended after.

No server of the user is ever named: every call carries `-S` with a path below this folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

SHOWN = "exec sleep 1000"
"""What panes run after printing: quiet, and ended with the server."""


class Lab:
    """A folder of sockets. Socket paths are limited to 107 bytes, so it lies right below /tmp."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="obtest-", dir="/tmp"))
        self.sockets = self.folder / f"tmux-{os.geteuid()}"
        self.sockets.mkdir(mode=0o700)
        self._servers: dict[str, int] = {}
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()
        for pid in self._servers.values():
            for number in (signal.SIGCONT, signal.SIGTERM):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        for pid in self._servers.values():
            self.until(lambda pid=pid: not _alive(pid))  # type: ignore[misc]
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name: str = "work") -> str:
        return str(self.sockets / name)

    def environment(self, **more: str) -> dict[str, str]:
        """Small, with this folder as tmux's own, in the C locale unless told otherwise."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "TERM": "xterm-256color",
            "SHELL": "/bin/sh",
            "TMUX_TMPDIR": str(self.folder),
            "LC_ALL": "C",
            **more,
        }

    def start(self, *arguments: str, name: str = "work", size: tuple[int, int] = (80, 24)) -> int:
        """A new server (or one more session of it); returns the server's pid."""
        x, y = (str(n) for n in size)
        self.tmux("new-session", "-d", "-x", x, "-y", y, *arguments, name=name)
        pid = int(self.tmux("display-message", "-p", "#{pid}", name=name))
        self._servers[name] = pid
        return pid

    def tmux(self, *arguments: str, name: str = "work") -> str:
        done = subprocess.run(
            ["tmux", "-u", "-f", "/dev/null", "-S", self.path(name), *arguments],
            env=self.environment(),
            capture_output=True,
            timeout=20,
            check=False,
        )
        if done.returncode:
            raise AssertionError(done.stderr.decode())
        return done.stdout.decode().rstrip("\n")

    def kill(self, name: str = "work") -> None:
        """End a server the hard way: its socket stays behind."""
        pid = self._servers[name]
        os.kill(pid, signal.SIGKILL)
        self.until(lambda: not _alive(pid))

    def control_client(self, session: str, name: str = "work") -> None:
        """A client in control mode, as iTerm2 is one."""
        self._processes.append(
            subprocess.Popen(
                ["tmux", "-C", "-S", self.path(name), "attach", "-t", session],
                env=self.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
            )
        )
        self.until(lambda: "1" in self.tmux("list-clients", "-F", "#{client_control_mode}"))

    def attach(self, session: str, name: str = "work", size: tuple[int, int] = (80, 25)) -> None:
        """A person's client, on a terminal that another server of ours provides."""
        command = f"tmux -S {self.path(name)} attach -t '{session}'"
        self.start(f"env -u TMUX TERM=screen {command}", name=f"glass-{session}", size=size)
        self.until(lambda: session in self.tmux("list-clients", "-F", "#{session_name}", name=name))

    @staticmethod
    def until(true: Callable[[], object], seconds: float = 20.0) -> None:
        """Wait until it holds; the limit is only there to fail instead of hanging."""
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                raise AssertionError("it never came true")
            time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
