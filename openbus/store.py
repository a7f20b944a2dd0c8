"""Small files of OpenBus's own: read whole, replaced whole, private to this user.

Several processes may change one (a command while the service runs), so a change takes a lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


class StoreError(Exception):
    """A file that cannot be used; `str()` is one line with what, why and the way out."""


def read(path: Path, kind: type[T]) -> T | None:
    """The value in the JSON file at `path`, None when there is no such file. Raises `StoreError`
    for one that cannot be read; the file stays as it is."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}; correct its mode") from None
    except msgspec.DecodeError as error:
        raise StoreError(f"{path} is damaged ({error}); move it away") from None


def write(path: Path, data: bytes) -> None:
    """Replace the file whole or not at all, mode 0600, its folder 0700. Raises `StoreError`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StoreError(
            f"cannot write {path}: {error.strerror}; free its folder or set OPENBUS_STATE_DIR"
        ) from None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone with this file as far as other OpenBus processes go. Raises `StoreError`."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"cannot write {lock}: {error.strerror}; free its folder") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
