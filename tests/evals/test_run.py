"""The runner: what it reads, what it reports, how it ends."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evals.__main__ import app
from evals.run import CORPUS

ASK = "codex/0.171.0/approval_shell--80x24.json"
IDLE = "codex/0.171.0/idle_done--80x24.json"
LOOKALIKE = "shell/plain/cat_claude_dialog--80x24.json"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    for name in (ASK, IDLE, LOOKALIKE):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CORPUS / name, target)
    return tmp_path


def report(*arguments: str, status: int = 0) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["run", "--json", *arguments])
    assert result.exit_code == status, result.output
    answer = json.loads(result.stdout)
    assert isinstance(answer, dict)
    return answer


def test_the_report_has_the_fields_of_the_contract(small: Path) -> None:
    found = report("--corpus", str(small))
    assert found["n"] == 3
    assert found["needs_you"] == {"tp": 1, "fp": 0, "fn": 0, "precision": 1.0, "recall": 1.0}
    for name in ("activity_accuracy", "kind_accuracy", "question_exact", "options_exact"):
        assert found[name] == 1.0
    assert found["program_accuracy"] == 1.0
    assert set(found["by"]) == {"codex/0.171.0", "shell/plain"}
    assert found["by"]["codex/0.171.0"]["n"] == 2
    assert found["latency_us"]["p50"] > 0
    assert found["title_coverage"] is not None
    assert found["failures"] == []


def test_a_share_of_nothing_is_null(small: Path) -> None:
    found = report("--corpus", str(small / "shell"))
    assert found["kind_accuracy"] is None
    assert found["needs_you"]["recall"] is None
    assert found["title_coverage"] is None


def test_a_wrong_label_is_a_failure_and_not_an_error(small: Path) -> None:
    path = small / IDLE
    raw = json.loads(path.read_text())
    raw["expect"]["activity"] = "working"
    path.write_text(json.dumps(raw))
    found = report("--corpus", str(small))
    (failure,) = found["failures"]
    assert failure["file"].endswith(IDLE)
    assert (failure["field"], failure["expected"], failure["got"]) == (
        "activity",
        "working",
        "idle",
    )
    assert found["confusion"]["working -> idle"] == 1


def test_unusable_files_are_named_and_the_others_are_read(small: Path) -> None:
    (small / "no.json").write_text("{")
    (small / "bare.json").write_text('{"program": "codex"}')
    huge = small / "huge.json"
    huge.write_bytes(b" " * (33 * 1024 * 1024))
    result = CliRunner().invoke(app, ["run", "--json", "--corpus", str(small)])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["n"] == 3
    lines = result.stderr.splitlines()
    assert [("not JSON" in x, "lacks `ansi`" in x, "too large" in x) for x in lines] == [
        (False, True, False),
        (False, False, True),
        (True, False, False),
    ]


def test_a_folder_that_is_missing_is_named() -> None:
    result = CliRunner().invoke(app, ["run", "--json", "--corpus", "/nowhere"])
    assert result.exit_code == 1
    assert "/nowhere" in result.stderr


def test_only_takes_a_part(small: Path) -> None:
    assert report("--corpus", str(small), "--only", "codex/*idle")["n"] == 1


def test_several_processes_read_the_same(small: Path) -> None:
    def without_times(found: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in found.items() if k != "latency_us"}

    whole = report("--corpus", str(CORPUS / "gemini"), "--only", "80x24")
    parts = report("--corpus", str(CORPUS / "gemini"), "--only", "80x24", "--jobs", "2")
    assert without_times(whole) == without_times(parts)


def test_mutations_are_read_as_well(small: Path) -> None:
    found = report("--corpus", str(small), "--mutations")
    assert found["n"] > 8
    assert found["lookalikes"]["alarms"] == []


def test_other_readers_and_contexts_are_refused(small: Path) -> None:
    for option in ("--reader", "--context"):
        result = CliRunner().invoke(app, ["run", option, "crystal-ball"])
        assert result.exit_code == 2
        assert "crystal-ball" in result.stderr


def test_the_tables_are_for_people(small: Path) -> None:
    result = CliRunner().invoke(app, ["run", "--corpus", str(small), "--failures"])
    assert result.exit_code == 0
    assert "codex/0.171.0" in result.stdout
    assert "Look-alikes: 1 screens, 0 alarms" in result.stdout


def test_the_page_about_accuracy_is_made_by_the_runner(small: Path) -> None:
    result = CliRunner().invoke(app, ["run", "--markdown", "--corpus", str(small)])
    assert result.exit_code == 0
    assert result.stdout.startswith("# Measured accuracy")
    assert "| codex/0.171.0 | 2 | 1 | 1.0000 | 1.0000 |" in result.stdout
    assert "Look-alikes: 1 screens, 0 alarms." in result.stdout


def test_an_unknown_benchmark_lists_those_there_are() -> None:
    result = CliRunner().invoke(app, ["bench", "everything"])
    assert result.exit_code == 2
    assert "reading" in result.stderr
