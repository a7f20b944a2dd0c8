"""What a delivery must be able to do. One file each; all of them know nothing but a parcel."""

from __future__ import annotations

from typing import Protocol

from openbus.notify.content import Parcel
from openbus.notify.records import Channel, Outcome

TIMEOUT = 15.0
"""Seconds that one call of a sender may take."""


class Sender(Protocol):
    """A dumb way to one device or service."""

    channel: Channel

    async def send(self, parcel: Parcel) -> Outcome:
        """Show, replace or take back. Never raises for what the other side does; the reason in the
        outcome names neither secret nor content."""

    async def close(self) -> None:
        """Let go of connections and threads."""


class LogSender:
    """Stands in where no channel is set up: `push log` shows what would have been sent."""

    channel = Channel(name="none", type="log", human=False, replaces=True, withdraws=True)

    async def send(self, parcel: Parcel) -> Outcome:
        return Outcome(result="accepted", face=parcel.face)

    async def close(self) -> None:
        return None


def outcome_of_status(status: int, retry_after: str | None = None) -> Outcome:
    """What an HTTP status says about a delivery."""
    if 200 <= status < 300:
        return Outcome(result="accepted")
    if status in (404, 410):
        return Outcome(result="gone", reason=f"status {status}")
    if status in (400, 413):
        return Outcome(result="refused", reason=f"status {status}")
    wait = None
    if retry_after is not None and retry_after.strip().isdigit():
        wait = min(int(retry_after), 86_400) * 1000
    return Outcome(result="later", reason=f"status {status}", retry_after=wait)
