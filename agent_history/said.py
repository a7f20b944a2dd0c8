"""What the agent said and thought: read from a transcript's end, then followed forwards.

These texts are not kept by a scan. They are read for a session somebody opened, from the end in
growing steps until there are fifty replies, and kept for the last three sessions opened.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from agent_history.fields import LONG_TEXT, MAX_REPLIES, MAX_THOUGHTS, cut
from agent_history.reading.decode import Counts, LineDecoder
from agent_history.reading.files import Fingerprint, Follower, fingerprint, is_zst
from agent_history.records import Said

STEPS = (512 << 10, 4 << 20, 32 << 20)
KEPT_SESSIONS = 3


class Words(Protocol):
    """Collects replies and thoughts row by row."""

    def feed(self, row: msgspec.Struct) -> None:
        """Take one row."""

    def replies(self) -> tuple[Said, ...]:
        """The newest replies, oldest first."""

    def thoughts(self) -> tuple[Said, ...]:
        """The newest thoughts, oldest first."""


class Messages:
    """Texts by message, in order: blocks of one message are joined."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._texts: OrderedDict[str, tuple[int, str]] = OrderedDict()

    def add(self, message: str, at: int, text: str) -> None:
        """One block of a message."""
        if not text.strip():
            return
        old = self._texts.get(message)
        joined = text if old is None else f"{old[1]}\n{text}"
        self._texts[message] = (old[0] if old else at, joined[: 2 * LONG_TEXT])
        if len(self._texts) > self._limit:
            self._texts.popitem(last=False)

    def __len__(self) -> int:
        return len(self._texts)

    def said(self) -> tuple[Said, ...]:
        """The texts, each cut."""
        return tuple(Said(at=at, text=cut(text, LONG_TEXT)) for at, text in self._texts.values())


class SaidReader:
    """Replies and thoughts of one transcript."""

    def __init__(
        self, path: str, decoder: LineDecoder[msgspec.Struct], new_words: Callable[[], Words]
    ) -> None:
        self._path = path
        self._decoder = decoder
        self._new_words = new_words
        self._words = new_words()
        self._print: Fingerprint | None = None
        self._counts = Counts()
        self._follower = Follower(path, self._counts)

    def read(self) -> tuple[tuple[Said, ...], tuple[Said, ...]]:
        """Thoughts and replies up to now."""
        found = fingerprint(self._path)
        if found is not None and found != self._print:
            if self._print is None:
                self._first(found.size)
            else:
                self._next()
            self._print = found
        return self._words.thoughts(), self._words.replies()

    def _first(self, size: int) -> None:
        starts = [size - step for step in STEPS if step < size and not is_zst(self._path)]
        for start in (*starts, 0):
            self._words = self._new_words()
            self._follower = Follower(self._path, self._counts)
            handle = self._follower.open_at(start)
            if handle is None:
                return
            self._feed(self._follower.blocks(handle))
            if len(self._words.replies()) >= MAX_REPLIES:
                return

    def _next(self) -> None:
        handle = self._follower.open()
        if handle is None:
            return
        if self._follower.restarted:
            self._words = self._new_words()
        self._feed(self._follower.blocks(handle))

    def _feed(self, blocks: Iterable[bytes]) -> None:
        for block in blocks:
            for row in self._decoder.rows(block, self._counts):
                self._words.feed(row)


class Opened:
    """The readers of the last three sessions opened."""

    def __init__(self, new_reader: Callable[[str], SaidReader]) -> None:
        self._new_reader = new_reader
        self._readers: OrderedDict[str, SaidReader] = OrderedDict()

    def read(self, path: str) -> tuple[tuple[Said, ...], tuple[Said, ...]]:
        """Thoughts and replies of a transcript; it becomes the newest one opened."""
        reader = self._readers.pop(path, None) or self._new_reader(path)
        self._readers[path] = reader
        while len(self._readers) > KEPT_SESSIONS:
            self._readers.popitem(last=False)
        return reader.read()

    def paths(self) -> tuple[str, ...]:
        """What is kept, the newest last."""
        return tuple(self._readers)


def thoughts_and_replies() -> tuple[Messages, Messages]:
    """Two empty collections with the limits of the records."""
    return Messages(MAX_THOUGHTS), Messages(MAX_REPLIES)
