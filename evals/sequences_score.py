"""How well published states follow recorded truth: forbidden states, false alarms, flaps, delays.

The terms are those of `docs/contract.md`, "Terms of the evals". Input is what `openbus.replay`
yields for one recording and the recording's truth marks; nothing here knows any program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from openbus.replay import Replayed

TOLERATED = 1.0
"""Seconds that a wrong activity may be published outside grace."""

ASK_LIMIT = 1.5
"""Seconds from an ask's first frame to its announcement, and from its end to the withdrawal."""

FLAP = 2.0
"""Seconds within which a state that is left and entered again flaps."""

_ALIKE = {"exited": "idle"}


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """What is true from `t` on. `transition`: it differs from the mark before."""

    t: float
    until: float
    activities: frozenset[str]
    needs_you: bool
    resumes: bool
    working: bool
    transition: bool
    grace: float


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A published state and how long it stood."""

    start: float
    end: float
    activity: str
    needs_you: bool


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that went wrong at `t`: `what` is a short name, `text` the details."""

    file: str
    t: float
    what: str
    text: str


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """One recording. Delays in seconds."""

    file: str
    findings: tuple[Finding, ...]
    right: float
    scored: float
    marks: int
    changes: int
    asks: int
    announce_delays: tuple[float, ...] = ()
    withdraw_delays: tuple[float, ...] = ()
    mark_delays: tuple[float, ...] = ()

    def count(self, what: str) -> int:
        return sum(finding.what == what for finding in self.findings)


def truth_marks(records: Iterable[dict[str, Any]], grace: float, duration: float) -> list[Mark]:
    """The marks of a recording in time order."""
    rows = sorted(records, key=lambda record: float(record["t"]))
    marks: list[Mark] = []
    for index, record in enumerate(rows):
        truth = record["truth"]
        activities = frozenset(truth.get("activity_any") or [truth["activity"]])
        if truth.get("overlay"):
            activities |= {"unknown"}
        activities = frozenset(_ALIKE.get(name, name) for name in activities)
        needs_you = bool(truth.get("needs_you"))
        before = marks[-1] if marks else None
        marks.append(
            Mark(
                t=float(record["t"]),
                until=float(rows[index + 1]["t"]) if index + 1 < len(rows) else duration,
                activities=activities,
                needs_you=needs_you,
                resumes=bool(truth.get("resumes")),
                working=truth["activity"] == "working",
                transition=before is None
                or before.activities - {"unknown"} != activities - {"unknown"}
                or before.needs_you != needs_you,
                grace=float(record.get("grace") or grace),
            )
        )
    return marks


def score(
    file: str, events: Sequence[Replayed], records: Iterable[dict[str, Any]], grace: float
) -> Score:
    """Compare one recording's events with its truth."""
    duration = events[-1].t if events else 0.0
    marks = truth_marks(records, grace, duration)
    spans = published(events, duration)
    findings = [
        *_wrong_activities(file, spans, marks),
        *_wrong_needs(file, spans, marks),
        *_false_announcements(file, events, marks),
        *_flaps(file, spans, marks),
    ]
    asks, announces, withdraws, missed = _asks(file, events, marks)
    right, scored = _accuracy(spans, marks)
    return Score(
        file=file,
        findings=tuple(sorted([*findings, *missed], key=lambda finding: finding.t)),
        right=right,
        scored=scored,
        marks=sum(mark.transition for mark in marks),
        changes=len(spans),
        asks=asks,
        announce_delays=tuple(announces),
        withdraw_delays=tuple(withdraws),
        mark_delays=tuple(_delays(spans, marks)),
    )


def published(events: Iterable[Replayed], duration: float) -> list[Span]:
    """The published activity and needs-you over time, equal neighbours joined."""
    points: list[tuple[float, str, bool]] = []
    for item in events:
        state = item.event.state
        if state is not None:
            point = (item.t, _ALIKE.get(state.activity, state.activity), state.needs_you)
            if not points or points[-1][1:] != point[1:]:
                points.append(point)
    ends = [point[0] for point in points[1:]] + [duration]
    return [
        Span(start=start, end=end, activity=activity, needs_you=needs_you)
        for (start, activity, needs_you), end in zip(points, ends, strict=True)
    ]


def _allowed(marks: Sequence[Mark], start: float, end: float) -> list[tuple[float, float, Mark]]:
    """The marks in force between two times."""
    return [
        (max(start, mark.t), min(end, mark.until), mark)
        for mark in marks
        if mark.t < end and mark.until > start
    ]


def _near(marks: Sequence[Mark], t: float) -> list[Mark]:
    """Every mark that may count at `t`: the one in force and those whose grace reaches here."""
    near: list[Mark] = []
    for index, mark in enumerate(marks):
        if mark.t <= t < mark.until:
            near.append(mark)
        if mark.transition and abs(t - mark.t) <= mark.grace:
            near.append(mark)
            if index:
                near.append(marks[index - 1])
    return near


