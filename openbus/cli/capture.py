"""`openbus capture`: save a pane as a corpus file, for a report or for the evals."""

from __future__ import annotations

import asyncio
import getpass
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from openbus.cli import options
from openbus.cli.errors import CommandError
from openbus.cli.look import library, look
from openbus.cli.target import find
from openbus.config import Settings
from openbus.corpus import encode
from openbus.model import Pane
from openbus.redact import Identity, redact, redact_text
from openbus.screen.grid import clean
from openbus.tmux.connection import Connection
from openbus.tmux.errors import TmuxError


def register(app: typer.Typer) -> None:
    app.command("capture")(capture)


def capture(
    pane: Annotated[str, typer.Argument(metavar="PANE")],
    redacted: Annotated[
        bool, typer.Option("--redact", help="Take out names, paths, addresses and secrets.")
    ] = False,
    socket_name: options.SocketNames = None,
    socket_path: options.SocketPaths = None,
) -> None:
    """Print PANE as a corpus file: `openbus capture %3 > screen.json`.

    `--redact` replaces what identifies you by characters of the same width; the words of the
    conversation stay. Look at the file before you send it.
    """
    settings = options.settings(socket_name, socket_path)
    seen = look(settings, library(settings))
    found = find(pane, [one.pane for one in seen])
    shown = next(one for one in seen if one.pane.key == found.key)
    screen = shown.capture
    text = asyncio.run(_joined(settings, found))
    if redacted:
        identity = Identity(
            user=getpass.getuser(), host=socket.gethostname(), home=str(Path.home())
        )
        screen = redact(screen, identity)
        text = redact_text(text, identity)
    sys.stdout.write(
        encode(
            screen,
            program=shown.reading.program.name,
            version=shown.reading.program.version or "",
            state="captured",
            captured_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            text=text,
        )
    )


async def _joined(settings: Settings, pane: Pane) -> str:
    """The screen as plain text with wrapped rows joined. Raises `CommandError`."""
    connection = Connection(
        pane.server.socket, binary=settings.tmux.binary, timeout=settings.tmux.timeout
    )
    try:
        output = await connection.run([f"capture-pane -p -J -t {pane.id}"])
    except TmuxError as error:
        raise CommandError(str(error)) from None
    return "\n".join(clean(row) for row in output.stdout.decode("utf-8", "replace").split("\n"))
