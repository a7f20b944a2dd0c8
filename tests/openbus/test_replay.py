"""Recorded sequences through the live pipeline: real agents, real truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.sequences import SEQUENCES, main, run, sequence_files
from openbus.classify import classify
from openbus.model import Capture, Reading
from openbus.replay import SequenceError, load_sequence, replay
from openbus.screen.grid import Memo
from openbus.screen.manifest import load_library

LIBRARY = load_library()


def read(capture: Capture, memo: Memo) -> Reading:
    return classify(capture, LIBRARY, memo)


def test_every_shipped_sequence_is_followed_without_a_finding() -> None:
    scores, problems = run(sequence_files([SEQUENCES]), LIBRARY, read)
    assert problems == []
    assert len(scores) >= 35
    findings = [f"{f.file} {f.t} {f.what}: {f.text}" for s in scores for f in s.findings]
    assert findings == []


@pytest.mark.parametrize("start", [0, 1])
def test_half_as_many_looks_say_the_same(start: int) -> None:
    from evals.sequences_score import score

    for file in sequence_files([SEQUENCES / "codex"]):
        sequence = load_sequence(file)
        thinned = type(sequence)(
            name=sequence.name,
            header=sequence.header,
            frames=sequence.frames[start::2],
            marks=sequence.marks,
            duration=sequence.duration,
        )
        result = score(file.name, replay(thinned, LIBRARY, read), sequence.marks, 1.5)
        assert result.findings == ()


def test_a_replay_line_has_what_the_contract_names() -> None:
    [file] = sequence_files([SEQUENCES / "codex" / "0.171.0" / "03-approval-declined.jsonl"])
    lines = [item.line("x") for item in replay(load_sequence(file), LIBRARY, read)]
    needed = {"file", "t", "event", "activity", "needs_you", "attention", "question"}
    assert all(needed <= line.keys() for line in lines)
    [asked] = [line for line in lines if line["event"] == "announce" and line["needs_you"]]
    assert asked["attention"] == "needs_you"
    assert asked["question"]["kind"] == "approval"
    assert lines[-1]["event"] == "gone"
    json.dumps(lines)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty"),
        ("not json\n", "not JSON"),
        ('{"format": "other/1"}\n', "not a recorded sequence"),
        ('{"format": "agent-sequence/1"}\n[1]\n', "not a JSON object"),
        ('{"format": "agent-sequence/1"}\n{"t": 1, "ansi": "x"}\n', "bad frame"),
    ],
)
def test_a_file_that_is_no_sequence_is_one_clear_line(
    tmp_path: Path, content: str, reason: str
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(content)
    with pytest.raises(SequenceError, match=reason):
        load_sequence(file)


def test_unknown_records_and_fields_are_ignored(tmp_path: Path) -> None:
    frame = {"t": 0.5, "ansi": "$ ", "width": 20, "height": 5, "novel": 1}
    rows = [{"format": "agent-sequence/1", "extra": True}, {"t": 0.1, "event": "keys"}, frame]
    file = tmp_path / "s.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    assert len(load_sequence(file).frames) == 1


def test_the_command_scores_files_and_names_bad_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{}")
    good = SEQUENCES / "codex" / "0.171.0" / "03-approval-declined.jsonl"
    assert main(["--json", str(good), str(bad)]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["n"] == 1
    assert "bad.jsonl" in err


def test_a_process_list_that_another_command_has_outdated_is_not_believed(tmp_path: Path) -> None:
    agent = [{"comm": "codex", "foreground": True, "depth": 1, "argv": ["codex"]}]
    frame = {"ansi": "$ ", "width": 20, "height": 5}
    rows = [
        {"format": "agent-sequence/1", "processes": agent},
        {"t": 0.1, "current_command": "codex", **frame},
        {"t": 0.4, "current_command": "bash", **frame},
        {"t": 0.6, "processes": agent},
        {"t": 0.7, "current_command": "bash", **frame},
    ]
    file = tmp_path / "s.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    seen = [len(frame.capture.processes) for frame in load_sequence(file).frames]
    assert seen == [1, 0, 1]
