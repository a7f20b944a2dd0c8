"""The protocol object can only read, never answers, and survives whatever a server sends."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openbus.codex import notifications, wire
from openbus.codex.protocol import ALLOWED_METHODS, READS, Protocol, ProtocolError, health_of
from openbus.codex.schemas import drift
from openbus.codex.wire import (
    Changed,
    Dropped,
    Expired,
    Initialized,
    Loaded,
    Page,
    Read,
    Refused,
)
from tests.openbus.codex.fake_server import thread
from tests.openbus.codex.world import FIXTURES, A, B

METHODS = [
    line.split("\t")
    for line in (FIXTURES / "methods.tsv").read_text().splitlines()
    if not line.startswith("#")
]


def answer(frame: str, **fields: Any) -> str:
    return json.dumps({"id": json.loads(frame)["id"], **fields})


def ready(version: str = "0.171.0") -> Protocol:
    protocol = Protocol("0.1")
    hello = protocol.initialize(0)
    result = {"userAgent": f"codex-tui/{version} (x)", "codexHome": "/home/dev/.codex"}
    assert isinstance(protocol.receive(answer(hello, result=result), 1), Initialized)
    protocol.initialized()
    return protocol


def announced(*ids: str) -> Protocol:
    protocol = ready()
    frame = protocol.loaded_list(2)
    protocol.receive(answer(frame, result={"data": list(ids), "nextCursor": None}), 3)
    return protocol


# --- what it can send


def test_the_allow_list_is_the_handshake_and_three_reads() -> None:
    assert {
        "initialize",
        "initialized",
        "thread/loaded/list",
        "thread/read",
        "thread/list",
    } == ALLOWED_METHODS


def test_every_allowed_read_is_classed_as_a_read_by_the_method_list() -> None:
    classes = {row[0]: row[2] for row in METHODS if row[1] == "client-request"}
    assert {method: classes[method] for method in READS} == {
        "thread/loaded/list": "R",
        "thread/read": "R*",
        "thread/list": "R*",
    }
    refused = {name for name, kind in classes.items() if kind in ("M", "U", "R!", "C", "NEVER")}
    assert refused and not refused & ALLOWED_METHODS
    gated = {row[0] for row in METHODS if row[3] == "experimental"}
    assert not gated & ALLOWED_METHODS


def test_the_names_we_opt_out_of_are_all_notifications_but_the_six_we_keep() -> None:
    known = {row[0] for row in METHODS if row[1] == "server-notification"}
    assert set(notifications.OPTED_OUT) | notifications.KEPT == known
    assert not set(notifications.OPTED_OUT) & notifications.KEPT
    requests = {row[0] for row in METHODS if row[1] == "server-request"}
    assert requests == notifications.SERVER_REQUESTS


def test_the_greeting_is_honest_and_asks_for_less() -> None:
    frame = json.loads(Protocol("9.9").initialize(0))
    assert frame["params"]["clientInfo"]["name"] == "openbus"
    assert frame["params"]["clientInfo"]["version"] == "9.9"
    assert frame["params"]["capabilities"] == {
        "experimentalApi": False,
        "optOutNotificationMethods": list(notifications.OPTED_OUT),
    }


def test_reads_have_fixed_parameters() -> None:
    protocol = announced(A)
    read = json.loads(protocol.read(A, 4))
    assert read["params"] == {"threadId": A, "includeTurns": False}
    protocol = ready()
    page = json.loads(protocol.list_page(4))
    assert page["params"]["useStateDbOnly"] is True and page["params"]["limit"] == 50


def test_a_thread_is_read_only_after_the_server_named_it() -> None:
    protocol = announced(A)
    with pytest.raises(ProtocolError, match="announced"):
        protocol.read(B, 4)


def test_nothing_is_read_before_the_handshake() -> None:
    with pytest.raises(ProtocolError, match="not initialized"):
        Protocol("0.1").loaded_list(0)


def test_one_request_at_a_time_and_never_the_same_id_twice() -> None:
    protocol = ready()
    first = protocol.loaded_list(10)
    with pytest.raises(ProtocolError, match="in flight"):
        protocol.list_page(10)
    protocol.receive(answer(first, result={"data": []}), 11)
    second = protocol.list_page(12)
    assert json.loads(first)["id"] != json.loads(second)["id"]


def test_no_public_method_can_produce_an_answer_frame() -> None:
    """The whole surface: five ways to send, each a request or a notification of our own."""
    makers = {
        name
        for name in vars(Protocol)
        if not name.startswith("_") and callable(getattr(Protocol, name))
    }
    assert makers == {
        "initialize",
        "initialized",
        "loaded_list",
        "list_page",
        "read",
        "abandon",
        "receive",
    }


# --- what it takes in


def test_a_request_of_the_server_is_dropped_and_counted() -> None:
    protocol = announced(A)
    for line in (
        (FIXTURES / "0.171.0" / "05b_subscriber_server_request.jsonl").read_text().split("\n")
    ):
        if line:
            event = protocol.receive(json.dumps(json.loads(line)["msg"]), 5)
            assert isinstance(event, Dropped) and event.reason == "server_request"
    assert protocol.dropped["server_request"] == 2
    assert protocol.pending == 0


def test_a_server_request_with_our_own_request_id_is_not_taken_for_the_answer() -> None:
    protocol = announced(A)
    frame = protocol.read(A, 4)
    number = json.loads(frame)["id"]
    event = protocol.receive(
        json.dumps({"id": number, "method": "item/tool/requestUserInput", "params": {}}), 5
    )
    assert isinstance(event, Dropped) and event.reason == "server_request"
    assert protocol.pending == 1


@pytest.mark.parametrize(
    "data",
    [
        "",
        "no json",
        "[]",
        "[" * 100_000,
        '{"id":1',
        "null",
        '{"method":7}',
        "{}",
        b"\xff\xfe\x00",
        '{"a":"' + "x" * 1_000_000,
    ],
)
def test_garbage_is_counted(data: str | bytes) -> None:
    protocol = ready()
    event = protocol.receive(data, 5)
    assert event == Dropped(reason="garbage")
    assert health_of(event) == "schema_drift"


@pytest.mark.parametrize("number", [99, "2", True, None, 2.5, [], {}])
def test_an_answer_to_nothing_is_late(number: object) -> None:
    protocol = announced(A)
    protocol.read(A, 4)
    assert protocol.receive(json.dumps({"id": number, "result": {}}), 5) == Dropped(reason="late")
    assert protocol.pending == 1


def test_an_answer_that_comes_twice_counts_once() -> None:
    protocol = announced(A)
    reply = answer(protocol.read(A, 4), result={"thread": thread(A)})
    assert isinstance(protocol.receive(reply, 5), Read)
    assert protocol.receive(reply, 6) == Dropped(reason="late")


def test_a_request_without_an_answer_expires_and_its_late_answer_is_dropped() -> None:
    protocol = announced(A)
    frame = protocol.read(A, 1_000)
    assert protocol.abandon() == [Expired(method="thread/read", thread=A)]
    assert protocol.abandon() == []
    late = protocol.receive(answer(frame, result={"thread": thread(A)}), 9_000)
    assert late == Dropped(reason="late")
    assert health_of(Expired(method="thread/read", thread=A)) == "timeout"


def test_an_answer_about_another_thread_is_no_answer() -> None:
    protocol = announced(A)
    event = protocol.receive(answer(protocol.read(A, 4), result={"thread": thread(B)}), 5)
    assert event == Read(thread=A, record=None, drift=("thread.id: other",))


def test_events_before_the_handshake_are_dropped() -> None:
    protocol = Protocol("0.1")
    protocol.initialize(0)
    event = protocol.receive('{"method":"thread/closed","params":{"threadId":"x"}}', 1)
    assert isinstance(event, Dropped) and event.reason == "early"


def test_an_event_only_names_a_thread() -> None:
    protocol = ready()
    data = {"method": "thread/name/updated", "params": {"threadId": A, "threadName": "secret"}}
    assert protocol.receive(json.dumps(data), 5) == Changed(method="thread/name/updated", thread=A)
    assert A in protocol.announced


def test_unknown_notifications_are_dropped_without_keeping_their_name() -> None:
    protocol = ready()
    event = protocol.receive('{"method":"thread/secret-plan","params":{}}', 5)
    assert event == Dropped(reason="notification", method=None)


@pytest.mark.parametrize("params", [None, [], {}, {"threadId": 7}, {"threadId": ""}])
def test_an_event_of_another_shape_is_drift(params: object) -> None:
    protocol = ready()
    event = protocol.receive(json.dumps({"method": "thread/closed", "params": params}), 5)
    assert isinstance(event, Dropped) and event.reason == "drift"
    assert health_of(event) == "schema_drift"


def test_ids_are_remembered_up_to_a_limit() -> None:
    protocol = ready()
    for number in range(6_000):
        data = {"method": "thread/closed", "params": {"threadId": f"t{number}"}}
        protocol.receive(json.dumps(data), 5)
    assert len(protocol.announced) == 5_000


# --- what answers mean


@pytest.mark.parametrize(
    ("error", "kind", "health"),
    [
        ({"code": -32001, "message": "Server overloaded; retry later."}, "overloaded",
         "unavailable"),
        ({"code": -32600, "message": "Invalid request: unknown variant `x`, expected one of"},
         "unsupported_method", "unsupported_method"),
        ({"code": -32601, "message": "thread/list is not supported yet"}, "unsupported_method",
         "unsupported_method"),
        ({"code": -32600, "message": "thread/list requires experimentalApi capability"},
         "unsupported_method", "unsupported_method"),
        ({"code": -32600, "message": f"thread not loaded: {A}"}, "not_found", "ok"),
        ({"code": "odd", "message": 7}, "other", "ok"),
        ("not even an object", "other", "ok"),
    ],
)  # fmt: skip
def test_error_replies_become_categories_without_their_text(
    error: object, kind: str, health: str
) -> None:
    protocol = announced(A)
    event = protocol.receive(answer(protocol.read(A, 4), error=error), 5)
    assert event == Refused(method="thread/read", thread=A, kind=kind)  # type: ignore[arg-type]
    assert health_of(event) == health


def test_drift_names_the_field_and_leaves_the_rest_readable() -> None:
    protocol = announced(A)
    odd = thread(A, name=["a", "list"], model="gpt-5.5")
    event = protocol.receive(answer(protocol.read(A, 4), result={"thread": odd}), 5)
    assert isinstance(event, Read) and event.record is not None
    assert event.drift == ("thread.name: type",)
    assert event.record.values.name is None and event.record.values.model == "gpt-5.5"
    assert health_of(event) == "schema_drift"


@pytest.mark.parametrize("lost", ["id", "status", "ephemeral"])
def test_a_thread_without_its_identity_is_no_record(lost: str) -> None:
    protocol = announced(A)
    odd = thread(A)
    del odd[lost]
    event = protocol.receive(answer(protocol.read(A, 4), result={"thread": odd}), 5)
    assert isinstance(event, Read) and event.record is None and event.drift


@pytest.mark.parametrize("result", [None, [], {}, {"thread": None}, {"thread": 3}, "text"])
def test_a_read_of_another_shape_is_drift(result: object) -> None:
    protocol = announced(A)
    event = protocol.receive(answer(protocol.read(A, 4), result=result), 5)
    assert isinstance(event, Read) and event.record is None
    assert health_of(event) == "schema_drift"


@pytest.mark.parametrize("result", [None, {"data": None}, {"data": [7]}, {}, {"data": [""]}])
def test_a_loaded_list_of_another_shape_is_drift_not_an_empty_inventory(result: object) -> None:
    protocol = ready()
    event = protocol.receive(answer(protocol.loaded_list(4), result=result), 5)
    assert isinstance(event, Loaded) and event.ids == () and event.drift
    assert health_of(event) == "schema_drift"


def test_one_odd_row_does_not_spoil_a_page() -> None:
    protocol = ready()
    rows = [thread(A), {"id": 7}, thread(B)]
    event = protocol.receive(answer(protocol.list_page(4), result={"data": rows}), 5)
    assert isinstance(event, Page)
    assert [record.id for record in event.threads] == [A, B] and event.drift


@pytest.mark.parametrize(
    ("agent", "version", "events"),
    [
        ("codex-tui/0.171.0 (Debian 12.0.0; x86_64) xterm (codex-tui; 0.171.0)", "0.171.0", True),
        ("someone else/0.159.2 (x)", "0.159.2", True),
        ("codex-tui/0.165.0 (x)", "0.165.0", False),
        ("codex-tui/0.200.0-alpha.3 (x)", "0.200.0-alpha.3", False),
        ("nothing like it", None, False),
    ],
)
def test_the_version_is_the_token_after_the_first_slash(
    agent: str, version: str | None, events: bool
) -> None:
    protocol = Protocol("0.1")
    result = {"userAgent": agent, "codexHome": "/h"}
    event = protocol.receive(answer(protocol.initialize(0), result=result), 1)
    assert isinstance(event, Initialized)
    assert event.capabilities.version == version and event.capabilities.events == events


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["id", "method", "params", "result", "error", "thread", "data", "status"]
            )
            | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(JSON, st.sampled_from(["loaded", "page", "read"]))
def test_no_json_makes_it_raise_or_answer(value: Any, what: str) -> None:
    protocol = announced(A)
    match what:
        case "loaded":
            frame = protocol.loaded_list(9)
        case "page":
            frame = protocol.list_page(9)
        case _:
            frame = protocol.read(A, 9)
    protocol.receive(json.dumps(value), 10)
    protocol.receive(answer(frame, result=value), 11)
    protocol.receive(json.dumps({"method": "thread/started", "params": value}), 12)


FIELDS = ["id", "status", "ephemeral", "name", "cwd", "model", "gitInfo", "parentThreadId"]


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(FIELDS), JSON)
def test_the_quick_decoder_and_the_schema_agree_on_what_fits(field: str, value: Any) -> None:
    given = thread(A, **{field: value})
    raw = msgspec.Raw(msgspec.json.encode(given))
    fits = wire.decode(bytes(raw), wire.WireThread) is not None
    assert fits == (drift("thread", msgspec.json.decode(raw)) == ())


# --- recorded connections


def recorded() -> list[Any]:
    files = sorted(FIXTURES.glob("*/*.jsonl"))
    return [pytest.param(path, id=f"{path.parent.name}-{path.stem[:30]}") for path in files]


@pytest.mark.parametrize("path", recorded())
def test_every_recorded_connection_is_understood_without_an_answer(path: Any) -> None:
    """Recorded answers are given to a protocol that asks the same; nothing drifts."""
    protocol = Protocol("0.1")
    asked: dict[object, dict[str, Any]] = {}
    frames = [json.loads(line) for line in path.read_text().splitlines()]
    for frame in frames:
        message = frame["msg"]
        if frame["dir"] == ">":
            asked[message.get("id")] = message
            continue
        if "method" not in message and message.get("id") in asked:
            request = asked.pop(message["id"])
            event = _repeat(protocol, request, message)
        else:
            event = protocol.receive(json.dumps(message), 1)
        if event is None:
            continue
        assert health_of(event) in ("ok", "unsupported_method"), event
        if isinstance(event, Read | Page | Loaded | Initialized):
            assert event.drift == ()


def _repeat(protocol: Protocol, request: dict[str, Any], message: dict[str, Any]) -> Any:
    """Our own request in place of the recorded one, its id in the recorded answer."""
    try:
        match request["method"]:
            case "initialize":
                frame = protocol.initialize(0)
            case "thread/loaded/list":
                frame = protocol.loaded_list(0)
            case "thread/list":
                frame = protocol.list_page(0)
            case "thread/read":
                frame = protocol.read(request["params"]["threadId"], 0)
            case _:
                return None
    except (ProtocolError, KeyError):
        return None  # the recording also tries what we never do
    event = protocol.receive(json.dumps({**message, "id": json.loads(frame)["id"]}), 1)
    if request["method"] == "initialize" and isinstance(event, Initialized):
        protocol.initialized()
    return event


STATUS = (
    r'"status": (\{"type": "(?:active|idle|systemError|notLoaded)"'
    r'(?:, "activeFlags": \[[^]]*\])?\})'
)


def test_statuses_of_the_recordings_are_read_as_documented() -> None:
    seen: set[tuple[str, bool]] = set()
    for path in sorted(FIXTURES.glob("*/*.jsonl")):
        for match in re.finditer(STATUS, path.read_text()):
            protocol = announced(A)
            value = thread(A, status=json.loads(match[1]))
            event = protocol.receive(answer(protocol.read(A, 4), result={"thread": value}), 5)
            assert isinstance(event, Read) and event.record is not None
            seen.add((event.record.status.activity, event.record.status.waiting))
    assert seen == {
        ("active", False),
        ("active", True),
        ("idle", False),
        ("error", False),
        ("not_loaded", False),
    }
