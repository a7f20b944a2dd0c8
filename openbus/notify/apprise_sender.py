"""Every service that Apprise knows, by its URL. Nothing can be replaced or taken back there."""

from __future__ import annotations

import asyncio
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openbus.notify.content import Parcel
from openbus.notify.records import Channel, Outcome
from openbus.notify.sender import TIMEOUT

_STATUS = re.compile(r"\b(?:error|status)\w*[=: ]+(\d{3})\b")


class UrlError(Exception):
    """Not an address of any known service. `str()` does not hold it: it may be a secret."""


class AppriseSender:
    """One URL, in a thread of its own: Apprise waits for the service. Raises `UrlError`."""

    def __init__(self, channel: Channel, url: str) -> None:
        self.channel = channel
        self._service = _service(url)
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="apprise")

    async def send(self, parcel: Parcel) -> Outcome:
        if parcel.verb != "announce":
            return Outcome(result="cannot", reason="this channel cannot replace or take back")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(TIMEOUT):
                return await loop.run_in_executor(self._threads, self._notify, parcel)
        except TimeoutError:
            return Outcome(result="unknown", reason="the service does not answer")

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _notify(self, parcel: Parcel) -> Outcome:
        import apprise

        kind = apprise.NotifyType.WARNING if parcel.urgency == "high" else apprise.NotifyType.INFO
        capture: Any = apprise.LogCapture
        with capture(level=logging.WARNING) as captured:
            try:
                taken = self._service.notify(title=parcel.title, body=parcel.body, notify_type=kind)
            except Exception as error:  # a plugin's defect ends neither thread nor channel
                return Outcome(result="later", reason=f"defect in Apprise: {type(error).__name__}")
            said = captured.getvalue()
        if taken:
            return Outcome(result="accepted", face=parcel.face)
        status = _STATUS.search(said)
        reason = f"status {status[1]}" if status else "the service is not reached or refuses"
        return Outcome(result="later", reason=reason)


def check_url(url: str) -> None:
    """Raises `UrlError` for what is no address of a known service; sends nothing."""
    _service(url)


def _service(url: str) -> Any:
    import apprise

    # Its messages hold addresses and, when asked for more, content.
    logger = logging.getLogger("apprise")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    logger.propagate = False
    service = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    if service is None:
        raise UrlError("this is no address of a service that Apprise knows")
    return service
