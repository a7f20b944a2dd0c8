"""Logs on stderr: events, counts, kinds and times. No screen, title, path or command goes here."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog


def configure(as_json: bool) -> structlog.stdlib.BoundLogger:
    """Set logging up for this process and give the logger. JSON has one object per line."""
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        logger_factory=_StderrFactory(),
        cache_logger_on_first_use=False,
    )
    # The web server's own messages can hold paths and tracebacks of requests.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(name).handlers = [logging.NullHandler()]
        logging.getLogger(name).propagate = False
    log: structlog.stdlib.BoundLogger = structlog.get_logger()
    return log


class _Stderr:
    """Writes lines to stderr for as long as there is one: a closed terminal ends nothing."""

    def msg(self, message: str) -> None:
        try:
            sys.stderr.write(message + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            return

    log = debug = info = warning = warn = error = critical = exception = fatal = msg


class _StderrFactory:
    def __call__(self, *args: Any) -> _Stderr:
        return _Stderr()
