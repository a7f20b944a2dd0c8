"""The lab's command line."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path
from typing import Annotated

import platformdirs
import typer

import evals.lab
from evals.lab.errors import LabError
from evals.lab.record import AGENTS, Job, record

app = typer.Typer(add_completion=False, no_args_is_help=True, help=evals.lab.__doc__)

SIZE = re.compile(r"(\d{2,3})x(\d{2,3})")


@app.callback()
def _group() -> None:
    """With a callback typer keeps `record` a word of its own."""


@app.command("record")
def record_command(
    program: Annotated[str, typer.Argument(help=f"One of: {', '.join(AGENTS)}.")],
    version: Annotated[str, typer.Argument(help="A published version, such as 0.171.0.")],
    size: Annotated[
        list[str] | None, typer.Option(help="COLUMNSxROWS; may be given several times.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the corpus files go.")] = Path("lab-out"),
    cache: Annotated[
        Path | None, typer.Option(help="Where agents are installed, one folder per version.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only steps whose name holds this.")
    ] = None,
) -> None:
    """Drive a real agent through its states and write what it shows as corpus files.

    Prints each file. Exit status 1 when the agent, npm or tmux cannot be had, or when a step did
    not come about (each is named); the files of the other steps are written all the same.
    """
    job = Job(
        program=program,
        version=version,
        sizes=tuple(_size(text) for text in size or ["120x40", "80x24"]),
        out=out,
        cache=cache or platformdirs.user_cache_path("openbus") / "agents",
        only=tuple(only or ()),
    )
    # A request to end must still close the tmux server and the agents' daemons.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        outcome = record(job, print)
    except LabError as error:
        _fail(str(error))
    for step in outcome.missed:
        print(f"lab: missed {step}", file=sys.stderr)
    if outcome.missed:
        _fail(f"{len(outcome.files)} files written, {len(outcome.missed)} steps missed")


def main() -> None:
    app(prog_name="python -m evals.lab")


def _size(text: str) -> tuple[int, int]:
    match = SIZE.fullmatch(text)
    if not match:
        print(f"lab: {text!r} is no size; write it like 120x40", file=sys.stderr)
        raise typer.Exit(2)
    return int(match[1]), int(match[2])


def _fail(line: str) -> None:
    print(f"lab: {line}", file=sys.stderr)
    raise typer.Exit(1)
