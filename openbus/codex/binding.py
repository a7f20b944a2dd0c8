"""Which thread a pane shows: the evidence ladder, from exact to nothing. Pure.

1. *embedded*: the TUI process itself holds the thread's lock and rollout open.
2. *visible*: the thread's id stands in the TUI's own status line or in the terminal title, the
   TUI's process is connected to the server, and that server has the thread loaded.
3. *held*: a dialog covers the status line; the claim of step 2 is carried, marked, and ends with
   the process, the server or another id.
4. *candidate*: connected to the server, and the only loaded thread whose birth, folder and name
   fit. Compared in shadow, never used.

An id anywhere else on the screen (transcript, draft, listing) is text that somebody quoted.
Facts about screens and ids: Codex 0.159.2 to 0.171.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from openbus.codex.processes import Tui
from openbus.evidence import Binding, Generation, Scope

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_TITLE_ID = re.compile(
    r"(?:[\u2800-\u28ff]\s*)*"  # the spinner stands before the first field
    r"([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{1,12})(?:\.\.\.)?"
)
_COMPOSER = "›"
_TITLE_ID_MIN = 29
"""Characters of an id that Codex leaves in the title before `...`."""

BIRTH_BEFORE, BIRTH_AFTER = 1_000, 10_000
"""A fresh TUI creates its thread this many milliseconds around its own start."""


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """What binding needs to know about a thread. `loaded`: by this very server, now."""

    id: str
    loaded: bool
    name: str | None = None
    cwd: str | None = None
    parent: str | None = None
    ephemeral: bool = False


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A connected server as it is for one TUI. `peer`: that TUI's process is its client.

    `complete` is False while loaded threads have not been read yet: names may be missing.
    """

    scope: Scope
    generation: Generation
    peer: bool
    complete: bool
    threads: Mapping[str, Thread]


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What the terminal shows that may identify a thread.

    `status` is the id in the status line, `title` the id or its beginning in the terminal title,
    `words` the other fields of the title, `dialog` that something covers the status line.
    """

    status: str | None = None
    title: str | None = None
    words: tuple[str, ...] = ()
    dialog: bool = False
    cwd: str = ""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The last claim that was proved by something visible, and what it depends on."""

    thread: str
    how: str
    tui: tuple[int, int]
    scope: Scope
    generation: Generation


def shown(rows: Iterable[str], title: str, *, dialog: bool, cwd: str) -> Shown:
    """Read the status line and the title. Everything above the composer is ignored."""
    fields = [field.strip() for field in title.split(" | ")]
    ids = [match[1] for field in fields if (match := _TITLE_ID.fullmatch(field))]
    ids = [found for found in ids if len(found) >= _TITLE_ID_MIN]
    return Shown(
        status=status_line_id(list(rows)),
        title=ids[0] if len(ids) == 1 else None,
        words=tuple(field for field in fields if field and not _TITLE_ID.fullmatch(field)),
        dialog=dialog,
        cwd=cwd,
    )


def status_line_id(rows: list[str]) -> str | None:
    """The id that is a field of the status line, the lowest block of rows below the composer.

    The block is at most two rows (status line, key hints), divided from the composer by a blank
    row. An id that is a whole row by itself is a pasted draft, not a status line.
    """
    lines = [row.rstrip() for row in rows]
    while lines and not lines[-1]:
        lines.pop()
    start = len(lines)
    while start and lines[start - 1]:
        start -= 1
    block = lines[start:]
    if not block or len(block) > 2 or not any(row.startswith(_COMPOSER) for row in lines[:start]):
        return None
    fields = [field.strip() for field in block[0].split(" · ")]
    if len(fields) < 2 or not block[0].startswith("  "):
        return None
    ids = [field for field in fields if _UUID.fullmatch(field)]
    return ids[0] if len(ids) == 1 else None


def birth(thread: str) -> int | None:
    """When a thread was made, from its UUIDv7. `createdAt` moves until the first message."""
    return int(thread.replace("-", "")[:12], 16) if _UUID.fullmatch(thread) else None


def decide(
    tui: Tui,
    seen: Shown,
    server: ServerFacts | None,
    held: Held | None,
    rivals: Iterable[Tui] = (),
) -> Binding:
    """The claim for one pane. `rivals` are the other TUIs connected to the same server."""
    if tui.embedded:
        return _embedded(tui, seen)
    if server is None:
        return _without_server(tui, held)
    if not server.peer:
        return Binding(how="not a client of a known server")
    visible = _visible(seen, server)
    if visible is not None:
        return visible
    if held is not None and _still(held, tui, server) and seen.dialog:
        return Binding(verdict="bound", how=f"held: {held.how}", thread=held.thread, held=True)
    return _candidate(tui, seen, server, rivals)


