"""One JSON-lines file and the fold that is fed from it: whole, from its ends, then as it grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from agent_history.reading.decode import Counts, LineDecoder
from agent_history.reading.files import (
    LONG_LINE,
    Fingerprint,
    Follower,
    fingerprint,
    is_zst,
    matching_lines,
    read_head,
)

HEAD, TAIL = 256 << 10, 512 << 10
AGENT_HEAD, AGENT_TAIL = 16 << 10, 64 << 10
RECOVERY = 64 << 20
UNSIEVED = 64 << 10

RowIn = TypeVar("RowIn", contravariant=True)


class Fold(Protocol[RowIn]):
    """What a transcript feeds."""

    def feed(self, row: RowIn) -> None:
        """Take one row."""

    def gap(self) -> None:
        """Rows are missing between the last row and the next."""

    def feed_plan(self, row: RowIn) -> None:
        """Take a row from before the gap for the plan only."""

    @property
    def plan_needles(self) -> tuple[bytes, ...]:
        """Bytes that a line about the plan holds; none when plans are switched off."""

    @property
    def full_plan_needles(self) -> tuple[bytes, ...]:
        """Bytes that a line with a full plan list holds."""


State = TypeVar("State", bound="Fold[Any]")


class Transcript(Generic[State]):
    """A file, how far it was read, and its fold. A rewritten file gets a new fold."""

    def __init__(
        self,
        path: str,
        decoder: LineDecoder[Any],
        new_fold: Callable[[], State],
        ends: tuple[int, int] = (HEAD, TAIL),
        sieve: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """`sieve` drops lines that totals do not need, from everything but the end."""
        self.path = path
        self.counts = Counts()
        self.fold = new_fold()
        self.print: Fingerprint | None = None
        self.whole = True
        self.readable = True
        self.restarted = False
        """The last refresh found a rewritten file; a fold shared with others must be rebuilt."""
        self._decoder = decoder
        self._new_fold = new_fold
        self._ends = ends
        self._sieve = sieve
        self._follower = Follower(path, self.counts)

    def refresh(self, found: Fingerprint, whole: bool) -> bool:
        """Read what is new; True if there was something. `whole` False reads a long file's ends."""
        if found == self.print and (self.whole or not whole):
            return False
        self.print = found
        if whole and not self.whole:
            self._start_over()
        head, tail = self._ends
        first = not self._follower.mark.offset and not self._follower.mark.skipping
        if first and not whole and found.size > head + tail and not is_zst(self.path):
            self._read_ends(found.size)
            return True
        handle = self._follower.open()
        self.readable = handle is not None
        if handle is None:
            return True
        self.restarted = self._follower.restarted
        if self.restarted:
            self.fold = self._new_fold()
            self.whole = True
        blocks = self._follower.blocks(handle)
        self._feed(blocks if self._sieve is None else sieved(blocks, self._sieve))
        return True

    def reread(self) -> None:
        """Forget everything and read the whole file."""
        self._start_over()
        found = fingerprint(self.path)
        if found is not None:
            self.refresh(found, whole=True)

    def _start_over(self) -> None:
        self.fold = self._new_fold()
        self.counts = Counts()
        self.whole = True
        self._follower = Follower(self.path, self.counts)

    def _read_ends(self, size: int) -> None:
        head, tail = self._ends
        self.whole = False
        self._feed(read_head(self.path, head, self.counts))
        self.fold.gap()
        handle = self._follower.open_at(size - tail)
        self.readable = handle is not None
        if handle is None:
            return
        start = self._follower.mark.offset
        blocks = list(self._follower.blocks(handle))
        full = self.fold.full_plan_needles
        if full and not any(needle in block for block in blocks for needle in full):
            self._recover_plan(start)
        self._feed(iter(blocks))

    def _recover_plan(self, end: int) -> None:
        """Replay the plan calls before byte `end`, at most 64 MB back."""
        lines = matching_lines(self.path, max(0, end - RECOVERY), end, self.fold.plan_needles)
        for line in lines:
            for row in self._decoder.rows(line, self.counts):
                self.fold.feed_plan(row)

    def feed_line_at(self, offset: int | None) -> None:
        """Feed the one line that begins at `offset`, such as a title outside the ends."""
        if offset is None or self.whole:
            return
        try:
            with open(self.path, "rb") as file:
                file.seek(offset)
                line = file.readline(LONG_LINE)
        except OSError:
            return
        for row in self._decoder.rows(line, self.counts):
            self.fold.feed(row)

    def _feed(self, blocks: Iterator[bytes]) -> None:
        feed, rows, counts = self.fold.feed, self._decoder.rows, self.counts
        try:
            for block in blocks:
                for row in rows(block, counts):
                    feed(row)
        except OSError:
            # The disk or the network below the file failed: what was read so far stays.
            self.readable = False

    def notes(self) -> tuple[str, ...]:
        """What could not be read, for a person."""
        out = []
        if not self.readable:
            out.append(f"cannot read {self.path}: no permission, or it is gone")
        if self.counts.long_lines:
            out.append(f"{self.counts.long_lines} lines over 4 MB passed over")
        if self.counts.bad_lines:
            out.append(f"{self.counts.bad_lines} lines are not JSON objects")
        return tuple(out)


def sieved(blocks: Iterator[bytes], sieve: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """The blocks, with the sieve over everything but the last `UNSIEVED` bytes or so."""
    last = b""
    for block in blocks:
        if last:
            yield sieve(last)
        last = block
    place = last.rfind(b"\n", 0, max(0, len(last) - UNSIEVED)) + 1
    if place:
        yield sieve(last[:place])
    yield last[place:]
