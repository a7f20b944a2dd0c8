"""The lab's command line: one clear line when something cannot be had."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from evals.lab.cli import app
from evals.lab.record import AGENTS, Job, Outcome


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["record", *words])
    return result.exit_code, result.stderr


def test_an_unknown_program_is_one_line_and_status_1(tmp_path: Path) -> None:
    status, line = run("nano", "1", "--cache", str(tmp_path))
    assert status == 1
    assert line == "lab: unknown program 'nano'; there is: claude-code, codex, gemini, opencode\n"


def test_a_missing_npm_is_one_line_and_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    status, line = run("codex", "0.171.0", "--cache", str(tmp_path))
    assert status == 1
    assert line.startswith("lab: npm is not on the PATH; install")
    assert line.count("\n") == 1


def test_a_wrong_size_is_a_usage_error() -> None:
    status, line = run("codex", "0.171.0", "--size", "big")
    assert (status, line) == (2, "lab: 'big' is no size; write it like 120x40\n")


def test_missed_steps_are_named_and_give_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    missed = Outcome(files=(Path("a.json"),), missed=("80x24 plan: it did not come up",))
    monkeypatch.setattr("evals.lab.cli.record", lambda job, tell: missed)
    status, lines = run("codex", "0.171.0")
    assert status == 1
    assert lines.splitlines() == [
        "lab: codex 0.171.0 missed 80x24 plan: it did not come up",
        "lab: 1 files written, 1 steps missed",
    ]


def test_without_a_version_the_one_that_was_tried_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs: list[Job] = []

    def note(job: Job, tell: object) -> Outcome:
        jobs.append(job)
        return Outcome(files=(), missed=())

    monkeypatch.setattr("evals.lab.cli.record", note)
    assert run("gemini")[0] == 0
    assert (jobs[0].version, jobs[0].sizes) == ("0.61.0", ((120, 40), (80, 24)))


def test_without_a_command_every_program_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def note(job: Job, tell: object) -> Outcome:
        seen.append(f"{job.program} {job.version}")
        return Outcome(files=(), missed=())

    monkeypatch.setattr("evals.lab.cli.record", note)
    assert CliRunner().invoke(app, []).exit_code == 0
    assert seen == [f"{agent.program} {agent.tried}" for agent in AGENTS.values()]


def test_every_agent_has_an_approval_and_a_way_to_leave() -> None:
    for agent in AGENTS.values():
        assert agent.approvals
        assert agent.leave.startswith("/")
