"""PANE on the command line: `%3`, `SOCKET:%3`, `session:window.pane`, or a full key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from openbus.cli.errors import CommandError
from openbus.model import Pane


def place(pane: Pane) -> str:
    """tmux's own way to name a pane: `session:window.pane`."""
    return f"{pane.session}:{pane.window.index}.{pane.index}"


def socket_label(pane: Pane) -> str:
    """How the pane's server is called in keys."""
    parts = pane.key.split(":")
    return parts[1] if len(parts) == 5 else Path(pane.server.socket).name


def matches(target: str, pane: Pane) -> bool:
    """Whether `target` names `pane`."""
    if target in (pane.key, pane.id) or unquote(target) == pane.key:
        return True
    server, _, rest = target.rpartition(":")
    if rest == pane.id:
        return server in (socket_label(pane), pane.server.socket, Path(pane.server.socket).name)
    by_name = f"{pane.session}:{pane.window.name}.{pane.index}"
    return target in (place(pane), by_name, f"{socket_label(pane)}:{place(pane)}")


def find(target: str, panes: Sequence[Pane]) -> Pane:
    """The one pane that `target` names.

    Raises `CommandError`: status 1 for none, 2 for several, with the candidates.
    """
    found = [pane for pane in panes if matches(target, pane)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CommandError(f"no pane {target!r}; `openbus ls` lists them all")
    raise CommandError(
        f"{target!r} names {len(found)} panes; give one of these:",
        *(f"  {socket_label(pane)}:{pane.id}  {place(pane)}  {pane.key}" for pane in found),
        status=2,
    )
