"""Which ask is this, and is it still the same one?

An ask is identified by its dialog rule, question and command with all blanks removed: narrow panes
hide options and wrap inside words, so neither options nor rows take part. The key is a hash, since
it is kept on disk across restarts and no screen text may be. An `Episode` is one standing of an ask
in one pane; the push manager decides when it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from openbus.model import Contract, Question, Reading

ABSENT_MS = 300
"""An ask has ended when two captures at least this far apart do not show it."""

REDRAW_MS = 1000
"""The same after a resize: programs clear and repaint the whole screen (Claude Code 2.1 takes up to
0.5 s under load)."""

DRAWN_MS = 250
"""A dialog is announced when it has stood this long, so that a half-drawn one is not an ask of its
own. The state is published at once."""

_ENOUGH = 12
"""Characters that two clipped texts must share to be one text."""


_FRAME = dict.fromkeys(range(9472, 9632))
"""Box drawing and block elements: frames are as wide as the pane."""


def _squash(text: str | None) -> str:
    return "".join((text or "").translate(_FRAME).split())


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of an ask. `dialog` is the id of the dialog rule."""

    dialog: str
    kind: str
    question: str
    command: str

    @classmethod
    def of(cls, reading: Reading) -> Ask:
        question = reading.question
        return cls(
            dialog=reading.dialog or "",
            kind=question.kind if question else "",
            question=_squash(question.text if question else None),
            command=_squash(question.command if question else None),
        )

    @property
    def key(self) -> str:
        body = "\0".join((self.dialog, self.question, self.command))
        return blake2b(body.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def alike(self, other: Ask) -> bool:
        """Could be the same ask at another size: one text may be cut, or out of sight."""
        return (
            self.kind == other.kind
            and _overlap(self.question, other.question)
            and _overlap(self.command, other.command)
        )


def _overlap(one: str, two: str) -> bool:
    short, long = sorted((one.rstrip("….").casefold(), two.rstrip("….").casefold()), key=len)
    return not short or short == long or (len(short) >= _ENOUGH and short in long)


@dataclass(slots=True)
class Episode:
    """One standing of an ask. `ask` is None for one that is only remembered from before a restart:
    then the key alone decides. `missing_since`: first capture without it; `held`: an overlay of the
    user covers it."""

    contract: Contract
    first_at: int
    ask: Ask | None = None
    question: Question | None = None
    missing_since: int | None = None
    held: bool = False
    announced: bool = False

    def continues(self, ask: Ask, resized: bool) -> bool:
        """Whether `ask` is this ask; `resized`: the pane had another size when it was last seen."""
        if ask.key == self.contract.key:
            return True
        if self.ask is None:
            return False
        return ask == self.ask or (resized and ask.alike(self.ask))

    def half_drawn(self, ask: Ask, now: int) -> bool:
        """Whether this episode was only the beginning of `ask` being painted."""
        return (
            not self.announced
            and self.ask is not None
            and now - self.first_at <= DRAWN_MS
            and ask.alike(self.ask)
        )

    def show(self, ask: Ask, question: Question | None) -> None:
        """The ask is visible."""
        self.ask = ask
        self.missing_since = None
        self.held = False
        if question is not None:
            self.question = msgspec.structs.replace(question, contract=self.contract)

    def rename(self, ask: Ask) -> None:
        """Take the identity of the fully drawn ask."""
        self.contract = Contract(key=ask.key, episode=self.contract.episode)

    def absent(self, now: int, gap: int) -> bool:
        """Record a capture without the ask; True when that ends the episode."""
        self.held = False
        if self.missing_since is None:
            self.missing_since = now
        return now - self.missing_since >= gap
