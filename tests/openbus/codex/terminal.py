"""The terminal side for adapter tests: real screens through the live pipeline, on given time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import msgspec

from openbus import corpus
from openbus.bus import Bus
from openbus.classify import classify
from openbus.events import Change
from openbus.evidence import EvidenceSource
from openbus.evidence_feed import EvidenceFeed
from openbus.model import Capture, Pane, PaneState, Process, Reading
from openbus.pipeline import Pipeline
from openbus.screen.grid import Memo
from openbus.screen.manifest import Library, load_library
from tests.openbus.codex.world import view

SCREENS = Path(__file__).parents[3] / "evals" / "corpus" / "codex" / "0.171.0"


@cache
def library() -> Library:
    return load_library()


@cache
def screen(name: str, title: str | None = None) -> Capture:
    """A recorded Codex screen, with the processes that make it a Codex pane, and its title or
    another one."""
    found = corpus.read(SCREENS / f"{name}.json").capture
    processes = (
        Process(comm="node", foreground=True, depth=0, argv=("node", "codex"), pid=501),
        Process(comm="codex", foreground=True, depth=1, argv=("codex",), pid=1001),
    )
    shown = found.title if title is None else title
    return msgspec.structs.replace(found, processes=processes, title=shown)


def pane(number: int = 1) -> Pane:
    return view(number).pane


class Terminal:
    """Pipeline and bus as the service has them. Everything published is kept as bytes."""

    def __init__(self) -> None:
        self.bus = Bus(epoch="test")
        self.pipeline = Pipeline("here", library(), self._classify)
        self.published: list[bytes] = []
        self.classified: list[Capture] = []
        self.captures: dict[str, Capture] = {}

    def _classify(self, capture: Capture, memo: Memo) -> Reading:
        self.classified.append(capture)
        return classify(capture, library(), memo)

    def see(self, number: int, capture: Capture, now: int) -> None:
        self.captures[pane(number).key] = capture
        self._publish(self.pipeline.see(pane(number), capture, now))

    def advance(self, now: int) -> None:
        self._publish(self.pipeline.advance(now))

    def gone(self, number: int, now: int) -> None:
        self.captures.pop(pane(number).key, None)
        self._publish(self.pipeline.gone(pane(number).key, now))

    def feed(self, source: EvidenceSource, now: Callable[[], int]) -> EvidenceFeed:
        """What the service would hand to `source`."""
        return EvidenceFeed([source], lambda: self.bus.states, self.captures.get, now)

    def _publish(self, changes: Iterable[Change]) -> None:
        for event in self.bus.publish(changes):
            self.published.append(msgspec.json.encode(event))

    def state(self, key: str) -> PaneState | None:
        return self.bus.state(key)

    def of(self, number: int) -> PaneState:
        found = self.state(pane(number).key)
        assert found is not None
        return found

    def announced(self) -> int:
        return sum(b'"event":"announce"' in event for event in self.published)
