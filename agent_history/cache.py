"""A file of totals between two runs of the command: sizes, offsets and numbers, no text.

One entry per long transcript, keyed by a hash of its path and valid only for the very same file
(device, inode, size, time). The file lies in the user's cache folder with mode 0600 and can be
deleted at any time. A cache that cannot be read or written costs time, never an answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from typing import TypeVar

import msgspec

from agent_history.reading.files import Fingerprint

VERSION = 1
MAX_ENTRIES = 20_000

Kind = TypeVar("Kind")


class _Stored(msgspec.Struct, array_like=True):
    print: Fingerprint
    data: msgspec.Raw


class _File(msgspec.Struct, array_like=True):
    version: int
    entries: dict[bytes, _Stored]


class TotalsCache:
    """The totals of one cache file; read on first use, written by `save` when something changed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._entries: dict[bytes, _Stored] | None = None
        self._changed = False

    def get(self, path: str, found: Fingerprint, kind: type[Kind]) -> Kind | None:
        """The totals of this very file; None when they are not known."""
        stored = self._load().get(key_of(path))
        if stored is None or stored.print != found:
            return None
        try:
            return msgspec.msgpack.decode(stored.data, type=kind)
        except msgspec.MsgspecError:
            return None

    def put(self, path: str, found: Fingerprint, totals: msgspec.Struct) -> None:
        """Remember the totals of a file."""
        data = msgspec.Raw(msgspec.msgpack.encode(totals))
        entries = self._load()
        entries.pop(key_of(path), None)
        entries[key_of(path)] = _Stored(found, data)
        while len(entries) > MAX_ENTRIES:
            del entries[next(iter(entries))]
        self._changed = True

    def _load(self) -> dict[bytes, _Stored]:
        if self._entries is None:
            self._entries = {}
            try:
                with open(self._path, "rb") as file:
                    stored = msgspec.msgpack.decode(file.read(), type=_File)
                if stored.version == VERSION:
                    self._entries = stored.entries
            except (OSError, msgspec.MsgspecError):
                pass
        return self._entries

    def save(self) -> bool:
        """Write what changed, whole or not at all; False when it could not be written."""
        if not self._changed or self._entries is None:
            return True
        data = msgspec.msgpack.encode(_File(VERSION, self._entries))
        folder = os.path.dirname(self._path)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=".totals-")
        except OSError:
            return False
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, self._path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            return False
        self._changed = False
        return True


def key_of(path: str) -> bytes:
    """A path as a key that does not tell the path."""
    return hashlib.blake2b(os.fsencode(path), digest_size=16).digest()
