"""Redaction takes out what identifies and leaves the screen's geometry alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from wcwidth import wcswidth

from evals.mutate import SGR
from openbus.classify import classify
from openbus.corpus import paths_below, read
from openbus.model import Capture, Process
from openbus.redact import Identity, redact, redact_text
from openbus.screen.manifest import load_library

ME = Identity(user="jo", host="build-7", home="/home/jo")
CORPUS = Path(__file__).parents[2] / "evals" / "corpus"


def of(text: str, width: int = 80) -> str:
    return redact(Capture(ansi=text, width=width, height=1), ME).ansi


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cd /home/jo/secret-shop/src", "cd /home/xx/xxxxxx-xxxx/xxx"),
        ("  ~/secret-shop (main)", "  ~/xxxxxx-xxxx (main)"),
        ("jo@build-7:~$ ls", "xx@xxxxx-0:~$ ls"),
        ("mail jo.doe@example.org now", "mail xx.xxx@xxxxxxx.xxx now"),
        ("host 10.1.2.3 is up", "host 00.0.0.0 is up"),
        ("OPENAI_API_KEY=abc123XYZ", "OPENAI_API_KEY=xxx000xxx"),
        ("use sk-proj-abcDEF123456 here", "use xx-xxxx-xxxxxx000000 here"),
        ("Authorization: Bearer abc.def/123==", "Authorization: Bearer xxx.xxx/000=="),
        ("id 0198f2c4-7b1e-7c30-9d55-2f6a1b0c9e77", "id 0000x0x0-0x0x-0x00-0x00-0x0x0x0x0x00"),
        ("see https://git.example/acme/shop?t=1", "see https://git.example/xxxx/xxxx?x=0"),
    ],
)
def test_what_identifies_goes_and_the_rest_stays(before: str, after: str) -> None:
    assert of(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "Would you like to run the following command?",
        "listening on 127.0.0.1:5173",
        "joke of the job",
        "❯ 1. Yes, and don't ask again (p)",
        "12.3k tokens · esc to interrupt",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert of(text) == text


def test_a_token_is_found_across_a_wrap_and_through_colour() -> None:
    wrapped = "key sk-abc\nDEF123456\n"
    assert of(wrapped, width=10) == "key xx-xxx\nxxx000000\n"
    assert of("\x1b[1msk-abc\x1b[31mDEF123456\x1b[0m") == "\x1b[1mxx-xxx\x1b[31mxxx000000\x1b[0m"


def test_rows_that_end_early_are_not_joined() -> None:
    assert of("PASSWORD=\nplain words", width=80) == "PASSWORD=\nplain words"


def test_wide_characters_keep_their_width() -> None:
    before = "/home/jo/秘密/x"
    after = of(before)
    assert "秘" not in after
    assert wcswidth(after) == wcswidth(before)


def test_hyperlinks_are_dropped() -> None:
    assert of("\x1b]8;;https://intra.example/x\x1b\\here\x1b]8;;\x1b\\") == "here"


def test_title_folder_and_arguments_are_redacted_too() -> None:
    capture = Capture(
        ansi="",
        width=80,
        height=1,
        title="jo: /home/jo/shop",
        cwd="/home/jo/shop",
        processes=(
            Process(comm="node", foreground=True, depth=1, argv=("node", "/home/jo/bin/x")),
        ),
    )
    done = redact(capture, ME)
    assert done.title == "xx: /home/xx/xxxx"
    assert done.cwd == "/home/xx/xxxx"
    assert done.processes[0].argv == ("node", "/home/xx/xxx/x")


def test_plain_text_is_redacted_by_the_same_rules() -> None:
    assert redact_text("jo at /home/jo/shop", ME) == "xx at /home/xx/xxxx"


def test_redacted_screens_read_as_before() -> None:
    """The reason for keeping the geometry: a redacted report still shows the fault."""
    library = load_library()
    me = Identity(user="dev", host="vm", home="/home/dev")
    for path in paths_below([CORPUS / "codex", CORPUS / "claude-code" / "2.1.332"]):
        if "80x24" not in path.name:
            continue
        capture = read(path).capture
        done = redact(capture, me)
        assert SGR.sub("", done.ansi).count("\n") == SGR.sub("", capture.ansi).count("\n")
        before, after = classify(capture, library), classify(done, library)
        assert (before.activity, before.needs_you) == (after.activity, after.needs_you), path
        kinds = [reading.question.kind if reading.question else None for reading in (before, after)]
        assert kinds[0] == kinds[1], path
