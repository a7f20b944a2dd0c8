"""A small world for adapter tests: panes, TUI processes and sockets, all invented."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

from openbus.codex.processes import Tui, UnixSocket
from openbus.codex.worker import CodexSource, Options
from openbus.evidence import PaneView
from openbus.model import Activity, Pane, Process, Server, Window

FIXTURES = Path(__file__).parent / "fixtures"

A = "01a22e50-c83d-7c33-86b0-29c578021e9b"
B = "01a22e51-0a05-7af2-bfce-7d7b27549a44"
C = "01a22e51-0b31-7af0-84d0-ae07a80d4c08"

DIALOG_ROWS = (
    "  Would you like to run the following command?",
    "",
    "  $ touch file",
    "",
    "› 1. Yes, proceed (y)",
    "  2. No, and tell Codex what to do differently (esc)",
    "",
    "  Press enter to confirm or esc to cancel",
)


def idle_rows(thread: str | None = None, *above: str) -> tuple[str, ...]:
    """An idle Codex 0.171.0 screen; with a thread id in the status line when one is given."""
    field = f" · {thread}" if thread else ""
    return (
        "  >_ OpenAI Codex (v0.171.0)",
        "     ~/proj",
        "",
        *above,
        "",
        "› Ask Codex to do anything",
        "",
        f"  GPT-5.5 default · ~/proj{field}",
        "  ← for agents · ? for shortcuts",
    )


def view(
    number: int = 1,
    *,
    rows: tuple[str, ...] = (),
    title: str = "proj",
    dialog: bool = False,
    activity: Activity = "idle",
    needs_you: bool = False,
    program: str = "codex",
    pid: int | None = None,
    cwd: str = "/home/dev/proj",
    pane_pid: int | None = None,
    seen_at: int = 0,
) -> PaneView:
    """Pane `%number`; its TUI process has the pid 1000 + number unless said otherwise."""
    tui = 1000 + number if pid is None else pid
    root = 500 + number if pane_pid is None else pane_pid
    return PaneView(
        pane=Pane(
            key=f"here:default:77-1796070000:%{number}:{root}",
            id=f"%{number}",
            server=Server(socket="/tmp/tmux-1/default", pid=77, started=1796070000),
            pid=root,
            session="main",
            window=Window(index=0, name="w"),
            index=0,
            cwd=cwd,
        ),
        program=program,
        processes=(
            Process(comm="node", foreground=True, depth=0, argv=("node", "codex"), pid=root),
            Process(comm="codex", foreground=True, depth=1, argv=("codex",), pid=tui),
        ),
        rows=rows or idle_rows(),
        title=title,
        dialog=dialog,
        activity=activity,
        needs_you=needs_you,
        seen_at=seen_at,
    )


def tui(number: int = 1, **fields: object) -> Tui:
    """The TUI of pane `%number`, connected by socket number 9000 + number."""
    given: dict[str, object] = {
        "pid": 1000 + number,
        "ticks": 4242,
        "started_at": 1796073375000,
        "home": "/home/dev/.codex",
        "executable": None,
        "sockets": frozenset({9000 + number}),
        **fields,
    }
    return Tui(**given)  # type: ignore[arg-type]


class Machine:
    """Process and socket tables. `tuis` by pid; those in `clients` are connected to `server`."""

    def __init__(self, home: Path) -> None:
        self.home = os.path.realpath(home)
        self.tuis: dict[int, Tui] = {}
        self.target: Callable[[], Path | None] = lambda: None

    def place(self, number: int = 1, **fields: object) -> None:
        found = tui(number, **{"home": self.home, **fields})
        self.tuis[found.pid] = found

    def ticks(self, pid: int) -> int | None:
        found = self.tuis.get(pid)
        return None if found is None else found.ticks

    def tui(self, pid: int) -> Tui | None:
        return self.tuis.get(pid)

    def sockets(self) -> list[UnixSocket] | None:
        target = self.target()
        if target is None or not target.exists():
            return []
        file = target.stat().st_ino
        return [
            UnixSocket(inode=5000 + i, peer=inode, file=file)
            for i, inode in enumerate(s for t in self.tuis.values() for s in sorted(t.sockets))
        ]


def now_ms() -> int:
    return int(time.time() * 1000)


def source(home: Path, machine: Machine, **options: object) -> CodexSource:
    chosen = Options(homes=(str(home),), **options)  # type: ignore[arg-type]
    return CodexSource(
        chosen,
        host="here",
        now=now_ms,
        facts=machine,  # type: ignore[arg-type]
        sockets=machine.sockets,
        spread=lambda: 0.0,
    )


async def until(true: Callable[[], object], why: str, seconds: float = 15.0) -> None:
    """Wait for the adapter; the time-out only ends a failing test."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"did not happen: {why}")
        await asyncio.sleep(0.02)
