"""What panes there are: identity, place and the cheap signs of change."""

from __future__ import annotations

import re
import socket

import msgspec

from openbus.model import Cursor, Pane, Server, Window
from openbus.tmux.connection import Connection
from openbus.tmux.errors import TmuxFailed, TmuxTooOld
from openbus.tmux.formats import Record, flag, new_nonce, number, record_format, records
from openbus.tmux.version import too_old

_SERVER = ("pid", "start_time", "version")
_CLIENT = ("client_control_mode", "session_id")
_PANE = (
    "pane_id",
    "pane_pid",
    "pane_tty",
    "session_id",
    "session_created",
    "session_attached",
    "window_id",
    "window_index",
    "window_active",
    "window_activity",
    "pane_index",
    "pane_active",
    "pane_width",
    "pane_height",
    "pane_dead",
    "pane_in_mode",
    "alternate_on",
    "cursor_x",
    "cursor_y",
    "cursor_flag",
    "history_size",
)
_PANE_TEXTS = (
    "session_name",
    "window_name",
    "pane_title",
    "pane_current_command",
    "pane_current_path",
)
_CENSUS = (
    "pane_id",
    "pane_pid",
    "pane_width",
    "pane_height",
    "pane_dead",
    "pane_in_mode",
    "alternate_on",
    "cursor_x",
    "cursor_y",
    "window_activity",
)
_TAGS = {"S": 0, "C": 0, "P": len(_PANE_TEXTS), "N": 0}
_ID = re.compile(r"^%\d+$")


class PaneRow(msgspec.Struct, frozen=True, kw_only=True):
    """A pane as listed, and what decides whether to look at it again.

    `window_activity` is epoch seconds of the last output in the pane's *window*; `sessions` holds
    the ids of all sessions that show it (grouped sessions, linked windows), the chosen one first.
    """

    pane: Pane
    tty: str
    window_id: str
    window_activity: int
    cursor: Cursor
    alternate_on: bool
    history_size: int
    sessions: tuple[str, ...]


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """All panes of one server, each once, in tmux's order."""

    server: Server
    version: str
    panes: tuple[PaneRow, ...]


class PaneCensus(msgspec.Struct, frozen=True, kw_only=True):
    """Fields that output alone does not move, or that are nearly free; compare two for equality."""

    pid: int
    width: int
    height: int
    dead: bool
    in_mode: bool
    alternate_on: bool
    cursor_x: int
    cursor_y: int
    window_activity: int


class Census(msgspec.Struct, frozen=True, kw_only=True):
    """A cheap look at one server; `panes` by pane id."""

    server: Server
    panes: dict[str, PaneCensus]


def pane_key(host: str, label: str, server: Server, pane_id: str, pane_pid: int) -> str:
    """`HOST:SOCKET:PID-START:%N:PANEPID`: never the same twice, a respawned pane gets a new one."""
    return f"{host}:{label}:{server.pid}-{server.started}:{pane_id}:{pane_pid}"


async def inventory(conn: Connection, *, host: str | None = None) -> Inventory:
    """List every pane of this server. Raises a `TmuxError`."""
    return await _list(conn, host, "")


async def active_since(conn: Connection, since: int, *, host: str | None = None) -> Inventory:
    """The panes of windows with output at or after `since` (epoch seconds).

    Asking with the floor of the last capture's time loses nothing. The server filters, so an idle
    fleet costs it only the filter.
    """
    return await _list(conn, host, f"-f '#{{e|>=:#{{window_activity}},{int(since)}}}' ")


async def census(conn: Connection) -> Census:
    """The fields that show change without a look at the screen, for all panes of this server."""
    nonce = new_nonce()
    output = await conn.run(
        [
            f"display-message -p '{record_format(nonce, 'S', _SERVER)}'",
            f"list-panes -a -F '{record_format(nonce, 'N', _CENSUS)}'",
        ]
    )
    found = list(records(output.stdout, nonce, _TAGS))
    server, _ = _server(conn, found)
    panes = {}
    for record in found:
        if record.tag == "N":
            pane_id, *rest = record.words
            pid, width, height, dead, in_mode, alternate, x, y, activity = rest
            panes[pane_id] = PaneCensus(
                pid=number(pid),
                width=number(width),
                height=number(height),
                dead=flag(dead),
                in_mode=flag(in_mode),
                alternate_on=flag(alternate),
                cursor_x=number(x),
                cursor_y=number(y),
                window_activity=number(activity),
            )
    return Census(server=server, panes=panes)


