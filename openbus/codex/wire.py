"""What the app-server's answers mean: bytes in, records out. Pure.

Only the fields that this adapter consumes are decoded; a megabyte of preview is skipped without
building a string. Unknown enum values stay unknown, a field of an unexpected type is left out and
named as drift. Field meanings: Codex 0.159.2, 0.165.0 and 0.171.0, observed 2026-11-30.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

import msgspec

from openbus.codex.schemas import ID_PATTERN, drift
from openbus.evidence import Completeness, Git, NativeStatus, Values, clean

PAGE_LIMIT: Final = 50

EVENTS_PROVED: Final = frozenset({"0.159.2", "0.171.0"})
"""Versions whose passive events our end-to-end tests have seen; all others are polled."""

_STATUS: Final[dict[str, Literal["active", "idle", "error", "not_loaded"]]] = {
    "active": "active",
    "idle": "idle",
    "systemError": "error",
    "notLoaded": "not_loaded",
}
_WAITING_FLAGS: Final = frozenset({"waitingOnApproval", "waitingOnUserInput"})
_VERSION = re.compile(r"^[^/]*/(\d+\.\d+\.\d+[\w.+-]{0,30})")


# --- events -------------------------------------------------------------------------------------


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What this server's version is known to do. `events`: they may ask for a re-read."""

    version: str | None
    events: bool


class ThreadRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a thread that we keep. `unknown` names enum values we have no meaning for."""

    id: str
    values: Values
    status: NativeStatus
    completeness: Completeness = Completeness()

    @property
    def unknown(self) -> bool:
        return self.status.activity == "unknown"


class Initialized(msgspec.Struct, frozen=True, kw_only=True):
    """The handshake's answer. `codex_home` None: the server would not say, nothing may bind."""

    codex_home: str | None
    capabilities: Capabilities
    drift: tuple[str, ...] = ()


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    ids: tuple[str, ...]
    cursor: str | None
    drift: tuple[str, ...] = ()


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of the state database; `more` when the server has further pages."""

    threads: tuple[ThreadRecord, ...]
    more: bool
    drift: tuple[str, ...] = ()


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """One thread; `record` is None when the answer could not be understood."""

    thread: str
    record: ThreadRecord | None
    drift: tuple[str, ...] = ()


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """An error reply. `kind` is its category; the server's text is not kept."""

    method: str
    thread: str | None
    kind: Literal["unsupported_method", "not_found", "overloaded", "other"]


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """An event about a thread: a reason to read it again, nothing more."""

    method: str
    thread: str


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """A frame without effect, by reason."""

    reason: Literal["server_request", "garbage", "late", "notification", "drift", "early"]
    method: str | None = None


class Expired(msgspec.Struct, frozen=True, kw_only=True):
    """A request without an answer in time. Its answer is dropped if it comes after all."""

    method: str
    thread: str | None


Event = Initialized | Loaded | Page | Read | Refused | Changed | Dropped


# --- wire ---------------------------------------------------------------------------------------


class Frame(msgspec.Struct):
    """Top level of a frame; the payload stays undecoded bytes until we know that we want it."""

    id: Any | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


Id = Annotated[str, msgspec.Meta(pattern=ID_PATTERN)]


class ThreadEvent(msgspec.Struct):
    """Parameters of every event about a thread but `thread/started`."""

    threadId: Id  # noqa: N815 - the wire's name


class StartedThread(msgspec.Struct):
    id: Id


class StartedEvent(msgspec.Struct):
    """Parameters of `thread/started`; the rest of the thread is read when it is wanted."""

    thread: StartedThread


class LoadedResult(msgspec.Struct):
    data: list[Id]
    nextCursor: str | None = None  # noqa: N815 - the wire's name


class WireStatus(msgspec.Struct):
    type: str
    activeFlags: list[str] = []  # noqa: N815 - the wire's name


class WireGit(msgspec.Struct):
    branch: str | None = None
    originUrl: str | None = None  # noqa: N815 - the wire's name
    sha: str | None = None


class WireThread(msgspec.Struct):
    """Fields read from a thread. `preview` and `turns` are skipped without building a string."""

    id: Id
    status: WireStatus
    ephemeral: bool
    parentThreadId: str | None = None  # noqa: N815 - the wire's name
    name: str | None = None
    cwd: str | None = None
    historyMode: str | None = None  # noqa: N815 - the wire's name
    model: str | None = None
    reasoningEffort: str | None = None  # noqa: N815 - the wire's name
    gitInfo: WireGit | None = None  # noqa: N815 - the wire's name


class ReadResult(msgspec.Struct):
    thread: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class PageResult(msgspec.Struct):
    data: list[msgspec.Raw] | msgspec.UnsetType = msgspec.UNSET
    nextCursor: Any = msgspec.UNSET  # noqa: N815 - the wire's name


class WireError(msgspec.Struct):
    code: Any = None
    message: Any = None


# --- parsing --------------------------------------------------------------------------------


