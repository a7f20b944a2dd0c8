"""Who may come in: one-time pairing codes, and the keys that they are exchanged for.

Codes and keys are 256 random bits; only their SHA-256 is kept, in `paired.json` (0600). A key can
do everything that the API does (`full`) or only look (`view`). Commands write the same file while
the service runs: a change is seen at the next request. Times are epoch milliseconds, passed in.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import deque
from pathlib import Path
from typing import Literal

import msgspec

from openbus import store

FILE = "paired.json"
CODE_LIFE = 10 * 60_000
"""So long a pairing link can be used, once."""

SEEN_EVERY = 3_600_000
"""`seen_at` is kept to the hour: a request writes nothing else."""

MOST_KEYS = 100
WRONG_MOST = 10
WRONG_SPAN = 5 * 60_000
"""So many wrong keys or codes from one address within this span close the door to it."""

ADDRESSES_MOST = 1000

Role = Literal["full", "view"]


class PairingError(Exception):
    """Something cannot be paired; `str()` is one line with the way out."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A paired browser, or a token for a script. `hash` is SHA-256 of the secret, in hex."""

    id: str
    hash: str
    role: Role = "full"
    kind: Literal["browser", "token"] = "browser"
    label: str = ""
    added_at: int = 0
    seen_at: int = 0


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """A pairing link that was not used yet."""

    hash: str
    role: Role = "full"
    expires_at: int = 0


class _Book(msgspec.Struct, frozen=True, kw_only=True):
    version: int = 1
    keys: tuple[Key, ...] = ()
    codes: tuple[Code, ...] = ()


class Pairing:
    """The keys and codes in one state folder. Methods raise `openbus.store.StoreError` when the
    file cannot be read or written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._stamp: tuple[int, int, int] | None = None
        self._keys: dict[str, Key] = {}

    def invite(self, role: Role, now: int) -> str:
        """A code for one pairing link."""
        secret = secrets.token_urlsafe(32)
        fresh = Code(hash=_hash(secret), role=role, expires_at=now + CODE_LIFE)
        with store.locked(self._path):
            book = self._read()
            alive = tuple(code for code in book.codes if code.expires_at > now)[-20:]
            self._write(msgspec.structs.replace(book, codes=(*alive, fresh)))
        return secret

    def redeem(self, code: str, label: str, now: int) -> str | None:
        """The key of a new browser for an unused code, else None. The code is used up."""
        wanted = _hash(code)
        with store.locked(self._path):
            book = self._read()
            found = next((c for c in book.codes if c.hash == wanted and c.expires_at > now), None)
            if found is None:
                return None
            key, secret = _new_key(found.role, "browser", label, now)
            codes = tuple(c for c in book.codes if c is not found and c.expires_at > now)
            self._write(_Book(keys=_room(book.keys, key), codes=codes))
        return secret

    def issue(self, role: Role, label: str, now: int) -> str:
        """A token for a script (`Authorization: Bearer`)."""
        key, secret = _new_key(role, "token", label, now)
        with store.locked(self._path):
            book = self._read()
            self._write(msgspec.structs.replace(book, keys=_room(book.keys, key)))
        return secret

    def who(self, secret: str, now: int) -> Key | None:
        """The key that this is, if it is one."""
        self._refresh()
        key = self._keys.get(_hash(secret))
        if key is not None and now - key.seen_at >= SEEN_EVERY:
            self._mark_seen(key, now)
        return key

    def holds(self, key: Key) -> bool:
        """Whether this key was not revoked meanwhile."""
        self._refresh()
        return key.hash in self._keys

    def everybody(self) -> tuple[Key, ...]:
        """Everybody who is paired, oldest first."""
        return self._read().keys

    def revoke(self, name: str) -> bool:
        """Forget the key with this id; whether there was one."""
        with store.locked(self._path):
            book = self._read()
            kept = tuple(key for key in book.keys if key.id != name)
            if len(kept) == len(book.keys):
                return False
            self._write(msgspec.structs.replace(book, keys=kept))
        return True

    def _mark_seen(self, key: Key, now: int) -> None:
        with store.locked(self._path):
            book = self._read()
            keys = tuple(
                msgspec.structs.replace(one, seen_at=now) if one.id == key.id else one
                for one in book.keys
            )
            self._write(msgspec.structs.replace(book, keys=keys))

    def _refresh(self) -> None:
        """Read the file again if it is another one than before."""
        try:
            info = self._path.stat()
            stamp = (info.st_mtime_ns, info.st_ino, info.st_size)
        except OSError:
            stamp = None
        if stamp is None or stamp != self._stamp:
            self._keys = {key.hash: key for key in self._read().keys}
            self._stamp = stamp

    def _read(self) -> _Book:
        return store.read(self._path, _Book) or _Book()

    def _write(self, book: _Book) -> None:
        store.write(self._path, msgspec.json.encode(book))


class Lockout:
    """Counts wrong keys and codes per address. Pure; bounded."""

    def __init__(self) -> None:
        self._wrong: dict[str, deque[int]] = {}

    def wrong(self, address: str, now: int) -> None:
        if address not in self._wrong and len(self._wrong) >= ADDRESSES_MOST:
            del self._wrong[next(iter(self._wrong))]
        self._wrong.setdefault(address, deque(maxlen=WRONG_MOST)).append(now)

    def seconds(self, address: str, now: int) -> int:
        """So long this address is refused from now on; 0 = it is not."""
        times = self._wrong.get(address)
        if times is None or len(times) < WRONG_MOST:
            return 0
        left = times[0] + WRONG_SPAN - now
        # A clock that was set back must not close the door for longer than the span.
        return min(-(-left // 1000), WRONG_SPAN // 1000) if left > 0 else 0


def pairing_url(base: str, code: str) -> str:
    """The link that a person opens; `base` ends in a slash."""
    return f"{base}pair?token={code}"


def _new_key(
    role: Role, kind: Literal["browser", "token"], label: str, now: int
) -> tuple[Key, str]:
    secret = secrets.token_urlsafe(32)
    key = Key(
        id=secrets.token_hex(4),
        hash=_hash(secret),
        role=role,
        kind=kind,
        label=label[:60],
        added_at=now,
        seen_at=now,
    )
    return key, secret


def _room(keys: tuple[Key, ...], fresh: Key) -> tuple[Key, ...]:
    if len(keys) >= MOST_KEYS:
        raise PairingError(f"{MOST_KEYS} are paired; remove some with `openbus pair --revoke ID`")
    return (*keys, fresh)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