def _steps(start: float, end: float) -> Iterable[float]:
    """Sample points 0.05 s apart, in the middle of their slots."""
    count = int((end - start) / 0.05)
    return (start + (n + 0.5) * 0.05 for n in range(count))


def _wrong_activities(file: str, spans: Sequence[Span], marks: Sequence[Mark]) -> Iterable[Finding]:
    since: float | None = None
    told = False
    for span in spans:
        for t in _steps(span.start, span.end):
            near = _near(marks, t)
            if not near or any(span.activity in mark.activities for mark in near):
                since, told = None, False
                continue
            since = t if since is None else since
            if t - since > TOLERATED and not told:
                told = True
                expected = "/".join(sorted(near[0].activities))
                yield Finding(
                    file=file,
                    t=round(since, 2),
                    what="forbidden",
                    text=f"published {span.activity}, true is {expected}",
                )


def _wrong_needs(file: str, spans: Sequence[Span], marks: Sequence[Mark]) -> Iterable[Finding]:
    for span in spans:
        if not span.needs_you:
            continue
        for t in _steps(span.start, span.end):
            near = _near(marks, t)
            if near and not any(mark.needs_you for mark in near):
                yield Finding(
                    file=file, t=round(t, 2), what="forbidden", text="needs_you while it is false"
                )
                break


def _false_announcements(
    file: str, events: Sequence[Replayed], marks: Sequence[Mark]
) -> Iterable[Finding]:
    for item in events:
        intent = item.event.intent
        if item.event.event != "announce" or intent is None:
            continue
        near = _near(marks, item.t)
        if intent.attention == "needs_you" and not any(mark.needs_you for mark in near):
            yield Finding(
                file=file, t=item.t, what="false announcement", text="needs_you is not true"
            )
        current = [mark for mark in marks if mark.t <= item.t < mark.until]
        if intent.attention == "done" and any(m.resumes or m.working for m in current):
            yield Finding(file=file, t=item.t, what="forbidden", text="done announced too early")


def _flaps(file: str, spans: Sequence[Span], marks: Sequence[Mark]) -> Iterable[Finding]:
    for first, between, again in zip(spans, spans[1:], spans[2:], strict=False):
        same = (first.activity, first.needs_you) == (again.activity, again.needs_you)
        quick = again.start - first.end <= FLAP
        marked = any(first.end - mark.grace <= mark.t <= again.start for mark in marks)
        if same and quick and not marked:
            yield Finding(
                file=file,
                t=round(first.end, 2),
                what="flap",
                text=f"{first.activity} - {between.activity} - {again.activity}",
            )


def _asks(
    file: str, events: Sequence[Replayed], marks: Sequence[Mark]
) -> tuple[int, list[float], list[float], list[Finding]]:
    announces, withdraws, findings = [], [], []
    told = [
        (item.t, item.event.event)
        for item in events
        if item.event.intent is not None and item.event.intent.attention == "needs_you"
    ]
    starts = [
        (mark, index)
        for index, mark in enumerate(marks)
        if mark.needs_you and (index == 0 or not marks[index - 1].needs_you)
    ]
    for mark, index in starts:
        after = next((other for other in marks[index:] if not other.needs_you), None)
        end = after.t if after is not None else marks[-1].until
        announced = [t for t, event in told if event == "announce" and mark.t - 0.5 <= t <= end + 1]
        if not announced:
            findings.append(Finding(file=file, t=mark.t, what="missed ask", text="not announced"))
            continue
        announces.append(max(0.0, announced[0] - mark.t))
        if announces[-1] > ASK_LIMIT:
            text = f"announced after {announces[-1]:.2f} s"
            findings.append(Finding(file=file, t=mark.t, what="late", text=text))
        if len(announced) > 1:
            text = f"announced {len(announced)} times"
            findings.append(Finding(file=file, t=mark.t, what="announced again", text=text))
        if after is None:
            continue
        gone = [t for t, event in told if event == "withdraw" and t >= end - 0.5]
        delay = gone[0] - end if gone else float("inf")
        withdraws.append(max(0.0, delay))
        if delay > ASK_LIMIT:
            findings.append(
                Finding(file=file, t=end, what="late", text=f"withdrawn after {delay:.2f} s")
            )
    return len(starts), announces, withdraws, findings


def _accuracy(spans: Sequence[Span], marks: Sequence[Mark]) -> tuple[float, float]:
    right = scored = 0.0
    for span in spans:
        for t in _steps(span.start, span.end):
            if any(mark.transition and abs(t - mark.t) <= mark.grace for mark in marks):
                continue
            near = _near(marks, t)
            if near:
                scored += 0.05
                right += 0.05 * (span.activity in near[0].activities)
    return right, scored


def _delays(spans: Sequence[Span], marks: Sequence[Mark]) -> Iterable[float]:
    """Seconds from each transition to the first right state within its time."""
    for mark in marks[1:]:
        if not mark.transition:
            continue
        for span in spans:
            if span.end > mark.t and span.start < mark.until and span.activity in mark.activities:
                yield max(0.0, span.start - mark.t)
                break
