"""The one push manager: what is published, announced and withdrawn. Pure and in memory.

Grounded readings come in with the time; `Change` values for the bus come out. It never reads a
clock, a screen or a file. Hysteresis only ever delays leaving a state; a dialog is published with
the capture that shows it. The module is above the usual length because everything that decides
about one pane's state stands here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from openbus.episode import ABSENT_MS, DRAWN_MS, REDRAW_MS, Ask, Episode
from openbus.events import Change, Intent, Reason
from openbus.fingerprint import deck_fingerprint
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

_NOT_AGENTS = frozenset({"", "shell", "unknown"})
"""Programs whose end of work is no end of a turn."""


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
class _Card:
    """Everything about one pane between its first sight and its end."""

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


class PushManager:
    """One published state per pane.

    `agents` names the programs that take turns (None: every program but shells and unknown ones);
    `memory` is what `remember` gave before a restart.
    """

    def __init__(
        self,
        host: str,
        agents: frozenset[str] | None = None,
        memory: Iterable[Remembered] = (),
    ) -> None:
        self._host = host
        self._agents = agents
        self._cards: dict[str, _Card] = {}
        self._memory = {entry.key: entry for entry in memory}
        self._due: dict[str, int] = {}
        self._recheck: dict[str, int] = {}
        self.version = 0
        """Counts what `remember` would give differently."""

    # --- what comes in --------------------------------------------------------------------------

    def observe(self, sighting: Sighting, now: int) -> list[Change]:
        """Take one capture's reading."""
        key = sighting.pane.key
        card = self._cards.get(key)
        if card is None:
            card = self._cards[key] = self._first_sight(sighting, now)
        self._note_person(card, sighting, now)
        size = (sighting.pane.width, sighting.pane.height)
        if size != card.size:
            card.resized_at = now
            card.size = size
        card.sighting = sighting
        card.stale = False
        changes: list[Change] = []
        self._follow_episode(card, now, changes)
        self._follow_activity(card, now)
        self._publish(card, now, changes)
        return changes

    def reread(self, sighting: Sighting, now: int) -> list[Change]:
        """Take another reading of the capture that was observed last; it proves no absence."""
        card = self._cards.get(sighting.pane.key)
        if card is None:
            return []
        card.sighting = sighting
        changes: list[Change] = []
        self._follow_activity(card, now)
        self._publish(card, now, changes)
        return changes

    def advance(self, now: int) -> list[Change]:
        """Do what time alone makes true: leave states, tell what has held long enough."""
        changes: list[Change] = []
        for key in [key for key, due in self._due.items() if due <= now]:
            card = self._cards[key]
            self._follow_activity(card, now)
            self._publish(card, now, changes)
        return changes

    def gone(self, key: str, now: int) -> list[Change]:
        """The pane has ended: withdraw everything, forget it."""
        card = self._cards.pop(key, None)
        self._due.pop(key, None)
        self._recheck.pop(key, None)
        if card is None:
            return []
        changes = [
            self._withdraw(card, contract, attention, now, "gone")
            for contract, attention in tuple(card.announced.items())
        ]
        changes.append(Change(event="gone", key=key, at=now))
        self.version += 1
        return changes

    def mark_stale(self, keys: Iterable[str], now: int) -> list[Change]:
        """The tmux server of these panes does not answer: keep the states, say so."""
        changes: list[Change] = []
        for key in keys:
            card = self._cards.get(key)
            if card is not None and not card.stale:
                card.stale = True
                self._publish(card, now, changes)
        return changes

    def refresh(self, pane: Pane, now: int) -> list[Change]:
        """tmux says something new about a pane whose screen did not change."""
        card = self._cards.get(pane.key)
        if card is None:
            return []
        sighting = msgspec.structs.replace(card.sighting, pane=pane)
        self._note_person(card, sighting, now)
        card.sighting = sighting
        card.stale = False
        changes: list[Change] = []
        self._publish(card, now, changes)
        return changes

    def forget_absent(self, live: frozenset[str], now: int) -> list[Change]:
        """After the first look at the world: withdraw what was announced before a restart for
        panes that no longer exist."""
        changes: list[Change] = []
        for key in [key for key in self._memory if key not in live]:
            entry = self._memory.pop(key)
            for contract, attention in entry.announced:
                intent = Intent(
                    key=key,
                    contract=contract,
                    attention=attention,
                    activity="exited",
                    needs_you=False,
                    question=None,
                    program=None,
                    pane=None,
                    reason="gone",
                    at=now,
                )
                changes.append(Change(event="withdraw", key=key, at=now, intent=intent))
            self.version += 1
        return changes

    # --- what the watcher asks ------------------------------------------------------------------

    def next_due(self) -> int | None:
        """When `advance` next has something to do."""
        return min(self._due.values(), default=None)

    def recheck(self) -> Mapping[str, int]:
        """Panes that must be captured again, even if unchanged, and from when on."""
        return self._recheck

    def fresh(self, state: PaneState) -> PaneState:
        """A published state with the clocks of now: clocks alone publish nothing."""
        card = self._cards.get(state.pane.key)
        if card is None:
            return state
        clocks = msgspec.structs.replace(
            state.clocks,
            changed_at=card.sighting.changed_at,
            parsed_at=card.sighting.parsed_at,
            progress_at=card.sighting.progress_at,
        )
        return msgspec.structs.replace(state, clocks=clocks)

    def remember(self) -> list[Remembered]:
        """What must survive a restart."""
        kept = list(self._memory.values())
        for key, card in self._cards.items():
            kept.append(
                Remembered(
                    key=key,
                    activity=card.now_is.activity,
                    since=card.since,
                    turn=card.turn,
                    finished_at=card.finished_at,
                    seen=card.seen,
                    episodes=card.episodes,
                    open=card.episode.contract if card.episode else None,
                    announced=tuple(card.announced.items()),
                )
            )
        return kept

    # --- first sight and the person -------------------------------------------------------------

    def _first_sight(self, sighting: Sighting, now: int) -> _Card:
        read = _known(sighting.reading)
        if sighting.reading.needs_you:
            read = Known("unknown")
        card = _Card(sighting=sighting, now_is=read, since=now, read=read)
        card.size = (sighting.pane.width, sighting.pane.height)
        card.drafted = sighting.reading.draft
        entry = self._memory.pop(sighting.pane.key, None)
        if entry is None:
            card.hushed = _standing(sighting.reading)
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
        told = set(card.announced.values())
        standing = _standing(sighting.reading)
        if standing not in told and entry.activity == read.activity:
            card.hushed = standing
        return card

    def _note_person(self, card: _Card, sighting: Sighting, now: int) -> None:
        """A person who types, opens a menu, or turns to the pane knows what it shows."""
        reading = sighting.reading
        came = sighting.pane.viewed and not card.sighting.pane.viewed
        typed = reading.draft and not card.drafted
        opened = reading.overlay is not None and card.sighting.reading.overlay is None
        if came or typed or opened:
            card.seen = True
        if reading.program.name == "shell" != card.sighting.reading.program.name:
            card.finished_at = None
        card.drafted = reading.draft

    # --- the ask --------------------------------------------------------------------------------

    def _follow_episode(self, card: _Card, now: int, changes: list[Change]) -> None:
        reading = card.sighting.reading
        gap = ABSENT_MS
        resized = card.resized_at is not None and now - card.resized_at < REDRAW_MS
        if resized:
            gap = REDRAW_MS
        if reading.needs_you:
            self._show(card, Ask.of(reading), now, changes)
        elif card.episode is not None:
            covered = reading.keep or reading.activity == "unknown"
            if reading.overlay is not None and covered:
                card.episode.missing_since = None
                card.episode.held = True
            elif reading.activity == "exited":
                self._end(card, card.episode, now, changes, "exited")
                card.episode = None
            elif card.episode.absent(now, gap):
                self._end(card, card.episode, now, changes, "ended")
                card.episode = None
        if card.closing is not None and card.closing.absent(now, gap):
            self._end(card, card.closing, now, changes, "replaced")
            card.closing = None
        waiting = [
            episode.missing_since + gap
            for episode in (card.episode, card.closing)
            if episode is not None and episode.missing_since is not None
        ]
        key = card.sighting.pane.key
        if waiting:
            self._recheck[key] = min(waiting)
        else:
            self._recheck.pop(key, None)

    def _show(self, card: _Card, ask: Ask, now: int, changes: list[Change]) -> None:
        """An ask is visible: the one that stands, the one that just went, or a new one."""
        question = card.sighting.reading.question
        current, closing = card.episode, card.closing
        other_size = card.resized_at is not None
        if current is not None and current.continues(ask, other_size):
            current.show(ask, question)
        elif current is not None and current.half_drawn(ask, now):
            current.rename(ask)
            current.show(ask, question)
        elif closing is not None and closing.continues(ask, other_size):
            card.episode, card.closing = closing, current
            if current is not None:
                current.missing_since = now
            closing.show(ask, question)
        else:
            if closing is not None:
                self._end(card, closing, now, changes, "replaced")
            card.closing = current
            if current is not None and current.missing_since is None:
                current.missing_since = now
            card.episodes += 1
            card.episode = Episode(
                contract=Contract(key=ask.key, episode=card.episodes), first_at=now
            )
            card.episode.show(ask, question)
            self.version += 1
        card.resized_at = None

    def _end(
        self, card: _Card, episode: Episode, now: int, changes: list[Change], reason: Reason
    ) -> None:
        self.version += 1
        if episode.contract in card.announced:
            changes.append(
                self._withdraw(card, episode.contract, "needs_you", now, reason, episode.question)
            )

    # --- the activity ---------------------------------------------------------------------------

    def _follow_activity(self, card: _Card, now: int) -> None:
        reading = card.sighting.reading
        if not _tells_nothing(card.sighting):
            card.covered_since = None
        elif card.covered_since is None:
            card.covered_since = now
        uncovered = self._uncovered_at(card)
        if not reading.needs_you and uncovered is not None and now >= uncovered:
            card.read = _known(reading)
        if reading.background:
            card.quiet_since = None
        elif card.quiet_since is None:
            card.quiet_since = now
        if card.episode is not None:
            self._become(card, Known("waiting", waiting_on="user"), now)
            return
        wait = self._patience(card)
        if card.read.activity == card.now_is.activity:
            card.leaving_since = None
            card.now_is = card.read
            if card.read.activity == "error":
                card.error_size = card.size
            return
        if card.leaving_since is None:
            card.leaving_since = now
        if wait is not None and now - card.leaving_since >= wait:
            self._become(card, card.read, now)

    def _uncovered_at(self, card: _Card) -> int | None:
        """From when on the reading's activity counts; None: not as long as this overlay stands."""
        if card.covered_since is None:
            return 0
        return None if card.sighting.reading.keep else card.covered_since + COVERED_MS

    def _patience(self, card: _Card) -> int | None:
        """Milliseconds that the reading must differ before the present activity is left; None: it
        is kept as long as nothing else happens."""
        old, new = card.now_is.activity, card.read.activity
        program = card.sighting.reading.program.name
        if card.state is not None and card.state.program.name != program:
            return 0
        if old in ("unknown", "exited", "waiting") or new in ("waiting", "exited"):
            return 0
        if new == "unknown":
            return UNSURE_MS
        if old == "working":
            return ENDED_MS if card.sighting.ended else SETTLE_MS
        if old == "error" and new == "idle":
            return None if self._error_out_of_sight(card) else SETTLE_MS
        return 0

    def _error_out_of_sight(self, card: _Card) -> bool:
        """A resize can push the message off the screen; the error lasts until someone goes on."""
        return card.size != card.error_size and not card.sighting.reading.draft

    def _become(self, card: _Card, new: Known, now: int) -> None:
        old = card.now_is
        card.leaving_since = None
        card.now_is = new
        if old.activity == new.activity:
            return
        card.since = now
        self.version += 1
        card.hushed = "none"
        if new.activity == "error":
            card.error_size = card.size
        if new.activity == "working":
            card.turn += 1
            card.finished_at = None
            card.seen = False
        elif new.activity == "idle" and old.activity == "working" and self._takes_turns(card):
            card.finished_at = now
            card.seen = card.sighting.reading.detail == "interrupted"
        elif new.activity != "idle":
            card.finished_at = None

    def _takes_turns(self, card: _Card) -> bool:
        name = card.sighting.reading.program.name
        return name in self._agents if self._agents is not None else name not in _NOT_AGENTS

    # --- attention ------------------------------------------------------------------------------

    def _attention(self, card: _Card, now: int) -> tuple[Attention, int | None]:
        """What a person should do, and when a later look may say more."""
        reading = card.sighting.reading
        if card.episode is not None:
            return ("none" if card.episode.held else "needs_you"), None
        failed: Attention = "none"
        if card.now_is.activity == "error":
            failed = "error"
        elif reading.limit and card.now_is.activity == "idle":
            failed = "limit"
        if failed != "none":
            card.failed_since = card.failed_since if card.failed_since is not None else now
            return failed, None
        card.failed_since = None
        if card.now_is.activity != "idle":
            return "none", None
        if card.hushed == "asked":
            if reading.asked and not reading.draft:
                return "asked", None
            card.hushed = "none"
        if card.finished_at is None:
            return "none", None
        ripe = card.finished_at + DONE_MS
        if reading.asked and not reading.draft:
            return ("asked", None) if now >= ripe else ("none", ripe)
        if card.seen or card.quiet_since is None:
            return "none", None
        if card.read.activity != "idle" and "done" not in card.announced.values():
            return "none", None
        ripe = max(ripe, card.quiet_since + DONE_MS)
        return ("done", None) if now >= ripe else ("none", ripe)

    def _told_from(self, card: _Card, attention: Attention) -> tuple[Contract, int] | None:
        """The identity of what is to be told now, and from when on it may be told."""
        if attention == "needs_you":
            assert card.episode is not None
            if card.episode.missing_since is not None:
                return None
            return card.episode.contract, card.episode.first_at + DRAWN_MS
        if attention == "none" or attention == card.hushed:
            return None
        ripe = 0
        if attention in ("error", "limit") and card.failed_since is not None:
            ripe = card.failed_since + FAILED_MS
        return Contract(key=attention, episode=card.turn), ripe

    # --- what goes out --------------------------------------------------------------------------

    def _publish(self, card: _Card, now: int, changes: list[Change]) -> None:
        attention, look = self._attention(card, now)
        told = self._told_from(card, attention)
        state = self._state(card, attention, now)
        deck = deck_fingerprint(state)
        key = state.pane.key
        standing = {e.contract for e in (card.episode, card.closing) if e is not None}
        if told is not None:
            standing.add(told[0])
        for contract, announced in tuple(card.announced.items()):
            if contract not in standing:
                reason: Reason = "seen" if announced == "done" and card.seen else "ended"
                changes.append(self._withdraw(card, contract, announced, now, reason))
        if deck != card.deck:
            card.deck = deck
            card.state = state
            changes.append(Change(event="pane", key=key, at=now, state=state))
        due = [time for time in (look, self._leave_at(card)) if time is not None]
        uncovered = self._uncovered_at(card)
        if uncovered is not None and uncovered > now:
            due.append(uncovered)
        if told is not None and told[0] not in card.announced:
            contract, ripe = told
            if now >= ripe:
                card.announced[contract] = attention
                if card.episode is not None and contract == card.episode.contract:
                    card.episode.announced = True
                changes.append(self._intent(card, "announce", contract, attention, now, "arose"))
                self.version += 1
            else:
                due.append(ripe)
        if due:
            self._due[key] = min(due)
        else:
            self._due.pop(key, None)

    def _leave_at(self, card: _Card) -> int | None:
        if card.episode is not None or card.leaving_since is None:
            return None
        wait = self._patience(card)
        return None if wait is None else card.leaving_since + wait

    def _withdraw(
        self,
        card: _Card,
        contract: Contract,
        attention: Attention,
        now: int,
        reason: Reason,
        question: Question | None = None,
    ) -> Change:
        card.announced.pop(contract, None)
        self.version += 1
        return self._intent(card, "withdraw", contract, attention, now, reason, question)

    def _intent(
        self,
        card: _Card,
        event: str,
        contract: Contract,
        attention: Attention,
        now: int,
        reason: Reason,
        question: Question | None = None,
    ) -> Change:
        asking = card.episode is not None and not card.episode.held
        if question is None and attention == "needs_you" and card.episode is not None:
            question = card.episode.question
        pane = card.sighting.pane
        intent = Intent(
            key=pane.key,
            contract=contract,
            attention=attention,
            activity=card.now_is.activity if reason != "gone" else "exited",
            needs_you=asking and reason != "gone",
            question=question,
            program=card.sighting.reading.program,
            pane=pane,
            headline=card.sighting.reading.headline,
            reason=reason,
            at=now,
        )
        return Change(
            event="announce" if event == "announce" else "withdraw",
            key=pane.key,
            at=now,
            intent=intent,
        )

    def _state(self, card: _Card, attention: Attention, now: int) -> PaneState:
        reading = card.sighting.reading
        episode = card.episode
        needs_you = episode is not None and not episode.held
        known = card.now_is
        before = card.state
        unconfirmed = episode is not None and episode.missing_since is not None and before
        return PaneState(
            host=self._host,
            pane=card.sighting.pane,
            program=before.program if unconfirmed and before else reading.program,
            activity=known.activity,
            detail=reading.detail if needs_you and reading.needs_you else known.detail,
            waiting_on=("user" if needs_you else None) if episode else known.waiting_on,
            needs_you=needs_you,
            attention=attention,
            question=episode.question if episode is not None and needs_you else None,
            stale=card.stale,
            background=reading.background,
            overlay=reading.overlay,
            draft=reading.draft,
            title=reading.title,
            model=Model(value=reading.model, source="screen") if reading.model else None,
            headline=before.headline if unconfirmed and before else reading.headline,
            clocks=Clocks(
                changed_at=card.sighting.changed_at,
                parsed_at=card.sighting.parsed_at,
                progress_at=card.sighting.progress_at,
                since=card.since,
                published_at=now,
            ),
            why=before.why if unconfirmed and before else reading.why,
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
