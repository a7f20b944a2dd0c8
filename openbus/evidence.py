"""Evidence: what native sources say about a pane, in one bounded envelope.

A source (an agent's own server, its session files) describes conversations. The screen stays the
authority for what is visible and actionable; evidence names, corroborates and is compared. This
module knows no agent: sources implement `EvidenceSource`, everybody else sees `Envelope`.

Times are epoch milliseconds and always passed in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from openbus.model import Activity, Pane, Process

Health = Literal[
    "ok",
    "unavailable",
    "timeout",
    "unsupported_method",
    "null_capability",
    "unknown_variant",
    "truncated",
    "schema_drift",
]
"""How a source is doing. There is no "empty": nothing to say is `ok`, unable to say is not."""

Verdict = Literal["bound", "candidate", "ambiguous", "none", "stale"]

TEXT_LIMIT = 200
"""Characters kept of any native text value."""


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Where a thread lives. The same thread id in another scope is another thread.

    `endpoint` is the socket or store the source reads, `home` the agent's own directory.
    """

    host: str
    uid: int
    endpoint: str
    home: str


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """One life of a server: its process, the inode of its socket and when that was made (ns)."""

    server_pid: int
    inode: int
    born: int = 0


class Git(msgspec.Struct, frozen=True, kw_only=True):
    """The repository when the thread was created, not now."""

    branch: str | None = None
    origin: str | None = None
    sha: str | None = None


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """Identity and configuration of a thread.

    `name` may be typed by a person or generated: the wire cannot tell, so a visible title wins.
    `model` and `effort` are settings, not proof of what ran. `cwd` and `git` are from creation.
    """

    name: str | None = None
    model: str | None = None
    effort: str | None = None
    cwd: str | None = None
    git: Git | None = None
    parent: str | None = None
    ephemeral: bool | None = None
    history_mode: str | None = None


class NativeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the source says the thread does. For shadow comparison only, never for a reader.

    `not_loaded` means "not in this server", which is not "not running".
    """

    activity: Literal["active", "idle", "error", "not_loaded", "unknown"]
    waiting: bool = False
    flags: tuple[str, ...] = ()


class Completeness(msgspec.Struct, frozen=True, kw_only=True):
    """What is missing: text was cut, or fields could not be read (named by category)."""

    truncated: bool = False
    errors: tuple[str, ...] = ()


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """The reasoned claim "this thread is what this pane shows now".

    `how` names the evidence, for people. `held` marks a claim carried through a moment without
    visible proof (a dialog hides the id): it may be compared, it feeds no reader and no title.
    """

    verdict: Verdict = "none"
    how: str = "nothing"
    thread: str | None = None
    candidates: tuple[str, ...] = ()
    held: bool = False

    @property
    def usable(self) -> bool:
        """A later phase may show this thread's values to a reader."""
        return self.verdict == "bound" and not self.held


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One observation of one thread."""

    scope: Scope
    thread: str
    server_version: str | None
    generation: Generation
    observed_at: int
    expires_at: int
    values: Values
    native_status: NativeStatus
    completeness: Completeness = Completeness()

    def fresh(self, now: int) -> bool:
        """`now` is before the expiry; a clock that went backwards makes it stale too."""
        return self.observed_at <= now < self.expires_at


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot joined to a pane, with its provenance.

    `pane` is a pane key, `incarnation` its last two parts. `snapshot` is None while a binding
    exists without any readable values.
    """

    source: str
    pane: str
    incarnation: str
    binding: Binding
    snapshot: Snapshot | None = None

    def fresh(self, now: int) -> bool:
        return self.snapshot is not None and self.snapshot.fresh(now)


class PaneView(msgspec.Struct, frozen=True, kw_only=True):
    """What the terminal side knows about a pane, handed to sources. Nothing here is captured anew.

    `rows` are the visible rows as text, `title` the terminal title, `dialog` that something
    covers the usual screen (a dialog or an overlay), `seen_at` when that screen was captured.
    """

    pane: Pane
    program: str
    processes: tuple[Process, ...] = ()
    rows: tuple[str, ...] = ()
    title: str = ""
    dialog: bool = False
    activity: Activity = "unknown"
    needs_you: bool = False
    seen_at: int = 0


