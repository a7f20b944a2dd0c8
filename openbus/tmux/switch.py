"""Turning an attached client to a pane: the one thing OpenBus ever changes in tmux, when asked."""

from __future__ import annotations

import re

from openbus.tmux.connection import Connection
from openbus.tmux.formats import flag, new_nonce, number, record_format, records
from openbus.tmux.inventory import is_pane_id

_FIELDS = ("client_control_mode", "client_activity", "client_name")
_NAME = re.compile(r"^/dev/[\w/]+$")


async def clients(conn: Connection) -> list[str]:
    """Names of the clients that people look at, the one used last first."""
    nonce = new_nonce()
    output = await conn.run([f"list-clients -F '{record_format(nonce, 'C', _FIELDS)}'"])
    found = []
    for record in records(output.stdout, nonce, {"C": 0}):
        control, activity, name = record.words
        if not flag(control) and _NAME.match(name):
            found.append((number(activity), name))
    return [name for _, name in sorted(found, reverse=True)]


async def switch_client(conn: Connection, client: str, pane_id: str) -> None:
    """Show a pane in a client: its session, window and the pane itself."""
    if not _NAME.match(client) or not is_pane_id(pane_id):
        raise ValueError(f"not a client and a pane: {client!r}, {pane_id!r}")
    await conn.run([f"switch-client -c {client} -t {pane_id}"])