def is_pane_id(text: str) -> bool:
    """Whether this is a pane id, `%` and a number: the only target ever put into a command."""
    return _ID.match(text) is not None


async def _list(conn: Connection, host: str | None, condition: str) -> Inventory:
    nonce = new_nonce()
    output = await conn.run(
        [
            f"display-message -p '{record_format(nonce, 'S', _SERVER)}'",
            f"list-clients -F '{record_format(nonce, 'C', _CLIENT)}'",
            f"list-panes -a {condition}-F '{record_format(nonce, 'P', _PANE, _PANE_TEXTS)}'",
        ]
    )
    found = list(records(output.stdout, nonce, _TAGS))
    server, version = _server(conn, found)
    watched = {
        session
        for control, session in (record.words for record in found if record.tag == "C")
        if not flag(control)
    }
    listings: dict[str, list[_Listing]] = {}
    for record in found:
        if record.tag == "P":
            listing = _Listing(record, watched)
            listings.setdefault(listing.fields["pane_id"], []).append(listing)
    name = socket.gethostname() if host is None else host
    return Inventory(
        server=server,
        version=version,
        panes=tuple(_row(name, conn.label, server, group) for group in listings.values()),
    )


def _server(conn: Connection, found: list[Record]) -> tuple[Server, str]:
    record = next((record for record in found if record.tag == "S"), None)
    if record is None:
        raise TmuxFailed(conn.socket, "it printed no record of itself")
    pid, started, version = record.words
    if too_old(version):
        raise TmuxTooOld(version, conn.socket)
    return Server(socket=conn.socket, pid=number(pid), started=number(started)), version


class _Listing:
    """One line of `list-panes -a`; a pane has one for each session and window that shows it."""

    def __init__(self, record: Record, watched: set[str]) -> None:
        self.fields = dict(zip(_PANE, record.words, strict=True))
        self.texts = dict(zip(_PANE_TEXTS, record.texts, strict=True))
        self.viewed = (
            flag(self.fields["window_active"])
            and flag(self.fields["pane_active"])
            and self.fields["session_id"] in watched
        )
        self.attached = self.fields["session_id"] in watched

    def rank(self) -> tuple[bool, bool, int, int, int]:
        """The listing that a person would name: on show, then attached, then the oldest."""
        return (
            not self.viewed,
            not self.attached,
            number(self.fields["session_created"]),
            number(self.fields["session_id"].removeprefix("$")),
            number(self.fields["window_index"]),
        )


def _row(host: str, label: str, server: Server, listings: list[_Listing]) -> PaneRow:
    ranked = sorted(listings, key=_Listing.rank)
    fields, texts = ranked[0].fields, ranked[0].texts
    pane_id, pid = fields["pane_id"], number(fields["pane_pid"])
    return PaneRow(
        pane=Pane(
            key=pane_key(host, label, server, pane_id, pid),
            id=pane_id,
            server=server,
            pid=pid,
            session=texts["session_name"],
            window=Window(index=number(fields["window_index"]), name=texts["window_name"]),
            index=number(fields["pane_index"]),
            title=texts["pane_title"],
            cwd=texts["pane_current_path"],
            command=texts["pane_current_command"],
            width=number(fields["pane_width"]),
            height=number(fields["pane_height"]),
            in_mode=flag(fields["pane_in_mode"]),
            dead=flag(fields["pane_dead"]),
            viewed=ranked[0].viewed,
        ),
        tty=fields["pane_tty"],
        window_id=fields["window_id"],
        window_activity=number(fields["window_activity"]),
        cursor=Cursor(
            x=number(fields["cursor_x"]),
            y=number(fields["cursor_y"]),
            visible=flag(fields["cursor_flag"]),
        ),
        alternate_on=flag(fields["alternate_on"]),
        history_size=number(fields["history_size"]),
        sessions=tuple(dict.fromkeys(listing.fields["session_id"] for listing in ranked)),
    )
