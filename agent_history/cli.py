"""`agent-history`: the sessions of coding agents on this machine, from the command line."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import msgspec
import platformdirs
import typer

from agent_history import clock
from agent_history.cache import TotalsCache
from agent_history.homes import homes_of
from agent_history.options import Options
from agent_history.records import to_json
from agent_history.registry import Monitor

app = typer.Typer(
    name="agent-history",
    help="Sessions of Claude Code and Codex on this machine: what they do, need, plan and cost. "
    "Reads only; nothing in an agent's folder changes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, the fields in camelCase.")]
HomeOption = Annotated[
    str | None,
    typer.Option(help="Use this home folder instead of yours; replaces all overrides."),
]
HarnessOption = Annotated[
    list[str] | None, typer.Option(help="Only this harness: claude-code or codex. Repeatable.")
]
NowOption = Annotated[int | None, typer.Option(help="Take this time (epoch milliseconds) as now.")]


def cache_file() -> str:
    """Where totals are kept between two runs."""
    return os.path.join(platformdirs.user_cache_dir("agent-history"), "totals.msgpack")


def monitor_of(home: str | None, harness: list[str] | None, options: Options) -> Monitor:
    """The monitor that a command asks."""
    cache = TotalsCache(cache_file())
    return Monitor(homes_of(os.environ, home), options, cache, only=harness)


def print_json(value: Any) -> None:
    """One JSON value on stdout."""
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


@app.command()
def scan(
    json: JsonFlag = False,
    every_age: Annotated[bool, typer.Option("--all", help="List every age.")] = False,
    exact: Annotated[bool, typer.Option(help="Read older transcripts whole, too.")] = False,
    home: HomeOption = None,
    harness: HarnessOption = None,
    now: NowOption = None,
) -> None:
    """List the sessions of the last day, newest first."""
    options = Options(every_age=every_age, exact=exact)
    found = monitor_of(home, harness, options).scan(clock() if now is None else now)
    print_json([to_json(session) for session in found.sessions])


@app.callback()
def main_callback() -> None:
    """Keeps `scan` a subcommand while it is the only one."""


def main() -> None:
    """Entry point of the program."""
    app()
