"""The one push manager: what is published, announced and withdrawn. Pure and in memory.

Grounded readings come in with the time; `Change` values for the bus come out. It never reads a
clock, a screen or a file. What is decided about one pane stands in `openbus.card`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from openbus.card import Card
from openbus.card import Remembered as Remembered
from openbus.card import Sighting as Sighting
from openbus.episode import Episode
from openbus.events import Change, Intent, Reason
from openbus.fingerprint import deck_fingerprint
from openbus.model import Attention, Contract, Pane, PaneState

_NOT_AGENTS = frozenset({"", "shell", "unknown"})
"""Programs whose end of work is no end of a turn."""


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
        self._cards: dict[str, Card] = {}
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
            entry = self._memory.pop(key, None)
            card = self._cards[key] = Card.first_sight(sighting, entry, now)
        card.take(sighting, now)
        changes: list[Change] = []
        for episode, reason in card.follow_episode(now):
            card.touched = True
            if episode.contract in card.announced:
                changes.append(_withdraw(card, episode.contract, "needs_you", now, reason, episode))
        self._follow(card, now, changes)
        return changes

    def reread(self, sighting: Sighting, now: int) -> list[Change]:
        """Take another reading of the capture that was observed last; it proves no absence."""
        card = self._cards.get(sighting.pane.key)
        if card is None:
            return []
        card.sighting = sighting
        changes: list[Change] = []
        self._follow(card, now, changes)
        return changes

    def advance(self, now: int) -> list[Change]:
        """Do what time alone makes true: leave states, tell what has held long enough."""
        changes: list[Change] = []
        for key in [key for key, due in self._due.items() if due <= now]:
            card = self._cards[key]
            self._follow(card, now, changes)
        return changes

    def gone(self, key: str, now: int) -> list[Change]:
        """The pane has ended: withdraw everything, forget it."""
        card = self._cards.pop(key, None)
        self._due.pop(key, None)
        self._recheck.pop(key, None)
        if card is None:
            return []
        changes = [
            _withdraw(card, contract, attention, now, "gone")
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
        card.place(pane)
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
        return [*self._memory.values(), *(card.remember() for card in self._cards.values())]

    # --- what goes out --------------------------------------------------------------------------

    def _follow(self, card: Card, now: int, changes: list[Change]) -> None:
        """Time passed or something was read: decide and publish."""
        name = card.sighting.reading.program.name
        turns = name in self._agents if self._agents is not None else name not in _NOT_AGENTS
        card.follow_activity(now, turns)
        self._publish(card, now, changes)

    def _publish(self, card: Card, now: int, changes: list[Change]) -> None:
        attention, look = card.attention(now)
        told = card.told_from(attention)
        standing = {e.contract for e in (card.episode, card.closing) if e is not None}
        if told is not None:
            standing.add(told[0])
        for contract, announced in tuple(card.announced.items()):
            if contract not in standing:
                reason: Reason = "seen" if announced == "done" and card.seen else "ended"
                changes.append(_withdraw(card, contract, announced, now, reason))
        key = card.sighting.pane.key
        state = card.published(self._host, attention, now)
        deck = deck_fingerprint(state)
        if deck != card.deck:
            card.deck = deck
            card.state = state
            changes.append(Change(event="pane", key=key, at=now, state=state))
        due = card.due(now)
        if look is not None:
            due.append(look)
        if told is not None and told[0] not in card.announced:
            contract, ripe = told
            if now < ripe:
                due.append(ripe)
            else:
                card.announced[contract] = attention
                card.touched = True
                if card.episode is not None and contract == card.episode.contract:
                    card.episode.announced = True
                changes.append(card.intent("announce", contract, attention, now, "arose"))
        _keep(self._due, key, min(due, default=None))
        _keep(self._recheck, key, card.recheck_at(now))
        if card.touched:
            card.touched = False
            self.version += 1


def _keep(times: dict[str, int], key: str, time: int | None) -> None:
    if time is None:
        times.pop(key, None)
    else:
        times[key] = time


def _withdraw(
    card: Card,
    contract: Contract,
    attention: Attention,
    now: int,
    reason: Reason,
    episode: Episode | None = None,
) -> Change:
    card.announced.pop(contract, None)
    card.touched = True
    question = episode.question if episode is not None else None
    return card.intent("withdraw", contract, attention, now, reason, question)
