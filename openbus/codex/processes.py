"""Facts about a Codex TUI process that no screen shows: its home, its open threads, its sockets.

Read-only and narrow: of another process's environment only `CODEX_HOME` and `HOME` are kept, of its
open files only the names of thread locks and rollouts, of its sockets only numbers. Needs `/proc`
and the kernel's socket diagnosis (Linux); elsewhere there are no facts and nothing binds.
"""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import msgspec

from openbus.model import Process

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_LOCK = re.compile(rf"/thread-writer-locks/({_UUID})\.lock$")
_ROLLOUT = re.compile(rf"/sessions/(?:.*/)?rollout-[^/]*-({_UUID})\.jsonl$")
_SOCKET = re.compile(r"^socket:\[(\d+)\]$")

_SOCK_DIAG = 4
_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301
_SHOW_VFS, _SHOW_PEER = 2, 4
_ATTR_VFS, _ATTR_PEER = 1, 2


class Tui(msgspec.Struct, frozen=True, kw_only=True):
    """One running Codex TUI. `ticks` is its start time as the kernel counts it: with `pid` it names
    this process for ever. `started_at` is the same moment in epoch milliseconds.

    `home` is its Codex home, `embedded` the threads it holds itself (none when a server holds
    them), `sockets` the inodes of its sockets, `executable` the program file.
    """

    pid: int
    ticks: int
    started_at: int
    home: str | None
    executable: str | None
    embedded: tuple[str, ...] = ()
    sockets: frozenset[int] = frozenset()


class UnixSocket(msgspec.Struct, frozen=True, kw_only=True):
    """One Unix socket of this machine: its number, its peer's, and the file it is bound to."""

    inode: int
    peer: int | None
    file: int | None


def tui_process(processes: tuple[Process, ...]) -> Process | None:
    """The TUI among a pane's processes: `codex` in the foreground.

    The npm launcher is `node` with `codex` as its child. A server that the TUI started is its
    descendant, but never in the terminal's foreground and always named `app-server`.
    """
    for process in processes:
        if process.comm == "codex" and process.foreground and "app-server" not in process.argv:
            return process
    return None


class ProcessFacts:
    """Reads `/proc`. `root` is another folder in tests."""

    def __init__(self, root: Path = Path("/proc")) -> None:
        self._root = root
        self._hertz = os.sysconf("SC_CLK_TCK")

    def ticks(self, pid: int) -> int | None:
        """Start time of a process in clock ticks since boot; None when it has gone."""
        try:
            raw = (self._root / str(pid) / "stat").read_text(errors="replace")
        except OSError:
            return None
        fields = raw[raw.rfind(")") + 2 :].split()
        return int(fields[19]) if len(fields) > 19 and fields[0] != "Z" else None

    def tui(self, pid: int) -> Tui | None:
        """Everything we may know about this TUI; None when it has gone or cannot be read."""
        ticks = self.ticks(pid)
        booted = self._booted()
        if ticks is None or booted is None:
            return None
        locks, rollouts, sockets = set[str](), set[str](), set[int]()
        home = self._home(pid)
        for name in self._open_files(pid):
            if match := _SOCKET.match(name):
                sockets.add(int(match[1]))
            elif home is not None and name.startswith(home + "/"):
                if match := _LOCK.search(name):
                    locks.add(match[1])
                elif match := _ROLLOUT.search(name):
                    rollouts.add(match[1])
        return Tui(
            pid=pid,
            ticks=ticks,
            started_at=int((booted + ticks / self._hertz) * 1000),
            home=home,
            executable=self._executable(pid),
            # an ephemeral helper thread has a lock but no rollout
            embedded=tuple(sorted(locks & rollouts)),
            sockets=frozenset(sockets),
        )

    def _booted(self) -> int | None:
        try:
            for line in (self._root / "stat").read_text().splitlines():
                if line.startswith("btime "):
                    return int(line.split()[1])
        except OSError:
            return None
        return None

    def _home(self, pid: int) -> str | None:
        try:
            raw = (self._root / str(pid) / "environ").read_bytes()
        except OSError:
            return None
        wanted: dict[bytes, str] = {}
        for entry in raw.split(b"\0"):
            name, _, value = entry.partition(b"=")
            if name in (b"CODEX_HOME", b"HOME") and value:
                wanted[name] = os.fsdecode(value)
        if b"CODEX_HOME" in wanted:
            return os.path.realpath(wanted[b"CODEX_HOME"])
        return os.path.realpath(f"{wanted[b'HOME']}/.codex") if b"HOME" in wanted else None

    def _open_files(self, pid: int) -> Iterator[str]:
        try:
            entries = list((self._root / str(pid) / "fd").iterdir())
        except OSError:
            return
        for entry in entries:
            try:
                yield str(entry.readlink())
            except OSError:
                continue  # closed meanwhile

    def _executable(self, pid: int) -> str | None:
        try:
            path = str((self._root / str(pid) / "exe").readlink())
        except OSError:
            return None
        return path if not path.endswith(" (deleted)") else None


def unix_sockets() -> list[UnixSocket] | None:
    """All connected and listening Unix sockets, by the kernel's socket diagnosis.

    The same source as `ss -x`. None where it does not exist (macOS) or is refused.
    """
    family = getattr(socket, "AF_NETLINK", None)
    if family is None:
        return None
    body = struct.pack(
        "=BBHIIIII", socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, _SHOW_VFS | _SHOW_PEER, *[0xFFFFFFFF] * 2
    )
    head = struct.pack("=IHHII", 16 + len(body), _DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0)
    found: list[UnixSocket] = []
    try:
        with socket.socket(family, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as link:
            link.settimeout(1.0)
            link.send(head + body)
            while _messages(link.recv(1 << 18), found):
                pass
    except OSError:
        return None
    return found


def _messages(data: bytes, into: list[UnixSocket]) -> bool:
    """Take one datagram apart; False after the last."""
    at = 0
    while at + 16 <= len(data):
        length, kind = struct.unpack_from("=IH", data, at)
        if length < 16 or kind in (2, 3):  # error, done
            return False
        if kind == _DIAG_BY_FAMILY:
            into.append(_socket(data[at + 16 : at + length]))
        at += (length + 3) & ~3
    return True


def _socket(message: bytes) -> UnixSocket:
    (inode,) = struct.unpack_from("=I", message, 4)
    peer = file = None
    at = 16
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if length < 4:
            break
        if kind == _ATTR_PEER and length >= 8:
            (peer,) = struct.unpack_from("=I", message, at + 4)
        elif kind == _ATTR_VFS and length >= 8:
            (file,) = struct.unpack_from("=I", message, at + 4)
        at += (length + 3) & ~3
    return UnixSocket(inode=inode, peer=peer, file=file)


def clients_of(file: int, sockets: list[UnixSocket]) -> frozenset[int]:
    """Sockets connected to the server that listens on the socket file with this inode.

    The kernel gives a server's accepted sockets the file they were accepted on, and each its peer.
    An inode number is unique on one file system only; the caller also compares the Codex home.
    """
    return frozenset(s.peer for s in sockets if s.file == file and s.peer)
