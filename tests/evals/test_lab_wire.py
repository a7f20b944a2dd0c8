"""Reading requests and encoding answers, without a socket."""

import json
from typing import Any

import pytest

from evals.lab.scenario import FALLBACK, Say, Think, named
from evals.lab.wire import chat, gemini, messages, responses
from evals.lab.wire.common import Call, Dialect

ALL: list[Dialect] = [responses, messages, chat, gemini]


def request(dialect: Dialect, turns: list[tuple[str, str]], tools: bool = True) -> dict[str, Any]:
    """A body with these turns: `("person", words)`, `("agent", words)` or `("result", output)`."""
    if dialect.name == "responses":
        items: list[dict[str, Any]] = []
        for who, words in turns:
            if who == "result":
                items.append({"type": "function_call_output", "call_id": "c", "output": words})
            else:
                role = "user" if who == "person" else "assistant"
                content = [{"type": "input_text", "text": words}]
                items.append({"type": "message", "role": role, "content": content})
        return {"input": items, "tools": [{"type": "function", "name": "shell"}] if tools else []}
    if dialect.name == "gemini":
        contents = []
        for who, words in turns:
            part = {"functionResponse": {"name": "x"}} if who == "result" else {"text": words}
            contents.append({"role": "model" if who == "agent" else "user", "parts": [part]})
        declared = [{"functionDeclarations": [{"name": "read_file"}]}] if tools else []
        return {"contents": contents, "tools": declared}
    said = []
    for who, words in turns:
        if who == "result" and dialect.name == "chat":
            said.append({"role": "tool", "content": words})
        elif who == "result":
            said.append({"role": "user", "content": [{"type": "tool_result", "content": words}]})
        else:
            said.append({"role": "assistant" if who == "agent" else "user", "content": words})
    declared = [{"name": "Bash", "function": {"name": "bash"}}] if tools else []
    return {"messages": said, "tools": declared}


@pytest.mark.parametrize("dialect", ALL, ids=lambda dialect: dialect.name)
class TestReading:
    def test_the_sentence_of_the_prompt_names_the_scenario(self, dialect: Dialect) -> None:
        read = dialect.read(request(dialect, [("person", "Add a settings module")]))
        assert (read.scenario, read.round) == (named("approve_write"), 0)
        assert read.tools

    def test_each_tool_result_is_a_round(self, dialect: Dialect) -> None:
        turns = [
            ("person", "Fix the rounding bug in cart.py"),
            ("agent", "Let me look."),
            ("result", "def total"),
            ("agent", "Now the edit."),
            ("result", "ok"),
        ]
        assert dialect.read(request(dialect, turns)).round == 2

    def test_a_new_prompt_starts_at_the_first_round(self, dialect: Dialect) -> None:
        turns = [
            ("person", "Fix the rounding bug in cart.py"),
            ("agent", "Let me look."),
            ("result", "def total"),
            ("agent", "Done."),
            ("person", "What does cart.py do?"),
        ]
        read = dialect.read(request(dialect, turns))
        assert (read.scenario, read.round) == (named("quick"), 0)

    def test_unknown_words_get_the_fallback(self, dialect: Dialect) -> None:
        turns = [("person", "What does cart.py do?"), ("agent", "…"), ("person", "Thanks")]
        assert dialect.read(request(dialect, turns)).scenario is FALLBACK

    def test_a_request_without_tools_wants_a_title(self, dialect: Dialect) -> None:
        turns = [("person", "What does cart.py do?")]
        assert dialect.read(request(dialect, turns, tools=False)).scenario.name == "title"

    def test_a_request_for_a_summary_is_answered_with_one(self, dialect: Dialect) -> None:
        turns = [("person", "Please create a detailed summary of the conversation so far.")]
        assert dialect.read(request(dialect, turns)).scenario.name == "compact"

    def test_an_empty_body_is_no_error(self, dialect: Dialect) -> None:
        assert dialect.read({}).round == 0


def test_a_prompt_queued_beside_a_tool_result_counts() -> None:
    content = [
        {"type": "tool_result", "content": "3 passed"},
        {"type": "text", "text": "Clean up the build directory"},
    ]
    body = request(messages, [("person", "Run the slow test suite")])
    body["messages"].append({"role": "user", "content": content})
    read = messages.read(body)
    assert (read.scenario, read.round) == (named("approve_shell"), 0)


def test_what_an_agent_adds_to_a_prompt_is_not_the_prompt() -> None:
    words = "<system-reminder>Run the slow test suite</system-reminder>What does cart.py do?"
    assert messages.read(request(messages, [("person", words)])).scenario is named("quick")


def test_tools_in_an_input_item_and_in_a_namespace_are_offered() -> None:
    body = request(responses, [("person", "Hello")], tools=False)
    inner = {"type": "namespace", "name": "collaboration", "tools": [{"name": "spawn_agent"}]}
    body["input"].append({"type": "additional_tools", "tools": [{"name": "exec"}, inner]})
    tools = responses.read(body).tools
    assert tools["spawn_agent"]["namespace"] == "collaboration"
    assert "exec" in tools


def events(data: bytes) -> list[dict[str, Any]]:
    lines = data.decode().replace("\r", "").split("\n")
    payloads = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
    return [json.loads(payload) for payload in payloads]


def encoded(dialect: Dialect, body: dict[str, Any]) -> bytes:
    encoder = dialect.encoder(body)
    thought, words = Think("Hm", 0), Say("Hello", 0)
    data = encoder.start()
    for part in (thought, words):
        data += encoder.open(part) + encoder.piece(part, part.text) + encoder.close(part, part.text)
    data += encoder.keep_alive()
    return data + encoder.call(Call(name="run", arguments={"x": 1})) + encoder.end()


def test_responses_streams_items_and_ends_completed() -> None:
    kinds = [event["type"] for event in events(encoded(responses, {}))]
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    done = [e["item"] for e in events(encoded(responses, {})) if e["type"].endswith("item.done")]
    assert [item["type"] for item in done] == ["reasoning", "message", "function_call"]
    assert done[2]["arguments"] == '{"x": 1}'


def test_messages_streams_blocks_and_says_that_a_tool_is_used() -> None:
    stream = events(encoded(messages, {"thinking": {"type": "enabled"}}))
    blocks = [e["content_block"]["type"] for e in stream if e["type"] == "content_block_start"]
    assert blocks == ["thinking", "text", "tool_use"]
    [delta] = [event["delta"] for event in stream if event["type"] == "message_delta"]
    assert delta["stop_reason"] == "tool_use"


def test_messages_keeps_reasoning_to_itself_when_it_was_not_asked_for() -> None:
    stream = events(encoded(messages, {}))
    blocks = [e["content_block"]["type"] for e in stream if e["type"] == "content_block_start"]
    assert blocks == ["text", "tool_use"]


def test_chat_streams_deltas_and_ends_with_done() -> None:
    data = encoded(chat, {"model": "m"})
    deltas = [event["choices"][0]["delta"] for event in events(data)]
    assert {"content": "Hello"} in deltas
    assert {"reasoning_content": "Hm"} in deltas
    assert data.endswith(b"data: [DONE]\n\n")


def test_gemini_streams_parts_and_ends_with_a_reason() -> None:
    parts = [event["candidates"][0]["content"]["parts"][0] for event in events(encoded(gemini, {}))]
    assert {"text": "Hello"} in parts
    assert {"functionCall": {"name": "run", "args": {"x": 1}}} in parts
    assert events(encoded(gemini, {}))[-1]["candidates"][0]["finishReason"] == "STOP"
