"""A line on the status line of the terminals attached to the pane's tmux server, or a bell.

tmux expands formats and times in a message, and a format can run a command (`#(…)`): the text is
made literal before it goes, and it goes as one argument, never through a parsed line.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Literal

from openbus.notify.content import Parcel
from openbus.notify.presence import Client, clients_of
from openbus.notify.records import Channel, Outcome
from openbus.tmux.connection import Connection
from openbus.tmux.errors import TmuxError

SHOW_MS = 6000
WIDTH_MOST = 120

Style = Literal["message", "bell", "both"]
Connect = Callable[[str], Connection]


class TmuxSender:
    """Speaks to every attached client of the servers that a parcel is about, control clients
    excepted."""

    def __init__(self, channel: Channel, style: Style, connect: Connect, binary: str) -> None:
        self.channel = channel
        self._style = style
        self._connect = connect
        self._binary = binary

    async def send(self, parcel: Parcel) -> Outcome:
        if parcel.verb != "announce":
            return Outcome(result="cannot", reason="this channel cannot replace or take back")
        reached = 0
        sockets = {place.socket for place in parcel.places if place.socket is not None}
        for socket in sorted(sockets):
            try:
                clients = await clients_of(self._connect(socket))
            except TmuxError:
                continue
            for client in clients:
                reached += await self._tell(socket, client, parcel)
        if not reached:
            return Outcome(result="refused", reason="no terminal is attached")
        return Outcome(result="accepted", face=parcel.face)

    async def close(self) -> None:
        return None

    async def _tell(self, socket: str, client: Client, parcel: Parcel) -> bool:
        told = False
        if self._style != "bell":
            names = ", ".join(place.name for place in parcel.places[:1] if place.name)
            line = literal(f"{parcel.title} · {names}" if names else parcel.title)
            told = await self._show(socket, client.name, line)
        if self._style != "message":
            told = await asyncio.to_thread(_ring, client.tty) or told
        return told

    async def _show(self, socket: str, client: str, line: str) -> bool:
        process = await asyncio.create_subprocess_exec(
            self._binary,
            *("-u", "-S", socket, "display-message", "-c", client, "-d", str(SHOW_MS), line),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(5.0):
                return await process.wait() == 0
        except TimeoutError:
            return False
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def literal(text: str) -> str:
    """`text` so that tmux shows it as it is: no format, no time, no command separator, no flag."""
    shown = "".join(char for char in text[:WIDTH_MOST] if char.isprintable())
    shown = shown.replace("#", "##").replace("%", "%%")
    # An argument that ends in a semicolon ends the command, one that begins with a dash is a flag.
    return f" {shown} "


def _ring(tty: str) -> bool:
    """One bell character to the terminal itself; tmux is not asked."""
    try:
        descriptor = os.open(tty, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.write(descriptor, b"\a") == 1
    except OSError:
        return False
    finally:
        os.close(descriptor)
