"""One-shot states: the same rules as the service, without history."""

from __future__ import annotations

import msgspec

from openbus.model import Pane, Program, Question, Reading, Server, Window
from openbus.snapshot import most_urgent_first, state_of

PANE = Pane(
    key="host:default:1-2:%3:4",
    id="%3",
    server=Server(socket="/tmp/tmux-0/default", pid=1, started=2),
    pid=4,
    session="main",
    window=Window(index=1, name="work"),
    index=0,
)
NOW = 1_700_000_000_000
IDLE = Reading(program=Program(name="codex"), activity="idle")
ASKING = msgspec.structs.replace(
    IDLE,
    activity="waiting",
    waiting_on="user",
    dialog="run",
    question=Question(kind="approval", text="Run it?", command="rm -rf build"),
)


def test_an_ask_needs_you_and_carries_its_contract() -> None:
    state = state_of(PANE, ASKING, "host", NOW)
    assert (state.activity, state.waiting_on, state.needs_you) == ("waiting", "user", True)
    assert state.attention == "needs_you"
    assert state.question is not None
    assert state.question.contract is not None
    assert state.question.contract.episode == 1


def test_the_contract_key_does_not_depend_on_blanks() -> None:
    def key(text: str) -> str:
        question = Question(kind="approval", text=text, command="rm  -rf\nbuild")
        state = state_of(PANE, msgspec.structs.replace(ASKING, question=question), "host", NOW)
        assert state.question is not None
        assert state.question.contract is not None
        return state.question.contract.key

    assert key("Run it?") == key("Ru n\nit?")
    assert key("Run it?") != key("Run that?")


def test_without_history_nothing_is_done_and_no_clock_is_invented() -> None:
    state = state_of(PANE, IDLE, "host", NOW)
    assert state.attention == "none"
    assert state.clocks.changed_at is None
    assert state.clocks.progress_at is None
    assert state.clocks.parsed_at == NOW


def test_an_error_is_shown_at_once() -> None:
    failed = msgspec.structs.replace(IDLE, activity="error")
    assert state_of(PANE, failed, "host", NOW).attention == "error"


def test_an_overlay_without_history_is_unknown() -> None:
    covered = msgspec.structs.replace(IDLE, activity="unknown", overlay="model", keep=True)
    state = state_of(PANE, covered, "host", NOW)
    assert (state.activity, state.overlay, state.needs_you) == ("unknown", "model", False)


def test_the_most_urgent_comes_first_then_the_place() -> None:
    second = msgspec.structs.replace(PANE, key="host:default:1-2:%5:6", id="%5", index=2)
    third = msgspec.structs.replace(PANE, key="host:default:1-2:%7:8", id="%7", index=1)
    states = [
        state_of(PANE, IDLE, "host", NOW),
        state_of(second, ASKING, "host", NOW),
        state_of(third, ASKING, "host", NOW),
    ]
    assert [state.pane.id for state in most_urgent_first(states)] == ["%7", "%5", "%3"]
