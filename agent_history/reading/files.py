"""Files of JSON lines: whole, from both ends, or only what was appended since the last look.

Lines end at the byte `\\n` and nowhere else: JSON text may hold U+2028 or U+0085 unescaped. A last
line without its newline is left for the next look. A line over `LONG_LINE` is passed over without
being held in memory. Files are opened for reading only.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator

import msgspec
import zstandard

from agent_history.reading.decode import Counts

BLOCK = 1 << 16
LONG_LINE = 4 << 20
GUARD = 64
BACKWARDS = 1 << 20


class Fingerprint(msgspec.Struct, frozen=True, array_like=True):
    """What says whether a file changed, without opening it."""

    device: int
    inode: int
    size: int
    mtime_ns: int


def fingerprint(path: str) -> Fingerprint | None:
    """The file's fingerprint, links followed; None when it is gone or not a regular file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Fingerprint(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


class Mark(msgspec.Struct, array_like=True):
    """How far a file was read: the place, and enough to notice a rewrite before it."""

    device: int = 0
    inode: int = 0
    offset: int = 0
    guard: bytes = b""
    skipping: bool = False
    """Inside a line that is too long to hold."""


def guard_at(handle: io.FileIO, offset: int) -> bytes:
    """A hash of the last bytes before `offset`."""
    start = max(0, offset - GUARD)
    return hashlib.blake2b(os.pread(handle.fileno(), offset - start, start), digest_size=8).digest()


def next_line(handle: io.FileIO, start: int) -> tuple[int, bool]:
    """Where the first line at or after `start` begins; True when the file ends inside a line."""
    # One byte earlier: a line that begins exactly at `start` is whole and must be kept.
    place = start - 1
    while chunk := os.pread(handle.fileno(), BLOCK, place):
        found = chunk.find(b"\n")
        if found >= 0:
            return place + found + 1, False
        place += len(chunk)
    return place, True


def is_zst(path: str) -> bool:
    """Is this a compressed rollout?"""
    return path.endswith(".zst")


class Follower:
    """Reads what one file gained since the last time; `restarted` says that it began anew.

    A file that shrank, that is another inode, or whose bytes before the mark changed was
    rewritten: the mark goes back to 0 and whoever kept state from it must drop that state.
    """

    def __init__(self, path: str, counts: Counts, mark: Mark | None = None) -> None:
        self.path = path
        self.mark = mark or Mark()
        self.restarted = False
        self._counts = counts

    def open(self) -> io.FileIO | None:
        """Open the file and settle where to go on; None when it cannot be opened."""
        try:
            handle = io.FileIO(self.path, "rb")
        except OSError:
            return None
        found = os.fstat(handle.fileno())
        mark = self.mark
        same = (mark.device, mark.inode) == (found.st_dev, found.st_ino)
        self.restarted = bool(mark.offset) and not (
            same and mark.offset <= found.st_size and guard_at(handle, mark.offset) == mark.guard
        )
        if self.restarted or not mark.offset:
            self.mark = Mark(found.st_dev, found.st_ino)
        return handle

    def open_at(self, start: int) -> io.FileIO | None:
        """Open the file to read from the first line that begins at or after byte `start`."""
        try:
            handle = io.FileIO(self.path, "rb")
        except OSError:
            return None
        found = os.fstat(handle.fileno())
        self.restarted = False
        self.mark = Mark(found.st_dev, found.st_ino)
        if start > 0:
            self.mark.offset, self.mark.skipping = next_line(handle, start)
        return handle

    def blocks(self, handle: io.FileIO) -> Iterator[bytes]:
        """Whole lines from the mark on, in blocks; closes the file and moves the mark."""
        with handle:
            yield from self._compressed(handle) if is_zst(self.path) else self._plain(handle)

    def _plain(self, handle: io.FileIO) -> Iterator[bytes]:
        mark = self.mark
        handle.seek(mark.offset)
        lines = Lines(self._counts, mark.skipping)
        while chunk := handle.read(BLOCK):
            block = lines.feed(chunk)
            if block:
                yield block
        mark.offset = handle.tell() - lines.waiting
        mark.skipping = lines.skipping
        mark.guard = guard_at(handle, mark.offset)

    def _compressed(self, handle: io.FileIO) -> Iterator[bytes]:
        """A compressed rollout is cold: it is read whole, or again whole after a change."""
        lines = Lines(self._counts, False)
        handle.seek(0)
        stream = zstandard.ZstdDecompressor().stream_reader(handle, read_across_frames=True)
        try:
            while chunk := stream.read(BLOCK):
                block = lines.feed(chunk)
                if block:
                    yield block
        except zstandard.ZstdError:
            self._counts.bad_lines += 1
        self.mark.offset = os.fstat(handle.fileno()).st_size
        self.mark.guard = guard_at(handle, self.mark.offset)


