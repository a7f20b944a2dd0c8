"""All that is decided about one pane: its ask, its activity, what a person should do.

Pure: sightings and epoch milliseconds in, verdicts out. Hysteresis only ever delays leaving a
state; a dialog counts with the capture that shows it. A little above the usual length: an ask, an
activity and an attention decide each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from openbus.episode import ABSENT_MS, DRAWN_MS, REDRAW_MS, Ask, Episode
from openbus.events import Change, Intent, Reason
from openbus.model import (
    Activity,
    Attention,
    Clocks,
    Contract,
    Model,
    Pane,
    PaneState,
    Question,
    Reading,
    WaitingOn,
)

SETTLE_MS = 800
"""How long another activity must be read before *working* is left."""

ENDED_MS = 250
"""The same when a row on the screen says that the turn is over."""

UNSURE_MS = 1500
"""How long `unknown` must be read before a known activity is given up."""

COVERED_MS = 15_000
"""How long an overlay above a free composer keeps the activity that was there before."""

DONE_MS = 3000
"""How long the end of a turn must hold before it is told."""

FAILED_MS = 1000
"""How long an error or a limit must hold before it is told."""


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """One pane as it was just captured and read. Clocks in epoch milliseconds.

    `ended`: a row on the screen says that the turn is over; a free composer alone does not.
    """

    pane: Pane
    reading: Reading
    changed_at: int | None = None
    parsed_at: int | None = None
    progress_at: int | None = None
    ended: bool = False


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What survives a restart of OpenBus for one pane: hashes, numbers and times, no text."""

    key: str
    activity: Activity
    since: int
    turn: int = 0
    finished_at: int | None = None
    seen: bool = True
    episodes: int = 0
    open: Contract | None = None
    announced: tuple[tuple[Contract, Attention], ...] = ()


class Known(msgspec.Struct, frozen=True):
    """An activity with what belongs to it."""

    activity: Activity
    detail: str | None = None
    waiting_on: WaitingOn | None = None


