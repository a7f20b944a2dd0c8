"""Settings come from a file and from the environment, and nothing is ignored in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from openbus.config import (
    ConfigError,
    Settings,
    config_dir,
    load,
    manifest_dir,
    state_dir,
)


def written(folder: Path, text: str) -> dict[str, str]:
    (folder / "config.toml").write_text(text)
    return {"OPENBUS_CONFIG_DIR": str(folder)}


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load({"OPENBUS_CONFIG_DIR": str(tmp_path / "none")}) == Settings()


def test_the_file_is_read(tmp_path: Path) -> None:
    environ = written(tmp_path, '[tmux]\nsocket_names = ["work"]\ntimeout = 5\n')
    tmux = load(environ).tmux
    assert tmux.socket_names == ("work",)
    assert tmux.timeout == 5.0


def test_the_environment_is_above_the_file(tmp_path: Path) -> None:
    environ = written(tmp_path, '[tmux]\nsocket_names = ["work"]\ntimeout = 5\n')
    environ |= {"OPENBUS_TMUX_TIMEOUT": "0.5", "OPENBUS_TMUX_SOCKET_NAMES": "a, b"}
    tmux = load(environ).tmux
    assert tmux.timeout == 0.5
    assert tmux.socket_names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[tmux]\nsockets = 1\n", "unknown field `sockets`"),
        ("[tnux]\n", "unknown field `tnux`"),
        ('[tmux]\ntimeout = "soon"\n', "$.tmux.timeout"),
        ("[tmux\n", "is not TOML"),
        ("tmux = 3\n", "$.tmux"),
    ],
)
def test_a_wrong_setting_is_an_error_with_file_and_reason(
    tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, text))
    assert reason in str(caught.value)
    assert "config.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_misspelt_variable_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("")
    with pytest.raises(ConfigError, match="OPENBUS_TMUX_TIMEOUTT"):
        load({"OPENBUS_TMUX_TIMEOUTT": "3"}, file)
    load({"OPENBUS_STATE_DIR": "/x", "OPENBUS_EVENT": "pane"}, file)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no settings file"):
        load({}, tmp_path / "mine.toml")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot read the settings file"):
        load({"OPENBUS_CONFIG_DIR": str(tmp_path)})
    (tmp_path / "latin.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load({}, tmp_path / "latin.toml")


def test_folders_can_be_moved(tmp_path: Path) -> None:
    environ = {"OPENBUS_CONFIG_DIR": str(tmp_path), "OPENBUS_STATE_DIR": str(tmp_path / "s")}
    assert config_dir(environ) == tmp_path
    assert state_dir(environ) == tmp_path / "s"
    assert manifest_dir(Settings(), environ) == tmp_path / "agents"
    environ |= {"OPENBUS_READERS_MANIFESTS": str(tmp_path / "mine")}
    assert manifest_dir(load(environ), environ) == tmp_path / "mine"
