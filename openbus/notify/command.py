"""The user's own command: one run per notification, JSON on stdin, no shell."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import msgspec

from openbus.notify.content import Parcel
from openbus.notify.records import Channel, Outcome
from openbus.notify.sender import TIMEOUT


class CommandSender:
    """Runs `argv` with `{verb, tag, title, body, options, places, urgency, quiet, at}` on stdin;
    `verb` is `announce`, `update` or `withdraw`. Exit status 0 means that it was delivered."""

    def __init__(self, channel: Channel, argv: tuple[str, ...], timeout: float = TIMEOUT) -> None:
        self.channel = channel
        self._argv = (str(Path(argv[0]).expanduser()), *argv[1:])
        self._timeout = timeout

    async def send(self, parcel: Parcel) -> Outcome:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            return Outcome(
                result="later",
                reason=f"the command cannot be run: {(error.strerror or '').lower()}",
            )
        try:
            async with asyncio.timeout(self._timeout):
                await process.communicate(msgspec.json.encode(parcel))
        except TimeoutError:
            return Outcome(result="unknown", reason=f"the command took over {self._timeout:g} s")
        finally:
            # With all that it started: a hanging child would keep the pipe and the machine busy.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if process.returncode != 0:
            return Outcome(result="later", reason=f"the command ended with {process.returncode}")
        return Outcome(result="accepted", face=parcel.face)

    async def close(self) -> None:
        return None
