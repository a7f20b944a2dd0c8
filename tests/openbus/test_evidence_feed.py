"""Sources get views of panes that were captured anyway, of their own programs only."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import msgspec

from openbus.evidence import Envelope, PaneView, SourceReport
from openbus.evidence_feed import EvidenceFeed
from openbus.evidence_metrics import EvidenceMetrics
from openbus.model import Capture, PaneState, Program
from tests.openbus.live_support import pane


class Source:
    """Remembers what it was shown."""

    name = "source/1"
    programs = frozenset({"codex"})

    def __init__(self) -> None:
        self.seen: list[list[PaneView]] = []
        self.running = False

    async def run(self) -> None:
        self.running = True
        try:
            await asyncio.Event().wait()
        finally:
            self.running = False

    def observe(self, panes: Sequence[PaneView], now: int) -> None:
        self.seen.append(list(panes))

    def evidence(self, pane_key: str, now: int) -> Envelope | None:
        return None

    def report(self, now: int) -> SourceReport:
        return SourceReport(
            source=self.name,
            health={"ok": 1},
            verdicts={"bound": 2},
            counters={"requests": {"thread/read": 3}},
            detail={"at": now},
        )


CAPTURE = Capture(ansi="one\n\x1b[1mtwo\x1b[0m\n", width=10, height=3, title="title")


class World:
    def __init__(self, *programs: str) -> None:
        self.now = 1_000
        self.source = Source()
        self.states = [
            PaneState(
                host="box",
                pane=pane(f"box:default:100-1700000000:%{n}:{n}"),
                program=Program(name=program),
                activity="idle",
            )
            for n, program in enumerate(programs)
        ]
        self.captures = {state.pane.key: CAPTURE for state in self.states}
        self.feed = EvidenceFeed(
            [self.source], lambda: self.states, self.captures.get, lambda: self.now
        )

    def views(self) -> list[PaneView]:
        self.feed.hand_over()
        return self.source.seen[-1]


def test_only_panes_with_its_program_are_shown() -> None:
    world = World("codex", "shell", "claude-code")
    (view,) = world.views()
    assert view.pane == world.states[0].pane and view.program == "codex"
    assert view.rows[:2] == ("one", "two") and view.title == "title"


def test_a_screen_that_did_not_change_keeps_its_time() -> None:
    world = World("codex")
    assert world.views()[0].seen_at == 1_000
    world.now = 5_000
    assert world.views()[0].seen_at == 1_000
    key = world.states[0].pane.key
    world.captures[key] = msgspec.structs.replace(CAPTURE, title="another")
    assert world.views()[0].seen_at == 5_000


def test_stale_panes_and_panes_without_a_screen_are_left_out() -> None:
    world = World("codex", "codex")
    world.states[0] = msgspec.structs.replace(world.states[0], stale=True)
    del world.captures[world.states[1].pane.key]
    assert world.views() == []


def test_an_overlay_covers_the_status_line() -> None:
    world = World("codex")
    assert not world.views()[0].dialog
    world.states[0] = msgspec.structs.replace(world.states[0], overlay="model")
    assert world.views()[0].dialog


async def test_it_runs_the_sources_and_ends_them() -> None:
    world = World("codex")
    task = asyncio.create_task(world.feed.run())
    await asyncio.sleep(0.01)
    assert world.source.running and world.source.seen
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert not world.source.running


def test_metrics_name_sources_and_counts_and_nothing_else() -> None:
    world = World("codex")
    samples = [
        (sample.name, sample.labels, sample.value)
        for family in EvidenceMetrics(world.feed.reports).collect()
        for sample in family.samples
    ]
    assert samples == [
        ("openbus_evidence_endpoints", {"source": "source/1", "health": "ok"}, 1),
        ("openbus_evidence_panes", {"source": "source/1", "verdict": "bound"}, 2),
        (
            "openbus_evidence_total",
            {"source": "source/1", "what": "requests", "kind": "thread/read"},
            3,
        ),
    ]
