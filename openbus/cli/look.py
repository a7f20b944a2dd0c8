"""One direct look at all panes: swept, read, and turned into states."""

from __future__ import annotations

import asyncio
import time

import msgspec

from openbus.classify import classify
from openbus.cli.errors import CommandError
from openbus.cli.output import report
from openbus.config import Settings, manifest_dir
from openbus.model import Capture, Pane, PaneState, Reading
from openbus.screen.manifest import Library, load_library
from openbus.server_watch import Plan
from openbus.snapshot import state_of
from openbus.sweep import sweep


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One pane as it was captured and read just now."""

    pane: Pane
    capture: Capture
    reading: Reading
    state: PaneState


def library(settings: Settings) -> Library:
    """The manifests; what is wrong with the user's own is reported, the others are used."""
    found = load_library(manifest_dir(settings))
    report(found.problems)
    return found


def look(settings: Settings, manifests: Library) -> list[Seen]:
    """Every pane of every server that answered, but those that the settings say to ignore; servers
    that did not answer are named on stderr.

    Raises `CommandError` when no server answered.
    """
    tmux = settings.tmux
    found = asyncio.run(
        sweep(tmux.socket_names, tmux.socket_paths, binary=tmux.binary, timeout=tmux.timeout)
    )
    if not found.answered:
        raise CommandError(*(_line(i, problem.text) for i, problem in enumerate(found.problems)))
    report(problem.text for problem in found.problems)
    now = time.time_ns() // 1_000_000
    plan = Plan(host="", ignore=tmux.ignore)
    return [
        _seen(pane, capture, manifests, now)
        for pane, capture in found.panes
        if not plan.ignores(pane)
    ]


def _line(index: int, line: str) -> str:
    # `CommandError` puts the program's name before its first line only.
    return line if index == 0 else f"openbus: {line}"


def _seen(pane: Pane, capture: Capture, manifests: Library, now: int) -> Seen:
    reading = classify(capture, manifests)
    # The host is the first part of the key, whatever name tmux's host goes by.
    host = pane.key.partition(":")[0]
    return Seen(
        pane=pane, capture=capture, reading=reading, state=state_of(pane, reading, host, now)
    )
