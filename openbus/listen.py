"""Where the service listens: checked and bound before anything else starts."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path


class ListenError(Exception):
    """An address that cannot be listened on; `str()` is one line with the way out."""


def parse_address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `[V6]:PORT` or `:PORT` (loopback). Raises `ListenError`."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise ListenError(f"cannot listen on {text!r}: give HOST:PORT, such as 127.0.0.1:7368")
    return host.strip("[]") or "127.0.0.1", int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host == "localhost" or host == "::1" or host.startswith("127.")


def bind(host: str, port: int) -> socket.socket:
    """A listening TCP socket. Raises `ListenError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(128)
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise ListenError(
                f"port {port} on {host} is in use; free it or give another with --listen HOST:PORT"
            ) from error
        reason = (error.strerror or str(error)).lower()
        raise ListenError(
            f"cannot listen on {host}:{port}: {reason}; give another with --listen HOST:PORT"
        ) from error
    sock.setblocking(False)
    return sock


def bind_local(path: Path) -> socket.socket:
    """A listening local socket that only this user can open. Raises `ListenError`.

    A file left behind by a killed service is replaced: the caller holds the lock.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        path.unlink(missing_ok=True)
        sock.bind(str(path))
        sock.listen(128)
    except OSError as error:
        sock.close()
        reason = (error.strerror or str(error)).lower()
        raise ListenError(
            f"cannot listen on {path}: {reason}; set OPENBUS_STATE_DIR to another folder"
        ) from error
    finally:
        os.umask(before)
    sock.setblocking(False)
    return sock
