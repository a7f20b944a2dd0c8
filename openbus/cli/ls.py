"""`openbus ls`: all panes, most urgent first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from openbus.cli import options, output
from openbus.cli.look import library, look
from openbus.cli.target import place, socket_label
from openbus.client import ServiceError, fetch_panes
from openbus.config import Settings
from openbus.model import PaneState, Question
from openbus.snapshot import most_urgent_first

STYLES = {
    "needs_you": "bold red",
    "limit": "bold yellow",
    "error": "red",
    "asked": "magenta",
    "done": "green",
    "none": "",
}


def register(app: typer.Typer) -> None:
    app.command("ls")(ls)


def ls(
    as_json: options.AsJson = False,
    needs_you: Annotated[
        bool, typer.Option("--needs-you", help="Only panes that wait for a person.")
    ] = False,
    host: Annotated[str | None, typer.Option(help="Only panes of this machine.")] = None,
    socket_name: options.SocketNames = None,
    socket_path: options.SocketPaths = None,
) -> None:
    """List panes, most urgent first.

    Asks the running service, else takes one direct look: without a socket option at every tmux
    server of this user. Servers that cannot be read are named on stderr; exit status 1 when none
    answered.
    """
    settings = options.settings(socket_name, socket_path)
    # Socket options ask for servers that the service may not watch.
    states = None if socket_name or socket_path else known()
    if states is None:
        states = current(settings)
    shown = [
        state
        for state in most_urgent_first(states)
        if (state.needs_you or not needs_you) and host in (None, state.host)
    ]
    if as_json:
        output.print_json(shown)
    elif shown:
        output.console().print(table(shown, many=len({s.pane.server.socket for s in states}) > 1))
    else:
        output.report(["no pane needs you" if needs_you and states else "no panes to show"])


def current(settings: Settings) -> list[PaneState]:
    """The state of every pane now, by one direct look."""
    return [seen.state for seen in look(settings, library(settings))]


def known() -> list[PaneState] | None:
    """The states that the running service holds; None when none runs or it does not answer."""
    try:
        return fetch_panes()
    except ServiceError as error:
        output.report([f"{error}; looking directly"])
        return None


def table(states: list[PaneState], *, many: bool) -> Table:
    """The table for a terminal; `many`: panes of several servers, so name each pane's."""
    result = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    result.add_column("NEEDS", no_wrap=True)
    result.add_column("PANE", no_wrap=True)
    result.add_column("PROGRAM", no_wrap=True)
    result.add_column("STATE", no_wrap=True)
    result.add_column("WHAT", overflow="fold", ratio=1)
    result.add_column("WHERE", overflow="ellipsis", max_width=32, no_wrap=True)
    for state in states:
        pane = state.pane
        name = f"{socket_label(pane)}:{pane.id}" if many else pane.id
        attention = "" if state.attention == "none" else state.attention.replace("_", " ")
        result.add_row(
            Text(attention, style=STYLES[state.attention]),
            output.text(f"{name} {place(pane)}"),
            output.text(" ".join(filter(None, (state.program.name, state.program.version)))),
            output.text(_activity(state)),
            _what(state),
            output.text(_short(pane.cwd), style="dim"),
        )
    return result


def _activity(state: PaneState) -> str:
    words: list[str] = [state.activity]
    if state.detail:
        words.append(f"({state.detail})")
    if state.background:
        words.append(f"+{state.background} in background")
    if state.overlay:
        words.append(f"[{state.overlay}]")
    if state.draft:
        words.append("[draft]")
    if state.pane.in_mode:
        words.append("[copy mode]")
    return " ".join(words)


def _what(state: PaneState) -> Text:
    if state.question is not None:
        return _ask(state.question)
    return output.text(state.headline or state.title or "", style="dim")


def _ask(question: Question) -> Text:
    lines = [output.text(question.text or f"({question.kind})", style="bold")]
    if question.command:
        lines += [output.text(f"$ {line}") for line in question.command.splitlines()]
    for number, option in enumerate(question.options, start=1):
        check = "" if option.checked is None else ("[x] " if option.checked else "[ ] ")
        cursor = "❯" if option.selected else " "
        lines.append(output.text(f"{cursor} {number}. {check}{option.label}"))
    if question.clipped:
        lines.append(output.text("  … more options are hidden", style="dim"))
    return Text("\n").join(lines)


def _short(path: str) -> str:
    home = str(Path.home())
    if path == home or path.startswith(home + "/"):
        return "~" + path[len(home) :]
    return path
