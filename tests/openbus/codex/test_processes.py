"""Of another process we learn its home, the threads it holds and its sockets, and nothing else."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from openbus.codex.processes import ProcessFacts, clients_of, tui_process, unix_sockets
from openbus.model import Process
from tests.openbus.codex.world import A, B


def proc(root: Path, pid: int, *, environ: bytes = b"", files: tuple[str, ...] = ()) -> None:
    folder = root / str(pid)
    (folder / "fd").mkdir(parents=True)
    fields = " ".join(["S", "1", *["0"] * 17, "4242", "0"])
    (folder / "stat").write_text(f"{pid} (co) dex) {fields}")
    (folder / "environ").write_bytes(environ)
    for number, target in enumerate(files):
        (folder / "fd" / str(number)).symlink_to(target)
    (folder / "exe").symlink_to("/opt/codex/bin/codex")
    (root / "stat").write_text("cpu 1 2 3\nbtime 1796070000\n")


def test_facts_of_a_tui(tmp_path: Path) -> None:
    proc(
        tmp_path,
        7,
        environ=b"HOME=/home/dev\0SECRET=planted\0CODEX_HOME=/home/dev/.codex\0",
        files=("socket:[9001]", "/dev/pts/1", "/home/dev/.codex/auth.json"),
    )
    found = ProcessFacts(tmp_path).tui(7)
    assert found is not None
    assert (found.pid, found.ticks, found.home) == (7, 4242, "/home/dev/.codex")
    assert found.started_at == 1796070000_000 + 42_420
    assert found.sockets == {9001}
    assert found.executable == "/opt/codex/bin/codex"
    assert found.embedded == ()
    assert "planted" not in repr(found) and "auth" not in repr(found)


def test_without_codex_home_the_home_is_below_the_users(tmp_path: Path) -> None:
    proc(tmp_path, 7, environ=b"HOME=/home/dev\0")
    found = ProcessFacts(tmp_path).tui(7)
    assert found is not None and found.home == "/home/dev/.codex"


def test_without_either_there_is_no_home(tmp_path: Path) -> None:
    proc(tmp_path, 7, environ=b"CODEX_HOME=\0TERM=x\0")
    found = ProcessFacts(tmp_path).tui(7)
    assert found is not None and found.home is None


def test_an_embedded_thread_has_its_lock_and_its_rollout_open(tmp_path: Path) -> None:
    home = "/home/dev/.codex"
    proc(
        tmp_path,
        7,
        environ=b"CODEX_HOME=/home/dev/.codex\0",
        files=(
            f"{home}/thread-writer-locks/{A}.lock",
            f"{home}/sessions/2026/11/30/rollout-2026-11-30T21-16-15-{A}.jsonl",
            f"{home}/thread-writer-locks/{B}.lock",  # a title helper: no rollout
            f"/elsewhere/thread-writer-locks/{B}.lock",
            f"/elsewhere/sessions/rollout-x-{B}.jsonl",
        ),
    )
    found = ProcessFacts(tmp_path).tui(7)
    assert found is not None and found.embedded == (A,)


def test_a_process_that_has_gone_has_no_facts(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("btime 1796070000\n")
    assert ProcessFacts(tmp_path).tui(7) is None
    assert ProcessFacts(tmp_path).ticks(7) is None


def test_a_replaced_executable_is_not_run(tmp_path: Path) -> None:
    proc(tmp_path, 7)
    (tmp_path / "7" / "exe").unlink()
    (tmp_path / "7" / "exe").symlink_to("/opt/codex/bin/codex (deleted)")
    found = ProcessFacts(tmp_path).tui(7)
    assert found is not None and found.executable is None


def codex(foreground: bool, *words: str, pid: int = 1) -> Process:
    return Process(comm="codex", foreground=foreground, depth=1, argv=("codex", *words), pid=pid)


def test_the_tui_is_the_codex_in_the_foreground_and_never_a_server() -> None:
    launcher = Process(comm="node", foreground=True, depth=0, argv=("node", "codex"), pid=1)
    assert tui_process((launcher, codex(False, pid=2), codex(True, pid=3))) == codex(True, pid=3)
    assert tui_process((launcher, codex(False, "app-server"))) is None
    assert tui_process((launcher, codex(True, "app-server"))) is None
    assert tui_process(()) is None


def test_the_kernel_tells_whose_sockets_are_connected_to_a_socket_file(tmp_path: Path) -> None:
    path = tmp_path / "s"
    listener, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    with listener, client:
        listener.bind(str(path))
        listener.listen()
        client.connect(str(path))
        accepted, _ = listener.accept()
        with accepted:
            found = unix_sockets()
            assert found is not None
            clients = clients_of(path.stat().st_ino, found)
            assert os.fstat(client.fileno()).st_ino in clients
            assert os.fstat(accepted.fileno()).st_ino not in clients
            assert clients_of(path.parent.stat().st_ino, found) == frozenset()
    mine = ProcessFacts().tui(os.getpid())
    assert mine is not None and mine.started_at > 1_500_000_000_000
