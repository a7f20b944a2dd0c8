"""Settings: a TOML file, `OPENBUS_*` variables above it, command-line flags above both.

One table of the file is one field of `Settings` (`[tmux]`), one key a field of its struct. The
variable of a key is `OPENBUS_<TABLE>_<KEY>` (`OPENBUS_TMUX_TIMEOUT=5`), lists are separated by
commas. An unknown key or a wrong type is an error with the reason: a setting that is silently
ignored would be believed.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import platformdirs


class ConfigError(Exception):
    """Settings that cannot be used; `str()` is one line with what, why and the way out."""


class Tmux(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which tmux servers: `-L` names and `-S` paths; neither = all of this user.

    `timeout`: seconds after which a server that does not answer is left out. `ignore`: shell
    patterns against a pane's command and its `session:window.pane`; such panes are not looked at.
    """

    socket_names: tuple[str, ...] = ()
    socket_paths: tuple[str, ...] = ()
    binary: str = "tmux"
    timeout: float = 2.0
    ignore: tuple[str, ...] = ()


class Readers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How screens are read. `manifests`: folder with the user's own manifests; None = the default
    below the configuration folder."""

    manifests: str | None = None


class Service(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`openbus up`. `listen` is HOST:PORT; `hosts` are further names that the page may be asked for
    by; without `token` everybody on this machine can read, and only loopback may be listened on."""

    listen: str = "127.0.0.1:7368"
    hosts: tuple[str, ...] = ()
    token: bool = True
    web: bool = True


class Hook(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command of the user's that is run on every announcement and withdrawal, JSON on stdin.

    `command` is program and arguments, no shell; `timeout` in seconds.
    """

    command: tuple[str, ...] = ()
    timeout: float = 10.0


class Codex(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Codex's own servers as evidence, only when `evidence` is set. `homes` are the Codex homes
    whose server may be connected to, `sockets` further server sockets by path."""

    evidence: bool = False
    homes: tuple[str, ...] = ("~/.codex",)
    sockets: tuple[str, ...] = ()


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set."""

    tmux: Tmux = Tmux()
    readers: Readers = Readers()
    service: Service = Service()
    hook: Hook = Hook()
    codex: Codex = Codex()


def config_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where settings and user manifests are: `OPENBUS_CONFIG_DIR`, else the platform's place."""
    chosen = environ.get("OPENBUS_CONFIG_DIR")
    return Path(chosen) if chosen else Path(platformdirs.user_config_dir("openbus"))


def state_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Where OpenBus keeps its own files (0700): `OPENBUS_STATE_DIR`, else the platform's place."""
    chosen = environ.get("OPENBUS_STATE_DIR")
    return Path(chosen) if chosen else Path(platformdirs.user_state_dir("openbus"))


def manifest_dir(settings: Settings, environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the user's own manifests; it need not exist."""
    chosen = settings.readers.manifests
    return Path(chosen).expanduser() if chosen else config_dir(environ) / "agents"


def load(environ: Mapping[str, str] = os.environ, file: Path | None = None) -> Settings:
    """Settings from `file` (default `config.toml` in the configuration folder) and `environ`.

    A default file that does not exist is no error, a named one is. Raises `ConfigError`.
    """
    path = file or config_dir(environ) / "config.toml"
    raw = _read(path, must_exist=file is not None)
    for table, fields in _fields().items():
        _refuse_unknown(table, fields, environ)
        for key, is_list in fields.items():
            value = environ.get(f"OPENBUS_{table}_{key}".upper())
            if value is not None:
                section = raw.setdefault(table, {})
                if isinstance(section, dict):
                    section[key] = _split(value) if is_list else value
    try:
        return msgspec.convert(raw, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"cannot use the settings in {path} and OPENBUS_* variables: {error}; "
            "docs/install.md lists the keys"
        ) from None


def _refuse_unknown(table: str, keys: Mapping[str, bool], environ: Mapping[str, str]) -> None:
    """A misspelt variable of a known table is an error, like a misspelt key."""
    prefix = f"OPENBUS_{table}_".upper()
    known = {prefix + key.upper() for key in keys}
    for name in environ:
        if name.startswith(prefix) and name not in known:
            raise ConfigError(f"unknown variable {name}; docs/install.md lists the keys")


def _read(path: Path, *, must_exist: bool) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if must_exist:
            raise ConfigError(f"no settings file at {path}; correct the path") from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"cannot read the settings file {path}: {reason}") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the settings file {path} is not TOML: {error}; correct it") from None


def _fields() -> dict[str, dict[str, bool]]:
    """Table -> key -> whether it is a list."""
    return {
        table.name: {
            field.name: isinstance(field.default, tuple)
            for field in msgspec.structs.fields(type(table.default))
        }
        for table in msgspec.structs.fields(Settings)
    }


def _split(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]
