"""Recorded sequences through the live pipeline on a virtual clock.

A sequence (`agent-sequence/1`, see `evals/sequences/README.md`) is what tmux showed over time. Its
frames go through the same track, push manager and bus as live captures; the clock jumps from one
frame or due time to the next, so a minute takes milliseconds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from openbus.bus import Bus
from openbus.events import Change, Event
from openbus.model import Capture, Cursor, Pane, Process, Server, Window
from openbus.pipeline import Pipeline
from openbus.screen.manifest import Library
from openbus.track import Read

FORMAT = "agent-sequence/1"
START_MS = 1_700_000_000_000
"""The virtual clock's zero, so that times look like times."""

_SERVER = Server(socket="/replay", pid=1, started=START_MS // 1000)


class SequenceError(ValueError):
    """A file that is not a sequence: what, where and why in one line."""


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One look at the pane, `t` seconds after the start."""

    t: float
    capture: Capture


class Sequence(msgspec.Struct, frozen=True, kw_only=True):
    """A recording: frames in time order and the other records as they stand in the file."""

    name: str
    header: dict[str, Any]
    frames: tuple[Frame, ...]
    marks: tuple[dict[str, Any], ...] = ()
    duration: float = 0.0


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the bus, `t` seconds after the start of the recording."""

    t: float
    event: Event

    def line(self, file: str) -> dict[str, Any]:
        """The JSON object that `openbus replay --json` prints: the payload of `/api/events` with
        file, time and event name, and the state in force where the payload has none."""
        head = {"file": file, "t": round(self.t, 3), "event": self.event.event}
        body = self.event.payload()
        for name in ("activity", "needs_you", "attention", "question"):
            body.setdefault(name, None)
        return head | body


def load_sequence(path: Path) -> Sequence:
    """Read a recording. Unknown lines and fields are ignored; raises `SequenceError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SequenceError(f"{path}: cannot be read: {error}") from error
    header: dict[str, Any] | None = None
    frames: list[Frame] = []
    marks: list[dict[str, Any]] = []
    screen = ""
    processes: tuple[Process, ...] = ()
    taken_with: str | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise SequenceError(f"{path}:{number}: not JSON: {error}") from error
        if not isinstance(record, dict):
            raise SequenceError(f"{path}:{number}: not a JSON object")
        if header is None:
            if record.get("format") != FORMAT:
                raise SequenceError(
                    f"{path}:1: not a recorded sequence: `format` is not {FORMAT!r}"
                )
            header = record
            processes = _processes(record.get("processes"))
        elif "truth" in record:
            marks.append(record)
        elif "processes" in record and "ansi" not in record:
            processes, taken_with = _processes(record["processes"]), None
        elif "ansi" in record:
            try:
                screen = record["ansi"] if isinstance(record["ansi"], str) else screen
                # The list is looked at every 2 s: another command since then has outdated it.
                command = record.get("current_command")
                taken_with = command if taken_with is None else taken_with
                known = processes if command == taken_with else ()
                frames.append(Frame(t=float(record["t"]), capture=_capture(record, screen, known)))
            except (KeyError, TypeError, ValueError) as error:
                raise SequenceError(f"{path}:{number}: bad frame: {error!r}") from error
    if header is None:
        raise SequenceError(f"{path}: empty; expected a sequence of format {FORMAT!r}")
    last = frames[-1].t if frames else 0.0
    return Sequence(
        name=str(path),
        header=header,
        frames=tuple(frames),
        marks=tuple(marks),
        duration=max(last, float(header.get("duration") or 0.0)),
    )


class _Player:
    """One recording on its virtual clock."""

    def __init__(self, library: Library, read: Read) -> None:
        self._bus = Bus(epoch="replay")
        self._pipeline = Pipeline("replay", library, read)
        self._frame: Frame | None = None

    def show(self, frame: Frame) -> list[Replayed]:
        at = START_MS + round(frame.t * 1000)
        events = self.wait(at)
        self._frame = frame
        return events + self._look(at)

    def wait(self, until: int) -> list[Replayed]:
        """Do everything that falls due before `until`, each at its own time."""
        events: list[Replayed] = []
        while True:
            again = min(self._pipeline.push.recheck().values(), default=None)
            due = min(
                (due for due in (self._pipeline.next_due(), again) if due is not None),
                default=None,
            )
            if due is None or due >= until:
                return events
            if due == again:
                events += self._look(due)
            events += self._publish(due, self._pipeline.advance(due))

    def finish(self, at: int) -> list[Replayed]:
        events = self.wait(at)
        if self._frame is not None:
            key = _pane(self._frame.capture).key
            events += self._publish(at, self._pipeline.gone(key, at))
        return events

    def _look(self, at: int) -> list[Replayed]:
        assert self._frame is not None
        capture = self._frame.capture
        return self._publish(at, self._pipeline.see(_pane(capture), capture, at))

    def _publish(self, at: int, changes: list[Change]) -> list[Replayed]:
        t = (at - START_MS) / 1000
        return [Replayed(t=t, event=event) for event in self._bus.publish(changes)]


def replay(sequence: Sequence, library: Library, read: Read) -> list[Replayed]:
    """Play one recording; the events of the bus in order, ending with the pane's `gone`."""
    player = _Player(library, read)
    events: list[Replayed] = []
    for frame in sequence.frames:
        events += player.show(frame)
    return events + player.finish(START_MS + round(sequence.duration * 1000))


def _capture(record: dict[str, Any], ansi: str, processes: tuple[Process, ...]) -> Capture:
    return Capture(
        ansi=ansi,
        width=int(record["width"]),
        height=int(record["height"]),
        cursor=Cursor(
            x=int(record.get("cursor_x") or 0),
            y=int(record.get("cursor_y") or 0),
            visible=bool(record.get("cursor_visible", True)),
        ),
        alternate_on=bool(record.get("alternate_on")),
        in_mode=bool(record.get("in_mode")),
        dead=bool(record.get("dead")),
        title=str(record.get("title") or ""),
        command=str(record.get("current_command") or ""),
        processes=processes,
    )


def _processes(raw: Any) -> tuple[Process, ...]:
    if not isinstance(raw, list):
        return ()
    return tuple(
        Process(
            comm=str(entry.get("comm", "")),
            foreground=bool(entry.get("foreground")),
            depth=int(entry.get("depth", 0)),
            argv=tuple(str(word) for word in entry.get("argv") or ()),
        )
        for entry in raw
        if isinstance(entry, dict)
    )


def _pane(capture: Capture) -> Pane:
    return Pane(
        key=f"replay:replay:1-{_SERVER.started}:%0:1",
        id="%0",
        server=_SERVER,
        pid=1,
        session="replay",
        window=Window(index=0, name="replay"),
        index=0,
        title=capture.title,
        command=capture.command,
        width=capture.width,
        height=capture.height,
        in_mode=capture.in_mode,
        dead=capture.dead,
    )
