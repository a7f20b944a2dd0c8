"""The user's own command: run on every announcement and withdrawal, with the intent on stdin.

A reactor on the bus: it never delays a state. Commands run one after the other; one that hangs is
ended after its time, one that fails is counted and logged by its exit status alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence

import msgspec

from openbus.events import Event

WAITING = 256
"""Events that may wait for the command; older ones are dropped and counted."""


class Hook:
    """Runs `command` (program and arguments) for intents. `tell(event, **numbers)` is for the log.

    On stdin: one JSON object, the payload of the event with its `event` name; the environment holds
    `OPENBUS_EVENT` as well.
    """

    def __init__(
        self,
        command: Sequence[str],
        limit: float,
        tell: Callable[..., None] | None = None,
    ) -> None:
        self._command = tuple(command)
        self._limit = limit
        self._tell = tell
        self._queue: asyncio.Queue[Event] = asyncio.Queue(maxsize=WAITING)
        self.runs = 0
        self.failures = 0
        self.dropped = 0

    def hear(self, event: Event) -> None:
        """Take an event of the bus; never waits."""
        if event.intent is None:
            return
        if self._queue.full():
            self._queue.get_nowait()
            self.dropped += 1
        self._queue.put_nowait(event)

    async def run(self) -> None:
        """Run commands until cancelled."""
        while True:
            event = await self._queue.get()
            outcome = await self._once(event)
            self.runs += 1
            if outcome is not None:
                self.failures += 1
                if self._tell is not None:
                    self._tell("hook failed", outcome=outcome, failures=self.failures)

    async def _once(self, event: Event) -> str | None:
        """Run the command for one event; what went wrong, or None."""
        body = msgspec.json.encode({"event": event.event, "id": event.id, **event.payload()})
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env={**os.environ, "OPENBUS_EVENT": event.event},
                start_new_session=True,
            )
        except OSError as error:
            return f"cannot be started: {(error.strerror or '').lower()}"
        try:
            async with asyncio.timeout(self._limit):
                await process.communicate(body)
        except TimeoutError:
            return f"ended after {self._limit:g} s"
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)
                await process.wait()
        return None if process.returncode == 0 else f"exit status {process.returncode}"
