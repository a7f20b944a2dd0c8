"""Hand-made panes and readings for tests of everything behind the readers."""

from __future__ import annotations

from typing import Any

import msgspec

from openbus.events import Change
from openbus.model import Pane, Program, Question, Reading, Server, Window
from openbus.push import PushManager, Sighting

SERVER = Server(socket="/tmp/tmux-1000/default", pid=100, started=1_700_000_000)
KEY = "box:default:100-1700000000:%1:201"


def pane(key: str = KEY, **fields: Any) -> Pane:
    values: dict[str, Any] = {
        "key": key,
        "id": key.rsplit(":", 2)[1],
        "server": SERVER,
        "pid": 201,
        "session": "work",
        "window": Window(index=0, name="agent"),
        "index": 0,
        "width": 120,
        "height": 40,
    }
    return Pane(**(values | fields))


def reading(activity: str = "idle", program: str = "codex", **fields: Any) -> Reading:
    values: dict[str, Any] = {
        "program": Program(name=program, via="process", confidence="high"),
        "activity": activity,
    }
    return Reading(**(values | fields))


def asking(command: str = "make deploy", text: str = "Run this?", **fields: Any) -> Reading:
    question = Question(kind="approval", text=text, command=command, rows=(3, 9))
    return reading("waiting", waiting_on="user", question=question, dialog="approval", **fields)


class Script:
    """Plays readings to a push manager on a clock in milliseconds and collects what comes out."""

    def __init__(self, manager: PushManager | None = None, now: int = 1_000_000) -> None:
        self.manager = manager or PushManager("box")
        self.now = now
        self.changes: list[Change] = []
        self.pane = pane()

    def sees(self, read: Reading, after: int = 0, **pane_fields: Any) -> list[Change]:
        """`after` milliseconds later the pane is captured and reads so."""
        self.wait(after)
        if pane_fields:
            self.pane = msgspec.structs.replace(self.pane, **pane_fields)
        return self._take(self.manager.observe(Sighting(pane=self.pane, reading=read), self.now))

    def wait(self, milliseconds: int) -> list[Change]:
        """Time passes without a capture; everything that falls due happens on time."""
        until = self.now + milliseconds
        made: list[Change] = []
        while (due := self.manager.next_due()) is not None and due <= until:
            self.now = max(self.now, due)
            made += self._take(self.manager.advance(self.now))
        self.now = until
        return made

    def told(self, event: str = "announce") -> list[str]:
        return [
            change.intent.attention
            for change in self.changes
            if change.event == event and change.intent is not None
        ]

    def activities(self) -> list[str]:
        """Published activities without repetitions."""
        names: list[str] = []
        for change in self.changes:
            if change.state is not None and names[-1:] != [change.state.activity]:
                names.append(change.state.activity)
        return names

    def _take(self, changes: list[Change]) -> list[Change]:
        self.changes += changes
        return changes
