"""The model over HTTP, as an agent meets it."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from evals.lab.fake_model import FakeModel


@pytest.fixture
def model(tmp_path: Path) -> Iterator[FakeModel]:
    with FakeModel(tmp_path) as running:
        yield running


def ask(model: FakeModel, words: str, **more: Any) -> httpx.Response:
    tools = [{"name": "Bash", "input_schema": {}}]
    body = {"messages": [{"role": "user", "content": words}], "tools": tools, **more}
    return httpx.post(f"{model.url}/v1/messages", json=body, timeout=20)


def test_it_listens_on_loopback_alone(model: FakeModel) -> None:
    assert model.url.startswith("http://127.0.0.1:")


def test_a_streamed_answer_says_what_the_scenario_says(model: FakeModel) -> None:
    answer = ask(model, "What does cart.py do?", stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    data = [line[6:] for line in answer.text.split("\n") if line.startswith("data: ")]
    said = "".join(json.loads(d).get("delta", {}).get("text", "") for d in data)
    assert "computes the total" in said


def test_an_answer_that_is_not_streamed_is_one_object(model: FakeModel) -> None:
    answer = ask(model, "What does cart.py do?").json()
    assert "computes the total" in answer["content"][0]["text"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/responses", {"input": "What does cart.py do?", "stream": True}),
        ("/responses", {"input": "What does cart.py do?"}),
        ("/v1/chat/completions", {"messages": [], "stream": True}),
        ("/v1beta/models/fake:streamGenerateContent", {"contents": []}),
        ("/v1beta/models/fake:generateContent", {"contents": []}),
    ],
)
def test_every_protocol_answers(model: FakeModel, path: str, body: dict[str, Any]) -> None:
    answer = httpx.post(model.url + path, json=body, timeout=20)
    assert answer.status_code == 200
    assert answer.content


def test_an_error_comes_with_its_status_and_the_time_to_wait(model: FakeModel) -> None:
    answer = ask(model, "Summarise the readme", stream=True)
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "8"
    assert answer.json()["error"]["type"] == "rate_limit_error"


def test_a_slow_answer_ends_when_it_is_released(model: FakeModel) -> None:
    words = f"In {model.work}/shop: Check whether the flaky test is a race"
    answers: list[httpx.Response] = []
    thread = threading.Thread(target=lambda: answers.append(ask(model, words, stream=True)))
    thread.start()
    deadline = time.monotonic() + 10
    while not model.seen and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [(seen.project, seen.scenario) for seen in model.seen] == [("shop", "silent")]
    # The answer looks for a release every tenth of a second until it has been given one.
    while thread.is_alive() and time.monotonic() < deadline:
        model.release("shop")
        thread.join(0.2)
    assert "It is a race" in answers[0].text


def test_a_body_that_is_no_json_is_refused_in_the_protocols_own_words(model: FakeModel) -> None:
    answer = httpx.post(f"{model.url}/v1/messages", content=b"{", timeout=20)
    assert answer.status_code == 400
    assert answer.json()["type"] == "error"


def test_tokens_can_be_counted_and_models_listed(model: FakeModel) -> None:
    counted = httpx.post(f"{model.url}/v1/messages/count_tokens", json={}, timeout=20)
    assert counted.json()["input_tokens"] > 0
    listed = httpx.get(f"{model.url}/v1/models", timeout=20)
    assert listed.json()["data"][0]["id"] == "fake-model"


def test_the_port_is_free_again_afterwards(tmp_path: Path) -> None:
    with FakeModel(tmp_path) as first:
        port = int(first.url.rsplit(":", 1)[1])
    with FakeModel(tmp_path, port) as second:
        assert second.url.endswith(f":{port}")
