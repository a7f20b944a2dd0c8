"""Files an agent changed: lines per file and the newest hunks, bounded in memory."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Sequence

from agent_history.fields import cut, relative
from agent_history.records import FileChange, FilePath, Hunk, Lines

MAX_HUNKS = 5
MAX_HUNK_LINES = 60
MAX_LINE = 240
FILES_WITH_HUNKS = 25

_HEADER = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


class _File:
    __slots__ = ("added", "edits", "hunks", "line", "removed")

    def __init__(self) -> None:
        self.added = self.removed = self.edits = 0
        self.line: int | None = None
        self.hunks: deque[Hunk] = deque(maxlen=MAX_HUNKS)


class Changes:
    """Collects the edits of one session; the most recently edited file is last."""

    def __init__(self) -> None:
        self.added = 0
        self.removed = 0
        self._files: OrderedDict[str, _File] = OrderedDict()

    def edit(
        self, path: str, hunks: Sequence[tuple[int | None, int | None, Sequence[str]]]
    ) -> None:
        """One edit of a file: `(line, old line, diff lines)` per hunk, lines with their prefix."""
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = _File()
        self._files.move_to_end(path)
        file.edits += 1
        for line, old_line, lines in hunks:
            added = sum(text.startswith("+") for text in lines)
            removed = sum(text.startswith("-") for text in lines)
            file.added += added
            file.removed += removed
            self.added += added
            self.removed += removed
            file.line = line if line is not None else file.line
            file.hunks.append(hunk(line, old_line, lines))
        self._trim()

    def _trim(self) -> None:
        if len(self._files) > FILES_WITH_HUNKS:
            # One edit makes at most one file old, the one just outside the newest 25.
            for index, file in enumerate(reversed(self._files.values())):
                if index == FILES_WITH_HUNKS:
                    file.hunks.clear()
                    return

    def lines(self) -> Lines:
        """Lines changed in the whole session."""
        return Lines(added=self.added, removed=self.removed)

    def files(self, cwd: str) -> tuple[FileChange, ...]:
        """Every changed file, the most recently edited first."""
        return tuple(
            FileChange(
                path=relative(path, cwd),
                added=file.added,
                removed=file.removed,
                edits=file.edits,
                line=file.line,
                hunks=tuple(file.hunks),
            )
            for path, file in reversed(self._files.items())
        )

    def paths(self, cwd: str) -> tuple[FilePath, ...]:
        """The changed files by path alone."""
        return tuple(FilePath(path=relative(path, cwd)) for path in reversed(self._files))


def hunk(line: int | None, old_line: int | None, lines: Sequence[str]) -> Hunk:
    """A hunk with its lines cut to 60 of 240 characters each."""
    kept = tuple(cut(text, MAX_LINE) for text in lines[:MAX_HUNK_LINES])
    return Hunk(line=line, old_line=old_line, lines=kept, cut=max(0, len(lines) - MAX_HUNK_LINES))


def unified(diff: str) -> list[tuple[int | None, int | None, list[str]]]:
    """The hunks of a unified diff; a header without numbers gives None for the lines."""
    hunks: list[tuple[int | None, int | None, list[str]]] = []
    for text in diff.split("\n"):
        if text.startswith("@@"):
            match = _HEADER.match(text)
            old, new = (int(match[1]), int(match[2])) if match else (None, None)
            hunks.append((new, old, []))
        elif hunks and text[:1] in ("+", "-", " "):
            hunks[-1][2].append(text)
        elif not hunks and text[:1] in ("+", "-") and not text.startswith(("+++", "---")):
            hunks.append((None, None, [text]))
    return hunks
