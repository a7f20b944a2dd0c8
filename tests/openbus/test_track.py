"""One pane's track: what is read again, what moves the clocks, what time adds."""

from __future__ import annotations

import msgspec

from openbus.fingerprint import ReadFingerprints
from openbus.model import Capture, Cursor, Program, Question, Reading, Why
from openbus.screen.grid import Memo
from openbus.screen.manifest import load_library
from openbus.track import REPAINT_MS, WORKING_MS, Agents, PaneTrack
from tests.openbus.live_support import pane, reading

AGENTS = Agents(load_library())


class Reader:
    """Gives readings that a test set and counts how often it was asked."""

    def __init__(self, answer: Reading) -> None:
        self.answer = answer
        self.calls = 0
        self.broken = False

    def __call__(self, capture: Capture, memo: Memo) -> Reading:
        self.calls += 1
        if self.broken:
            raise RuntimeError("a defect")
        return self.answer


def capture(text: str, title: str = "") -> Capture:
    return Capture(ansi=text, width=60, height=10, title=title, cursor=Cursor(x=0, y=8))


def track(answer: Reading) -> tuple[PaneTrack, Reader]:
    reader = Reader(answer)
    return PaneTrack(AGENTS, reader, ReadFingerprints()), reader


def test_an_unchanged_screen_is_not_read_again() -> None:
    subject, reader = track(reading())
    for now in (0, 250, 500):
        subject.see(pane(), capture("hello"), now)
    assert reader.calls == 1


def test_a_running_timer_moves_the_physical_clock_but_is_not_read() -> None:
    subject, reader = track(reading("working"))
    subject.see(pane(), capture("◦ Working (1s • esc to interrupt)"), 0)
    seen = subject.see(pane(), capture("• Working (2s • esc to interrupt)"), 1000)
    assert seen is not None
    assert (seen.changed_at, seen.parsed_at) == (1000, 0)
    assert reader.calls == 1


def test_digits_of_a_command_are_read() -> None:
    subject, reader = track(reading())
    subject.see(pane(), capture("$ kill 1"), 0)
    subject.see(pane(), capture("$ kill 2"), 250)
    assert reader.calls == 2


def test_first_sight_invents_no_change() -> None:
    subject, _ = track(reading())
    seen = subject.see(pane(), capture("hello"), 5)
    assert seen is not None
    assert (seen.changed_at, seen.parsed_at, seen.progress_at) == (None, 5, None)


def test_a_failed_read_keeps_the_state_and_is_tried_again() -> None:
    subject, reader = track(reading("working"))
    subject.see(pane(), capture("one"), 0)
    reader.broken = True
    seen = subject.see(pane(), capture("two"), 250)
    assert seen is not None
    assert seen.reading.activity == "working"
    assert seen.parsed_at == 0
    assert subject.failures == 1
    reader.broken = False
    seen = subject.see(pane(), capture("two"), 500)
    assert seen is not None
    assert seen.parsed_at == 500


def test_a_first_read_that_fails_says_nothing() -> None:
    subject, reader = track(reading())
    reader.broken = True
    assert subject.see(pane(), capture("one"), 0) is None


def test_a_working_pane_is_read_four_times_a_second() -> None:
    subject, _ = track(reading("working"))
    subject.see(pane(), capture("one"), 1000)
    assert subject.read_from() == 1000 + WORKING_MS
    subject.see(pane(), capture("two"), 1249)
    assert subject.read_from() == 1250


def test_a_pane_that_stands_is_read_at_once() -> None:
    subject, _ = track(reading("idle"))
    subject.see(pane(), capture("one"), 1000)
    assert subject.read_from() == 0


def test_a_repainting_program_is_read_once_a_second() -> None:
    subject, _ = track(reading("idle", program="shell"))
    for number in range(12):
        subject.see(pane(), capture(f"row {number}"), number * 100)
    assert subject.read_from() == 1100 + REPAINT_MS


def test_an_answer_that_grows_beside_an_idle_screen_is_work() -> None:
    busy = reading("working")
    subject, reader = track(busy)
    rows = ["› Explain", "• The"]
    composer = ["", "› Ask Codex to do anything", "", "  GPT-6-Sol default · ~/shop"]

    def see(now: int) -> str:
        shot = Capture(
            ansi="\n".join([*rows, *composer]),
            width=60,
            height=10,
            cursor=Cursor(x=2, y=len(rows) + 1),
        )
        seen = subject.see(pane(), shot, now)
        assert seen is not None
        return seen.reading.activity

    assert see(0) == "working"
    reader.answer = reading("idle", why=(Why(rule="codex/composer"),))
    for now, word in ((250, " answer"), (500, " grows"), (750, " on")):
        rows[1] += word
        last = see(now)
    assert last == "working"
    late = subject.expire(20_000)
    assert late is not None
    assert late.reading.activity == "idle"


def test_motion_never_makes_a_quotation_work() -> None:
    """A program that only the screen names may be a text about it."""
    quoted = msgspec.structs.replace(
        reading("idle"), program=Program(name="codex", via="screen", confidence="low")
    )
    subject, _ = track(quoted)
    for number, cell in enumerate("⠋⠙⠹⠸"):
        seen = subject.see(pane(), capture("text", title=f"{cell} shop"), number * 250)
    assert seen is not None
    assert seen.reading.activity == "idle"


def test_a_spinning_title_of_a_proved_program_is_work_but_never_an_answer_to_a_dialog() -> None:
    subject, reader = track(reading("idle"))
    for number, cell in enumerate("⠋⠙⠹⠸"):
        seen = subject.see(pane(), capture("text", title=f"{cell} shop"), number * 250)
    assert seen is not None
    assert seen.reading.activity == "working"
    question = Question(kind="approval", text="Run this?")
    reader.answer = reading("waiting", waiting_on="user", question=question, dialog="x")
    seen = subject.see(pane(), capture("Run this?", title="⠼ shop"), 1000)
    assert seen is not None
    assert seen.reading.activity == "waiting"


def test_a_dialog_that_a_shell_already_had_on_its_screen_is_old() -> None:
    """Claude's trust dialog stays above `claude --resume …` and the prompt after an exit."""
    dialog = ["Do you trust this folder?", "❯ Yes", "  No, exit"]
    rows = [*dialog, "Resume this session with:", "$ claude --continue"]
    asks = reading(
        "waiting",
        program="claude-code",
        waiting_on="user",
        dialog="trust",
        question=Question(kind="trust", text="Do you trust this folder?", rows=(0, 2)),
    )

    def shot(lines: list[str], cursor: Cursor) -> Capture:
        return Capture(ansi="\n".join(lines), width=60, height=10, cursor=cursor)

    subject, reader = track(reading("idle", program="shell"))
    subject.see(pane(), shot(rows, Cursor(x=2, y=4)), 0)
    reader.answer = asks
    old = subject.see(pane(), shot([*rows, "more"], Cursor(x=2, y=5)), 250)
    assert old is not None
    assert not old.reading.needs_you
    assert old.reading.keep
    live = subject.see(pane(), shot(dialog, Cursor(x=0, y=1, visible=False)), 500)
    assert live is not None
    assert live.reading.needs_you
