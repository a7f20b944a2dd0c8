"""What OpenBus published about a live session, compared with what was true. Pure.

Two witnesses that do not know the readers say what was true: the flow, which brought each state
about and held it (`Span`), and a lookout that looked at the pane all the time (`Seen`). Times are
seconds of one monotonic clock.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal

import msgspec

GRACE = 1.5
"""Seconds from the moment that a state is certain until it must be published."""

TOLERATED = 0.5
"""Seconds that a wrong state may be published within a span, after the grace."""

BEFORE, AFTER = 3.0, 1.5
"""Around a dialog that the flow held: it stood a little before the flow was sure, and its
withdrawal needs two captures without it."""

SLACK = 0.3
"""Seconds between two looks of the lookout, on a busy machine."""

WITHDRAW_LIMIT = 2.5

What = Literal["waiting", "working", "free"]


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """The flow held this state from `start` to `end`.

    `allowed`: attentions that may be announced meanwhile; `expected`: the one that must be."""

    name: str
    start: float
    end: float
    activities: frozenset[str]
    needs_you: bool
    allowed: frozenset[str] = frozenset()
    expected: str | None = None


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """From `at` on the lookout saw this."""

    at: float
    what: What


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A published state of the pane, as it arrived."""

    at: float
    activity: str
    needs_you: bool
    why: str = ""
    """The rule that it rests on."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """An announcement or withdrawal. `ours`: it is about the pane of the flow."""

    at: float
    event: str
    attention: str
    contract: str
    ours: bool = True


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that went wrong. `what` is one of the columns of the table."""

    what: Literal["missed ask", "false ask", "missed push", "false push", "late withdraw", "state"]
    name: str
    text: str


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """One session. Delays in seconds, from the paint to the event's arrival."""

    spans: int
    asks: int
    findings: tuple[Finding, ...]
    ask_delays: tuple[float, ...]
    push_delays: tuple[float, ...]
    state_delays: tuple[float, ...]

    def count(self, what: str) -> int:
        return sum(finding.what == what for finding in self.findings)


def score(
    spans: Sequence[Span], seen: Sequence[Seen], shown: Sequence[Shown], told: Sequence[Told]
) -> Score:
    """Compare; all lists in order of time."""
    asks = [span for span in spans if span.needs_you]
    findings: list[Finding] = []
    for span in spans:
        findings += judge(span, shown, told)
    for at in _onsets(shown):
        if not _dialog_near(at, asks, seen):
            findings.append(_finding("false ask", spans, at, f"published at {at:.2f}"))
    findings += _false_pushes(spans, seen, told)
    findings += _withdrawn(asks, seen, told)
    paints = _paints(spans, seen)
    return Score(
        spans=len(spans),
        asks=len(asks),
        findings=tuple(findings),
        ask_delays=tuple(_delays(asks, paints, shown)),
        push_delays=tuple(_push_delays(asks, paints, told)),
        state_delays=tuple(_delays([s for s in spans if not s.needs_you], paints, shown)),
    )


def judge(span: Span, shown: Sequence[Shown], told: Sequence[Told]) -> list[Finding]:
    """What is wrong with one span: its state, or that it was not announced."""
    found = _published(span, shown)
    wanted = "needs_you" if span.needs_you else span.expected
    if wanted and not found and not _stands_announced(wanted, span, told):
        what: Literal["missed ask", "missed push"] = "missed push"
        if span.needs_you:
            what = "missed ask"
        found.append(Finding(what=what, name=span.name, text=f"no {wanted} was announced"))
    return found


def timeline(
    spans: Sequence[Span], seen: Sequence[Seen], shown: Sequence[Shown], told: Sequence[Told]
) -> list[str]:
    """Everything in order of time, one line each: kinds and names, no text of a screen."""
    rows = [(span.start, f"true      {span.name}, until {span.end:.2f}") for span in spans]
    rows += [(item.at, f"seen      {item.what}") for item in seen]
    rows += [
        (item.at, f"published {item.activity}{' needs you' if item.needs_you else ''} {item.why}")
        for item in shown
    ]
    for item in told:
        whose = "" if item.ours else " (another pane)"
        rows.append((item.at, f"{item.event:9} {item.attention} {item.contract[-12:]}{whose}"))
    return [f"{at:10.2f} {text}" for at, text in sorted(rows)]


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value that this share of all does not exceed (nearest rank); None without values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _published(span: Span, shown: Sequence[Shown]) -> list[Finding]:
    wrong_activity = wrong_needs = 0.0
    last = "nothing"
    for at, until, state in _standing(shown, span.start + GRACE, span.end):
        activity = state.activity if state else "nothing"
        if activity not in span.activities:
            wrong_activity += until - at
            last = activity
        if bool(state and state.needs_you) != span.needs_you:
            wrong_needs += until - at
    found = []
    if wrong_needs > TOLERATED:
        what: Literal["missed ask", "false ask"] = "missed ask" if span.needs_you else "false ask"
        found.append(Finding(what=what, name=span.name, text=f"for {wrong_needs:.1f} s"))
    elif wrong_activity > TOLERATED:
        right = "/".join(sorted(span.activities))
        text = f"{last} instead of {right} for {wrong_activity:.1f} s"
        found.append(Finding(what="state", name=span.name, text=text))
    return found


def _standing(
    shown: Sequence[Shown], start: float, end: float
) -> list[tuple[float, float, Shown | None]]:
    """What stood published between `start` and `end`, cut to it."""
    edges = [(-math.inf, None), *((state.at, state) for state in shown), (math.inf, None)]
    pieces = []
    for (at, state), (until, _) in itertools.pairwise(edges):
        if min(until, end) > max(at, start):
            pieces.append((max(at, start), min(until, end), state))
    return pieces


