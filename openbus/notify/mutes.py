"""What is silenced: `mutes.json` of the state folder, written by commands, read by the service."""

from __future__ import annotations

from pathlib import Path

import msgspec

from openbus import store
from openbus.notify.policy import Mute, Scope

FILE = "mutes.json"


class Mutes:
    """The mutes below the state folder `folder`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._stamp: tuple[int, int] | None = None
        self._known: tuple[Mute, ...] = ()

    def current(self, now: int) -> tuple[Mute, ...]:
        """The mutes that hold; the file is read again only when it changed. Raises
        `StoreError`."""
        try:
            info = self._path.stat()
        except OSError:
            self._stamp, self._known = None, ()
            return ()
        stamp = (info.st_mtime_ns, info.st_ino)
        if stamp != self._stamp:
            self._known = store.read(self._path, tuple[Mute, ...]) or ()
            self._stamp = stamp
        return tuple(mute for mute in self._known if mute.until is None or mute.until > now)

    def add(self, mute: Mute, now: int) -> None:
        """Silence; a mute of the same name is replaced. Raises `StoreError`."""
        with store.locked(self._path):
            kept = [m for m in self.current(now) if (m.scope, m.name) != (mute.scope, mute.name)]
            store.write(self._path, msgspec.json.encode([*kept, mute]))

    def remove(self, scope: Scope, name: str, now: int) -> bool:
        """Undo; whether there was one. Raises `StoreError`."""
        with store.locked(self._path):
            before = self.current(now)
            kept = [mute for mute in before if (mute.scope, mute.name) != (scope, name)]
            store.write(self._path, msgspec.json.encode(kept))
        return len(kept) < len(before)
