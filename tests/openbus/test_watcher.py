"""The watcher on real tmux: what signals miss is found all the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from openbus.bus import Bus
from openbus.classify import classify
from openbus.clock import Clock
from openbus.model import PaneState
from openbus.pipeline import Pipeline
from openbus.screen.manifest import load_library
from openbus.server_watch import Net, Plan
from openbus.signals import NoSignals, TtySignals, signals_for
from openbus.watcher import Watcher
from tests.openbus.live_support import pane
from tests.openbus.tmux.lab import Lab

LIBRARY = load_library()


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as servers:
        yield servers


def make(lab: Lab, **plan: object) -> Watcher:
    pipeline = Pipeline("box", LIBRARY, lambda capture, memo: classify(capture, LIBRARY, memo))
    paths = {"socket_paths": (lab.path(),), "host": "box"}
    return Watcher(Plan(**(paths | plan)), pipeline, Bus())  # type: ignore[arg-type]


@asynccontextmanager
async def running(watcher: Watcher) -> AsyncIterator[Watcher]:
    task = asyncio.create_task(watcher.run())
    try:
        yield watcher
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(true: Callable[[], object], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # what is waited for happens in another process


def titled(watcher: Watcher, title: str) -> PaneState | None:
    return next((s for s in watcher.bus.states if s.pane.title == title), None)


def write(lab: Lab, text: str) -> None:
    tty = lab.tmux("display-message", "-p", "#{pane_tty}")
    with open(tty, "w") as terminal:
        terminal.write(text)


async def test_a_write_to_a_pane_is_published(lab: Lab) -> None:
    lab.start("exec sleep 1000")
    async with running(make(lab)) as watcher:
        await until(lambda: watcher.bus.states)
        await until(lambda: watcher.signals.sees(lab.tmux("display-message", "-p", "#{pane_tty}")))
        write(lab, "\033]2;first\a")
        await until(lambda: titled(watcher, "first"))


async def test_without_inotify_the_activity_poll_finds_it(lab: Lab) -> None:
    lab.start("exec sleep 1000")
    watcher = make(lab)
    watcher.signals = NoSignals()
    async with running(watcher):
        await until(lambda: watcher.bus.states)
        write(lab, "\033]2;polled\a")
        await until(lambda: titled(watcher, "polled"), seconds=10)
    assert watcher.signals.problem is not None


async def test_new_and_ended_panes_are_noticed(lab: Lab) -> None:
    lab.start("exec sleep 1000")
    async with running(make(lab)) as watcher:
        await until(lambda: len(watcher.bus.states) == 1)
        lab.tmux("split-window", "-d", "exec sleep 1000")
        await until(lambda: len(watcher.bus.states) == 2)
        lab.tmux("kill-pane", "-t", "%1")
        await until(lambda: len(watcher.bus.states) == 1)


async def test_a_resize_without_a_redraw_is_noticed(lab: Lab) -> None:
    lab.start("exec sleep 1000")
    async with running(make(lab)) as watcher:
        await until(lambda: watcher.bus.states)
        lab.tmux("resize-window", "-x", "60", "-y", "20")
        await until(
            lambda: (
                (watcher.bus.states[0].pane.width, watcher.bus.states[0].pane.height) == (60, 20)
            )
        )


async def test_an_unchanged_pane_costs_no_capture(lab: Lab) -> None:
    lab.start("exec sleep 1000")
    async with running(make(lab)) as watcher:
        await until(lambda: watcher.bus.states)
        await asyncio.sleep(3)
        before = (watcher.stats.captures, watcher.bus.rev)
        await asyncio.sleep(6)
        assert (watcher.stats.captures, watcher.bus.rev) == before


async def test_a_repainting_program_is_captured_at_a_capped_rate(lab: Lab) -> None:
    lab.start("while :; do date +%N; done")
    async with running(make(lab)) as watcher:
        await asyncio.sleep(5)
        before = watcher.stats.captures
        await asyncio.sleep(4)
        assert watcher.stats.captures - before <= 17


async def test_ignored_panes_are_never_looked_at(lab: Lab) -> None:
    lab.start("-s", "secret", "exec sleep 1000")
    lab.start("-s", "open", "exec sleep 1000")
    async with running(make(lab, ignore=("secret:*",))) as watcher:
        await until(lambda: watcher.bus.states)
        await asyncio.sleep(3)
        assert {state.pane.session for state in watcher.bus.states} == {"open"}


def test_patterns_name_commands_and_places() -> None:
    subject = pane(command="btop")
    assert Plan(host="box", ignore=("btop",)).ignores(subject)
    assert Plan(host="box", ignore=("work:agent.*",)).ignores(subject)
    assert not Plan(host="box", ignore=("other:*",)).ignores(subject)


async def test_a_server_that_ends_takes_its_panes_and_comes_back_as_another(lab: Lab) -> None:
    lab.start("exec sleep 1000")
    async with running(make(lab)) as watcher:
        await until(lambda: watcher.bus.states)
        [old] = watcher.bus.states
        lab.kill()
        await until(lambda: not watcher.bus.states)
        lab.start("exec sleep 1000")
        await until(lambda: watcher.bus.states, seconds=30)
        [new] = watcher.bus.states
        assert (new.pane.id, new.pane.key != old.pane.key) == (old.pane.id, True)


async def test_stopping_the_watcher_ends_no_pane(lab: Lab) -> None:
    lab.start("exec sleep 1000")
    async with running(make(lab)) as watcher:
        await until(lambda: watcher.bus.states)
    assert len(watcher.bus.states) == 1


async def test_watches_that_are_refused_are_said_once_and_the_others_work(lab: Lab) -> None:
    lab.start("exec sleep 1000")
    tty = lab.tmux("display-message", "-p", "#{pane_tty}")
    heard: set[str] = set()
    signals = TtySignals(heard.update, lambda ended: None)
    await signals.start()
    try:
        signals.watch("one", {tty, "/dev/pts/no-such"})
        assert (signals.problem or "").startswith("1 of 2 terminals")
        write(lab, "x")
        await until(lambda: tty in heard)
        signals.watch("one", {tty})
        assert signals.problem is None
        signals.watch("one", ())
        assert signals.watched == 0
    finally:
        await signals.stop()


async def test_a_terminal_that_ends_is_told(lab: Lab) -> None:
    lab.start("exec sleep 1000")
    lab.tmux("split-window", "-d", "exec sleep 1000")
    tty = lab.tmux("display-message", "-p", "-t", "%1", "#{pane_tty}")
    ended: set[str] = set()
    signals = TtySignals(lambda written: None, ended.update)
    await signals.start()
    try:
        signals.watch("one", {tty})
        lab.tmux("kill-pane", "-t", "%1")
        await until(lambda: tty in ended)
        assert not signals.sees(tty)
    finally:
        await signals.stop()


def test_other_systems_have_no_signals() -> None:
    made = signals_for(lambda written: None, lambda ended: None, system="darwin")
    assert isinstance(made, NoSignals)
    assert not made.sees("/dev/ttys001")


def test_the_safety_net_stretches_with_the_number_of_panes() -> None:
    net = Net(2.0, share=0.003, per_pane=10e-6)
    net.done(10)
    assert net.every == 2.0
    net.done(1000)
    assert 4 < net.every < 5
    net.done(1000, poll=0.25)
    assert 0.25 <= net.every < 0.5


def test_the_clock_never_runs_backwards_and_notices_a_sleep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wall, mono = 1_700_000_000.0, 50.0
    monkeypatch.setattr("openbus.clock.time.time", lambda: wall)
    monkeypatch.setattr("openbus.clock.time.monotonic", lambda: mono)
    clock = Clock()
    first = clock.now()
    wall -= 3600
    mono += 1
    assert not clock.jumped()
    assert clock.now() == first + 1000
    wall += 3600 + 7200
    assert clock.jumped()
    assert clock.now() > first + 7_000_000
    assert not clock.jumped()