class Lines:
    """Chunks in, whole lines out. Holds at most `LONG_LINE` bytes of an unfinished line."""

    def __init__(self, counts: Counts, skipping: bool) -> None:
        self.skipping = skipping
        self._counts = counts
        self._held: list[bytes] = []
        self.waiting = 0

    def feed(self, chunk: bytes) -> bytes:
        """The whole lines that `chunk` completes, with their newlines; b'' for none."""
        if self.skipping:
            end = chunk.find(b"\n")
            if end < 0:
                return b""
            self.skipping = False
            chunk = chunk[end + 1 :]
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._hold(chunk)
            return b""
        if not self._held:
            block, rest = chunk[:end], chunk[end:]
        else:
            first = chunk.find(b"\n") + 1
            if self.waiting + first > LONG_LINE:
                self._counts.long_lines += 1
                block, rest = chunk[first:end], chunk[end:]
            else:
                block, rest = b"".join((*self._held, chunk[:end])), chunk[end:]
            self._held, self.waiting = [], 0
        self._hold(rest)
        return block

    def _hold(self, rest: bytes) -> None:
        if rest:
            self._held.append(rest)
            self.waiting += len(rest)
        if self.waiting > LONG_LINE:
            self._counts.long_lines += 1
            self._held, self.waiting, self.skipping = [], 0, True


def read_head(path: str, size: int, counts: Counts) -> Iterator[bytes]:
    """The whole lines in the first `size` bytes, in blocks; nothing when it cannot be opened."""
    try:
        handle = io.FileIO(path, "rb")
    except OSError:
        return
    with handle:
        lines = Lines(counts, skipping=False)
        while size > 0 and (chunk := handle.read(min(BLOCK, size))):
            size -= len(chunk)
            block = lines.feed(chunk)
            if block:
                yield block


def last_line_with(path: str, needle: bytes, size: int) -> int | None:
    """Where the last line that holds `needle` begins; read backwards, None when there is none."""
    try:
        handle = io.FileIO(path, "rb")
    except OSError:
        return None
    with handle:
        place = _last(handle, needle, size)
        if place is None:
            return None
        newline = _last(handle, b"\n", place)
        return 0 if newline is None else newline + 1


def _last(handle: io.FileIO, needle: bytes, end: int) -> int | None:
    """The last place of `needle` before byte `end`."""
    while end > 0:
        begin = max(0, end - BACKWARDS)
        # A little more, so that a needle over two blocks is seen.
        data = os.pread(handle.fileno(), end - begin + len(needle) - 1, begin)
        place = data.rfind(needle, 0, end - begin + len(needle) - 1)
        if place >= 0:
            return begin + place
        end = begin
    return None


def matching_lines(path: str, start: int, end: int, needles: tuple[bytes, ...]) -> Iterator[bytes]:
    """The whole lines between two offsets that hold one of `needles`, in order."""
    follower = Follower(path, Counts())
    handle = follower.open_at(start)
    if handle is None:
        return
    with handle:
        handle.seek(follower.mark.offset)
        left = end - follower.mark.offset
        lines = Lines(Counts(), follower.mark.skipping)
        while left > 0 and (chunk := handle.read(min(BLOCK, left))):
            left -= len(chunk)
            block = lines.feed(chunk)
            spans: set[tuple[int, int]] = set()
            for needle in needles:
                place = block.find(needle)
                while place >= 0:
                    close = block.find(b"\n", place) + 1
                    spans.add((block.rfind(b"\n", 0, place) + 1, close))
                    place = block.find(needle, close)
            for begin, close in sorted(spans):
                yield block[begin:close]


def walk(root: str, suffixes: tuple[str, ...], unreadable: list[str]) -> Iterator[os.DirEntry[str]]:
    """Regular files below `root` whose names end in one of `suffixes`; links followed once.

    A folder reached twice (a link to it, or a loop) is listed once, by device and inode. Folders
    that cannot be listed are added to `unreadable`; a missing one is not an error.
    """
    seen: set[tuple[int, int]] = set()
    stack = [root]
    while stack:
        folder = stack.pop()
        try:
            here = os.stat(folder)
            if (here.st_dev, here.st_ino) in seen:
                continue
            seen.add((here.st_dev, here.st_ino))
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            continue
        except OSError:
            unreadable.append(folder)
            continue
        for entry in found:
            try:
                if entry.name.endswith(suffixes):
                    if entry.is_file():
                        yield entry
                elif entry.is_dir():
                    stack.append(entry.path)
            except OSError:
                continue
