"""One look at everything: all panes of all tmux servers of this user, each captured once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from openbus.model import Capture, Pane
from openbus.tmux.capture import Captured, capture
from openbus.tmux.connection import Connection
from openbus.tmux.errors import TmuxError
from openbus.tmux.inventory import PaneRow, inventory
from openbus.tmux.line_mode import line_mode
from openbus.tmux.processes import ProcessTable
from openbus.tmux.servers import Problem, ServerRef, discover


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `answered` counts the servers that answered, also those without panes."""

    panes: tuple[tuple[Pane, Capture], ...]
    problems: tuple[Problem, ...] = ()
    answered: int = 0

    def __repr__(self) -> str:
        """Counts only: screens belong in no log, and `asyncio.run` writes out its result's repr
        on the way out (30 ms for 160 screens, Python 3.11)."""
        return f"Sweep({len(self.panes)} panes, {len(self.problems)} problems)"


async def sweep(
    socket_names: Sequence[str] = (),
    socket_paths: Sequence[str] = (),
    *,
    host: str | None = None,
    binary: str = "tmux",
    timeout: float = 2.0,  # noqa: ASYNC109 - of each request to one server, not of the sweep
) -> Sweep:
    """Capture all panes of the servers named, or of all of this user's servers.

    Servers are asked at the same time, two requests each; one that fails becomes a `Problem` and
    the others are given. Captures hold their processes. Raises nothing that tmux causes.
    """
    found = discover(socket_names, socket_paths, binary=binary)
    table = asyncio.to_thread(ProcessTable.take)
    looked, processes = await asyncio.gather(
        asyncio.gather(*(_look(ref, host, binary, timeout) for ref in found.servers)), table
    )
    panes: list[tuple[Pane, Capture]] = []
    problems = list(found.problems)
    answered = 0
    for result in looked:
        if isinstance(result, Problem):
            problems.append(result)
            continue
        answered += 1
        panes.extend(_complete(row, captured, processes) for row, captured in result)
    return Sweep(panes=tuple(panes), problems=tuple(problems), answered=answered)


async def _look(
    ref: ServerRef, host: str | None, binary: str, limit: float
) -> list[tuple[PaneRow, Captured]] | Problem:
    conn = Connection(ref.socket, label=ref.label, binary=binary, timeout=limit)
    try:
        listed = await inventory(conn, host=host)
        captures = await capture(conn, [row.pane.id for row in listed.panes])
    except TmuxError as error:
        return Problem.of(error)
    # A pane that was respawned between the two requests is another pane: the next sweep has it.
    return [
        (row, captures[row.pane.id])
        for row in listed.panes
        if row.pane.id in captures and captures[row.pane.id].pid == row.pane.pid
    ]


def _complete(row: PaneRow, captured: Captured, processes: ProcessTable) -> tuple[Pane, Capture]:
    """Pane and capture, both as of the capture."""
    seen = captured.capture
    pane = msgspec.structs.replace(
        row.pane,
        title=seen.title,
        cwd=seen.cwd,
        command=seen.command,
        width=seen.width,
        height=seen.height,
        in_mode=seen.in_mode,
        dead=seen.dead,
    )
    below = () if seen.dead else processes.below(pane.pid, captured.tty)
    mode = None if seen.dead else line_mode(captured.tty)
    return pane, msgspec.structs.replace(seen, processes=below, line_mode=mode)
