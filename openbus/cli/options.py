"""Options that several commands share, and what they make of the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from openbus import config
from openbus.cli.errors import CommandError

SocketNames = Annotated[
    list[str] | None,
    typer.Option("-L", "--socket-name", help="A tmux server by name, as in `tmux -L`."),
]
SocketPaths = Annotated[
    list[str] | None,
    typer.Option("-S", "--socket-path", help="A tmux server by path, as in `tmux -S`."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]


def settings(names: list[str] | None = None, paths: list[str] | None = None) -> config.Settings:
    """The settings with the command's own socket options above them. Raises `CommandError`."""
    try:
        found = config.load()
    except config.ConfigError as error:
        raise CommandError(str(error)) from None
    if not names and not paths:
        return found
    tmux = msgspec.structs.replace(
        found.tmux,
        socket_names=tuple(names or ()),
        socket_paths=tuple(str(Path(path).absolute()) for path in paths or ()),
    )
    return msgspec.structs.replace(found, tmux=tmux)
