"""Is a person looking at the pane? Asked only when something is to be told.

A person is at an attached tmux client that had input lately (control clients are programs, and our
own requests attach none), or at a focused page of the web UI. tmux's `focused` flag is not used:
it is set only where terminal and user have focus events on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from openbus.model import PaneState
from openbus.notify.policy import Presence
from openbus.tmux.connection import Connection
from openbus.tmux.errors import TmuxError
from openbus.tmux.formats import flag, new_nonce, number, record_format, records

PAGE_MS = 30_000
"""A page says again what it shows within this time, or it is gone."""

_CLIENT = ("client_name", "client_tty", "client_control_mode", "client_activity")
_SHOWS = ("window_id", "pane_id", "window_zoomed_flag")
_PANE = ("pane_id", "window_id")
_TAGS = {"C": 0, "P": 0}


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """An attached terminal. `input_at`: its last key (epoch ms, whole seconds); `pane` is the
    active pane it shows, `others` those beside it."""

    name: str
    tty: str
    input_at: int
    pane: str
    others: frozenset[str] = frozenset()


async def clients_of(conn: Connection) -> list[Client]:
    """The attached terminals of one server, without control clients. Raises a `TmuxError`."""
    nonce = new_nonce()
    output = await conn.run(
        [
            f"list-clients -F '{record_format(nonce, 'C', (*_CLIENT, *_SHOWS))}'",
            f"list-panes -a -F '{record_format(nonce, 'P', _PANE)}'",
        ]
    )
    found = list(records(output.stdout, nonce, _TAGS))
    windows: dict[str, set[str]] = {}
    for record in found:
        if record.tag == "P" and len(record.words) == len(_PANE):
            pane, window = record.words
            windows.setdefault(window, set()).add(pane)
    clients = []
    for record in found:
        if record.tag != "C" or len(record.words) != len(_CLIENT) + len(_SHOWS):
            continue
        name, tty, control, activity, window, pane, zoomed = record.words
        if flag(control):
            continue
        beside = set() if flag(zoomed) else windows.get(window, set()) - {pane}
        clients.append(
            Client(
                name=name,
                tty=tty,
                input_at=number(activity) * 1000,
                pane=pane,
                others=frozenset(beside),
            )
        )
    return clients


class Pages:
    """What focused pages of the web UI show, each until it says otherwise or falls silent."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[str, int]] = {}

    def report(self, browser: str, pane: str | None, now: int) -> None:
        """A page of `browser` is focused and shows `pane`; None: it no longer is."""
        if pane is None:
            self._shown.pop(browser, None)
        else:
            self._shown[browser] = (pane, now + PAGE_MS)

    def shown(self, now: int) -> dict[str, str]:
        """Browser -> pane key."""
        self._shown = {name: entry for name, entry in self._shown.items() if entry[1] > now}
        return {name: pane for name, (pane, _) in self._shown.items()}


async def look(
    states: Iterable[PaneState],
    pages: Mapping[str, str],
    connect: Callable[[str], Connection],
) -> Presence:
    """Who is where, as far as it matters for these panes. A server that does not answer has
    nobody in front of it."""
    by_socket: dict[str, list[PaneState]] = {}
    for state in states:
        by_socket.setdefault(state.pane.server.socket, []).append(state)
    looking: dict[str, int] = {}
    visible: dict[str, int] = {}
    for socket, here in by_socket.items():
        try:
            clients = await clients_of(connect(socket))
        except TmuxError:
            continue
        keys = {state.pane.id: state.pane.key for state in here}
        for client in clients:
            if client.pane in keys:
                _later(looking, keys[client.pane], client.input_at)
            for pane in client.others & keys.keys():
                _later(visible, keys[pane], client.input_at)
    return Presence(looking=looking, visible=visible, pages=pages)


def _later(times: dict[str, int], key: str, at: int) -> None:
    times[key] = max(at, times.get(key, 0))
