"""What a notification says, made at the moment of sending from the pane's published state.

Only what is visible takes part: what asks, where, which question and command, the options. Nothing
of it is stored. `face` is a hash of it, to see that a shown message is out of date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import PurePath
from typing import Literal

import msgspec

from openbus.model import Attention, PaneState, Question
from openbus.notify.conceal import conceal
from openbus.notify.records import Job, Notice, Verb
from openbus.screen.grid import clean

TITLE_MOST = 90
LINE_MOST = 200
LINES_MOST = 10
LISTED_MOST = 8

Look = Callable[[str], PaneState | None]
"""The published state of a pane, by its key."""

_SAYS: Mapping[Attention, str] = {
    "needs_you": "needs you",
    "limit": "has reached a limit",
    "error": "stopped with an error",
    "asked": "asked you something",
    "done": "is done",
    "none": "says nothing",
}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A pane that a notification is about. `name` is `session:window.pane`, None for a pane whose
    state is no longer known."""

    key: str
    program: str
    kind: Attention
    name: str | None = None
    id: str | None = None
    socket: str | None = None


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """One thing for one sender. A withdrawal has a tag and nothing to say."""

    verb: Verb
    tag: str
    title: str = ""
    body: str = ""
    options: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    urgency: Literal["high", "normal"] = "normal"
    quiet: bool = False
    at: int = 0

    @property
    def face(self) -> str:
        """A hash of what is shown."""
        shown = "\0".join((self.title, self.body, *self.options))
        return blake2b(shown.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def parcel_of(job: Job, look: Look, *, private: bool, now: int) -> Parcel:
    """What `job` is to show. `private`: program and pane, nothing of the screen."""
    if job.verb == "withdraw":
        return Parcel(verb="withdraw", tag=job.message.tag, quiet=True, at=now)
    return parcel_for(
        job.notices,
        look,
        private=private,
        verb=job.verb,
        tag=job.message.tag,
        quiet=job.quiet,
        now=now,
    )


def parcel_for(
    notices: tuple[Notice, ...],
    look: Look,
    *,
    private: bool,
    verb: Verb = "announce",
    tag: str = "",
    quiet: bool = False,
    now: int = 0,
) -> Parcel:
    """One notice told in full, several as a list."""
    states = [look(notice.pane) for notice in notices]
    places = tuple(map(_place, notices, states))
    urgent = any(notice.kind in ("needs_you", "limit", "error") for notice in notices)
    options: tuple[str, ...] = ()
    if len(notices) == 1:
        title = f"{notices[0].program} {_SAYS[notices[0].kind]}"
        lines, options = _one(notices[0], states[0], places[0], private)
    else:
        title = _many(notices)
        lines = [
            _in_short(notice, state, place, private)
            for notice, state, place in zip(notices, states, places, strict=True)
        ][:LISTED_MOST]
        if len(notices) > LISTED_MOST:
            lines.append(f"and {len(notices) - LISTED_MOST} more")
    return Parcel(
        verb=verb,
        tag=tag,
        title=_cut(title, TITLE_MOST),
        body="\n".join(lines[: LINES_MOST + 8]),
        options=options,
        places=places[:LISTED_MOST],
        urgency="high" if urgent else "normal",
        quiet=quiet,
        at=now,
    )


def trial(now: int) -> Parcel:
    """What `openbus push test` sends."""
    return Parcel(
        verb="announce",
        tag="ob-test",
        title="OpenBus can reach you here",
        body="This is a test. Nothing needs you.",
        at=now,
    )


def _place(notice: Notice, state: PaneState | None) -> Place:
    place = Place(key=notice.pane, program=notice.program, kind=notice.kind)
    if state is None:
        return place
    pane = state.pane
    return msgspec.structs.replace(
        place,
        name=_cut(clean(f"{pane.session}:{pane.window.index}.{pane.index}"), 60),
        id=pane.id,
        socket=pane.server.socket,
    )


def _one(
    notice: Notice, state: PaneState | None, place: Place, private: bool
) -> tuple[list[str], tuple[str, ...]]:
    where = place.name or "a pane"
    if state is None or private:
        return [where], ()
    folder = PurePath(state.pane.cwd).name
    lines = [_said(f"{where} · {folder}" if folder else where)]
    question = _question(notice, state)
    if question is None:
        if state.headline:
            lines.append(_said(state.headline))
        return lines, ()
    if question.text:
        lines.append(_said(question.text))
    if question.command:
        shown = question.command.splitlines()[:LINES_MOST]
        lines += [_said(f"$ {line}" if not i else f"  {line}") for i, line in enumerate(shown)]
    options = tuple(_cut(conceal(clean(option.label)), 80) for option in question.options[:8])
    lines += [f"{number}. {label}" for number, label in enumerate(options, start=1)]
    if question.clipped:
        lines.append("… more options are hidden")
    return lines, options


def _question(notice: Notice, state: PaneState) -> Question | None:
    """The question on the screen, if it is the one that the notice is about."""
    question = state.question
    if notice.kind != "needs_you" or question is None or question.contract != notice.contract:
        return None
    return question


def _in_short(notice: Notice, state: PaneState | None, place: Place, private: bool) -> str:
    line = f"{notice.program} · {place.name or 'a pane'}"
    if notice.kind != "needs_you":
        line += f" · {_SAYS[notice.kind]}"
    question = _question(notice, state) if state is not None and not private else None
    if question is not None:
        line += f" · {question.command or question.text}"
    return _cut(_said(line), 100)


def _many(notices: tuple[Notice, ...]) -> str:
    waiting = sum(notice.kind == "needs_you" for notice in notices)
    if waiting == len(notices):
        return f"{waiting} panes need you"
    if waiting:
        return f"{waiting} panes need you, {len(notices) - waiting} have news"
    return f"{len(notices)} panes have news"


def _said(text: str) -> str:
    """A row of a screen, ready to leave: no control characters, no secrets, not too long."""
    return _cut(conceal(clean(text)), LINE_MOST)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
