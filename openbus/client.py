"""Asking the running service from a command: over its local socket, without a web library.

Importing this must stay cheap: `openbus statusline` runs every few seconds in a tmux status line.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from openbus.config import state_dir
from openbus.model import PaneState
from openbus.state import Running, StateFolder

TIMEOUT = 2.0


class ServiceError(Exception):
    """The service is there but did not answer as it should; `str()` is one line."""


class ServerSent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the stream as it arrived."""

    id: str
    event: str
    data: dict[str, Any]


class _LocalConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except OSError:
            self.sock.close()
            raise


def find(folder: Path | None = None) -> Running | None:
    """The service that was started last and said where it is; it need not be alive."""
    return StateFolder(folder or state_dir()).running()


def fetch_panes(folder: Path | None = None) -> list[PaneState] | None:
    """The states of all panes from the running service, most urgent first; None when no service is
    running. Raises `ServiceError`."""
    running = find(folder)
    if running is None:
        return None
    connection = _LocalConnection(running.socket, TIMEOUT)
    try:
        body = _get(connection, running, "/api/panes", {})
        if body is None:
            return None
        return msgspec.json.decode(body.read(), type=list[PaneState])
    except (OSError, http.client.HTTPException, msgspec.DecodeError) as error:
        raise ServiceError(
            f"the service (pid {running.pid}) does not answer: {error}; restart it"
        ) from error
    finally:
        connection.close()


def fetch_json(path: str, folder: Path | None = None) -> Any:
    """The decoded answer of the running service to this path; None when no service is running.
    Raises `ServiceError`."""
    running = find(folder)
    if running is None:
        return None
    connection = _LocalConnection(running.socket, TIMEOUT)
    try:
        body = _get(connection, running, path, {})
        return None if body is None else msgspec.json.decode(body.read())
    except (OSError, http.client.HTTPException, msgspec.DecodeError) as error:
        raise ServiceError(
            f"the service (pid {running.pid}) does not answer: {error}; restart it"
        ) from error
    finally:
        connection.close()


def stream(
    query: Mapping[str, str], folder: Path | None = None, heartbeat: int = 15
) -> Iterator[ServerSent | None] | None:
    """The events of the running service, blocking; None when no service is running.

    Yields None at each heartbeat (every `heartbeat` seconds), so that a caller can look at the
    clock. Ends when the service ends; raises `ServiceError`.
    """
    running = find(folder)
    if running is None:
        return None
    connection = _LocalConnection(running.socket, heartbeat * 3 + 5)
    try:
        body = _get(connection, running, "/api/events", {**query, "heartbeat": str(heartbeat)})
    except (OSError, http.client.HTTPException) as error:
        raise ServiceError(
            f"the service (pid {running.pid}) does not answer: {error}; restart it"
        ) from error
    return _events(connection, body) if body is not None else None


def _get(
    connection: _LocalConnection, running: Running, path: str, query: Mapping[str, str]
) -> http.client.HTTPResponse | None:
    target = f"{path}?{urlencode(query)}" if query else path
    try:
        connection.request("GET", target)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    response = connection.getresponse()
    if response.status != 200:
        raise ServiceError(f"the service answers {path} with {response.status}")
    return response


def _events(
    connection: _LocalConnection, body: http.client.HTTPResponse
) -> Iterator[ServerSent | None]:
    fields: dict[str, str] = {}
    try:
        while True:
            try:
                line = body.readline().decode("utf-8")
            except (OSError, http.client.HTTPException):
                return
            if not line:
                return
            line = line.rstrip("\r\n")
            if line.startswith(":"):
                yield None
            elif line:
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
            elif "event" in fields:
                yield ServerSent(
                    id=fields.get("id", ""),
                    event=fields["event"],
                    data=json.loads(fields.get("data") or "{}"),
                )
                fields = {}
    finally:
        connection.close()
