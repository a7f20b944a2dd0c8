"""Reading leaves no trace: not in the code, not on the disk."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import agent_history
from tests.agent_history.stores import (
    FIXTURES,
    NOW,
    SESSION,
    THREAD,
    Claude,
    Rollouts,
    context,
    meta,
    prompt,
    reply,
)

PACKAGE = Path(agent_history.__file__).parent
# The cache, the ticks and a private copy of a database are ours; everything else only reads.
WRITERS = {"cache.py", "ticks.py", "reading/sqlite.py"}
FORBIDDEN_MODULES = {"subprocess", "multiprocessing", "pty", "fcntl", "socket", "ctypes"}
FORBIDDEN_CALLS = {
    "system", "popen", "fork", "remove", "unlink", "rename", "renames", "replace", "mkdir",
    "makedirs", "rmdir", "removedirs", "truncate", "ftruncate", "chmod", "chown", "link",
    "symlink", "utime", "mkfifo", "mkstemp", "write_text", "write_bytes", "touch", "copyfile",
    "copy", "move", "rmtree", "flock", "lockf", "kill", "killpg",
}  # fmt: skip
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_reader_module_can_write_or_start_a_process(path: Path) -> None:
    if name_of(path) in WRITERS:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not {alias.name for alias in node.names} & FORBIDDEN_MODULES
        elif isinstance(node, ast.ImportFrom):
            assert node.module not in FORBIDDEN_MODULES
            assert not (node.module or "").startswith("openbus"), "arrows point one way"
        elif isinstance(node, ast.Call):
            check_call(node, name_of(path))


def check_call(node: ast.Call, module: str) -> None:
    target = node.func
    name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
    owner = getattr(target.value, "id", "") if isinstance(target, ast.Attribute) else ""
    if owner in ("os", "shutil", "tempfile", "path") and name in FORBIDDEN_CALLS:
        # `os.kill(pid, 0)` sends nothing: it asks whether a process exists.
        zero = name == "kill" and ast.unparse(node.args[1]) == "0"
        assert zero, f"{module}: {ast.unparse(node)}"
    if owner == "os" and name == "open":
        raise AssertionError(f"{module}: {ast.unparse(node)}")
    if name in ("open", "FileIO") and owner in ("", "io"):
        modes = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
        for mode in modes:
            assert isinstance(mode, ast.Constant) and set(str(mode.value)) <= {"r", "b"}, module


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_query_asks_for_columns_first(path: Path) -> None:
    if name_of(path) == "reading/sqlite.py":
        return
    source = path.read_text()
    assert "execute(" not in source, "queries go through `select`, which looks at the columns"


TRACER = """
import os, signal, sys
# A runner in the background hands on an ignored SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
store = sys.argv.pop(1)
seen = []
def hook(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)):
        path = os.fsdecode(args[0])
        if os.path.realpath(path).startswith(store):
            writes = isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            seen.append(("write " if writes else "read ") + path)
    elif event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.utime",
                   "os.truncate", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"):
        if event.startswith("subprocess") or str(args[0]).startswith(store):
            seen.append(f"{event} {args[0]}")
sys.addaudithook(hook)
from agent_history.cli import app
try:
    app()
finally:
    print("\\n".join(seen), file=sys.stderr)
"""


def listing(root: Path) -> dict[str, tuple[int, int, str]]:
    return {
        path.relative_to(root).as_posix(): (
            path.stat().st_size,
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in sorted(root.rglob("*"))
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    claude, codex = Claude(root), Rollouts(root)
    claude.write(prompt("go"), reply("ok"))
    claude.live(pid=os.getpid())
    codex.write(meta(), context())
    import sqlite3

    db = sqlite3.connect(root / ".codex/state_5.sqlite")
    db.execute("PRAGMA journal_mode=wal")
    db.execute("CREATE TABLE threads (id, name)")
    db.commit()
    db.close()
    for secret in (
        ".claude/sessions/4242.key", ".claude/.credentials.json", ".codex/auth.json",
        ".claude/.env", ".codex/.env", ".claude/projects/-home-dev-shop/secret.key",
    ):  # fmt: skip
        (root / secret).write_text("DO NOT READ")
    return root


@pytest.mark.parametrize(
    "command",
    [
        ["scan", "--json"], ["scan", "--all", "--exact"], ["show", SESSION, "--json"],
        ["show", THREAD], ["show", SESSION, "--files-only"], ["plan", SESSION], ["search", "go"],
        ["export"], ["export", "--format", "jsonl"], ["doctor"], ["doctor", "--json"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_command_changes_a_store_or_opens_a_secret(
    home: Path, tmp_path: Path, command: list[str]
) -> None:
    before = listing(home)
    env = os.environ | {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PYTHONPATH": str(PACKAGE.parent),
    }
    arguments = [sys.executable, "-c", TRACER, str(home), *command, "--home", str(home)]
    done = subprocess.run(arguments, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert listing(home) == before
    traced = done.stderr.splitlines()
    assert any(line.startswith("read ") for line in traced)
    assert [line for line in traced if line.startswith(("write ", "os.", "subprocess"))] == []
    secret = (".key", ".credentials.json", "auth.json", ".env")
    assert [line for line in traced if line.endswith(secret)] == []
    assert "DO NOT READ" not in done.stdout


def test_watching_changes_nothing_either(home: Path, tmp_path: Path) -> None:
    before = listing(home)
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(PACKAGE.parent)}
    arguments = [sys.executable, "-c", TRACER, str(home), "watch", "--json", "--home", str(home)]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        assert "id" in json.loads(running.stdout.readline())
        running.send_signal(signal.SIGINT)
        traced = running.stderr.read().splitlines()
    assert listing(home) == before
    assert [line for line in traced if line.startswith(("write ", "os."))] == []


def test_fixtures_are_small_and_hold_no_path_of_a_machine() -> None:
    files = [path for path in FIXTURES.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 1_200_000
    for path in files:
        text = path.read_text()
        assert "/root/" not in text
        for line in text.splitlines() if path.suffix == ".jsonl" else ():
            json.loads(line)
    assert NOW
