"""Corpus files: decoded forgivingly where something is missing, refused where it is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openbus.corpus import MAX_BYTES, CorpusError, decode, encode, paths_below, read
from openbus.model import Capture, Cursor, Process

CAPTURE = Capture(
    ansi="\x1b[1mhi\x1b[0m\n\n",
    width=20,
    height=2,
    cursor=Cursor(x=2, y=0, visible=False),
    alternate_on=True,
    title="a title",
    command="codex",
    cwd="/home/dev",
    processes=(Process(comm="codex", foreground=True, depth=1, argv=("codex",)),),
)


def as_bytes(**changes: Any) -> bytes:
    raw = json.loads(
        encode(CAPTURE, program="codex", version="1", state="s", captured_at="2026-01-01T00:00:00Z")
    )
    raw.update(changes)
    return json.dumps(raw).encode()


def test_what_is_written_is_read_back() -> None:
    file = decode(as_bytes(), "x.json")
    assert file.capture == CAPTURE
    assert (file.program, file.version, file.state, file.size) == ("codex", "1", "s", "20x2")
    assert file.expect == {}
    assert not file.synthetic


def test_a_synthetic_file_says_so() -> None:
    text = encode(CAPTURE, program="codex", version="1", state="s", captured_at="", synthetic=True)
    assert decode(text.encode(), "x.json").synthetic


def test_only_the_screen_must_be_there() -> None:
    file = decode(b'{"ansi": "one\\nfour\\n"}', "x.json")
    assert (file.capture.width, file.capture.height) == (4, 2)
    assert file.capture.processes == ()
    assert file.capture.cursor.visible


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "the JSON is no object"),
        (b"{}", "it lacks `ansi`"),
        (b'{"ansi": 7}', "it lacks `ansi`"),
        (b'{"ansi": "", "pane": []}', "`pane` is no object"),
        (b'{"ansi": "", "expect": 1}', "`expect` is no object"),
    ],
)
def test_a_file_that_cannot_be_used_says_why_in_one_line(data: bytes, reason: str) -> None:
    with pytest.raises(CorpusError) as caught:
        decode(data, "some/file.json")
    assert reason in str(caught.value)
    assert str(caught.value).startswith("some/file.json: ")
    assert "\n" not in str(caught.value)


def test_a_file_above_the_limit_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    with pytest.raises(CorpusError, match="too large \\(50 MB"):
        read(path)
    with pytest.raises(CorpusError, match="too large"):
        decode(b" " * (MAX_BYTES + 1), "-")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"gone\.json: cannot be read \(no such file"):
        read(tmp_path / "gone.json")


def test_lone_surrogates_and_bad_bytes_become_replacement_characters() -> None:
    file = decode(b'{"ansi": "a\\ud83db \xff", "pane": {"title": "\\udc00"}}', "x")
    assert file.capture.ansi == "a\ufffdb \ufffd"
    assert file.capture.title == "\ufffd"


def test_wrong_types_inside_count_as_missing() -> None:
    pane = {
        "width": "wide",
        "height": -3,
        "cursor_x": 10**9,
        "title": None,
        "processes": [7, {"comm": 1}, {"comm": "bash", "depth": True, "argv": "x"}],
    }
    capture = decode(json.dumps({"ansi": "abc\n", "pane": pane}).encode(), "x").capture
    assert (capture.width, capture.height) == (3, 1)
    assert capture.cursor.x <= 5_000
    assert capture.processes == (Process(comm="bash", foreground=False, depth=0),)


def test_files_are_found_in_order_and_a_missing_root_stays(tmp_path: Path) -> None:
    for name in ("b.json", "a.json", "note.txt"):
        (tmp_path / name).write_text("{}")
    gone = tmp_path / "gone"
    found = list(paths_below([tmp_path, gone]))
    assert [path.name for path in found] == ["a.json", "b.json", "gone"]
