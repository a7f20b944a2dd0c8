"""The service manager files."""

from __future__ import annotations

import plistlib
from pathlib import Path

import pytest

from openbus.install import InstallError, install, plan, remove


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    command = tmp_path / "a folder" / "openbus"
    command.parent.mkdir()
    command.touch()
    monkeypatch.setattr("sys.argv", [str(command)])
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return command


def test_linux_gets_a_user_unit_that_names_this_program(tmp_path: Path, program: Path) -> None:
    made = plan("linux", tmp_path)
    assert made.path == tmp_path / ".config" / "systemd" / "user" / "openbus.service"
    assert f'ExecStart="{program}" up --json-log' in made.content.decode()
    assert made.enable[-1] == ("systemctl", "--user", "enable", "--now", "openbus.service")


def test_macos_gets_an_agent(tmp_path: Path, program: Path) -> None:
    made = plan("darwin", tmp_path)
    agent = plistlib.loads(made.content)
    assert agent["ProgramArguments"] == [str(program), "up", "--json-log"]
    assert made.path.parent == tmp_path / "Library" / "LaunchAgents"


def test_other_systems_are_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="run `openbus up` yourself"):
        plan("plan9", tmp_path)


def test_a_failed_start_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = tmp_path / "bin" / "systemctl"
    manager.parent.mkdir()
    manager.write_text("#!/bin/sh\necho 'no user bus' >&2\nexit 1\n")
    manager.chmod(0o755)
    monkeypatch.setenv("PATH", f"{manager.parent}:/bin:/usr/bin")
    made = plan("linux", tmp_path)
    with pytest.raises(InstallError, match="no user bus"):
        install(made)
    assert not made.path.exists()


def test_installed_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"
    manager = tmp_path / "bin" / "systemctl"
    manager.parent.mkdir()
    manager.write_text(f'#!/bin/sh\necho "$@" >> "{calls}"\n')
    manager.chmod(0o755)
    monkeypatch.setenv("PATH", f"{manager.parent}:/bin:/usr/bin")
    made = plan("linux", tmp_path)
    install(made)
    assert made.path.exists()
    assert remove(made)
    assert not made.path.exists()
    assert not remove(made)
    assert "--user enable --now openbus.service" in calls.read_text()
    assert "--user disable --now openbus.service" in calls.read_text()