class SourceReport(msgspec.Struct, frozen=True, kw_only=True):
    """A source's account of itself, for `openbus shadow`, `/api/shadow` and metrics.

    `health` counts endpoints by health, `verdicts` panes by binding, `counters` whatever the source
    counts (what, then kind); `detail` is source-specific. None of it holds native text.
    """

    source: str
    health: Mapping[str, int]
    verdicts: Mapping[str, int]
    counters: Mapping[str, Mapping[str, float]]
    detail: Mapping[str, Any]


class EvidenceSource(Protocol):
    """One native source. It runs beside the capture loop and never calls into it."""

    @property
    def name(self) -> str:
        """Adapter and version, such as `codex-app-server/1`."""

    @property
    def programs(self) -> frozenset[str]:
        """Programs whose panes it wants to see."""

    async def run(self) -> None:
        """Observe until cancelled. Raises nothing: trouble is health, not an exception."""

    def observe(self, panes: Sequence[PaneView], now: int) -> None:
        """Take the panes as they are now. Returns at once, does no input or output."""

    def evidence(self, pane_key: str, now: int) -> Envelope | None:
        """What is known about this pane, from memory."""

    def report(self, now: int) -> SourceReport:
        """Counters and health, from memory."""


def incarnation(pane_key: str) -> str:
    """`%N:PANEPID`: the parts of a pane key that a respawn changes."""
    return ":".join(pane_key.rsplit(":", 2)[-2:])


def clean(text: str, limit: int = TEXT_LIMIT) -> tuple[str, bool]:
    """`text` on one line without control characters, at most `limit` long; whether it was cut.

    Native text is untrusted: it may carry terminal escapes or be megabytes long.
    """
    head = text[: limit * 4]
    kept = " ".join("".join(c if c.isprintable() else " " for c in head).split())
    return kept[:limit], len(kept) > limit or len(text) > len(head)


def fingerprint(snapshot: Snapshot) -> str:
    """Of what a snapshot says, without when it was observed: equal for an unchanged poll."""
    said = (
        snapshot.scope,
        snapshot.thread,
        snapshot.values,
        snapshot.native_status.activity,
        tuple(sorted(snapshot.native_status.flags)),
    )
    return hashlib.blake2b(msgspec.json.encode(said), digest_size=16).hexdigest()


class EvidenceCache:
    """The newest snapshot of each thread, bounded, in memory only."""

    def __init__(self, limit: int = 512) -> None:
        self._limit = limit
        self._snapshots: dict[tuple[Scope, str], Snapshot] = {}
        self._generations: dict[Scope, Generation] = {}

    def __len__(self) -> int:
        return len(self._snapshots)

    def begin(self, scope: Scope, generation: Generation) -> bool:
        """A server is seen. Another life of it forgets all that its predecessor said."""
        if self._generations.get(scope) == generation:
            return False
        self.forget(scope)
        self._generations[scope] = generation
        return True

    def forget(self, scope: Scope) -> None:
        self._generations.pop(scope, None)
        for key in [key for key in self._snapshots if key[0] == scope]:
            del self._snapshots[key]

    def drop(self, scope: Scope, thread: str) -> None:
        self._snapshots.pop((scope, thread), None)

    def put(self, snapshot: Snapshot) -> bool:
        """Keep it. True when it says something else than the one before.

        A snapshot of another generation than the current one came too late and is ignored.
        """
        if self._generations.get(snapshot.scope) != snapshot.generation:
            return False
        key = (snapshot.scope, snapshot.thread)
        before = self._snapshots.pop(key, None)
        self._snapshots[key] = snapshot
        if len(self._snapshots) > self._limit:
            del self._snapshots[next(iter(self._snapshots))]
        return before is None or fingerprint(before) != fingerprint(snapshot)

    def get(self, scope: Scope, thread: str) -> Snapshot | None:
        """The newest snapshot, fresh or not: the caller asks `fresh(now)`."""
        return self._snapshots.get((scope, thread))

    def ages(self, now: int) -> list[int]:
        """Milliseconds since each snapshot was observed."""
        return [max(0, now - snapshot.observed_at) for snapshot in self._snapshots.values()]
