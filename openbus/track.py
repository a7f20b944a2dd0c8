"""One pane's life between captures: what changed, what must be read, and what time adds to it.

The replay and the live watcher share this object; neither adds logic of its own. It does no I/O and
reads no clock: captures and epoch milliseconds in, `Sighting` values for the push manager out.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from openbus.fingerprint import ReadFingerprints, seen_fingerprint
from openbus.model import Capture, Pane, Question, Reading, Why
from openbus.motion import Motion
from openbus.push import Sighting
from openbus.screen.grid import Memo, parse
from openbus.screen.manifest import Library
from openbus.screen.rules import Manifest

Read = Callable[[Capture, Memo], Reading]
"""A reader: `classify` with its manifests. The memo keeps parsed rows from frame to frame."""

WORKING_MS = 250
"""A working pane is read at most four times a second. All of them at the same moments, so that many
working panes are one request and not many."""

REPAINT_MS = 1000
"""A program that repaints all the time and takes no turns is read once a second."""

LATELY_MS = 3000
"""Growth this soon after work is the same work going on."""

_BUSY_STREAK = 8
"""So many changes in a row, each less than a second after the other, are a repainting program."""

_ENDINGS = frozenset({"over", "interrupted", "error"})
"""Meanings of marks that say: this turn has ended."""


class Agents:
    """What the manifests know about programs that take turns: those with a composer."""

    def __init__(self, library: Library) -> None:
        self._manifests = {m.id: m for m in library.manifests if m.composers}
        self._endings = {
            f"{m.id}/{mark.id}"
            for m in self._manifests.values()
            for mark in m.marks
            if mark.meaning in _ENDINGS
        }

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._manifests)

    def manifest(self, name: str) -> Manifest | None:
        return self._manifests.get(name)

    def says_ended(self, reading: Reading) -> bool:
        """Whether a row that ends a turn decided the reading, not just a free composer."""
        return any(why.rule in self._endings for why in reading.why)


class PaneTrack:
    """State that belongs to one pane incarnation.

    `failures` counts reads that raised; the state before stays and the read is tried again with the
    next capture.
    """

    def __init__(self, agents: Agents, read: Read, fingerprints: ReadFingerprints) -> None:
        self._agents = agents
        self._read = read
        self._fingerprints = fingerprints
        self._memo = Memo(limit=1024)
        self._motion = Motion()
        self._seen: bytes | None = None
        self._key: bytes | None = None
        self._reading: Reading | None = None
        self._pane: Pane | None = None
        self._changed_at: int | None = None
        self._parsed_at: int | None = None
        self._progress_at: int | None = None
        self._captured_at: int | None = None
        self._worked_at: int | None = None
        self._shell_screen: Capture | None = None
        self._streak = 0
        self._ended = False
        self.failures = 0
        self.reads = 0

    def see(self, pane: Pane, capture: Capture, now: int) -> Sighting | None:
        """Take a capture; None when the screen could not be read and nothing is known yet."""
        self._pane = pane
        changed = self._note_change(capture, now)
        key = self._fingerprints.of(capture)
        if key != self._key or self._reading is None:
            self._read_again(capture, key, now)
        if self._reading is None:
            return None
        self._motion.note_title(capture.title, now)
        if changed:
            self._note_motion(capture, now)
        return self._sighting(now)

    def expire(self, now: int) -> Sighting | None:
        """The verdict of motion may have changed by time alone."""
        return self._sighting(now) if self._reading is not None else None

    def next_due(self, now: int) -> int | None:
        """When `expire` has something to say."""
        return self._motion.ends_at(now)

    def read_from(self) -> int:
        """From when on another capture is wanted, however often the pane changes."""
        if self._captured_at is None or self._reading is None:
            return 0
        if self._reading.activity == "working":
            return (self._captured_at // WORKING_MS + 1) * WORKING_MS
        if self._streak >= _BUSY_STREAK and self._reading.program.name not in self._agents.names:
            return self._captured_at + REPAINT_MS
        return 0

    def _note_change(self, capture: Capture, now: int) -> bool:
        seen = seen_fingerprint(capture)
        changed = seen != self._seen
        if changed and self._seen is not None:
            quick = self._captured_at is not None and now - self._captured_at <= REPAINT_MS + 200
            self._streak = self._streak + 1 if quick else 0
            self._changed_at = now
        self._seen = seen
        self._captured_at = now
        return changed

    def _read_again(self, capture: Capture, key: bytes, now: int) -> None:
        before = self._reading
        try:
            reading = self._read(capture, self._memo)
        except Exception:  # a reader's defect must not take the pane's state away
            self.failures += 1
            return
        self.reads += 1
        if reading.question is not None and self._is_old(reading.question, capture):
            reading = _without_question(reading)
        elif reading.program.name == "shell":
            self._shell_screen = capture
        self._reading = reading
        self._key = key
        self._parsed_at = now
        self._ended = self._agents.says_ended(reading)
        other = before is None or before.program.name != reading.program.name
        # What grew until a row said "over" was the end of that turn.
        over = self._ended and before is not None and not self._agents.says_ended(before)
        if other or over or reading.question is not None:
            self._motion.forget()

    def _is_old(self, question: Question, capture: Capture) -> bool:
        """Whether a dialog is what an earlier run left on the shell's screen: it stood there while
        a shell was in front, and the cursor is on a row below it, behind other output."""
        first, last = question.rows
        cursor = capture.cursor
        before = self._shell_screen
        if before is None or not cursor.visible or cursor.y <= last:
            return False
        lines = self._lines(capture)
        dialog = [line for line in lines[first : last + 1] if line.strip()]
        below = [line for line in lines[last + 1 : cursor.y + 1] if line.strip()]
        return bool(below) and bool(dialog) and set(dialog) <= set(self._lines(before))

    def _lines(self, capture: Capture) -> list[str]:
        return parse(capture.ansi, capture.width, capture.height, self._memo).lines

    def _note_motion(self, capture: Capture, now: int) -> None:
        assert self._reading is not None
        manifest = self._agents.manifest(self._reading.program.name)
        if manifest is None or _covers(self._reading):
            return
        if self._motion.note_screen(capture, manifest, self._memo, now):
            self._progress_at = now
            if self._reading.activity in ("idle", "unknown"):
                lately = self._worked_at is not None and now - self._worked_at <= LATELY_MS
                self._motion.step(now, goes_on=lately)

    def _sighting(self, now: int) -> Sighting:
        assert self._pane is not None
        assert self._reading is not None
        reading = self._with_motion(self._reading, now)
        if reading.activity == "working":
            self._worked_at = now
        return Sighting(
            pane=self._pane,
            reading=reading,
            ended=self._ended,
            changed_at=self._changed_at,
            parsed_at=self._parsed_at,
            progress_at=self._progress_at,
        )

    def _with_motion(self, reading: Reading, now: int) -> Reading:
        """Growth and spinning make an agent that would read as idle a working one. The program
        must be proved by its process: a screen alone can be a quotation."""
        verified = reading.program.via == "process" and (
            self._agents.manifest(reading.program.name) is not None
        )
        if not verified or reading.activity not in ("idle", "unknown") or _covers(reading):
            return reading
        if self._motion.spinning(now):
            rule = "motion/title"
        elif self._motion.growing(now):
            rule = "motion/body"
        else:
            return reading
        return msgspec.structs.replace(
            reading,
            activity="working",
            detail=None,
            asked=False,
            limit=False,
            limit_reset=None,
            why=(*reading.why, Why(rule=rule)),
        )


def _without_question(reading: Reading) -> Reading:
    """What is left of a reading whose dialog is not one: nothing about the activity."""
    return msgspec.structs.replace(
        reading, activity="unknown", waiting_on=None, question=None, dialog=None, keep=True
    )


def _covers(reading: Reading) -> bool:
    """Something else than the conversation is on the screen."""
    return reading.keep or reading.overlay is not None or reading.question is not None
