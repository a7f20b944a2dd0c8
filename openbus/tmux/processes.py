"""Who runs in a pane: the processes below it, and which of them hold the terminal.

One pass over `/proc` per table (`ps` where there is no `/proc`), command lines only for the
processes that are asked about. A process is in the foreground when its process group is the one
its terminal belongs to; behind a terminal of its own (`script`, `expect`) it also needs its
way down from the pane to be in the foreground.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import msgspec
import psutil

from openbus.model import Process
from openbus.tmux.argv import naming_words

MAX_DEPTH = 12
"""Levels below a pane: launchers and shells nest, compilers and test runners nest deeper."""

MAX_PROCESSES = 64
"""Processes kept per pane: a parallel build must not crowd out what matters, which comes first."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One process as the kernel tells it. `tty` is the device number, 0 without a terminal;
    `terminal_group` the foreground process group of that terminal."""

    pid: int
    parent: int
    comm: str
    group: int
    tty: int
    terminal_group: int


class ProcessTable:
    """All processes at one moment."""

    def __init__(self, entries: Iterable[Entry], proc: Path | None = None) -> None:
        self._proc = proc
        self._entries = {entry.pid: entry for entry in entries}
        self._children: dict[int, list[Entry]] = {}
        self._on_terminal: dict[int, list[Entry]] = {}
        for entry in self._entries.values():
            self._children.setdefault(entry.parent, []).append(entry)
            self._on_terminal.setdefault(entry.tty, []).append(entry)

    @classmethod
    def take(cls, proc: Path = Path("/proc")) -> ProcessTable:
        """Read the table now: about 12 microseconds a process from `/proc`."""
        if (proc / "self" / "stat").exists():
            return cls(_read_all(proc), proc)
        return cls(read_ps())

    @classmethod
    def take_below(cls, pane_pids: Iterable[int], proc: Path = Path("/proc")) -> ProcessTable:
        """Read only what is below these processes: for a few panes cheaper than the whole table.

        It knows no processes whose parents have gone. The whole table where the kernel keeps no
        lists of children.
        """
        if (proc / "thread-self" / "children").exists():
            return cls(_read_below(proc, pane_pids), proc)
        return cls.take(proc)

    def __len__(self) -> int:
        return len(self._entries)

    def below(self, pane_pid: int, tty: str | None = None) -> tuple[Process, ...]:
        """The pane's own process (depth 0) and everything below it, nearest first.

        With the pane's `tty` also processes on that terminal whose parents have gone (depth 1).
        Empty when the pane's process has gone.
        """
        root = self._entries.get(pane_pid)
        if root is None:
            return ()
        level = [(root, _holds_terminal(root))]
        found: list[Process] = []
        seen = {pane_pid}
        orphans = self._orphans(root, tty)
        for depth in range(MAX_DEPTH + 1):
            following: list[tuple[Entry, bool]] = []
            for entry, foreground in level:
                found.append(self._process(entry, foreground, depth))
                for child in self._children.get(entry.pid, ()):
                    if child.pid not in seen:
                        seen.add(child.pid)
                        following.append((child, _child_holds(child, entry, foreground)))
            if depth == 0:
                following += [(o, _holds_terminal(o)) for o in orphans if o.pid not in seen]
                seen.update(orphan.pid for orphan in orphans)
            if not following or len(found) >= MAX_PROCESSES:
                break
            level = following[: MAX_PROCESSES - len(found)]
        return tuple(found)

    def _orphans(self, root: Entry, tty: str | None) -> list[Entry]:
        device = _device(tty)
        if not device:
            return []
        return [
            entry
            for entry in self._on_terminal.get(device, ())
            if entry.pid != root.pid
            and getattr(self._entries.get(entry.parent), "tty", 0) != device
        ]

    def _process(self, entry: Entry, foreground: bool, depth: int) -> Process:
        argv = self._argv(entry.pid)
        return Process(
            comm=entry.comm, foreground=foreground, depth=depth, argv=argv, pid=entry.pid
        )

    def _argv(self, pid: int) -> tuple[str, ...]:
        if self._proc is None:
            return naming_words(_psutil_argv(pid))
        raw = _read(f"{self._proc}/{pid}/cmdline")
        words = raw.rstrip(b"\0").split(b"\0") if raw else []
        return naming_words([word.decode("utf-8", "replace") for word in words])


def parse_stat(raw: bytes) -> Entry | None:
    """`/proc/PID/stat`; the name stands in parentheses and may itself hold blanks and those."""
    start, end = raw.find(b"("), raw.rfind(b")")
    fields = raw[end + 2 :].split(b" ", 6)
    if start < 0 or end < start or len(fields) < 6:
        return None
    return Entry(
        pid=int(raw[:start]),
        comm=raw[start + 1 : end].decode("utf-8", "replace"),
        parent=int(fields[1]),
        group=int(fields[2]),
        tty=int(fields[4]),
        terminal_group=int(fields[5]),
    )


def _read_all(proc: Path) -> Iterable[Entry]:
    for name in os.listdir(proc):  # noqa: PTH208 - a thousand Path objects cost 2 ms
        if name.isdecimal():
            entry = parse_stat(_read(f"{proc}/{name}/stat"))
            if entry is not None:
                yield entry


def _read_below(proc: Path, pids: Iterable[int]) -> Iterable[Entry]:
    """These processes and everything below them, by the kernel's lists of children.

    The lists are per thread: a child belongs to the thread that started it.
    """
    waiting = list(pids)
    seen = set(waiting)
    while waiting:
        pid = waiting.pop()
        entry = parse_stat(_read(f"{proc}/{pid}/stat"))
        if entry is None:
            continue
        yield entry
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"{proc}/{pid}/task"):  # noqa: PTH208 - see above
                for child in _read(f"{proc}/{pid}/task/{thread}/children").split():
                    if int(child) not in seen:
                        seen.add(int(child))
                        waiting.append(int(child))


def _read(path: str) -> bytes:
    """A small file of `/proc`; empty when the process has ended in the meantime."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _holds_terminal(entry: Entry) -> bool:
    return entry.tty != 0 and entry.group == entry.terminal_group


def _child_holds(child: Entry, parent: Entry, parent_holds: bool) -> bool:
    if child.tty == parent.tty:
        return _holds_terminal(child)
    return parent_holds and _holds_terminal(child)


def _device(tty: str | None) -> int:
    """Device number of a terminal as `/proc/PID/stat` writes it."""
    if not tty:
        return 0
    try:
        return Path(tty).stat().st_rdev
    except OSError:
        return 0


def read_ps() -> Iterable[Entry]:
    """The same table where there is no `/proc` (macOS); psutil tells no foreground group there."""
    command = ("ps", "-A", "-o", "pid=,ppid=,pgid=,tpgid=,tty=,comm=")
    listing = subprocess.run(command, capture_output=True, timeout=5, check=False).stdout
    devices: dict[str, int] = {}
    for line in listing.decode("utf-8", "replace").splitlines():
        fields = line.split(None, 5)
        if len(fields) < 6:
            continue
        tty = fields[4]
        if tty not in devices:
            devices[tty] = _device(f"/dev/{tty}")
        yield Entry(
            pid=int(fields[0]),
            parent=int(fields[1]),
            comm=fields[5].rpartition("/")[2].strip(),
            group=int(fields[2]),
            tty=devices[tty],
            terminal_group=int(fields[3]),
        )


def _psutil_argv(pid: int) -> list[str]:
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []
