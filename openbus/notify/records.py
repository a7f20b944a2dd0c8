"""What notifications are made of. Hashes, kinds, pane keys and times: no record here holds text.

A `Notice` is one episode that a person is to be told of, a `Delivery` its way to one channel, a
`Message` one thing shown on that channel (for one notice, or for several together). All times are
epoch milliseconds.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal

import msgspec

from openbus.model import Attention, Contract

Device = Literal["phone", "desk"]
"""Where a channel ends: `desk` is the machine at which the person works, `phone` everything that
is carried along."""

DeliveryState = Literal["waiting", "held", "suppressed", "taken", "ended"]
"""`waiting` nothing was decided yet, `held` decided again at `due_at`, `suppressed` final, `taken`
part of a message, `ended` the notice ended before it was sent."""

MessageState = Literal["sending", "sent", "changing", "closing", "closed", "dropped", "failed"]
"""`sending`, `changing` and `closing` have something to do; `closed`, `dropped` (ended before it
was shown) and `failed` are final."""

Verb = Literal["announce", "update", "withdraw"]
What = Literal[
    "sent",
    "would send",
    "updated",
    "withdrawn",
    "would withdraw",
    "held",
    "suppressed",
    "ended",
    "failed",
    "no channel",
]

UNSHOWN, MAYBE, SHOWN = 0, 1, 2
"""What is known about a message on the device: nobody got it, a provider may have it, it has it."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """One episode. `tag` is derived from pane and contract, so it is the same after any loss of
    our files. `program` is the name of a manifest."""

    tag: str
    pane: str
    contract: Contract
    kind: Attention
    program: str
    opened_at: int
    closed_at: int | None = None
    reason: str = ""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    tag: str
    channel: str
    state: DeliveryState = "waiting"
    reason: str = ""
    due_at: int = 0
    message: int | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """`id` is unique in the outbox. `face` is the hash of the content as last sent."""

    id: int
    channel: str
    tag: str
    members: tuple[str, ...]
    state: MessageState = "sending"
    shown: int = UNSHOWN
    attempts: int = 0
    due_at: int = 0
    made_at: int = 0
    face: str = ""


class LogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `openbus push log`. `channel` is empty where none is concerned; `kind` is the
    attention kind. `reason` is one of our own sentences, never text of a screen or a service."""

    at: int
    tag: str
    pane: str
    contract: str
    episode: int
    kind: Attention
    channel: str
    what: What
    reason: str = ""


class Writes(msgspec.Struct, kw_only=True):
    """What one step changed; stored in one transaction before anything is sent."""

    notices: dict[str, Notice] = {}
    deliveries: dict[tuple[str, str], Delivery] = {}
    messages: dict[int, Message] = {}
    log: list[LogEntry] = []

    def __bool__(self) -> bool:
        return bool(self.notices or self.deliveries or self.messages or self.log)


class Channel(msgspec.Struct, frozen=True, kw_only=True):
    """A way to a person. `kinds`: None = all that the policy lets through. `replaces`: the same tag
    sent again takes the place of the first; `withdraws`: a shown message can be taken back.
    `human`: False for the stand-in that only logs. `browser`: the browser behind a Web Push
    subscription, for presence."""

    name: str
    type: str
    device: Device = "phone"
    kinds: tuple[Attention, ...] | None = None
    replaces: bool = False
    withdraws: bool = False
    human: bool = True
    browser: str | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One call of one sender. `quiet`: show it without a sound."""

    message: Message
    verb: Verb
    notices: tuple[Notice, ...]
    quiet: bool = False


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended. `accepted` the provider has it; `later` it refused for now, nothing was
    shown; `unknown` it may have it; `refused` it never will take this message; `gone` the device
    no longer exists; `cannot` this cannot be done on this channel. `retry_after` in milliseconds.
    `reason` names no secret and no content."""

    result: Literal["accepted", "later", "unknown", "refused", "gone", "cannot"]
    reason: str = ""
    retry_after: int | None = None
    face: str = ""


def tag_of(pane: str, contract: Contract) -> str:
    """The name under which a device knows this episode: at most 32 characters, as `Topic` asks."""
    body = f"{pane}\0{contract.key}\0{contract.episode}"
    return "ob-" + blake2b(body.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is announced and true now, as the push manager knows it."""

    pane: str
    contract: Contract
    kind: Attention
    program: str


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """What an outbox gives at start: everything that is not final, closed notices of messages that
    must still be taken back, and when messages went out in the last hour, by channel."""

    notices: tuple[Notice, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    messages: tuple[Message, ...] = ()
    sent: dict[str, tuple[int, ...]] = {}
    next_message: int = 1


class Health(msgspec.Struct, kw_only=True):
    """How a channel does. `next_at`: not used before (epoch ms)."""

    failures: int = 0
    next_at: int = 0
    reason: str = ""
    accepted_at: int | None = None
