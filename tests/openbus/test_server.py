"""The HTTP API: who comes in, what is answered, and what never gets out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import httpx
import msgspec
import pytest
from starlette.types import ASGIApp, Message, Scope

from openbus.bus import Bus
from openbus.model import Capture, PaneState
from openbus.pairing import Pairing
from openbus.push import PushManager, Sighting
from openbus.server import Source, application
from tests.openbus.live_support import KEY, asking, pane, reading

OTHER = "box:default:100-1700000000:%2:202"


def source() -> Source:
    bus = Bus()
    push = PushManager("box")
    shown = msgspec.structs.replace(pane(OTHER), title="<script>alert(1)</script>")
    bus.publish(push.observe(Sighting(pane=shown, reading=reading()), 1000))
    bus.publish(push.observe(Sighting(pane=pane(), reading=asking()), 1000))
    bus.publish(push.advance(2000))
    return Source(
        bus=bus,
        fresh=push.fresh,
        capture=lambda key: Capture(ansi="a\033[31mb", width=5, height=2) if key == KEY else None,
        metrics=lambda: b"# metrics\n",
        healthy=lambda: True,
    )


@pytest.fixture
def served() -> Source:
    return source()


@pytest.fixture
def pairing(tmp_path: Path) -> Pairing:
    return Pairing(tmp_path)


@pytest.fixture
def token(pairing: Pairing) -> str:
    """A key that may look, no more."""
    return pairing.issue("view", "a test", 0)


@pytest.fixture
async def web(served: Source, pairing: Pairing, token: str) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(application(served, pairing, frozenset({"desk.example"})))
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:7368", headers=headers
    ) as client:
        yield client


async def test_panes_come_most_urgent_first_as_the_schema_says(web: httpx.AsyncClient) -> None:
    answer = await web.get("/api/panes")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    states = msgspec.json.decode(answer.content, type=list[PaneState])
    assert [state.needs_you for state in states] == [True, False]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("needs_you=1", 1),
        ("needs_you=0", 2),
        ("pane=%252", 1),
        ("pane=default:%252", 1),
        (f"pane={quote(KEY)}", 1),
        ("host=elsewhere", 0),
        ("host=box", 2),
    ],
)
async def test_filters(web: httpx.AsyncClient, query: str, count: int) -> None:
    answer = await web.get(f"/api/panes?{query}")
    assert len(answer.json()) == count


@pytest.mark.parametrize("query", ["needs_you=maybe", "pane=", "pane=nonsense", "colour=red"])
async def test_a_bad_filter_is_422(web: httpx.AsyncClient, query: str) -> None:
    for path in ("/api/panes", "/api/events"):
        answer = await web.get(f"{path}?{query}")
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == 422


async def test_one_pane_by_its_percent_encoded_key(web: httpx.AsyncClient) -> None:
    answer = await web.get(f"/api/panes/{quote(KEY, safe='')}")
    assert answer.json()["pane"]["key"] == KEY
    screen = (await web.get(f"/api/panes/{quote(KEY, safe='')}/screen")).json()
    assert screen["rows"][0] == [
        {"text": "a", "fg": "", "bg": "", "flags": 0},
        {"text": "b", "fg": "31", "bg": "", "flags": 0},
    ]


async def test_an_unknown_pane_is_404_as_a_problem(web: httpx.AsyncClient) -> None:
    for path in ("/api/panes/nope", "/api/panes/nope/screen", "/api/nothing"):
        answer = await web.get(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/", "/app.js", "/api/panes", "/api/events", "/metrics"])
@pytest.mark.parametrize("given", ["", "Bearer wrong", "Bearer ", "Basic dDp0"])
async def test_without_the_token_there_is_401_and_no_detail(
    web: httpx.AsyncClient, path: str, given: str
) -> None:
    answer = await web.get(path, headers={"Authorization": given})
    assert answer.status_code == 401
    assert set(answer.json()) == {"type", "title", "status"}


async def test_health_is_open_and_says_nothing(web: httpx.AsyncClient) -> None:
    answer = await web.get("/healthz", headers={"Authorization": ""})
    assert answer.json() == {"status": "ok"}


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7368", "127.0.0.1.evil.example"])
async def test_a_foreign_name_is_refused(web: httpx.AsyncClient, host: str) -> None:
    assert (await web.get("/api/panes", headers={"Host": host})).status_code == 421


@pytest.mark.parametrize("host", ["localhost:7368", "desk.example", "[::1]:7368", "192.168.1.5"])
async def test_our_own_names_and_addresses_are_served(web: httpx.AsyncClient, host: str) -> None:
    assert (await web.get("/api/panes", headers={"Host": host})).status_code == 200


async def test_another_origin_is_refused(web: httpx.AsyncClient) -> None:
    for origin in ("http://evil.example", "null"):
        assert (await web.get("/api/panes", headers={"Origin": origin})).status_code == 403
    ours = {"Origin": "http://127.0.0.1:7368"}
    assert (await web.get("/api/panes", headers=ours)).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_states_are_read_only(web: httpx.AsyncClient, pairing: Pairing, method: str) -> None:
    assert (await web.request(method, "/api/panes")).status_code == 403
    full = {"Authorization": f"Bearer {pairing.issue('full', 'a test', 0)}"}
    answer = await web.request(method, "/api/panes", headers=full)
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}
    assert answer.headers["content-type"] == "application/problem+json"


async def test_head_and_options(web: httpx.AsyncClient) -> None:
    for path in ("/api/panes", "/api/events", "/healthz"):
        head = await web.head(path)
        assert (head.status_code, head.content) == (200, b"")
        options = await web.options(path)
        assert (options.status_code, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")


async def test_every_answer_has_the_strict_headers(web: httpx.AsyncClient) -> None:
    for path in ("/", "/api/panes", "/api/nothing"):
        headers = (await web.get(path)).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


async def test_the_page_holds_no_inline_code_and_no_markup_of_a_screen(
    web: httpx.AsyncClient,
) -> None:
    page = (await web.get("/")).text
    script = (await web.get("/app.js")).text
    assert "<script>" not in page
    assert "style=" not in page
    assert "innerHTML" not in script
    raw = (await web.get("/api/panes")).content
    assert json.loads(raw)[1]["pane"]["title"] == "<script>alert(1)</script>"


async def test_the_openapi_document_describes_every_route(web: httpx.AsyncClient) -> None:
    document = (await web.get("/api/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    assert {"/api/panes", "/api/panes/{key}", "/api/events", "/metrics"} <= set(document["paths"])
    assert "PaneState" in document["components"]["schemas"]


async def test_a_defect_says_nothing_about_itself() -> None:
    def broken() -> bytes:
        raise RuntimeError("secret")

    made = msgspec.structs.replace(source(), metrics=broken)
    transport = httpx.ASGITransport(
        application(made, None, frozenset()), raise_app_exceptions=False
    )
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get("/metrics")
    assert answer.status_code == 500
    assert "secret" not in answer.text


class Reader:
    """Reads the stream from the application itself, event by event."""

    def __init__(
        self, source: Source, query: str = "", headers: dict[str, str] | None = None
    ) -> None:
        app = application(source, None, frozenset())
        self._parts: asyncio.Queue[bytes] = asyncio.Queue()
        self._left = asyncio.Event()
        given = {"host": "localhost", **(headers or {})}
        scope: Scope = {
            "type": "http",
            "method": "GET",
            "path": "/api/events",
            "raw_path": b"/api/events",
            "query_string": query.encode(),
            "headers": [(k.encode(), v.encode()) for k, v in given.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 7368),
            "scheme": "http",
            "http_version": "1.1",
        }
        self.task = asyncio.create_task(self._run(app, scope))

    async def _run(self, app: ASGIApp, scope: Scope) -> None:
        await app(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            self._parts.put_nowait(message["body"])

    async def event(self) -> dict[str, str]:
        async with asyncio.timeout(10):
            while True:
                part = (await self._parts.get()).decode()
                if part.startswith("id:"):
                    lines = (line.partition(": ") for line in part.strip().split("\n"))
                    return {name: value for name, _, value in lines}

    async def leave(self) -> None:
        self._left.set()
        await self.task


async def test_the_stream_begins_with_a_reset_and_everything(served: Source) -> None:
    reader = Reader(served)
    got = [await reader.event() for _ in range(3)]
    assert [event["event"] for event in got] == ["reset", "pane", "pane"]
    assert got[0]["id"] == f"{served.bus.epoch}-{served.bus.rev}"
    await reader.leave()
    assert served.bus.subscribers == 0


async def test_the_stream_replays_after_a_known_id(served: Source) -> None:
    after = {"last-event-id": f"{served.bus.epoch}-1"}
    reader = Reader(served, headers=after)
    got = [await reader.event() for _ in range(2)]
    assert [event["event"] for event in got] == ["pane", "announce"]
    assert json.loads(got[1]["data"])["attention"] == "needs_you"
    await reader.leave()


async def test_the_stream_starts_again_after_an_unknown_id(served: Source) -> None:
    reader = Reader(served, headers={"last-event-id": "another-5"})
    assert (await reader.event())["event"] == "reset"
    await reader.leave()


async def test_the_stream_filters(served: Source) -> None:
    reader = Reader(served, "needs_you=1")
    got = [await reader.event() for _ in range(2)]
    assert [event["event"] for event in got] == ["reset", "pane"]
    assert json.loads(got[1]["data"])["needs_you"] is True
    await reader.leave()


async def test_the_stream_ends_with_the_bus(served: Source) -> None:
    reader = Reader(served)
    await reader.event()
    served.bus.close()
    async with asyncio.timeout(5):
        await reader.task
