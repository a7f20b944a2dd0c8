"""Commands, Apprise and ntfy: what the other side does is named, and no secret with it."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from openbus.notify.apprise_sender import AppriseSender, UrlError
from openbus.notify.command import CommandSender
from openbus.notify.content import Parcel, trial
from openbus.notify.ntfy import NtfySender, Topic, parse
from openbus.notify.records import Channel

CHANNEL = Channel(name="phone", type="any")
PARCEL = Parcel(verb="announce", tag="ob-1", title="codex needs you", body="Run this?", at=5)
CLOSE = Parcel(verb="withdraw", tag="ob-1", quiet=True)


class Web:
    """A local HTTP server that writes down what it is asked."""

    def __init__(self) -> None:
        self.status = 200
        self.asked: list[tuple[str, str, dict[str, str], Any]] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                found = json.loads(body) if body else None
                headers = {name.lower(): value for name, value in self.headers.items()}
                web.asked.append((self.command, self.path, headers, found))
                self.send_response(web.status)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                return

        for verb in ("POST", "PUT", "DELETE"):
            setattr(Handler, f"do_{verb}", Handler.answer)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    yield server
    server.close()


# --- commands -----------------------------------------------------------------------------------


def script(tmp_path: Path, text: str) -> tuple[str, ...]:
    path = tmp_path / "hook.py"
    path.write_text(text)
    return (sys.executable, str(path))


async def test_a_command_gets_the_notification_as_json(tmp_path: Path) -> None:
    out = tmp_path / "out"
    argv = script(tmp_path, f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())")
    outcome = await CommandSender(CHANNEL, argv).send(PARCEL)
    assert outcome.result == "accepted"
    told = json.loads(out.read_text())
    assert (told["verb"], told["tag"], told["title"]) == ("announce", "ob-1", "codex needs you")


async def test_a_command_that_fails_is_tried_later(tmp_path: Path) -> None:
    outcome = await CommandSender(CHANNEL, script(tmp_path, "raise SystemExit(7)")).send(PARCEL)
    assert (outcome.result, outcome.reason) == ("later", "the command ended with 7")


async def test_a_command_that_does_not_read_is_no_defect(tmp_path: Path) -> None:
    big = msgspec.structs.replace(PARCEL, body="x" * 500_000)
    outcome = await CommandSender(CHANNEL, script(tmp_path, "pass")).send(big)
    assert outcome.result == "accepted"


async def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    child = f"import time; time.sleep(1.5); open({str(mark)!r}, 'w')"
    argv = script(
        tmp_path,
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "time.sleep(100)",
    )
    started = time.monotonic()
    outcome = await CommandSender(CHANNEL, argv, timeout=0.6).send(PARCEL)
    assert outcome.result == "unknown"
    assert time.monotonic() - started < 30
    await asyncio.sleep(2)
    assert not mark.exists()


async def test_a_command_that_is_not_there_is_named() -> None:
    outcome = await CommandSender(CHANNEL, ("/no/such/program",)).send(PARCEL)
    assert outcome.reason == "the command cannot be run: no such file or directory"


# --- Apprise ------------------------------------------------------------------------------------


async def test_apprise_delivers(web: Web) -> None:
    sender = AppriseSender(CHANNEL, f"json://127.0.0.1:{web.port}/s3cret-path")
    outcome = await sender.send(PARCEL)
    assert outcome.result == "accepted"
    [(verb, path, _, body)] = web.asked
    assert (verb, path) == ("POST", "/s3cret-path")
    assert (body["title"], body["message"]) == ("codex needs you", "Run this?")
    assert (await sender.send(CLOSE)).result == "cannot"
    await sender.close()


async def test_apprise_names_the_status_and_not_the_address(web: Web) -> None:
    web.status = 500
    outcome = await AppriseSender(CHANNEL, f"json://me:s3cret@127.0.0.1:{web.port}/").send(PARCEL)
    assert (outcome.result, outcome.reason) == ("later", "status 500")


async def test_apprise_says_that_nobody_is_there(web: Web) -> None:
    web.close()
    outcome = await AppriseSender(CHANNEL, f"json://127.0.0.1:{web.port}/s3cret").send(PARCEL)
    assert (outcome.result, outcome.reason) == ("later", "the service is not reached or refuses")


@pytest.mark.parametrize("url", ["", "s3cret", "nosuch://s3cret", "tgram://s3cret", "http://"])
def test_a_bad_address_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(UrlError) as error:
        AppriseSender(CHANNEL, url)
    assert "s3cret" not in str(error.value)


# --- ntfy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "topic"),
    [
        ("ntfy://mine", Topic(root="https://ntfy.sh", name="mine")),
        ("ntfys://host/mine/", Topic(root="https://host", name="mine")),
        ("ntfy://host:8080/mine", Topic(root="http://host:8080", name="mine")),
        ("ntfys://tk_1@host/mine", Topic(root="https://host", name="mine", token="tk_1")),
        (
            "ntfy://me:p%40ss@host/mine",
            Topic(root="http://host", name="mine", user="me", password="p@ss"),
        ),
        ("ntfys://host/one/two", None),
        ("ntfys://host/mine?priority=max", None),
        ("json://host/mine", None),
        ("ntfy://host:port/mine", None),
    ],
)
def test_addresses_of_topics(url: str, topic: Topic | None) -> None:
    assert parse(url) == topic


async def test_ntfy_shows_replaces_and_takes_back(web: Web) -> None:
    topic = parse(f"ntfy://tk_s3cret@127.0.0.1:{web.port}/mine")
    assert topic is not None
    async with httpx.AsyncClient() as client:
        sender = NtfySender(CHANNEL, topic, client)
        for parcel in (PARCEL, msgspec.structs.replace(PARCEL, verb="update", quiet=True), CLOSE):
            assert (await sender.send(parcel)).result == "accepted"
    (_, _, headers, shown), (_, _, _, update), (verb, path, _, _) = web.asked
    assert headers["authorization"] == "Bearer tk_s3cret"
    assert (shown["topic"], shown["message"], shown["priority"]) == ("mine", "Run this?", 3)
    assert shown["sequence_id"] == update["sequence_id"] == "ob-1"
    assert update["priority"] == 2
    assert (verb, path) == ("DELETE", "/mine/ob-1")


async def test_an_old_ntfy_server_cannot_take_back(web: Web) -> None:
    web.status = 404
    topic = parse(f"ntfy://me:s3cret@127.0.0.1:{web.port}/mine")
    assert topic is not None
    async with httpx.AsyncClient() as client:
        sender = NtfySender(CHANNEL, topic, client)
        assert (await sender.send(CLOSE)).result == "cannot"
        outcome = await sender.send(PARCEL)
    assert (outcome.result, outcome.reason) == ("later", "status 404")


async def test_ntfy_that_is_not_reached(web: Web) -> None:
    web.close()
    topic = parse(f"ntfy://127.0.0.1:{web.port}/mine")
    assert topic is not None
    async with httpx.AsyncClient() as client:
        outcome = await NtfySender(CHANNEL, topic, client).send(trial(1))
    assert (outcome.result, outcome.reason) == ("later", "the server is not reached")
