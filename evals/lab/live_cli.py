"""The command `live` and its table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import platformdirs
import typer

from evals.lab.errors import LabError
from evals.lab.live import FLOWS, Job, Outcome, run
from evals.lab.live_score import percentile
from evals.lab.record import AGENTS

HEAD = (
    "| program | version | states | asks | missed asks | false asks | missed pushes | "
    "false pushes | late withdrawals | wrong states | ask p50/p95 | push p50/p95 | "
    "state p50/p95 | tmux, agent |"
)
COLUMNS = ("missed ask", "false ask", "missed push", "false push", "late withdraw", "state")


def live_command(
    programs: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROGRAM[@VERSION]…", help=f"Default: {', '.join(AGENTS)}."),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Where agents are installed, one folder per version.")
    ] = None,
    flows: Annotated[
        list[str] | None, typer.Option(help="Only steps whose name holds this; several times.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Write screens that were published wrongly, and a timeline, here."),
    ] = None,
) -> None:
    """Run real agents beside the real service and compare what it publishes with what is true.

    Prints each state as it is held, then a table (Markdown). Exit status 1 when an ask was missed,
    something false was published or announced, a step did not come about, or OpenBus did more to
    tmux than look.
    """
    folder = cache or platformdirs.user_cache_path("openbus") / "agents"
    outcomes: list[Outcome] = []
    failed = False
    for word in programs or list(AGENTS):
        name, _, version = word.partition("@")
        tried = AGENTS[name].tried if name in AGENTS else ""
        job = Job(
            program=name,
            version=version or tried,
            cache=folder,
            flows=tuple(flows or FLOWS),
            save=save,
        )
        try:
            outcomes.append(run(job, _tell))
        except LabError as error:
            print(f"lab: {error}", file=sys.stderr)
            failed = True
    for line in table(outcomes):
        print(line)
    for line in details(outcomes):
        print(line, file=sys.stderr)
    if failed or not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """Markdown, one row per run; delays in milliseconds."""
    lines = [HEAD, "| --- " * (HEAD.count("|") - 1) + "|"]
    for outcome in outcomes:
        score = outcome.score
        cells = [
            outcome.program,
            outcome.version,
            str(score.spans),
            str(score.asks),
            *(str(score.count(what)) for what in COLUMNS),
            *(_delays(d) for d in (score.ask_delays, score.push_delays, score.state_delays)),
            "changed" if outcome.intrusions else "untouched",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def details(outcomes: Sequence[Outcome]) -> list[str]:
    """One line for everything that went wrong."""
    lines = []
    for outcome in outcomes:
        name = f"lab: {outcome.program} {outcome.version}"
        lines += [f"{name} {f.what}, {f.name}: {f.text}" for f in outcome.score.findings]
        lines += [f"{name} missed step {text}" for text in outcome.missed]
        lines += [f"{name} intrusion: {text}" for text in outcome.intrusions]
    return lines


def _delays(values: Sequence[float]) -> str:
    marks = [percentile(values, share) for share in (0.5, 0.95)]
    return "/".join("-" if mark is None else f"{mark * 1000:.0f}" for mark in marks) + " ms"


def _tell(line: str) -> None:
    print(line, flush=True)
