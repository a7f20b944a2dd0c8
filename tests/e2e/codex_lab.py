"""Real Codex in disposable homes, inside a tmux server of the test's own.

The binaries come from npm and live outside the repository: `OPENBUS_CODEX_CACHE` names the folder
(default `~/.cache/openbus/agents`), one folder `codex-VERSION` each; a missing version is installed
there once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from openbus.evidence import PaneView
from openbus.model import Pane, Server, Window
from openbus.tmux.processes import ProcessTable

VERSIONS = ("0.171.0", "0.159.2")


def codex(version: str) -> Path:
    """The launcher of that version, installed when it is missing."""
    cache = os.environ.get("OPENBUS_CODEX_CACHE", "~/.cache/openbus/agents")
    folder = Path(cache).expanduser() / f"codex-{version}"
    launcher = folder / "node_modules" / ".bin" / "codex"
    if not launcher.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", f"@openai/codex@{version}"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
    return launcher


def until(true: Callable[[], bool], seconds: float = 30.0, why: str = "") -> None:
    """Wait for something real; fails with `why` when it does not come."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"did not happen within {seconds:.0f} s: {why}")
        time.sleep(0.1)


class Lab:
    """One disposable home, one project folder, one tmux server."""

    def __init__(self, root: Path, version: str, port: int, *, show_id: str = "") -> None:
        self.root = root
        self.version = version
        self.home = root / "codex-home"
        self.project = root / "project"
        self.launcher = codex(version)
        self.socket = f"obtest-codex-{os.getpid()}-{root.name[-24:]}"
        self._names = iter(range(1, 1000))
        self.home.mkdir(mode=0o700, parents=True)
        self.project.mkdir()
        (self.home / "config.toml").write_text(_config(port, self.project, show_id))
        self._tmux("new-session", "-d", "-s", "main", "-x", "120", "-y", "40", "sleep 100000")

    def _tmux(self, *words: str) -> str:
        base = ["tmux", "-L", self.socket, "-f", "/dev/null"]
        done = subprocess.run([*base, *words], check=True, capture_output=True, text=True)
        return done.stdout.rstrip("\n")

    def environment(self) -> dict[str, str]:
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {
            **keep,
            "HOME": str(self.root),
            "CODEX_HOME": str(self.home),
            "FAKE_KEY": "planted-token-5f1d",
            "TERM": "xterm-256color",
        }

    def start(self, *arguments: str) -> str:
        """A pane with Codex in it; returns its id."""
        env = [f"{name}={value}" for name, value in self.environment().items()]
        name = f"w{next(self._names)}"
        return self._tmux(
            *("new-window", "-d", "-P", "-F", "#{pane_id}", "-n", name, "-c", str(self.project)),
            *("env", "-i", *env, str(self.launcher), *arguments),
        )

    def keys(self, pane: str, *keys: str) -> None:
        self._tmux("send-keys", "-t", pane, *keys)

    def say(self, pane: str, text: str) -> None:
        self._tmux("send-keys", "-t", pane, "-l", text)
        time.sleep(0.3)  # Codex takes a quick burst with Enter for a paste
        self._tmux("send-keys", "-t", pane, "Enter")

    def rows(self, pane: str) -> list[str]:
        return self._tmux("capture-pane", "-p", "-t", pane).split("\n")

    def screen(self, pane: str) -> str:
        return "\n".join(self.rows(pane))

    def title(self, pane: str) -> str:
        return self._tmux("display-message", "-p", "-t", pane, "#{pane_title}")

    def wait_for(self, pane: str, text: str, seconds: float = 40.0) -> None:
        until(lambda: text in self.screen(pane), seconds, f"{text!r} on\n{self.screen(pane)}")

    def ready(self, pane: str) -> None:
        """Wait for the composer."""
        self.wait_for(pane, "›", 90.0)
        until(lambda: "loading" not in self.screen(pane), 30.0, "still loading")

    def view(self, pane: str, *, dialog: bool = False) -> PaneView:
        """The pane as the terminal side would hand it to a source."""
        form = (
            "#{pid}\t#{start_time}\t#{socket_path}\t#{pane_pid}\t#{pane_current_path}\t#{pane_tty}"
        )
        pid, started, socket, pane_pid, cwd, tty = self._tmux(
            "display-message", "-p", "-t", pane, form
        ).split("\t")
        server = Server(socket=socket, pid=int(pid), started=int(started))
        key = f"here:{Path(socket).name}:{pid}-{started}:{pane}:{pane_pid}"
        processes = ProcessTable.take().below(int(pane_pid), tty)
        runs = any(p.comm == "codex" and p.foreground for p in processes)
        return PaneView(
            pane=Pane(
                key=key,
                id=pane,
                server=server,
                pid=int(pane_pid),
                session="main",
                window=Window(index=0, name="w"),
                index=0,
                cwd=cwd,
            ),
            program="codex" if runs else "shell",
            processes=processes,
            rows=tuple(self.rows(pane)),
            title=self.title(pane),
            dialog=dialog,
            seen_at=int(time.time() * 1000),
        )

    # --- the home

    def control_socket(self) -> Path:
        return self.home / "app-server-control" / "app-server-control.sock"

    def daemon_pid(self) -> int:
        return int(json.loads((self.home / "app-server-daemon" / "daemon.pid").read_text())["pid"])

    def rollouts(self) -> list[Path]:
        return sorted((self.home / "sessions").rglob("rollout-*.jsonl"))

    def fingerprint(self) -> dict[str, str]:
        """Every database row and every other file's content, except the debug log database."""
        seen: dict[str, str] = {}
        for path in sorted(self.home.rglob("*")):
            name = str(path.relative_to(self.home))
            if not path.is_file() or path.is_symlink() or "packages" in path.parts:
                continue
            if path.name.startswith("logs_") or path.suffix in {".lock", ".log"}:
                continue
            if path.name.endswith(("-wal", "-shm")):
                continue
            if path.suffix == ".sqlite":
                seen.update(_rows(path, name))
            else:
                seen[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        return seen

    def close(self) -> None:
        """End the tmux server and whatever runs with this home."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self._tmux("kill-server")
        folder = Path(os.environ.get("TMUX_TMPDIR", "/tmp")) / f"tmux-{os.getuid()}"
        (folder / self.socket).unlink(missing_ok=True)
        for process in self._ours():
            with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
                os.kill(process.pid, signal.SIGKILL)
        until(lambda: not self._ours(), 10.0, "Codex processes end")
        link = self.control_socket()
        if link.is_symlink():
            target = Path(os.readlink(link))
            for leftover in (target, target.with_name(target.name + ".lock")):
                leftover.unlink(missing_ok=True)
        shutil.rmtree(self.root, ignore_errors=True)

    def _ours(self) -> list[psutil.Process]:
        """Processes whose environment names this very home."""
        mine = f"CODEX_HOME={self.home}"
        found = []
        for process in psutil.process_iter(["pid", "status"]):
            with contextlib.suppress(OSError, psutil.Error):
                raw = Path(f"/proc/{process.pid}/environ").read_bytes()
                if mine in raw.decode("utf-8", "replace").split("\0"):
                    found.append(process)
        return [p for p in found if p.info["status"] != psutil.STATUS_ZOMBIE]


def _rows(path: Path, name: str) -> dict[str, str]:
    rows: dict[str, str] = {}
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        tables = database.execute("select name from sqlite_master where type='table'").fetchall()
        for (table,) in tables:
            content = repr(sorted(map(repr, database.execute(f'select * from "{table}"'))))
            rows[f"{name}:{table}"] = hashlib.sha256(content.encode()).hexdigest()
    return rows


def _config(port: int, project: Path, show_id: str) -> str:
    shown = {
        "": "",
        "status": '[tui]\nstatus_line = ["model-with-reasoning", "current-dir", "thread-id"]\n',
        "title": '[tui]\nterminal_title = ["activity", "thread-id"]\n',
        "both": '[tui]\nstatus_line = ["model-with-reasoning", "current-dir", "thread-id"]\n'
        'terminal_title = ["activity", "thread-id"]\n',
    }[show_id]
    return f"""model = "gpt-5.5"
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false

[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[features]
multi_agent_v2 = true

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[projects."{project}"]
trust_level = "trusted"

{shown}"""
