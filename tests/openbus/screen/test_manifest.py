"""Manifests as data: loading, merging, and what a broken one says."""

from pathlib import Path

import pytest

from openbus.screen.manifest import (
    MAX_PATTERN,
    ManifestError,
    load_library,
    parse_manifest,
)

HEAD = 'schema = "openbus.agent/1"\nid = "demo"\n'


def test_the_shipped_manifests_load_without_a_problem() -> None:
    library = load_library()
    assert library.problems == ()
    names = {m.id for m in library.manifests}
    assert {"codex", "claude-code", "opencode", "gemini", "shell"} <= names


def test_a_rule_is_named_by_program_and_id() -> None:
    assert "codex/busy" in load_library().rule_ids()


@pytest.mark.parametrize(
    ("body", "line", "reason"),
    [
        ("nonsense = 1\n", 3, 'unknown key "nonsense"'),
        ('[[mark]]\nid = "a"\nis = "working"\nrow = "("\n', 6, "no regular expression"),
        ('[[mark]]\nid = "a"\nis = "dancing"\nrow = "x"\n', 5, "is none of"),
        ('[[mark]]\nid = "a"\nrow = "x"\nis = "working"\ncolour = "red"\n', 7, "unknown key"),
        (
            '[[mark]]\nid = "a"\nis = "over"\nrow = "x"\n\n[[mark]]\nid = "a"\nis = "over"\n',
            8,
            'duplicate id "a"',
        ),
        ('[[dialog]]\nkind = "approval"\n', 3, "has no id"),
        ("[mark]\nid = 3\n", 3, "write [[mark]]"),
        ('[program]\nexe = "demo"\n', 4, "list of strings"),
        ("id = \n", 3, "not TOML"),
    ],
)
def test_a_broken_manifest_says_file_line_and_reason(
    tmp_path: Path, body: str, line: int, reason: str
) -> None:
    (tmp_path / "demo.toml").write_text(HEAD + body)
    library = load_library(tmp_path)
    assert len(library.problems) == 1
    problem = library.problems[0]
    assert problem.file.endswith("demo.toml")
    assert problem.line == line
    assert reason in problem.reason
    assert library.get("demo") is None
    assert library.get("codex") is not None


def test_a_pattern_that_is_too_long_is_refused() -> None:
    with pytest.raises(ManifestError, match="longer than"):
        parse_manifest(
            HEAD + f'[[mark]]\nid = "a"\nis = "over"\nrow = "{"x" * (MAX_PATTERN + 1)}"\n'
        )


def test_a_user_file_overrides_a_rule_by_id_and_keeps_the_others(tmp_path: Path) -> None:
    (tmp_path / "codex.toml").write_text(
        'schema = "openbus.agent/1"\nid = "codex"\n'
        '[[mark]]\nid = "busy"\nrow = "^~ at work"\n'
        '[[mark]]\nid = "error"\nenabled = false\n'
        '[[mark]]\nid = "mine"\nis = "working"\nrow = "^my row"\n'
    )
    library = load_library(tmp_path)
    assert library.problems == ()
    codex = library.get("codex")
    assert codex is not None
    rules = {rule.id: rule for rule in codex.marks}
    assert rules["busy"].row.pattern == "^~ at work"
    assert rules["busy"].meaning == "working"
    assert "error" not in rules
    assert codex.marks[0].id == "mine"
    assert "interrupted" in rules


def test_a_broken_user_file_leaves_the_shipped_rules_of_its_program(tmp_path: Path) -> None:
    (tmp_path / "codex.toml").write_text('schema = "openbus.agent/1"\nid = "codex"\nfoo = 1\n')
    library = load_library(tmp_path)
    assert [p.line for p in library.problems] == [3]
    assert library.get("codex") == load_library().get("codex")


def test_a_manifest_extends_another_one(tmp_path: Path) -> None:
    (tmp_path / "fork.toml").write_text(
        'schema = "openbus.agent/1"\nid = "fork"\nextends = "opencode"\n[program]\nexe = ["fork"]\n'
    )
    fork = load_library(tmp_path).get("fork")
    assert fork is not None
    assert fork.program.exe == ("fork",)
    assert [d.id for d in fork.dialogs][:1] == ["permission"]


def test_extending_an_unknown_manifest_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "fork.toml").write_text(
        'schema = "openbus.agent/1"\nid = "fork"\nextends = "nobody"\n'
    )
    assert 'extends "nobody"' in load_library(tmp_path).problems[0].reason


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    assert "cannot be read" in load_library(tmp_path).problems[0].reason
