"""Whether, where and when a person is told. Pure: everything comes in as a value, also the time.

Suppression holds, it does not drop: only a kind that is switched off is final. The first reason
that holds is the one that is logged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from openbus.model import Attention
from openbus.notify.quiet import QuietHours
from openbus.notify.records import Channel

AT_IT_MS = 30_000
"""A person is at a terminal for this long after the last input there."""

LOOK_AGAIN_MS = 2_000
"""How often a hold for presence or mute is looked at again: both can end before their time."""

HOUR_MS = 3_600_000

Scope = Literal["pane", "session", "program"]


class Mute(msgspec.Struct, frozen=True, kw_only=True):
    """One silenced pane (its key), session (its name) or program; `until` None = until undone."""

    scope: Scope
    name: str
    until: int | None = None


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants. `per_hour` is the cap of each channel."""

    kinds: frozenset[Attention] = frozenset({"needs_you", "limit", "error", "asked"})
    quiet: QuietHours | None = None
    per_hour: int = 60
    private: bool = False


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    """Where a person is. `looking` and `visible`: pane key -> last input (epoch ms) at a client
    that shows the pane as its active one, or beside the active one. `pages`: browser -> the pane
    that a focused page of it shows."""

    looking: Mapping[str, int] = {}
    visible: Mapping[str, int] = {}
    pages: Mapping[str, str] = {}


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be told: kind, and where. `session` is its present tmux session, if known."""

    kind: Attention
    pane: str
    session: str | None
    program: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """`until`: when a hold is decided again (epoch ms)."""

    verdict: Literal["send", "hold", "suppress"]
    reason: str = ""
    until: int = 0


SEND = Decision(verdict="send")


def decide(
    facts: Facts,
    channel: Channel,
    rules: Rules,
    presence: Presence,
    mutes: Sequence[Mute],
    sent: Sequence[int],
    now: int,
) -> Decision:
    """Tell it on this channel now, or why not. `sent`: when messages went out on the channel in
    the last hour, oldest first."""
    if facts.kind not in rules.kinds:
        return Decision(verdict="suppress", reason=f"kind {facts.kind} is switched off")
    if channel.kinds is not None and facts.kind not in channel.kinds:
        return Decision(verdict="suppress", reason=f"kind {facts.kind} is not for this channel")
    for mute in mutes:
        if _muted(mute, facts, now):
            until = now + LOOK_AGAIN_MS if mute.until is None else mute.until
            return _hold(f"{mute.scope} is muted", min(until, now + LOOK_AGAIN_MS))
    quiet_until = rules.quiet.until(now) if rules.quiet is not None else None
    if quiet_until is not None:
        return _hold(QUIET, quiet_until)
    present = _present(facts, channel, presence, now)
    if present is not None:
        return present
    recent = [at for at in sent if at > now - HOUR_MS]
    if len(recent) >= rules.per_hour:
        return _hold(f"{rules.per_hour} in the last hour", recent[0] + HOUR_MS)
    return SEND


QUIET = "quiet hours"


def _muted(mute: Mute, facts: Facts, now: int) -> bool:
    if mute.until is not None and mute.until <= now:
        return False
    name = {"pane": facts.pane, "session": facts.session, "program": facts.program}[mute.scope]
    return name == mute.name


def _present(facts: Facts, channel: Channel, presence: Presence, now: int) -> Decision | None:
    """Only the human who looks, and a page only for its own browser."""
    if channel.browser is not None and presence.pages.get(channel.browser) == facts.pane:
        return _hold("its page shows the pane", now + LOOK_AGAIN_MS)
    seen = presence.looking.get(facts.pane)
    if seen is not None and now < seen + AT_IT_MS:
        return _hold("you are at the pane", min(seen + AT_IT_MS, now + LOOK_AGAIN_MS))
    seen = presence.visible.get(facts.pane)
    if channel.device == "phone" and seen is not None and now < seen + AT_IT_MS:
        return _hold("the pane is in view", min(seen + AT_IT_MS, now + LOOK_AGAIN_MS))
    return None


def _hold(reason: str, until: int) -> Decision:
    return Decision(verdict="hold", reason=reason, until=until)
