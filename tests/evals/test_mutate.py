"""Mutations keep what they must keep, and quotations show the dialog where nobody asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals import mutate
from evals.run import CORPUS
from openbus.corpus import CorpusFile, read


def corpus(name: str) -> CorpusFile:
    return read(CORPUS / name)


def rows(case: CorpusFile) -> list[str]:
    return [mutate.SGR.sub("", row) for row in case.capture.ansi.split("\n")]


def test_a_spinner_is_shown_in_each_of_its_other_frames() -> None:
    case = corpus("claude-code/2.1.197/working_queued--80x24.json")
    frames = {row[0] for m in mutate.spinners(case) for row in rows(m) if "Forming…" in row}
    assert frames == set("·✢✳✻✽*✶")


def test_only_the_spinner_cell_changes() -> None:
    case = corpus("claude-code/2.1.197/working_queued--80x24.json")
    for mutation in mutate.spinners(case):
        changed = [(a, b) for a, b in zip(rows(case), rows(mutation), strict=True) if a != b] or [
            (case.capture.title, mutation.capture.title)
        ]
        assert len(changed) == 1
        before, after = changed[0]
        assert before[1:] == after[1:]


def test_the_title_spinner_of_codex_turns() -> None:
    case = corpus("codex/0.171.0/working_stream--80x24.json")
    titles = {m.capture.title for m in mutate.spinners(case)} - {case.capture.title}
    assert len(titles) == 9
    assert {title[1:] for title in titles} == {case.capture.title[1:]}


def test_the_bar_of_opencode_is_mirrored() -> None:
    case = corpus("opencode/1.18.33/working_queued--80x24.json")
    bars = [row for m in mutate.spinners(case) for row in rows(m) if "⬝" in row]
    assert bars and all(bar.lstrip().startswith("■■⬝⬝⬝⬝⬝⬝") for bar in bars)


def test_a_reply_bullet_is_no_spinner() -> None:
    case = corpus("codex/0.171.0/idle_done--80x24.json")
    assert list(mutate.spinners(case)) == []


def test_attributes_survive_a_changed_character() -> None:
    assert mutate.put("\x1b[31mab\x1b[0mc", 1, "X") == "\x1b[31maX\x1b[0mc"
    assert mutate.put("ab", 7, "X") == "ab"


ASKS = [
    "claude-code/2.1.332/approval_shell--80x24.json",
    "codex/0.128.0/approval_shell--120x40.json",
    "gemini/0.61.0/question_single--200x50.json",
    "opencode/1.18.33/approval_shell--120x40.json",
]


@pytest.mark.parametrize("name", ASKS)
def test_every_ask_is_quoted_in_every_place(name: str) -> None:
    places = {m.file.partition("#quoted-")[2] for m in mutate.quotations(corpus(name))}
    assert places == {"cat", "cat-colour", "tail", "less", "vim", "reply"}


@pytest.mark.parametrize("name", ASKS)
def test_a_quotation_is_a_screen_of_the_same_size_that_asks_nothing(name: str) -> None:
    case = corpus(name)
    for quotation in mutate.quotations(case):
        assert len(rows(quotation)) == case.capture.height + 1
        assert quotation.expect["needs_you"] is False
        assert quotation.expect["lookalike"]
        assert 0 <= quotation.capture.cursor.y < case.capture.height


@pytest.mark.parametrize("name", ASKS)
def test_a_quoting_reply_keeps_the_free_composer_under_its_cursor(name: str) -> None:
    case = corpus(name)
    frame = read(Path(case.file).with_name(f"idle_done--{case.size}.json"))
    quoted = next(m for m in mutate.quotations(case) if m.file.endswith("#quoted-reply"))
    before = rows(frame)[frame.capture.cursor.y :]
    after = rows(quoted)[quoted.capture.cursor.y :]
    assert [row for row in before if row] == [row for row in after if row]


def test_a_shell_ask_is_not_quoted_in_a_reply() -> None:
    case = corpus("shell/plain/apt_yn--80x24.json")
    assert not any("reply" in m.file for m in mutate.quotations(case))


def test_blank_rows_at_the_end_can_be_missing() -> None:
    case = corpus("claude-code/2.1.197/approval_shell--80x24.json")
    (cut,) = mutate.blank_rows(case)
    assert cut.capture.ansi.rstrip("\n") == case.capture.ansi.rstrip("\n")
    assert not cut.capture.ansi.endswith("\n\n")
