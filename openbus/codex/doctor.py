"""What `openbus doctor` says about Codex evidence. Looks at files only; connects to nothing."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openbus.codex import locate
from openbus.codex.locate import Endpoint, shorten
from openbus.doctor import Check

STATUS_LINE = 'status_line = ["model-with-reasoning", "current-dir", "thread-id"]'
TERMINAL_TITLE = 'terminal_title = ["activity", "thread-id"]'


def check_codex(evidence: bool, homes: Sequence[str], shadow: object = None) -> list[Check]:
    """One check for each Codex home that exists.

    `shadow` is what the running service answers to `/api/shadow`; None when none runs.
    """
    found = [Path(home).expanduser() for home in homes]
    health = _health(shadow)
    return [_check(home, evidence, health) for home in found if home.is_dir()]


def _health(shadow: Any) -> dict[str, str]:
    """Health and its reason by home, as the service's report names homes."""
    found: dict[str, str] = {}
    for source in shadow["sources"] if shadow else ():
        for server in source["detail"].get("servers", ()):
            found[str(server["home"])] = f"{server['health']} ({server['reason']})"
    return found


def _check(home: Path, evidence: bool, health: Mapping[str, str]) -> Check:
    endpoint = locate.in_home(home, os.getuid())
    server = "its server's socket is there" if isinstance(endpoint, Endpoint) else str(endpoint)
    said = health.get(shorten(os.path.realpath(home)))
    if said is not None:
        state = f"evidence is on, health {said}"
    elif not evidence:
        state = "evidence is off (`openbus up --codex-evidence` compares, read-only)"
    else:
        state = "evidence is switched on, and no service runs with it"
    shows = shows_thread_id(home / "config.toml")
    ids = "panes show their thread id" if shows else "panes do not show their thread id"
    way_out = None
    if not shows:
        way_out = (
            f"for exact bindings add to {shorten(str(home / 'config.toml'))} below [tui]: "
            f"{STATUS_LINE} and {TERMINAL_TITLE}"
        )
    return Check(
        name=f"codex {shorten(str(home))}",
        ok=True,
        detail=f"{state}; {server}; {ids}",
        way_out=way_out,
    )


def shows_thread_id(config: Path) -> bool:
    """The status line or the terminal title of this configuration has the `thread-id` item."""
    try:
        read: dict[str, Any] = tomllib.loads(config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False
    tui = read.get("tui")
    if not isinstance(tui, dict):
        return False
    items = (tui.get("status_line"), tui.get("terminal_title"))
    return any(isinstance(given, list) and "thread-id" in given for given in items)
