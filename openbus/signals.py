"""Which panes wrote something? Found out from outside tmux: inotify on the panes' terminals.

A watch on a tty costs the tmux server nothing and changes nothing for the user (measured on 3.3a,
2026-11-30). It sees what programs write; what it does not see - echo of typed keys in a cooked
terminal, `send-keys -R`, a resize without a redraw - the activity list and the census of the
watcher find. On systems without inotify there are no signals and the activity list runs at every
tick.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.platform == "linux":
    from asyncinotify import Inotify, Mask, Watch

GATHER = 0.02
"""Seconds between two looks at the descriptor: a flood of output is one event per look."""


class NoSignals:
    """Systems without inotify: every change is found by the activity list."""

    def __init__(self) -> None:
        self.problem: str | None = "this system has no inotify: panes are polled"

    async def start(self) -> None:
        return

    async def stop(self) -> None:
        return

    def watch(self, owner: str, ttys: Iterable[str]) -> None:
        return

    def sees(self, tty: str) -> bool:
        return False


class TtySignals:
    """One inotify descriptor for the terminals of all servers.

    `written` is called with the ttys that were written to, `ended` with those that are no longer
    there. `problem` is None while every tty asked for is watched, else one line that says why not.
    """

    def __init__(
        self, written: Callable[[set[str]], None], ended: Callable[[set[str]], None]
    ) -> None:
        self._written = written
        self._ended = ended
        self._wanted: dict[str, set[str]] = {}
        self._watches: dict[str, Watch] = {}
        self._inotify: Inotify | None = None
        self._task: asyncio.Task[None] | None = None
        self.problem: str | None = None

    async def start(self) -> None:
        """Open the descriptor; a refusal becomes `problem`."""
        try:
            self._inotify = Inotify(cache_size=64, sync_timeout=0)
        except OSError as error:
            self.problem = f"inotify cannot be used ({error.strerror}): panes are polled"
            return
        self._task = asyncio.create_task(self._listen(self._inotify))

    async def stop(self) -> None:
        """End the task and close the descriptor."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None
        self._watches.clear()

    @property
    def watched(self) -> int:
        """How many ttys are watched."""
        return len(self._watches)

    def watch(self, owner: str, ttys: Iterable[str]) -> None:
        """Watch exactly these ttys for `owner` (a tmux server) from now on."""
        wanted = set(ttys)
        if wanted:
            self._wanted[owner] = wanted
        else:
            self._wanted.pop(owner, None)
        if self._inotify is None:
            return
        every = set().union(*self._wanted.values())
        for tty in self._watches.keys() - every:
            self._drop(self._inotify, tty)
        refused: OSError | None = None
        for tty in every - self._watches.keys():
            try:
                self._watches[tty] = self._inotify.add_watch(tty, Mask.MODIFY)
            except OSError as error:
                refused = error
        missing = len(every) - len(self._watches)
        self.problem = (
            None
            if refused is None
            else f"{missing} of {len(every)} terminals cannot be watched ({refused.strerror}); "
            "their panes are polled every 2 s; raise fs.inotify.max_user_watches if that is why"
        )

    def sees(self, tty: str) -> bool:
        """Whether writes to this tty are signalled."""
        return tty in self._watches

    def _drop(self, inotify: Inotify, tty: str) -> None:
        watch = self._watches.pop(tty)
        try:
            inotify.rm_watch(watch)
        except OSError:
            return  # the terminal went first, and its watch with it

    async def _listen(self, inotify: Inotify) -> None:
        while True:
            events = [await inotify.get()]
            while (event := inotify.sync_get()) is not None:
                events.append(event)
            written: set[str] = set()
            ended: set[str] = set()
            for event in events:
                if Mask.Q_OVERFLOW in event.mask:
                    written.update(self._watches)
                elif event.watch is not None:
                    tty = str(event.watch.path)
                    if Mask.IGNORED not in event.mask:
                        written.add(tty)
                    elif self._watches.get(tty) is event.watch:
                        del self._watches[tty]
                        ended.add(tty)
            if written:
                self._written(written)
            if ended:
                self._ended(ended)
            await asyncio.sleep(GATHER)


def signals_for(
    written: Callable[[set[str]], None],
    ended: Callable[[set[str]], None],
    system: str = sys.platform,
) -> TtySignals | NoSignals:
    """What this system can do."""
    if system == "linux":
        return TtySignals(written, ended)
    return NoSignals()