def remember(
    binding: Binding, tui: Tui, server: ServerFacts | None, held: Held | None
) -> Held | None:
    """What a later dialog may be bridged with: visible proof makes it, a held claim keeps it."""
    if server is None:
        return held
    if binding.verdict == "bound" and not binding.held and not tui.embedded and binding.thread:
        return Held(
            thread=binding.thread,
            how=binding.how,
            tui=(tui.pid, tui.ticks),
            scope=server.scope,
            generation=server.generation,
        )
    return held if binding.held else None


def _embedded(tui: Tui, seen: Shown) -> Binding:
    if len(tui.embedded) == 1:
        return Binding(verdict="bound", how="open files", thread=tui.embedded[0])
    # resumed sub-agents are open as well; a visible id says which of them is shown
    named = [
        thread
        for thread in tui.embedded
        if thread == seen.status or (seen.title is not None and thread.startswith(seen.title))
    ]
    if len(named) == 1:
        return Binding(verdict="bound", how="open files and visible id", thread=named[0])
    return Binding(verdict="ambiguous", how="several open threads", candidates=tui.embedded)


def _without_server(tui: Tui, held: Held | None) -> Binding:
    if held is not None and held.tui == (tui.pid, tui.ticks):
        return Binding(verdict="stale", how="the server does not answer", thread=held.thread)
    return Binding(how="no server")


def _visible(seen: Shown, server: ServerFacts) -> Binding | None:
    """A claim from visible ids, or None when there are none."""
    claims: dict[str, list[str]] = {}
    unknown = False
    for how, found in (("status line", seen.status), ("title", seen.title)):
        if found is None:
            continue
        fits = [
            thread.id
            for thread in server.threads.values()
            if thread.loaded and not thread.ephemeral and thread.id.startswith(found)
        ]
        if len(fits) > 1:
            return Binding(verdict="ambiguous", how=how, candidates=tuple(sorted(fits)))
        unknown = unknown or not fits
        for thread in fits:
            claims.setdefault(thread, []).append(how)
    if len(claims) > 1:
        both = tuple(sorted(claims))
        return Binding(verdict="ambiguous", how="status line and title differ", candidates=both)
    if not claims:
        return Binding(how="the visible id is not loaded here") if unknown else None
    ((thread, hows),) = claims.items()
    if unknown:
        return Binding(
            verdict="ambiguous", how="status line and title differ", candidates=(thread,)
        )
    if not server.complete:
        return Binding(how="checking names", candidates=(thread,))
    # A thread may be *named* after an id that its user typed; then the field is a quotation.
    if any(thread[:_TITLE_ID_MIN] in (other.name or "") for other in server.threads.values()):
        return Binding(how="the id is quoted in a thread's name", candidates=(thread,))
    return Binding(verdict="bound", how=" and ".join(hows), thread=thread)


def _still(held: Held, tui: Tui, server: ServerFacts) -> bool:
    return (
        held.tui == (tui.pid, tui.ticks)
        and held.scope == server.scope
        and held.generation == server.generation
        and held.thread in server.threads
        and server.threads[held.thread].loaded
    )


def _candidate(tui: Tui, seen: Shown, server: ServerFacts, rivals: Iterable[Tui]) -> Binding:
    """The only thread that can have been born with this TUI, if there is exactly one."""
    if not server.complete:
        return Binding(how="no visible id")
    fits = [t for t in server.threads.values() if _fits(t, tui, seen)]
    if len(fits) > 1:
        found = tuple(sorted(t.id for t in fits))
        return Binding(verdict="ambiguous", how="several threads fit", candidates=found)
    if not fits:
        return Binding(how="no visible id")
    (thread,) = fits
    if any(_born_with(thread, rival) for rival in rivals if rival.pid != tui.pid):
        return Binding(verdict="ambiguous", how="several panes fit", candidates=(thread.id,))
    return Binding(
        verdict="candidate", how="server, start time and folder", candidates=(thread.id,)
    )


def _fits(thread: Thread, tui: Tui, seen: Shown) -> bool:
    root = thread.loaded and not thread.ephemeral and thread.parent is None
    named = not thread.name or not seen.words or _name_shown(thread.name, seen.words)
    return root and named and thread.cwd == seen.cwd and _born_with(thread, tui)


def _name_shown(name: str, words: tuple[str, ...]) -> bool:
    """The title names this thread, or names none: one field alone is the project."""
    fields = [word.removesuffix("...").strip() for word in words]
    return len(fields) < 2 or any(field and name.startswith(field) for field in fields)


def _born_with(thread: Thread, tui: Tui) -> bool:
    born = birth(thread.id)
    return born is not None and -BIRTH_BEFORE <= born - tui.started_at <= BIRTH_AFTER
