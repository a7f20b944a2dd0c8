"""What the app-server's answers mean: bytes in, records out. Pure.

Only the fields that this adapter consumes are decoded; a megabyte of preview is skipped without
building a string. Unknown enum values stay unknown, a field of an unexpected type is left out and
named as drift. Field meanings: Codex 0.159.2, 0.165.0 and 0.171.0, observed 2026-11-30.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from openbus.codex.schemas import drift
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


class WireThread(msgspec.Struct, omit_defaults=True):
    """Fields read from a thread. `preview` and `turns` are skipped without building a string."""

    id: Any = msgspec.UNSET
    status: Any = msgspec.UNSET
    ephemeral: Any = msgspec.UNSET
    parentThreadId: Any = msgspec.UNSET  # noqa: N815 - the wire's name
    name: Any = msgspec.UNSET
    cwd: Any = msgspec.UNSET
    historyMode: Any = msgspec.UNSET  # noqa: N815 - the wire's name
    model: Any = msgspec.UNSET
    reasoningEffort: Any = msgspec.UNSET  # noqa: N815 - the wire's name
    gitInfo: Any = msgspec.UNSET  # noqa: N815 - the wire's name


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
    value = decode(bytes(raw), Any)
    found = drift("loaded", value)
    if found:
        return Loaded(ids=(), cursor=None, drift=found)
    return Loaded(ids=tuple(value["data"]), cursor=value.get("nextCursor"))


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
    wire = decode(bytes(raw), WireThread)
    if wire is None:
        return None, ("thread: type",)
    value: dict[str, Any] = msgspec.to_builtins(wire)
    found = drift("thread", value)
    bad = {item.split(":")[0].split(".")[1] for item in found if "." in item}
    if any(": required" in item for item in found) or bad & {"id", "status", "ephemeral"}:
        return None, found
    for field in bad:
        value.pop(field, None)
    cut = False

    def text(key: str, source: dict[str, Any] = value, limit: int = 200) -> str | None:
        nonlocal cut
        given = source.get(key)
        if not given:
            return None
        kept, was_cut = clean(given, limit)
        cut = cut or was_cut
        return kept

    git = value.get("gitInfo")
    values = Values(
        name=text("name"),
        model=text("model"),
        effort=text("reasoningEffort"),
        cwd=text("cwd", limit=1_000),
        git=Git(branch=text("branch", git), origin=text("originUrl", git), sha=text("sha", git))
        if git
        else None,
        parent=text("parentThreadId"),
        ephemeral=value["ephemeral"],
        history_mode=text("historyMode"),
    )
    status, unknown = _status(value["status"])
    record = ThreadRecord(
        id=value["id"],
        values=values,
        status=status,
        completeness=Completeness(truncated=cut, errors=found + unknown),
    )
    return record, found


def _status(value: dict[str, Any]) -> tuple[NativeStatus, tuple[str, ...]]:
    """Unknown variants stay unknown: they never count as working, waiting or idle."""
    activity = _STATUS.get(value["type"])
    flags = tuple(value.get("activeFlags") or ())
    if activity is None:
        return NativeStatus(activity="unknown"), ("unknown status",)
    if not _WAITING_FLAGS.issuperset(flags):
        return NativeStatus(activity="unknown"), ("unknown flag",)
    return NativeStatus(activity=activity, waiting=bool(flags), flags=flags), ()
