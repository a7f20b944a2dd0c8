"""The service: one instance per user, everything in one loop, and a clean end.

Order of a start: state folder, lock, address, manifests, tmux. What fails says so in one line and
leaves nothing behind. SIGTERM, SIGINT and SIGHUP end it within two seconds; the next start goes on
with what was known.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from structlog.stdlib import BoundLogger

from openbus import __version__, server_history, server_settings
from openbus.agent_history import SessionSource
from openbus.bus import Bus
from openbus.classify import classify
from openbus.config import Settings, config_dir, manifest_dir
from openbus.evidence_feed import EvidenceFeed
from openbus.evidence_sources import enabled, notice, opt_in
from openbus.greet import greeting
from openbus.history import History
from openbus.hook import Hook
from openbus.listen import ListenError, bind, bind_local, is_loopback, parse_address
from openbus.metrics import Metrics
from openbus.notify import settings as notify_settings
from openbus.notify.reactor import Notifier
from openbus.pairing import Pairing
from openbus.pipeline import Pipeline
from openbus.screen.manifest import load_library
from openbus.server import Source, application
from openbus.server_sessions import Sessions
from openbus.server_watch import Plan
from openbus.state import Running, StateFolder
from openbus.tmux.servers import discover
from openbus.watcher import Watcher

SAVE_EVERY = 0.25
"""Seconds between two looks whether what a restart must know has changed."""

GRACE = 1.0
"""Seconds that open requests get at the end."""


class StartError(Exception):
    """The service cannot start; `str()` is one line with what, why and the way out."""


class Service:
    """One run of `openbus up`. `say` prints a line for the person who started it."""

    def __init__(
        self, settings: Settings, folder: StateFolder, log: BoundLogger, say: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._log = log
        self._say = say
        self._stop = asyncio.Event()
        self._started_at = time.monotonic()
        library = load_library(manifest_dir(settings))
        for trouble in library.problems:
            log.warning("manifest skipped", problem=str(trouble))
        host = socket.gethostname().partition(".")[0] or "localhost"
        self.bus = Bus()
        self.pipeline = Pipeline(
            host,
            library,
            lambda capture, memo: classify(capture, library, memo),
            folder.load_memory(),
        )
        tmux = settings.tmux
        plan = Plan(
            host=host,
            socket_names=tmux.socket_names,
            socket_paths=tmux.socket_paths,
            binary=tmux.binary,
            timeout=tmux.timeout,
            ignore=tmux.ignore,
        )
        self.watcher = Watcher(plan, self.pipeline, self.bus, tell=self._tell)
        self.evidence = EvidenceFeed(
            enabled(settings, host, self.watcher.clock.now),
            lambda: self.bus.states,
            self.watcher.capture,
            self.watcher.clock.now,
        )
        self.notifier = Notifier(
            self.bus,
            self.pipeline.push.remember,
            folder.path,
            notify_settings.load(),
            warn=log.warning,
            binary=tmux.binary,
            timeout=tmux.timeout,
        )
        self.history = History(folder.path, self.watcher.clock.now, log.warning)
        self.sessions = Sessions(
            SessionSource(self.watcher.clock.now),
            folder.path,
            lambda: self.bus.states,
            self.watcher.capture,
            self.watcher.clock.now,
        )
        self._watching: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Serve until a signal comes. Raises `StartError` before anything has started."""
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(name, self._stop.set)
        settings = self._settings.service
        pairing = Pairing(self._folder.path) if settings.token else None
        with contextlib.ExitStack() as stack:
            sockets, url = self._listen(stack)
            web = _quiet_server(
                application(self._source(), pairing, frozenset(settings.hosts)), GRACE
            )
            serving = asyncio.create_task(web.serve(sockets=sockets))
            self._watching = asyncio.create_task(self.watcher.run())
            self.bus.listen(self.notifier.hear)
            self.bus.listen(self.history.hear)
            helpers = [
                asyncio.create_task(self._keep_memory()),
                asyncio.create_task(self.notifier.run()),
                asyncio.create_task(self.history.run()),
            ]
            if self.evidence.sources:
                helpers.append(asyncio.create_task(self.evidence.run()))
            if self._settings.hook.command:
                hook = Hook(
                    self._settings.hook.command, self._settings.hook.timeout, self._log.warning
                )
                self.bus.listen(hook.hear)
                helpers.append(asyncio.create_task(hook.run()))
            self._folder.announce(
                Running(
                    pid=os.getpid(),
                    socket=str(self._folder.socket),
                    url=url,
                    version=__version__,
                    started=int(time.time()),
                )
            )
            self._greet(url, pairing)
            try:
                stopped = asyncio.create_task(self._stop.wait())
                await asyncio.wait(
                    (stopped, serving, self._watching), return_when=asyncio.FIRST_COMPLETED
                )
                stopped.cancel()
            finally:
                await self._end(web, serving, helpers)

    def _listen(self, stack: contextlib.ExitStack) -> tuple[list[socket.socket], str | None]:
        settings = self._settings.service
        url = None
        sockets: list[socket.socket] = []
        try:
            if settings.web:
                host, port = parse_address(settings.listen)
                if not settings.token and not is_loopback(host):
                    raise StartError(
                        f"will not listen on {host} without a token: everybody who reaches it "
                        "could read your screens; leave the token on, or listen on 127.0.0.1"
                    )
                tcp = stack.enter_context(bind(host, port))
                sockets.append(tcp)
                name = f"[{host}]" if ":" in host else host
                url = f"http://{name}:{tcp.getsockname()[1]}/"
            sockets.append(stack.enter_context(bind_local(self._folder.socket)))
        except ListenError as error:
            raise StartError(str(error)) from error
        return sockets, url

    def _source(self) -> Source:
        metrics = Metrics(self.watcher, self.evidence.reports)
        return Source(
            bus=self.bus,
            fresh=self.pipeline.push.fresh,
            capture=self.watcher.capture,
            metrics=metrics.text,
            healthy=lambda: self._watching is not None and not self._watching.done(),
            evidence=self.evidence.reports,
            notifier=self.notifier,
            routes=[
                *server_history.routes(self.history),
                *self.sessions.routes(),
                *server_settings.routes(self._settings, config_dir() / "config.toml", opt_in()),
            ],
        )

    def _greet(self, url: str | None, pairing: Pairing | None) -> None:
        if url is not None:
            for line in greeting(url, pairing, os.environ):
                self._say(line)
        else:
            self._say("OpenBus is up, without a web page; `openbus ls` and `openbus watch` ask it")
        if (text := notice(self._settings)) is not None:
            self._say(text)
        self._log.info("started", version=__version__, pid=os.getpid(), web=url is not None)

    async def _end(
        self, web: uvicorn.Server, serving: asyncio.Task[Any], helpers: list[asyncio.Task[None]]
    ) -> None:
        began = time.monotonic()
        self.bus.close()
        web.should_exit = True
        tasks = [task for task in (self._watching, *helpers) if task is not None]
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        defects = [o for o in outcomes if isinstance(o, Exception)]
        _, late = await asyncio.wait((serving,), timeout=GRACE)
        if late:
            web.force_exit = True
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        self._save()
        for defect in defects:
            self._log.error("defect", type=type(defect).__name__)
        self._log.info("ended", seconds=round(time.monotonic() - began, 2))
        if defects:
            raise StartError(f"ended by a defect ({type(defects[0]).__name__}); please report it")

    async def _keep_memory(self) -> None:
        saved = -1
        while True:
            if self.pipeline.push.version != saved:
                saved = self.pipeline.push.version
                self._save()
            await asyncio.sleep(SAVE_EVERY)

    def _save(self) -> None:
        try:
            self._folder.save_memory(self.pipeline.push.remember())
        except OSError as error:
            self._log.warning("memory not saved", reason=error.strerror)

    def _tell(self, event: str, server: str, kind: str) -> None:
        self._log.info(event, server=server, **({"kind": kind} if kind else {}))


