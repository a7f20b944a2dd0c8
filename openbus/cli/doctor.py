"""`openbus doctor`: what works here, what is missing, and how to get it."""

from __future__ import annotations

import asyncio

import typer
from rich.text import Text

from openbus.cli import options, output
from openbus.cli.errors import CommandError
from openbus.client import ServiceError, fetch_json
from openbus.config import Settings, state_dir
from openbus.doctor import Check, diagnose


def register(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


def doctor(
    as_json: options.AsJson = False,
    socket_name: options.SocketNames = None,
    socket_path: options.SocketPaths = None,
) -> None:
    """Look at everything that OpenBus needs here. Changes nothing.

    Exit status 0 when everything was looked at, whatever was found.
    """
    from openbus.codex.doctor import check_codex
    from openbus.notify.doctor import check_notifications
    from openbus.notify.settings import load as load_notify

    checks = []
    try:
        settings = options.settings(socket_name, socket_path)
    except CommandError as error:
        checks.append(Check(name="settings", ok=False, detail=str(error)))
        settings = Settings()
    tmux, codex = settings.tmux, settings.codex
    checks += asyncio.run(
        diagnose(tmux.socket_names, tmux.socket_paths, state_dir=state_dir(), binary=tmux.binary)
    )
    checks += check_codex(codex.evidence, codex.homes, _shadow())
    checks += check_notifications(load_notify(), state_dir())
    if as_json:
        output.print_json(checks)
        return
    console = output.console()
    for check in checks:
        mark = Text("ok  ", style="green") if check.ok else Text("!!  ", style="bold red")
        console.print(Text.assemble(mark, output.text(f"{check.name}: {check.detail}")))
        if check.way_out:
            console.print(output.text(f"      → {check.way_out}"))


def _shadow() -> object:
    """What the running service says about its evidence; None without one."""
    try:
        return fetch_json("/api/shadow")
    except ServiceError:
        return None
