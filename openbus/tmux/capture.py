"""Screens: many panes in one request, each with what tmux says about it at the same instant."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from openbus.model import Capture, Cursor
from openbus.tmux.connection import Connection
from openbus.tmux.formats import Record, flag, new_nonce, number, record_format, records
from openbus.tmux.inventory import is_pane_id

_META = (
    "pane_id",
    "pane_pid",
    "pane_tty",
    "window_activity",
    "history_size",
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "cursor_flag",
    "alternate_on",
    "pane_in_mode",
    "pane_dead",
)
_META_TEXTS = ("pane_title", "pane_current_command", "pane_current_path")


class Captured(msgspec.Struct, frozen=True, kw_only=True):
    """One screen and its metadata, taken back to back by the server.

    `pid` tells whether the pane is still the one that was listed. `capture.processes` is empty:
    processes are not tmux's to know.
    """

    id: str
    pid: int
    tty: str
    window_activity: int
    history_size: int
    capture: Capture


async def capture(conn: Connection, ids: Iterable[str]) -> dict[str, Captured]:
    """Capture panes by id (`%N`) in one request; a pane that is gone is missing from the result.

    The visible grid with attributes, also of a pane in copy mode (its own screen, not what is
    scrolled to). Raises a `TmuxError`, and `ValueError` for anything that is not a pane id.
    """
    wanted = list(dict.fromkeys(ids))
    for pane_id in wanted:
        if not is_pane_id(pane_id):
            raise ValueError(f"not a pane id: {pane_id!r}")
    if not wanted:
        return {}
    nonce = new_nonce()
    # For a pane that is gone `display-message` still runs, on nothing. The condition keeps it from
    # looking: `#{window_activity}` of no window ends a 3.2a server (seen with 3.2a built from
    # source, 2026-11-30; 3.3a and later print nothing).
    there = record_format(nonce, "M", _META, _META_TEXTS)
    meta = f"#{{?pane_id,{there},{record_format(nonce, 'V', ())}}}"
    commands = []
    for pane_id in wanted:
        commands.append(f"capture-pane -p -e -t {pane_id}")
        commands.append(f"display-message -p -t {pane_id} '{meta}'")
    output = await conn.run(commands)
    captures = {}
    for record in records(output.stdout, nonce, {"M": len(_META_TEXTS), "V": 0}):
        if record.tag == "M":
            captured = _captured(record)
            captures[captured.id] = captured
    return captures


def _captured(record: Record) -> Captured:
    fields = dict(zip(_META, record.words, strict=True))
    title, command, cwd = record.texts
    return Captured(
        id=fields["pane_id"],
        pid=number(fields["pane_pid"]),
        tty=fields["pane_tty"],
        window_activity=number(fields["window_activity"]),
        history_size=number(fields["history_size"]),
        capture=Capture(
            ansi=record.before.decode("utf-8", "replace"),
            width=number(fields["pane_width"]),
            height=number(fields["pane_height"]),
            cursor=Cursor(
                x=number(fields["cursor_x"]),
                y=number(fields["cursor_y"]),
                visible=flag(fields["cursor_flag"]),
            ),
            alternate_on=flag(fields["alternate_on"]),
            in_mode=flag(fields["pane_in_mode"]),
            dead=flag(fields["pane_dead"]),
            title=title,
            command=command,
            cwd=cwd,
        ),
    )
