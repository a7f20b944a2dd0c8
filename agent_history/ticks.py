"""The user's own ticks on plan steps: a list of keys in one file, never a step's text."""

from __future__ import annotations

import os

import msgspec


class Ticks:
    """Ticked keys in a file of mode 0600. A file that is gone or no list means no ticks."""

    def __init__(self, path: str) -> None:
        self._path = path

    def keys(self) -> frozenset[str]:
        """The ticked keys."""
        try:
            with open(self._path, "rb") as file:
                return frozenset(msgspec.json.decode(file.read(), type=list[str]))
        except (OSError, msgspec.MsgspecError):
            return frozenset()

    def set(self, key: str, ticked: bool) -> None:
        """Tick or untick one key. Raises OSError when the file cannot be written."""
        keys = set(self.keys())
        if ticked:
            keys.add(key)
        else:
            keys.discard(key)
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        temporary = f"{self._path}.{os.getpid()}"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(sorted(keys)))
        os.replace(temporary, self._path)
