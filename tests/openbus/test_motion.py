"""What a row of captures shows: answers that grow, titles that spin."""

from __future__ import annotations

import pytest

from openbus.model import Capture, Cursor
from openbus.motion import GROWTH_MS, SPIN_MS, Motion, has_grown
from openbus.screen.grid import Memo
from openbus.screen.manifest import load_library

CODEX = load_library().get("codex")


def screen(body: list[str], width: int = 60, draft: str = "Ask Codex to do anything") -> Capture:
    rows = [*body, "", f"› {draft}", "", "  GPT-6-Sol default · ~/shop"]
    return Capture(
        ansi="\n".join(rows), width=width, height=20, cursor=Cursor(x=2, y=len(body) + 1)
    )


def note(motion: Motion, body: list[str], now: int, goes_on: bool = True) -> bool:
    assert CODEX is not None
    grown = motion.note_screen(screen(body), CODEX, Memo(), now)
    if grown:
        motion.step(now, goes_on)
    return grown


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["• The answer"], ["• The answer goes on"]),
        (["one line of text", "and another"], ["one line of text", "and another", "a third"]),
        (["x" * 200, "tail of it"], ["x" * 100, "tail of it", "and more below it"]),
        (["a long first line", "a last wo"], ["a long first line", "a last word and one more"]),
    ],
)
def test_text_that_goes_on_has_grown(old: list[str], new: list[str]) -> None:
    assert has_grown(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["the same"], ["the same"]),
        (["one page of help"], ["quite another page of help"]),
        (["a", "b", "tip: press x"], ["a", "b", "tip: press y"]),
        (["a longer screen", "with two rows"], ["a longer screen"]),
        ([], ["a first paint"]),
    ],
)
def test_a_repaint_has_not_grown(old: list[str], new: list[str]) -> None:
    assert not has_grown(old, new)


def test_two_steps_right_after_work_are_work_going_on() -> None:
    motion = Motion()
    note(motion, ["• The checkout flow"], 0)
    note(motion, ["• The checkout flow starts"], 250)
    assert not motion.growing(250)
    note(motion, ["• The checkout flow starts when"], 500)
    assert motion.growing(500)
    assert motion.growing(500 + GROWTH_MS - 1)
    assert motion.ends_at(500) == 500 + GROWTH_MS
    assert not motion.growing(500 + GROWTH_MS)


def test_a_pause_in_the_answer_is_bridged() -> None:
    motion = Motion()
    body = "• word"
    for now in (0, 250, 500):
        note(motion, [body := body + " word"], now)
    assert motion.growing(5_500)
    note(motion, [body + " again"], 5_600)
    assert motion.growing(13_000)


def test_a_local_command_painted_in_two_steps_is_no_work() -> None:
    motion = Motion()
    note(motion, ["old text that stands there"], 0, goes_on=False)
    note(motion, ["old text that stands there", "› /status"], 250, goes_on=False)
    note(motion, ["old text that stands there", "› /status", "Session: 1"], 500, goes_on=False)
    assert not motion.growing(500)


def test_a_stream_that_we_came_into_counts_when_it_lasts() -> None:
    motion = Motion()
    body = "• word"
    note(motion, [body], 0, goes_on=False)
    for now in (400, 800, 1200, 1600):
        note(motion, [body := body + " word"], now, goes_on=False)
    assert motion.growing(1600)


def test_what_is_typed_into_the_composer_is_no_growth() -> None:
    assert CODEX is not None
    motion = Motion()
    for now, draft in ((0, "fix"), (250, "fix the"), (500, "fix the cart")):
        capture = screen(["• An old answer"], draft=draft)
        assert not motion.note_screen(capture, CODEX, Memo(), now)


def test_a_resize_lays_text_out_anew_and_is_no_growth() -> None:
    assert CODEX is not None
    motion = Motion()
    motion.note_screen(screen(["a b c"], width=60), CODEX, Memo(), 0)
    assert not motion.note_screen(screen(["a b c d e"], width=40), CODEX, Memo(), 250)


def test_a_spinning_title_counts_until_its_cell_is_gone() -> None:
    motion = Motion()
    motion.note_title("⠋ Fix the cart | shop", 0)
    assert not motion.spinning(0)
    motion.note_title("⠙ Fix the cart | shop", 250)
    assert motion.spinning(250)
    assert not motion.spinning(250 + SPIN_MS)
    motion.note_title("⠹ Fix the cart | shop", 500)
    motion.note_title("Fix the cart | shop", 750)
    assert not motion.spinning(750)


def test_a_title_whose_text_changes_does_not_spin() -> None:
    motion = Motion()
    motion.note_title("⠋ Fix the cart", 0)
    motion.note_title("⠙ Another task", 250)
    assert not motion.spinning(250)
