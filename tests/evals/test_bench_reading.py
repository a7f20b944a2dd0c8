"""The reading benchmark says what it measured, beside the calibration loop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals import bench_reading
from openbus.corpus import read
from openbus.screen.manifest import load_library

SCREEN = Path("codex/0.171.0/idle_done--120x40.json")


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One screen and one short recording stand for all."""
    here = bench_reading.HERE
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "one.json").write_bytes((here / "corpus" / SCREEN).read_bytes())
    recording = here / "sequences/codex/0.171.0/03-approval-declined.jsonl"
    wide = here / "sequences/codex/0.171.0/15-subagent-approval.jsonl"
    folder = tmp_path / "sequences"
    folder.mkdir()
    for file in (recording, wide):
        (folder / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(bench_reading, "HERE", tmp_path)
    return tmp_path


def test_the_figures_name_size_budget_and_calibration(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench_reading.main(["--json", "--rounds", "1"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["size"] == "120x40"
    assert figures["calibration_us"] > 0
    assert figures["cold"]["n"] == 1
    assert figures["cold"]["budget_p50_us"] == 700
    assert figures["frames"]["n"] > 10
    assert figures["frames"]["budget_p50_us"] == 300
    assert figures["frames"]["p50_us"] <= figures["frames"]["p99_us"]


def test_the_same_for_a_person(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_reading.main(["--rounds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("calibration loop: ")
    assert [line.split()[0] for line in lines[1:]] == ["cold", "frames"]


def test_only_screens_of_the_size_are_timed(small: Path) -> None:
    narrow = bench_reading.HERE / "corpus" / "narrow.json"
    source = Path(__file__).parents[2] / "evals" / "corpus" / "codex/0.171.0/idle_done--80x24.json"
    narrow.write_bytes(source.read_bytes())
    assert read(narrow).capture.width == 80
    assert len(bench_reading.cold(load_library(), rounds=1)) == 1
