"""Commands about what goes on now: `watch`, `wait`, `next`, `statusline` - and `up`, `replay`,
`service`, which are registered with them."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import msgspec
import typer

from openbus.cli import options, output, replay, up
from openbus.cli.errors import CommandError
from openbus.cli.target import matches, place
from openbus.client import ServerSent, ServiceError, fetch_panes
from openbus.model import PaneState

SEGMENTS = (
    ("needs_you", "!"),
    ("limit", "limit"),
    ("error", "err"),
    ("asked", "?"),
    ("done", "ok"),
)
"""Attention and how the status line names it, most urgent first."""


class Goal(StrEnum):
    """What `openbus wait` waits for."""

    needs_you = "needs-you"
    idle = "idle"
    done = "done"
    exit = "exit"


def register(app: typer.Typer) -> None:
    up.register(app)
    app.command("watch")(watch)
    app.command("wait")(wait)
    app.command("next")(next_pane)
    app.command("statusline")(statusline)
    replay.register(app)


def watch(
    as_json: options.AsJson = False,
    socket_name: options.SocketNames = None,
    socket_path: options.SocketPaths = None,
) -> None:
    """Follow all panes: a live table, or one JSON line per event with --json. Ctrl-C ends it."""
    from openbus.cli.follow import as_line, follow

    settings = options.settings(socket_name, socket_path)
    if as_json:

        def write(event: ServerSent | None) -> bool:
            if event is not None:
                sys.stdout.write(as_line(event).decode() + "\n")
                sys.stdout.flush()
            return False

        _until_interrupted(lambda: follow(settings, write))
        return

    from rich.live import Live

    from openbus.cli.ls import table
    from openbus.snapshot import most_urgent_first

    states: dict[str, PaneState] = {}
    with Live(console=output.console(), auto_refresh=False, screen=sys.stdout.isatty()) as live:

        def show(event: ServerSent | None) -> bool:
            if event is not None:
                note(states, event)
                sockets = {state.pane.server.socket for state in states.values()}
                ordered = most_urgent_first(list(states.values()))
                live.update(table(ordered, many=len(sockets) > 1), refresh=True)
            return False

        _until_interrupted(lambda: follow(settings, show))


def note(states: dict[str, PaneState], event: ServerSent) -> None:
    """Keep `states` as the events say."""
    if event.event == "reset":
        states.clear()
    elif event.event == "gone":
        states.pop(event.data["key"], None)
    elif event.event == "pane":
        state = msgspec.convert(event.data, PaneState)
        states[state.pane.key] = state


def wait(
    pane: Annotated[
        str | None, typer.Option(help="%N, SOCKET:%N, session:window.pane or a full key.")
    ] = None,
    goal: Annotated[Goal, typer.Option("--for", help="What to wait for.")] = Goal.needs_you,
    timeout: Annotated[
        float | None, typer.Option(min=0, help="Seconds to wait; for ever unless set.")
    ] = None,
    socket_name: options.SocketNames = None,
    socket_path: options.SocketPaths = None,
) -> None:
    """Wait until a pane needs you, is idle, is done, or has ended.

    Prints the pane's key. Exit status 0 when it is so (at once if it already is), 3 at the
    time-out. Without --pane any pane counts.
    """
    from openbus.cli.follow import follow

    settings = options.settings(socket_name, socket_path)
    deadline = None if timeout is None else time.monotonic() + timeout
    waiting = Waiting(goal, pane)
    late = False

    def take(event: ServerSent | None) -> bool:
        nonlocal late
        if event is not None and waiting.take(event):
            return True
        late = deadline is not None and time.monotonic() >= deadline
        return late

    _until_interrupted(lambda: follow(settings, take))
    if waiting.reached is not None:
        print(waiting.reached)
        return
    if late:
        raise CommandError(f"nothing within {timeout:g} s", status=3)


class Waiting:
    """Whether the goal is reached. `reached`: the key of the pane that reached it."""

    def __init__(self, goal: Goal, pane: str | None) -> None:
        self._goal = goal
        self._pane = pane
        self._known: dict[str, PaneState] = {}
        self.reached: str | None = None

    def take(self, event: ServerSent) -> bool:
        """Take an event; True when the goal is reached."""
        if event.event == "gone":
            was = self._known.get(event.data["key"])
            if was is not None and self._goal is Goal.exit and self._means(was):
                self.reached = was.pane.key
        note(self._known, event)
        state = self._known.get(event.data.get("pane", {}).get("key", ""))
        if event.event == "pane" and state is not None and self._means(state) and self._is(state):
            self.reached = state.pane.key
        return self.reached is not None

    def _means(self, state: PaneState) -> bool:
        return self._pane is None or matches(self._pane, state.pane)

    def _is(self, state: PaneState) -> bool:
        if self._goal is Goal.needs_you:
            return state.needs_you
        if self._goal is Goal.idle:
            return state.activity == "idle"
        if self._goal is Goal.done:
            return state.attention in ("done", "asked")
        return state.activity == "exited"


def next_pane() -> None:
    """Switch the attached tmux client to the pane that needs you most.

    Inside tmux the client you typed in, else the one used last. Says so when nothing needs you.
    """
    states = _asked()
    wanted = [s for s in states if s.attention != "none" and not s.stale]
    wanted = [s for s in wanted if not (s.pane.viewed and s.attention != "needs_you")] or wanted
    if not wanted:
        output.report(["nothing needs you"])
        return
    best = next((s for s in wanted if not s.pane.viewed), wanted[0])
    own = os.environ.get("TMUX", "").partition(",")[0]
    elsewhere = bool(own) and os.path.realpath(own) != os.path.realpath(best.pane.server.socket)
    asyncio.run(_switch(best, elsewhere))


async def _switch(state: PaneState, elsewhere: bool) -> None:
    """`elsewhere`: we run in a client of another server."""
    from openbus.tmux.connection import Connection
    from openbus.tmux.errors import TmuxError
    from openbus.tmux.switch import clients, switch_client

    pane = state.pane
    conn = Connection(pane.server.socket)
    try:
        found = await clients(conn)
        if not found or elsewhere:
            raise CommandError(
                f"{place(pane)} needs you, but it is on the tmux server at {pane.server.socket}, "
                f"which this client does not show; attach with `tmux -S {pane.server.socket} a`"
            )
        await switch_client(conn, found[0], pane.id)
    except TmuxError as error:
        raise CommandError(str(error)) from None


def statusline() -> None:
    """Print a short segment for tmux's status-right; nothing when nothing needs you.

    `!` needs you, `?` asked, `ok` done, each with a count. Never fails: without a service it prints
    nothing.
    """
    try:
        states = fetch_panes() or []
    except ServiceError:
        states = []
    print(segment(states))


def segment(states: list[PaneState]) -> str:
    """The status line's text; `#` is doubled nowhere since only our own words are in it."""
    parts = []
    for attention, sign in SEGMENTS:
        count = sum(state.attention == attention for state in states)
        if count:
            parts.append(f"{sign}{count}")
    return " ".join(parts)


def _asked() -> list[PaneState]:
    """The states from the service, else from one direct look."""
    try:
        states = fetch_panes()
    except ServiceError as error:
        raise CommandError(str(error)) from None
    if states is not None:
        return states
    from openbus.cli.ls import current
    from openbus.snapshot import most_urgent_first

    return most_urgent_first(current(options.settings()))


def _until_interrupted(work: Callable[[], None]) -> None:
    try:
        work()
    except KeyboardInterrupt:
        return
