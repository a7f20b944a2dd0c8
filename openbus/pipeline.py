"""Captures in, changes out: tracks and push manager together, without I/O and without a clock.

The live watcher feeds it what tmux shows, the replay what was recorded; both get the same states.
"""

from __future__ import annotations

from collections.abc import Iterable

from openbus.events import Change
from openbus.fingerprint import ReadFingerprints
from openbus.model import Capture, Pane
from openbus.push import PushManager, Remembered
from openbus.screen.manifest import Library
from openbus.track import Agents, PaneTrack, Read


class Pipeline:
    """Every pane's track and the one push manager. Times are epoch milliseconds."""

    def __init__(
        self, host: str, library: Library, read: Read, memory: Iterable[Remembered] = ()
    ) -> None:
        self._agents = Agents(library)
        self.push = PushManager(host, agents=self._agents.names, memory=memory)
        self._read = read
        self._fingerprints = ReadFingerprints()
        self._tracks: dict[str, PaneTrack] = {}
        self._expiry: dict[str, int] = {}

    def see(self, pane: Pane, capture: Capture, now: int) -> list[Change]:
        """A pane was captured."""
        track = self._tracks.get(pane.key)
        if track is None:
            track = self._tracks[pane.key] = PaneTrack(self._agents, self._read, self._fingerprints)
        sighting = track.see(pane, capture, now)
        self._note_expiry(pane.key, track, now)
        return self.push.observe(sighting, now) if sighting is not None else []

    def advance(self, now: int) -> list[Change]:
        """Do what falls due by time alone."""
        changes: list[Change] = []
        for key in [key for key, due in self._expiry.items() if due <= now]:
            track = self._tracks[key]
            sighting = track.expire(now)
            self._note_expiry(key, track, now)
            if sighting is not None:
                changes += self.push.reread(sighting, now)
        return changes + self.push.advance(now)

    def next_due(self) -> int | None:
        """When `advance` next has something to do."""
        dues = list(self._expiry.values())
        told = self.push.next_due()
        if told is not None:
            dues.append(told)
        return min(dues, default=None)

    def gone(self, key: str, now: int) -> list[Change]:
        """The pane has ended."""
        self._tracks.pop(key, None)
        self._expiry.pop(key, None)
        return self.push.gone(key, now)

    def track(self, key: str) -> PaneTrack | None:
        return self._tracks.get(key)

    @property
    def reads(self) -> int:
        """How often a reader ran, over the panes that are there."""
        return sum(track.reads for track in self._tracks.values())

    @property
    def failures(self) -> int:
        """How often a reader raised, over the panes that are there."""
        return sum(track.failures for track in self._tracks.values())

    def _note_expiry(self, key: str, track: PaneTrack, now: int) -> None:
        due = track.next_due(now)
        if due is None:
            self._expiry.pop(key, None)
        else:
            self._expiry[key] = due
