"""Which processes run, by `/proc`; no process is started, signalled or traced."""

from __future__ import annotations

import os


class Processes:
    """Reads the process table of this machine (or of a folder that looks like one, in tests).

    Without a `/proc` (macOS) only existence is known: start times are None.
    """

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self.table = os.path.isdir(proc)

    def alive(self, pid: int) -> bool:
        """Does a process with this id exist?"""
        if pid <= 0:
            return False
        if self.table:
            return self.start_ticks(pid) is not None
        try:
            os.kill(pid, 0)
        except PermissionError:
            return True
        except OSError:
            return False
        return True

    def start_ticks(self, pid: int) -> int | None:
        """When the process began, in clock ticks since boot (`stat` field 22); None if unknown."""
        text = self._read(f"{pid}/stat")
        # The command in parentheses may hold blanks and parentheses: count from the last one.
        rest = text[text.rfind(")") + 2 :].split()
        try:
            # Fields after the command begin with number 3, the state; "Z" is a dead process.
            return None if rest[0] == "Z" else int(rest[19])
        except (IndexError, ValueError):
            return None

    def locks(self) -> dict[tuple[int, int, int], int] | None:
        """Held locks, (device major, minor, inode) to pid; None where nobody lists them."""
        text = self._read("locks")
        if not text and not os.path.exists(os.path.join(self._proc, "locks")):
            return None
        held: dict[tuple[int, int, int], int] = {}
        for line in text.splitlines():
            words = line.split()
            # "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF"; a waiting lock has "->" second.
            if len(words) < 6 or words[1] == "->":
                continue
            try:
                major, minor, inode = words[5].split(":")
                held[int(major, 16), int(minor, 16), int(inode)] = int(words[4])
            except ValueError:
                continue
        return held

    def namespace(self) -> str:
        """This process's pid namespace, such as `pid:[4026531836]`; '' when unknown."""
        try:
            return os.readlink(os.path.join(self._proc, "self/ns/pid"))
        except OSError:
            return ""

    def _read(self, name: str) -> str:
        try:
            with open(os.path.join(self._proc, name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""
