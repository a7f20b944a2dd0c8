"""Where agents keep their stores on this machine, decided once and passed on."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import msgspec


class Homes(msgspec.Struct, frozen=True, kw_only=True):
    """Folders to read; none of them has to exist."""

    home: str
    claude: tuple[str, ...]
    claude_app: tuple[str, ...]
    codex: str
    codex_sqlite: str
    proc: str = "/proc"


def homes_of(env: Mapping[str, str], home: str | None = None, proc: str = "/proc") -> Homes:
    """The folders of one user.

    `home` replaces the user's home and every override in the environment. Without it
    `CLAUDE_CONFIG_DIR` (a comma list), `CODEX_HOME` and `CODEX_SQLITE_HOME` are honoured, as the
    agents do. Homes that are links to each other count once, by their real path.
    """
    root = os.path.abspath(home if home is not None else env.get("HOME") or os.path.expanduser("~"))
    env = {} if home is not None else env
    named = [part.strip() for part in env.get("CLAUDE_CONFIG_DIR", "").split(",") if part.strip()]
    claude = named or [os.path.join(root, ".claude"), os.path.join(root, ".config", "claude")]
    codex = env.get("CODEX_HOME") or os.path.join(root, ".codex")
    return Homes(
        home=root,
        claude=unique(claude),
        claude_app=app_folders(root, env),
        codex=os.path.realpath(codex),
        codex_sqlite=os.path.realpath(env.get("CODEX_SQLITE_HOME") or codex),
        proc=proc,
    )


def app_folders(root: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Where the Claude desktop app keeps its records, by platform."""
    if sys.platform == "darwin":
        base = os.path.join(root, "Library", "Application Support")
    elif sys.platform == "win32":
        base = env.get("APPDATA") or os.path.join(root, "AppData", "Roaming")
    else:
        base = env.get("XDG_CONFIG_HOME") or os.path.join(root, ".config")
    return (os.path.join(base, "Claude", "claude-code-sessions"),)


def unique(folders: list[str]) -> tuple[str, ...]:
    """Real paths, each once, in order."""
    return tuple(dict.fromkeys(os.path.realpath(folder) for folder in folders))
