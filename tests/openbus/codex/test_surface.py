"""What users see of the evidence: opt-in, doctor, the shadow command, the API."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

import openbus
from openbus import config
from openbus.cli import build, shadow
from openbus.cli.errors import CommandError
from openbus.codex.doctor import check_codex
from openbus.codex.worker import OPT_IN
from openbus.config import Codex, Settings
from openbus.evidence_sources import enabled, notice
from tests.openbus.codex.conftest import Running
from tests.openbus.codex.fake_server import FakeCodex
from tests.openbus.codex.world import A, idle_rows, now_ms, until, view


def test_it_is_off_unless_asked_for() -> None:
    assert enabled(Settings(), "here", now_ms) == []
    assert notice(Settings()) is None
    assert config.load({}, None).codex == Codex(evidence=False, homes=("~/.codex",))


def test_settings_and_environment_switch_it_on(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[codex]\nevidence = true\nhomes = ["/a"]\nsockets = ["/s"]\n')
    settings = config.load({}, file)
    assert settings.codex == Codex(evidence=True, homes=("/a",), sockets=("/s",))
    (source,) = enabled(settings, "here", now_ms)
    assert source.name == "codex-app-server/1" and source.programs == {"codex"}
    found = config.load({"OPENBUS_CODEX_EVIDENCE": "true", "OPENBUS_CODEX_HOMES": "/a,/b"}, file)
    assert found.codex.homes == ("/a", "/b")


def test_the_opt_in_says_what_connecting_changes() -> None:
    assert notice(Settings(codex=Codex(evidence=True))) == OPT_IN
    for word in ("User-Agent", "originator", "own name", "answers nothing", "leaves them to you"):
        assert word in OPT_IN


def test_doctor_names_the_lines_for_exact_bindings(tmp_path: Path) -> None:
    (check,) = check_codex(False, [str(tmp_path), "/nowhere"])
    assert "evidence is off" in check.detail and "no socket there" in check.detail
    assert check.way_out is not None
    assert 'status_line = ["model-with-reasoning", "current-dir", "thread-id"]' in check.way_out
    assert 'terminal_title = ["activity", "thread-id"]' in check.way_out


def test_doctor_tells_the_health_of_a_running_adapter(tmp_path: Path) -> None:
    server = {"home": str(tmp_path), "health": "timeout", "reason": "requests"}
    shadow = {"sources": [{"detail": {"servers": [server]}}]}
    (check,) = check_codex(True, [str(tmp_path)], shadow)
    assert "evidence is on, health timeout (requests)" in check.detail
    (check,) = check_codex(True, [str(tmp_path)], {"sources": []})
    assert "no service runs with it" in check.detail


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        ('[tui]\nstatus_line = ["thread-id"]\n', True),
        ('[tui]\nterminal_title = ["activity", "thread-id"]\n', True),
        ('[tui]\nstatus_line = ["current-dir"]\n', False),
        ("tui = 3\n", False),
        ("no toml [", False),
        ("", False),
    ],
)
def test_doctor_sees_whether_panes_show_their_id(tmp_path: Path, text: str, shows: bool) -> None:
    (tmp_path / "config.toml").write_text(text)
    (check,) = check_codex(True, [str(tmp_path)])
    assert (check.way_out is None) == shows


async def test_the_shadow_command_prints_a_report(
    running: Running,
    fake: FakeCodex,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake.add(A, name="A native name")
    await fake.start()
    source = running()
    shown = view(1, rows=idle_rows(A))
    source.observe([shown], now_ms())

    def is_bound() -> bool:
        found = source.evidence(shown.pane.key, now_ms())
        return found is not None and found.binding.verdict == "bound"

    await until(is_bound, "bound")
    answer: Any = {"sources": msgspec.to_builtins([source.report(now_ms())])}
    monkeypatch.setattr(shadow, "fetch_json", lambda path: answer)
    shadow.shadow()
    printed = capsys.readouterr().out
    assert "codex-app-server/1" in printed and "1 bound" in printed and A[-8:] in printed
    assert A not in printed and "A native name" not in printed


def test_the_shadow_command_says_when_there_is_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shadow, "fetch_json", lambda path: None)
    with pytest.raises(CommandError, match="no service is running"):
        shadow.shadow()
    monkeypatch.setattr(shadow, "fetch_json", lambda path: {"sources": []})
    shadow.shadow()
    assert "no evidence source is on" in capsys.readouterr().out


def test_help_names_the_command_and_the_option() -> None:
    runner = CliRunner()
    assert "shadow" in runner.invoke(build(), ["--help"]).output
    assert "--codex-evidence" in runner.invoke(build(), ["up", "--help"]).output


def test_nothing_that_decides_knows_the_adapter() -> None:
    """The import graph keeps native evidence out of capture, reading, push and delivery."""
    root = Path(openbus.__file__).parent
    allowed = {"evidence_sources.py", "cli/doctor.py"}
    for path in root.rglob("*.py"):
        name = str(path.relative_to(root))
        if name.startswith("codex/") or name in allowed:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            assert not [n for n in names if n.startswith("openbus.codex")], name
    for name in ("pipeline", "push", "track", "classify", "grounding", "watcher", "server_watch"):
        assert "import evidence" not in (text := (root / f"{name}.py").read_text()), name
        assert "openbus.evidence" not in text, name