class _Server(uvicorn.Server):
    """Leaves signals to the service."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _quiet_server(app: Any, grace: float) -> uvicorn.Server:
    return _Server(
        uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=int(grace),
            timeout_keep_alive=30,
            h11_max_incomplete_event_size=64 * 1024,
        )
    )


def check(settings: Settings) -> None:
    """What must hold before a start: tmux is there, and every named server answers.

    Raises `StartError`.
    """
    tmux = settings.tmux
    found = discover(tmux.socket_names, tmux.socket_paths, binary=tmux.binary)
    named = tmux.socket_names or tmux.socket_paths
    for trouble in found.problems:
        if named or trouble.kind == "missing":
            raise StartError(trouble.text)


def start(settings: Settings, folder: Path, log: BoundLogger, say: Callable[[str], None]) -> None:
    """Run the service in this process until it is told to end.

    Raises `StartError` or `openbus.state.StateError`, each one line.
    """
    check(settings)
    _wait_for_children_without_threads()
    with StateFolder(folder) as state:
        asyncio.run(_run(settings, state, log, say))


def _wait_for_children_without_threads() -> None:
    """Each request to tmux is a process. Python 3.11 waits for it with a thread of its own, which
    costs as much as the rest of the request; later versions do this by themselves."""
    if sys.version_info < (3, 12) and hasattr(os, "pidfd_open"):
        asyncio.get_event_loop_policy().set_child_watcher(asyncio.PidfdChildWatcher())


async def _run(
    settings: Settings, folder: StateFolder, log: BoundLogger, say: Callable[[str], None]
) -> None:
    await Service(settings, folder, log, say).run()
