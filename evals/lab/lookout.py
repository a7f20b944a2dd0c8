"""Looks at one pane all the time and notes when a dialog, a turn or neither is on it.

It knows the agents' pacing marks (`agent`) and no reader: an independent witness of the moment that
something was painted.
"""

from __future__ import annotations

import re
import threading
import time
from types import TracebackType
from typing import Self

from evals.lab.agent import Agent
from evals.lab.errors import LabError
from evals.lab.live_score import Seen, What
from evals.lab.terminal import Tmux

EVERY = 0.05
"""Seconds between two looks; a paint is dated this much too late at most."""


def look(agent: Agent, title: str, screen: str) -> What:
    """What stands there, by the agent's marks."""
    rows = [row for row in screen.split("\n") if row.strip()]
    bottom = "\n".join(rows[-agent.dialog_rows :])
    if re.search(agent.blocked, bottom):
        return "waiting"
    if agent.refusal_mark and re.search(agent.refusal_mark, bottom):
        return "waiting"
    if agent.working_title and re.search(agent.working_title, title):
        return "working"
    return "working" if re.search(agent.busy, screen, re.MULTILINE) else "free"


class Lookout:
    """Runs in a thread of its own while the `with` block lasts. `seen` holds the changes."""

    def __init__(self, agent: Agent, tmux: Tmux, session: str) -> None:
        self.seen: list[Seen] = []
        self._agent = agent
        self._tmux = tmux
        self._target = f"={session}:"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lookout", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def what(self) -> What:
        return self.seen[-1].what if self.seen else "free"

    def _run(self) -> None:
        while not self._stop.wait(EVERY):
            try:
                shown = self._tmux.run(
                    *("display-message", "-p", "-t", self._target, "#{pane_title}", ";"),
                    *("capture-pane", "-p", "-J", "-t", self._target),
                )
            except LabError:
                return  # the pane has ended
            at = time.monotonic()
            title, _, screen = shown.partition("\n")
            what = look(self._agent, title, screen)
            if not self.seen or self.seen[-1].what != what:
                self.seen.append(Seen(at=at, what=what))