@dataclass(slots=True)
class Card:
    """Everything about one pane between its first sight and its end, and all that is decided about
    it. `touched`: something changed that a restart must know."""

    sighting: Sighting
    now_is: Known
    since: int
    read: Known
    """The activity of the last reading that said one."""
    leaving_since: int | None = None
    covered_since: int | None = None
    resized_at: int | None = None
    size: tuple[int, int] = (0, 0)
    error_size: tuple[int, int] = (0, 0)
    episode: Episode | None = None
    closing: Episode | None = None
    """The episode that another ask has just replaced: it may only have been a flicker."""
    episodes: int = 0
    turn: int = 0
    finished_at: int | None = None
    quiet_since: int | None = None
    """Since when nothing runs in the background."""
    seen: bool = True
    """A person knows that the turn is over."""
    drafted: bool = False
    failed_since: int | None = None
    hushed: Attention = "none"
    """Stood already at first sight: shown, not announced."""
    announced: dict[Contract, Attention] = field(default_factory=dict)
    stale: bool = False
    state: PaneState | None = None
    deck: bytes = b""
    touched: bool = True

    @classmethod
    def first_sight(cls, sighting: Sighting, entry: Remembered | None, now: int) -> Card:
        """A pane that was not known in this run; `entry` is what an earlier run knew of it."""
        read = _known(sighting.reading)
        if sighting.reading.needs_you:
            read = Known("unknown")
        card = cls(sighting=sighting, now_is=read, since=now, read=read)
        card.size = (sighting.pane.width, sighting.pane.height)
        card.drafted = sighting.reading.draft
        standing = _standing(sighting.reading)
        if entry is None:
            card.hushed = standing
            return card
        card.turn = entry.turn
        card.episodes = entry.episodes
        card.announced = dict(entry.announced)
        card.finished_at = entry.finished_at
        card.seen = entry.seen
        if entry.open is not None:
            card.episode = Episode(
                contract=entry.open, first_at=now, announced=entry.open in card.announced
            )
        if entry.activity == "working" and read.activity != "working":
            card.now_is = Known("working")
            card.since = entry.since
        elif entry.activity == read.activity:
            card.since = entry.since
        if standing not in card.announced.values() and entry.activity == read.activity:
            card.hushed = standing
        return card

    def take(self, sighting: Sighting, now: int) -> None:
        """A new capture was read."""
        self._note_person(sighting)
        size = (sighting.pane.width, sighting.pane.height)
        if size != self.size:
            self.resized_at = now
            self.size = size
        self.sighting = sighting
        self.stale = False

    def place(self, pane: Pane) -> None:
        """tmux lists the pane differently; its screen did not change."""
        sighting = msgspec.structs.replace(self.sighting, pane=pane)
        self._note_person(sighting)
        self.sighting = sighting
        self.stale = False

    def _note_person(self, sighting: Sighting) -> None:
        """A person who types, opens a menu, or turns to the pane knows what it shows."""
        reading = sighting.reading
        came = sighting.pane.viewed and not self.sighting.pane.viewed
        typed = reading.draft and not self.drafted
        opened = reading.overlay is not None and self.sighting.reading.overlay is None
        if came or typed or opened:
            self.seen = True
        if reading.program.name == "shell" != self.sighting.reading.program.name:
            self.finished_at = None
        self.drafted = reading.draft

    # --- the ask ----------------------------------------------------------------------------------

    def follow_episode(self, now: int) -> list[tuple[Episode, Reason]]:
        """Whether the ask still stands, went, or another one came; the episodes that ended."""
        ended: list[tuple[Episode, Reason]] = []
        reading = self.sighting.reading
        gap = self._gap(now)
        if reading.needs_you:
            self._show(Ask.of(reading), now, ended)
        elif self.episode is not None:
            covered = reading.keep or reading.activity == "unknown"
            if reading.overlay is not None and covered:
                self.episode.missing_since = None
                self.episode.held = True
            elif reading.activity == "exited":
                ended.append((self.episode, "exited"))
                self.episode = None
            elif self.episode.absent(now, gap):
                ended.append((self.episode, "ended"))
                self.episode = None
        if self.closing is not None and self.closing.absent(now, gap):
            ended.append((self.closing, "replaced"))
            self.closing = None
        return ended

    def recheck_at(self, now: int) -> int | None:
        """From when on another capture is wanted to see whether an ask has ended."""
        waiting = [
            episode.missing_since + self._gap(now)
            for episode in (self.episode, self.closing)
            if episode is not None and episode.missing_since is not None
        ]
        return min(waiting, default=None)

    def _gap(self, now: int) -> int:
        """How far apart two captures without the ask must be."""
        resized = self.resized_at is not None and now - self.resized_at < REDRAW_MS
        return REDRAW_MS if resized else ABSENT_MS

    def _show(self, ask: Ask, now: int, ended: list[tuple[Episode, Reason]]) -> None:
        """An ask is visible: the one that stands, the one that just went, or a new one."""
        question = self.sighting.reading.question
        current, closing = self.episode, self.closing
        other_size = self.resized_at is not None
        if current is not None and current.continues(ask, other_size):
            current.show(ask, question)
        elif current is not None and current.half_drawn(ask, now):
            current.rename(ask)
            current.show(ask, question)
        elif closing is not None and closing.continues(ask, other_size):
            self.episode, self.closing = closing, current
            if current is not None:
                current.missing_since = now
            closing.show(ask, question)
        else:
            if closing is not None:
                ended.append((closing, "replaced"))
            self.closing = current
            if current is not None and current.missing_since is None:
                current.missing_since = now
            self.episodes += 1
            self.episode = Episode(
                contract=Contract(key=ask.key, episode=self.episodes), first_at=now
            )
            self.episode.show(ask, question)
            self.touched = True
        self.resized_at = None

    # --- the activity -----------------------------------------------------------------------------

    def follow_activity(self, now: int, takes_turns: bool) -> None:
        """What goes on, by the last reading and what went before.

        `takes_turns`: the end of this program's work is the end of a turn."""
        reading = self.sighting.reading
        if not _tells_nothing(self.sighting):
            self.covered_since = None
        elif self.covered_since is None:
            self.covered_since = now
        uncovered = self._uncovered_at()
        if not reading.needs_you and uncovered is not None and now >= uncovered:
            self.read = _known(reading)
        if reading.background:
            self.quiet_since = None
        elif self.quiet_since is None:
            self.quiet_since = now
        if self.episode is not None:
            self._become(Known("waiting", waiting_on="user"), now, takes_turns)
            return
        wait = self._patience()
        if self.read.activity == self.now_is.activity:
            self.leaving_since = None
            self.now_is = self.read
            if self.read.activity == "error":
                self.error_size = self.size
            return
        if self.leaving_since is None:
            self.leaving_since = now
        if wait is not None and now - self.leaving_since >= wait:
            self._become(self.read, now, takes_turns)

    def _uncovered_at(self) -> int | None:
        """From when on the reading's activity counts; None: not as long as this overlay stands."""
        if self.covered_since is None:
            return 0
        return None if self.sighting.reading.keep else self.covered_since + COVERED_MS

    def _patience(self) -> int | None:
        """Milliseconds that the reading must differ before the present activity is left; None: it
        is kept as long as nothing else happens."""
        old, new = self.now_is.activity, self.read.activity
        program = self.sighting.reading.program.name
        if program != "unknown" and self.state is not None and self.state.program.name != program:
            return 0
        if old in ("unknown", "exited", "waiting") or new in ("waiting", "exited"):
            return 0
        if new == "unknown":
            return UNSURE_MS
        if old == "working":
            return ENDED_MS if self.sighting.ended else SETTLE_MS
        if old == "error" and new == "idle":
            return None if self._error_out_of_sight() else SETTLE_MS
        return 0

    def _error_out_of_sight(self) -> bool:
        """A resize can push the message off the screen; the error lasts until someone goes on."""
        return self.size != self.error_size and not self.sighting.reading.draft

    def _become(self, new: Known, now: int, takes_turns: bool) -> None:
        old = self.now_is
        self.leaving_since = None
        self.now_is = new
        if old.activity == new.activity:
            return
        self.since = now
        self.touched = True
        self.hushed = "none"
        if new.activity == "error":
            self.error_size = self.size
        if new.activity == "working":
            self.turn += 1
            self.finished_at = None
            self.seen = False
        elif new.activity == "idle" and old.activity == "working" and takes_turns:
            self.finished_at = now
            self.seen = self.sighting.reading.detail == "interrupted"
        elif new.activity != "idle":
            self.finished_at = None

    def due(self, now: int) -> list[int]:
        """When time alone changes something."""
        uncovered = self._uncovered_at()
        times = (self._leave_at(), uncovered if (uncovered or 0) > now else None)
        return [time for time in times if time is not None]

    def _leave_at(self) -> int | None:
        """When, without another reading, the present activity is left."""
        if self.episode is not None or self.leaving_since is None:
            return None
        wait = self._patience()
        return None if wait is None else self.leaving_since + wait

    # --- attention --------------------------------------------------------------------------------

    def attention(self, now: int) -> tuple[Attention, int | None]:
        """What a person should do, and when a later look may say more."""
        reading = self.sighting.reading
        if self.episode is not None:
            return ("none" if self.episode.held else "needs_you"), None
        failed: Attention = "none"
        if self.now_is.activity == "error":
            failed = "error"
        elif reading.limit and self.now_is.activity == "idle":
            failed = "limit"
        if failed != "none":
            self.failed_since = self.failed_since if self.failed_since is not None else now
            return failed, None
        self.failed_since = None
        if self.now_is.activity != "idle":
            return "none", None
        if self.hushed == "asked":
            if reading.asked and not reading.draft:
                return "asked", None
            self.hushed = "none"
        if self.finished_at is None:
            return "none", None
        ripe = self.finished_at + DONE_MS
        if reading.asked and not reading.draft:
            return ("asked", None) if now >= ripe else ("none", ripe)
        if self.seen or self.quiet_since is None:
            return "none", None
        if self.read.activity != "idle" and "done" not in self.announced.values():
            return "none", None
        ripe = max(ripe, self.quiet_since + DONE_MS)
        return ("done", None) if now >= ripe else ("none", ripe)

    def told_from(self, attention: Attention) -> tuple[Contract, int] | None:
        """The identity of what is to be told now, and from when on it may be told."""
        if attention == "needs_you":
            assert self.episode is not None
            if self.episode.missing_since is not None:
                return None
            return self.episode.contract, self.episode.first_at + DRAWN_MS
        if attention == "none" or attention == self.hushed:
            return None
        ripe = 0
        if attention in ("error", "limit") and self.failed_since is not None:
            ripe = self.failed_since + FAILED_MS
        return Contract(key=attention, episode=self.turn), ripe

    # --- what goes out ----------------------------------------------------------------------------

    def intent(
        self,
        event: Literal["announce", "withdraw"],
        contract: Contract,
        attention: Attention,
        now: int,
        reason: Reason,
        question: Question | None = None,
    ) -> Change:
        """An announcement or withdrawal with what the pane shows now."""
        asking = self.episode is not None and not self.episode.held
        if question is None and attention == "needs_you" and self.episode is not None:
            question = self.episode.question
        pane = self.sighting.pane
        intent = Intent(
            key=pane.key,
            contract=contract,
            attention=attention,
            activity=self.now_is.activity if reason != "gone" else "exited",
            needs_you=asking and reason != "gone",
            question=question,
            program=self.sighting.reading.program,
            pane=pane,
            headline=self.sighting.reading.headline,
            reason=reason,
            at=now,
        )
        return Change(event=event, key=pane.key, at=now, intent=intent)

    def published(self, host: str, attention: Attention, now: int) -> PaneState:
        """The state as it is to be published."""
        reading = self.sighting.reading
        episode = self.episode
        needs_you = episode is not None and not episode.held
        known = self.now_is
        before = self.state
        # What the last capture says does not count yet.
        unconfirmed = episode is not None and episode.missing_since is not None
        lost = reading.program.name == "unknown" and self.leaving_since is not None
        return PaneState(
            host=host,
            pane=self.sighting.pane,
            program=before.program if before and (unconfirmed or lost) else reading.program,
            activity=known.activity,
            detail=reading.detail if needs_you and reading.needs_you else known.detail,
            waiting_on=("user" if needs_you else None) if episode else known.waiting_on,
            needs_you=needs_you,
            attention=attention,
            question=episode.question if episode is not None and needs_you else None,
            stale=self.stale,
            background=reading.background,
            overlay=reading.overlay,
            draft=reading.draft,
            title=reading.title,
            model=Model(value=reading.model, source="screen") if reading.model else None,
            headline=before.headline if before and unconfirmed else reading.headline,
            clocks=Clocks(
                changed_at=self.sighting.changed_at,
                parsed_at=self.sighting.parsed_at,
                progress_at=self.sighting.progress_at,
                since=self.since,
                published_at=now,
            ),
            why=before.why if before and unconfirmed else reading.why,
        )

    def remember(self) -> Remembered:
        """What a restart must know."""
        return Remembered(
            key=self.sighting.pane.key,
            activity=self.now_is.activity,
            since=self.since,
            turn=self.turn,
            finished_at=self.finished_at,
            seen=self.seen,
            episodes=self.episodes,
            open=self.episode.contract if self.episode else None,
            announced=tuple(self.announced.items()),
        )


def _tells_nothing(sighting: Sighting) -> bool:
    """A menu or help of the user's own stands there and no row beneath says what goes on: the
    activity stays what it was. A free composer beneath an overlay proves no end."""
    reading = sighting.reading
    quiet = reading.activity in ("idle", "unknown") and not sighting.ended
    return reading.keep or (reading.overlay is not None and quiet)


def _known(reading: Reading) -> Known:
    return Known(reading.activity, reading.detail, reading.waiting_on)


def _standing(reading: Reading) -> Attention:
    """What a screen asks for by itself, without any history."""
    if reading.limit and reading.activity == "idle":
        return "limit"
    if reading.activity == "error":
        return "error"
    return "asked" if reading.asked and reading.activity == "idle" else "none"
