"""Events for a command: from the running service, else from a watcher of its own.

A one-off `openbus wait` must work without a service, and must not differ from it: both are the
same pipeline.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import msgspec

from openbus.bus import Bus, Filter
from openbus.classify import classify
from openbus.cli.errors import CommandError
from openbus.cli.look import library
from openbus.cli.output import report
from openbus.client import ServerSent, ServiceError, stream
from openbus.config import Settings
from openbus.pipeline import Pipeline
from openbus.server_watch import Plan
from openbus.watcher import Watcher

Take = Callable[[ServerSent | None], bool]
"""Takes an event, or None about once a second; True ends the following."""


def follow(settings: Settings, take: Take) -> None:
    """Feed `take` until it is satisfied or the service ends.

    Socket options mean a look of one's own: the service may watch other servers.
    """
    own = settings.tmux.socket_names or settings.tmux.socket_paths
    try:
        events = None if own else stream({}, heartbeat=1)
    except ServiceError as error:
        raise CommandError(str(error)) from None
    if events is None:
        if not own:
            report(["no service is running; watching directly (`openbus up` keeps one running)"])
        asyncio.run(_watch(settings, take))
        return
    for event in events:
        if take(event):
            return
    raise CommandError("the service ended; start it again with `openbus up`")


async def _watch(settings: Settings, take: Take) -> None:
    manifests = library(settings)
    host = socket.gethostname().partition(".")[0] or "localhost"
    bus = Bus()
    pipeline = Pipeline(host, manifests, lambda capture, memo: classify(capture, manifests, memo))
    tmux = settings.tmux
    watcher = Watcher(
        Plan(
            host=host,
            socket_names=tmux.socket_names,
            socket_paths=tmux.socket_paths,
            binary=tmux.binary,
            timeout=tmux.timeout,
            ignore=tmux.ignore,
        ),
        pipeline,
        bus,
    )
    watching = asyncio.create_task(watcher.run())
    try:
        with bus.subscribe(Filter()) as events:
            while True:
                try:
                    async with asyncio.timeout(1):
                        event = await events.get()
                except TimeoutError:
                    if watching.done():
                        return
                    if take(None):
                        return
                    continue
                if event is None or take(
                    ServerSent(id=event.id, event=event.event, data=event.payload())
                ):
                    return
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def as_line(event: ServerSent) -> bytes:
    """One JSON line, shaped as those of `openbus replay --json`."""
    return msgspec.json.encode({"id": event.id, "event": event.event, **event.data})
