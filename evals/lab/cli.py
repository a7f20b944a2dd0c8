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
from evals.lab import live_cli
from evals.lab.errors import LabError
from evals.lab.record import AGENTS, Job, record

app = typer.Typer(add_completion=False, help=evals.lab.__doc__)

app.command("live")(live_cli.live_command)

SIZE = re.compile(r"(\d{2,3})x(\d{2,3})")


@app.callback(invoke_without_command=True)
def everything(context: typer.Context) -> None:
    """Without a command: record every program, in the version the lab was last tried with."""
    if context.invoked_subcommand is None:
        folder = platformdirs.user_cache_path("openbus")
        jobs = [_job(name, None, [], folder / "screens", None, []) for name in AGENTS]
        _record(jobs)


@app.command("record")
def record_command(
    program: Annotated[str, typer.Argument(help=f"One of: {', '.join(AGENTS)}.")],
    version: Annotated[
        str | None,
        typer.Argument(help="A published version; default: the one the lab was last tried with."),
    ] = None,
    size: Annotated[
        list[str] | None, typer.Option(help="COLUMNSxROWS; may be given several times.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where the corpus files go; default: the cache folder.")
    ] = None,
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
    out = out or platformdirs.user_cache_path("openbus") / "screens"
    _record([_job(program, version, size or [], out, cache, only or [])])


def _job(
    program: str,
    version: str | None,
    sizes: list[str],
    out: Path,
    cache: Path | None,
    only: list[str],
) -> Job:
    return Job(
        program=program,
        version=version or (AGENTS[program].tried if program in AGENTS else ""),
        sizes=tuple(_size(text) for text in sizes or ["120x40", "80x24"]),
        out=out,
        cache=cache or platformdirs.user_cache_path("openbus") / "agents",
        only=tuple(only),
    )


def _record(jobs: list[Job]) -> None:
    files, missed, failed = 0, 0, False
    for job in jobs:
        try:
            outcome = record(job, print)
        except LabError as error:
            print(f"lab: {error}", file=sys.stderr)
            failed = True
            continue
        for step in outcome.missed:
            print(f"lab: {job.program} {job.version} missed {step}", file=sys.stderr)
        files += len(outcome.files)
        missed += len(outcome.missed)
    if missed:
        print(f"lab: {files} files written, {missed} steps missed", file=sys.stderr)
    if missed or failed:
        raise typer.Exit(1)


def main() -> None:
    # A request to end must still close the tmux server and the agents' daemons.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    app(prog_name="python -m evals.lab")


def _size(text: str) -> tuple[int, int]:
    match = SIZE.fullmatch(text)
    if not match:
        print(f"lab: {text!r} is no size; write it like 120x40", file=sys.stderr)
        raise typer.Exit(2)
    return int(match[1]), int(match[2])