def _onsets(shown: Sequence[Shown]) -> list[float]:
    before = False
    found = []
    for state in shown:
        if state.needs_you and not before:
            found.append(state.at)
        before = state.needs_you
    return found


def _dialog_near(at: float, asks: Sequence[Span], seen: Sequence[Seen]) -> bool:
    if any(span.start - BEFORE <= at <= span.end + AFTER for span in asks):
        return True
    return any(
        run.what == "waiting" and run.at <= at + SLACK and until >= at - AFTER
        for run, until in _runs(seen)
    )


def _stands_announced(attention: str, span: Span, told: Sequence[Told]) -> bool:
    """Whether an announcement of it stood somewhere within the span."""
    open_at: dict[str, float] = {}
    for item in told:
        if item.attention != attention or not item.ours or item.at > span.end:
            continue
        if item.event == "announce":
            open_at[item.contract] = item.at
        elif item.at < span.start:
            open_at.pop(item.contract, None)
    return bool(open_at)


def _false_pushes(
    spans: Sequence[Span], seen: Sequence[Seen], told: Sequence[Told]
) -> list[Finding]:
    asks = [span for span in spans if span.needs_you]
    found = []
    standing: set[tuple[str, str]] = set()
    for item in told:
        identity = (item.attention, item.contract)
        if item.event == "withdraw":
            standing.discard(identity)
            continue
        if not item.ours:
            reason = "about another pane"
        elif identity in standing:
            reason = "told twice"
        elif item.attention == "needs_you":
            reason = "" if _dialog_near(item.at, asks, seen) else "nothing asked"
        else:
            reason = "" if item.attention in _allowed(spans, item.at) else "not so"
        standing.add(identity)
        if reason:
            text = f"{item.attention} at {item.at:.2f}: {reason}"
            found.append(_finding("false push", spans, item.at, text))
    return found


def _allowed(spans: Sequence[Span], at: float) -> frozenset[str]:
    """Within a span what it allows; between two what either does, and `done`: between them the
    flow types and agents answer."""
    for span in spans:
        if span.start <= at <= span.end:
            return span.allowed
    before = [span for span in spans if span.end < at][-1:]
    after = [span for span in spans if span.start > at][:1]
    allowed = frozenset({"done"}) if before else frozenset[str]()
    return allowed.union(*(span.allowed for span in before + after))


def _withdrawn(asks: Sequence[Span], seen: Sequence[Seen], told: Sequence[Told]) -> list[Finding]:
    """Each announcement of an ask must be withdrawn soon after the last dialog has gone."""
    found = []
    runs = _runs(seen)
    for item in told:
        if item.event != "announce" or item.attention != "needs_you" or not item.ours:
            continue
        ends = [until for run, until in runs if run.what == "waiting" and until > item.at]
        held = [span.end for span in asks if span.start - BEFORE <= item.at <= span.end]
        gone = max([*ends[:1], *held], default=item.at)
        by = [
            other.at
            for other in told
            if other.event == "withdraw" and other.contract == item.contract and other.at > item.at
        ]
        if math.isfinite(gone) and (not by or by[0] > gone + WITHDRAW_LIMIT):
            text = f"{by[0] - gone:.1f} s after its end" if by else "never"
            found.append(_finding("late withdraw", asks, item.at, text))
    return found


def _delays(spans: Sequence[Span], paints: dict[str, float], shown: Sequence[Shown]) -> list[float]:
    """From the paint of each span's state to its publication."""
    found = []
    for span in spans:
        paint = paints.get(span.name, math.inf)
        fits = [
            at
            for at, _, state in _standing(shown, paint, span.end)
            if state and state.activity in span.activities and state.needs_you == span.needs_you
        ]
        if fits:
            found.append(fits[0] - paint)
    return found


def _push_delays(
    asks: Sequence[Span], paints: dict[str, float], told: Sequence[Told]
) -> list[float]:
    found = []
    for span in asks:
        paint = paints.get(span.name, math.inf)
        times = [
            item.at - paint
            for item in told
            if item.event == "announce"
            and item.attention == "needs_you"
            and paint - SLACK <= item.at <= span.end
        ]
        found += times[:1]
    return found


def _paints(spans: Sequence[Span], seen: Sequence[Seen]) -> dict[str, float]:
    """When the states that spans hold came up, where the lookout saw that since the span before: a
    menu or a draft beside a free composer is no moment that it knows."""
    found: dict[str, float] = {}
    before = -math.inf
    for span in spans:
        rest = "working" if span.activities == {"working"} else "free"
        what = "waiting" if span.needs_you else rest
        for run, until in _runs(seen[1:]):
            if before < run.at <= span.start < until and run.what == what:
                found[span.name] = run.at
        before = span.end
    return found


def _runs(seen: Sequence[Seen]) -> list[tuple[Seen, float]]:
    ends = [*(run.at for run in seen[1:]), math.inf]
    return list(zip(seen, ends, strict=False))


def _finding(
    what: Literal["false ask", "false push", "late withdraw"],
    spans: Sequence[Span],
    at: float,
    text: str,
) -> Finding:
    inside = [span.name for span in spans if span.start - BEFORE <= at <= span.end]
    before = [span.name for span in spans if span.end < at]
    name = inside[0] if inside else f"after {before[-1]}" if before else "at the start"
    return Finding(what=what, name=name, text=text)
