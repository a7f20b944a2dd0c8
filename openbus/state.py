"""OpenBus's own files: one folder (0700) with the lock and what a restart must know.

Everything here is about identities, numbers and times; no text of a screen is ever written.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import msgspec

from openbus.push import Remembered


class StateError(Exception):
    """The state folder cannot be used, or another instance has it; `str()` is one line."""


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """Where the running service is reached. `url` is None without a web page, `socket` the path
    of its local socket."""

    pid: int
    socket: str
    url: str | None
    version: str
    started: int


class _Memory(msgspec.Struct, frozen=True, kw_only=True):
    version: int = 1
    panes: tuple[Remembered, ...] = ()


class StateFolder:
    """The files of one user's service, below `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @property
    def socket(self) -> Path:
        """The local socket that commands talk to. A socket address holds about 100 bytes, so a
        long path is replaced by one in the user's runtime folder."""
        path = self.path / "openbus.sock"
        if len(os.fsencode(path)) < 100:
            return path
        runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
        return Path(runtime) / "openbus.sock"

    def prepare(self) -> None:
        """Make the folder, private to this user. Raises `StateError`."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            info = self.path.stat()
            if info.st_uid != os.geteuid():
                raise StateError(
                    f"the state folder {self.path} belongs to uid {info.st_uid}; "
                    "set OPENBUS_STATE_DIR to a folder of yours"
                )
            self.path.chmod(0o700)
            probe = self.path / f".write-{os.getpid()}"
            probe.touch(mode=0o600)
            probe.unlink()
        except OSError as error:
            raise StateError(
                f"cannot write the state folder {self.path}: {(error.strerror or '').lower()}; "
                "free it or set OPENBUS_STATE_DIR to another folder"
            ) from error

    def acquire(self) -> None:
        """Become the one instance of this user. Raises `StateError` that names the other."""
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            other = self.running()
            where = f" (pid {other.pid}{', ' + other.url if other.url else ''})" if other else ""
            raise StateError(
                f"OpenBus is already running{where}; `openbus ls` asks it, "
                "`openbus service status` says more"
            ) from None
        self._lock = descriptor

    def release(self) -> None:
        """Give the place up and remove what points to us."""
        if self._lock is None:
            return
        (self.path / "service.json").unlink(missing_ok=True)
        self.socket.unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = None

    def __enter__(self) -> Self:
        self.prepare()
        self.acquire()
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    def announce(self, running: Running) -> None:
        """Tell commands where the service is."""
        self._write("service.json", msgspec.json.encode(running))

    def running(self) -> Running | None:
        """What the running service announced, or None. It may have died since: connecting tells."""
        try:
            return msgspec.json.decode((self.path / "service.json").read_bytes(), type=Running)
        except (OSError, msgspec.DecodeError):
            return None

    def load_memory(self) -> tuple[Remembered, ...]:
        """What the last run knew about panes; an unreadable file is as good as none."""
        try:
            raw = (self.path / "panes.json").read_bytes()
            memory = msgspec.json.decode(raw, type=_Memory)
        except (OSError, msgspec.DecodeError):
            return ()
        return memory.panes if memory.version == 1 else ()

    def save_memory(self, panes: Iterable[Remembered]) -> None:
        """Replace what is known about panes, whole or not at all. Raises `OSError`."""
        self._write("panes.json", msgspec.json.encode(_Memory(panes=tuple(panes))))

    def _write(self, name: str, data: bytes) -> None:
        temporary = self.path / f".{name}.{os.getpid()}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            temporary.replace(self.path / name)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
