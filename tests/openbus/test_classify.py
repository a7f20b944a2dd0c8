"""Arbitrary screens never raise and never need you without rows that prove it."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openbus.classify import classify
from openbus.corpus import paths_below, read
from openbus.model import Capture, Cursor, Process
from tests.openbus.screen.support import CORPUS, library

PROGRAMS = ("codex", "claude", "opencode", "gemini", "bash", "ssh", "vim", "deployer")
PIECES = st.sampled_from(
    [
        "❯ 1. Yes",
        "  2. No",
        "› ",
        "❯ ",
        "─" * 40,
        "╹▀▀▀▀▀▀",
        "┃  △ Permission required",
        "┃   Allow once   Allow always   Reject",
        "Do you want to proceed?",
        "Would you like to run the following command?",
        "Press enter to confirm or esc to cancel",
        "• Working (3s • esc to interrupt)",
        "✻ Baked for 3s",
        "Password: ",
        "\x1b[31m",
        "\x1b[2m",
        "\x1b]0;x\x07",
        "漢字",
        "\u202e",
        "\ud83d",
        "\x00\x07\x0e",
    ]
)
ROW = st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=4).map("".join)


@st.composite
def captures(draw: st.DrawFn) -> Capture:
    program = draw(st.sampled_from(PROGRAMS))
    return Capture(
        ansi="\n".join(draw(st.lists(ROW, max_size=30))),
        width=draw(st.integers(1, 1000)),
        height=draw(st.integers(1, 500)),
        cursor=Cursor(
            x=draw(st.integers(0, 1000)), y=draw(st.integers(0, 500)), visible=draw(st.booleans())
        ),
        alternate_on=draw(st.booleans()),
        dead=draw(st.booleans()),
        title=draw(st.text(max_size=20)),
        processes=(Process(comm=program, foreground=True, depth=1, argv=(program,)),),
    )


@settings(max_examples=400, deadline=None)
@given(captures())
def test_any_screen_reads_without_an_error_and_a_wait_has_visible_rows(capture: Capture) -> None:
    reading = classify(capture, library())
    if reading.needs_you:
        proof = [row for why in reading.why for row in why.rows]
        assert proof
        lines = capture.ansi.split("\n")
        assert all(0 <= row < len(lines) for row in proof)
    if reading.question is not None:
        assert reading.needs_you


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=4000), st.sampled_from(PROGRAMS))
def test_raw_bytes_read_without_an_error(data: bytes, program: str) -> None:
    capture = Capture(
        ansi=data.decode("utf-8", "surrogateescape"),
        width=80,
        height=24,
        processes=(Process(comm=program, foreground=True, depth=1, argv=(program,)),),
    )
    classify(capture, library())


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_huge_screen_reads(program: str) -> None:
    row = "❯ 1. Yes漢" * 100
    capture = Capture(
        ansi="\n".join([row] * 500),
        width=1000,
        height=500,
        processes=(Process(comm=program, foreground=True, depth=1, argv=(program,)),),
    )
    assert classify(capture, library()).activity in ("unknown", "working", "idle", "waiting")


def corpus_programs() -> list[Path]:
    return sorted(path for path in CORPUS.glob("*/*") if path.is_dir())


@pytest.mark.parametrize("folder", corpus_programs(), ids=lambda p: f"{p.parent.name}-{p.name}")
def test_no_ask_is_missed_and_none_is_invented_on_the_shipped_corpus(folder: Path) -> None:
    missed, invented = [], []
    for path in paths_below([folder]):
        file = read(path)
        expected = file.expect.get("needs_you")
        got = classify(file.capture, library()).needs_you
        if expected is True and not got:
            missed.append(path.name)
        if expected is False and got:
            invented.append(path.name)
    assert (missed, invented) == ([], [])