def decode(data: bytes | str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def explain(name: str, raw: msgspec.Raw) -> tuple[str, ...]:
    """Where something that could not be decoded differs from our schema; never empty.

    Decoding is strict and quick; only a misfit pays for the schema, which names the field.
    """
    return drift(name, decode(bytes(raw), Any)) or (f"{name}: unreadable",)


def refused(method: str, thread: str | None, raw: msgspec.Raw) -> Refused:
    error = decode(bytes(raw), WireError) or WireError()
    message = error.message if isinstance(error.message, str) else ""
    kind: Literal["unsupported_method", "not_found", "overloaded", "other"] = "other"
    # The server uses -32600 for nearly everything, also for unknown methods: its text decides.
    if error.code == -32001:
        kind = "overloaded"
    elif (
        error.code == -32601
        or message.startswith("Invalid request: unknown variant")
        or message.endswith("requires experimentalApi capability")
    ):
        kind = "unsupported_method"
    elif message.startswith(("thread not loaded", "thread not found", "invalid thread id")):
        kind = "not_found"
    return Refused(method=method, thread=thread, kind=kind)


def initialized(raw: msgspec.Raw) -> Initialized:
    value = decode(bytes(raw), Any)
    found = drift("initialize", value)
    if found:
        nothing = Capabilities(version=None, events=False)
        return Initialized(codex_home=None, capabilities=nothing, drift=found)
    match = _VERSION.match(value["userAgent"] or "")
    version = match[1] if match else None
    return Initialized(
        codex_home=value["codexHome"],
        capabilities=Capabilities(version=version, events=version in EVENTS_PROVED),
    )


def loaded(raw: msgspec.Raw) -> Loaded:
    result = decode(bytes(raw), LoadedResult)
    if result is None:
        found = explain("loaded", raw)
        return Loaded(ids=(), cursor=None, drift=found)
    return Loaded(ids=tuple(result.data), cursor=result.nextCursor)


def page(raw: msgspec.Raw) -> Page:
    result = decode(bytes(raw), PageResult)
    if result is None or not isinstance(result.data, list):
        return Page(threads=(), more=False, drift=("page.data: type",))
    threads: list[ThreadRecord] = []
    found: set[str] = set()
    for row in result.data[:PAGE_LIMIT]:
        record, drifted = _thread(row)
        found.update(drifted)
        if record is not None:
            threads.append(record)
    return Page(
        threads=tuple(threads),
        more=isinstance(result.nextCursor, str) or len(result.data) > PAGE_LIMIT,
        drift=tuple(sorted(found)),
    )


def read(raw: msgspec.Raw, thread: str) -> Read:
    result = decode(bytes(raw), ReadResult)
    if result is None or not isinstance(result.thread, msgspec.Raw):
        return Read(thread=thread, record=None, drift=("thread: required",))
    record, found = _thread(result.thread)
    if record is not None and record.id != thread:
        # an answer about another thread is no answer
        return Read(thread=thread, record=None, drift=("thread.id: other",))
    return Read(thread=thread, record=record, drift=found)


def _thread(raw: msgspec.Raw) -> tuple[ThreadRecord | None, tuple[str, ...]]:
    """The record, as far as it can be understood, and where it drifts.

    A field of an unexpected type is left out and named; without id, status and `ephemeral` there
    is no record.
    """
    found: tuple[str, ...] = ()
    wire = decode(bytes(raw), WireThread)
    if wire is None:
        wire, found = _repair(raw)
    if wire is None:
        return None, found
    cut = False

    def text(given: str | None, limit: int = 200) -> str | None:
        nonlocal cut
        kept, was_cut = clean(given or "", limit)
        cut = cut or was_cut
        return kept or None

    git = wire.gitInfo
    values = Values(
        name=text(wire.name),
        model=text(wire.model),
        effort=text(wire.reasoningEffort),
        cwd=text(wire.cwd, limit=1_000),
        git=Git(branch=text(git.branch), origin=text(git.originUrl), sha=text(git.sha))
        if git is not None
        else None,
        parent=text(wire.parentThreadId),
        ephemeral=wire.ephemeral,
        history_mode=text(wire.historyMode),
    )
    status, unknown = _status(wire.status)
    record = ThreadRecord(
        id=wire.id,
        values=values,
        status=status,
        completeness=Completeness(truncated=cut, errors=found + unknown),
    )
    return record, found


def _repair(raw: msgspec.Raw) -> tuple[WireThread | None, tuple[str, ...]]:
    """A thread that does not fit: without the fields that our schema finds at fault."""
    value = decode(bytes(raw), dict[str, Any])
    found = drift("thread", value)
    if not isinstance(value, dict):
        return None, found
    for item in found:
        name, _, rule = item.partition(": ")
        field = name.split(".")[1] if "." in name else None
        if rule == "required" or field in ("id", "status", "ephemeral"):
            return None, found
        value.pop(field or "", None)
    try:
        return msgspec.convert(value, WireThread), found
    except msgspec.ValidationError:
        return None, found or ("thread: unreadable",)


def _status(wire: WireStatus) -> tuple[NativeStatus, tuple[str, ...]]:
    """Unknown variants stay unknown: they never count as working, waiting or idle."""
    activity = _STATUS.get(wire.type)
    flags = tuple(wire.activeFlags)
    if activity is None:
        return NativeStatus(activity="unknown"), ("unknown status",)
    if not _WAITING_FLAGS.issuperset(flags):
        return NativeStatus(activity="unknown"), ("unknown flag",)
    return NativeStatus(activity=activity, waiting=bool(flags), flags=flags), ()
