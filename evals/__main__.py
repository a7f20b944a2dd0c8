"""`python -m evals run …` and `python -m evals bench NAME …`."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import evals
from evals import report
from evals.run import CORPUS, Plan, run

app = typer.Typer(add_completion=False, no_args_is_help=True, help=evals.__doc__)


@app.command("run")
def run_command(
    corpus: Annotated[
        list[Path] | None,
        typer.Option(help="Folder or file with screens; may be given several times."),
    ] = None,
    reader: Annotated[str, typer.Option(help="Which reader to measure.")] = "rules",
    context: Annotated[str, typer.Option(help="What it gets beside the screen.")] = "none",
    repeat: Annotated[int, typer.Option(min=1, help="Read each screen N times.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="The report as JSON.")] = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="The tables as `docs/accuracy.md` has them.")
    ] = False,
    failures: Annotated[bool, typer.Option(help="List every field read differently.")] = False,
    only: Annotated[str | None, typer.Option(help="Only files whose path matches GLOB.")] = None,
    mutations: Annotated[
        bool, typer.Option(help="Also read what mechanical changes make of each screen.")
    ] = False,
    manifests: Annotated[
        Path | None, typer.Option(help="A folder with user manifests to measure as well.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes to read with.")] = 1,
) -> None:
    """Read a corpus and report how much of it is read right.

    Exit status 1 when a file could not be used (each is named on stderr), 0 otherwise: the report
    says how good the readings are, the exit status does not.
    """
    if reader != "rules":
        _usage(f"unknown reader {reader!r}; there is: rules")
    if context != "none":
        _usage(f"unknown context {context!r}; there is: none")
    plan = Plan(
        roots=tuple(str(root) for root in corpus or [CORPUS]),
        only=only,
        repeat=repeat,
        mutations=mutations,
        user_dir=str(manifests) if manifests else None,
    )
    outcome = run(plan, jobs)
    for problem in outcome.problems:
        print(f"evals: {problem}", file=sys.stderr)
    if as_json:
        print(json.dumps(report.as_json(outcome), ensure_ascii=False))
    elif as_markdown:
        print(report.as_markdown(outcome), end="")
    else:
        # A pipe has no width of its own; the tables need about 110 columns.
        width = None if sys.stdout.isatty() else 120
        report.write_human(outcome, Console(width=width), failures)
    raise typer.Exit(1 if outcome.problems else 0)


@app.command(
    "bench",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def bench_command(context: typer.Context) -> None:
    """Run one benchmark: `bench NAME …`; without a name it lists them."""
    names = sorted(
        module.name.removeprefix("bench_")
        for module in pkgutil.iter_modules(evals.__path__)
        if module.name.startswith("bench_")
    )
    if not context.args or context.args[0] not in names:
        _usage(f"benchmarks: {', '.join(names)}")
    # Benchmarks are loaded by name: each needs things the others must not import.
    module = importlib.import_module(f"evals.bench_{context.args[0]}")
    raise typer.Exit(module.main(context.args[1:]) or 0)


@app.command(
    "sequences",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def sequences_command(context: typer.Context) -> None:
    """Play recorded sequences through the live pipeline and score them against the truth."""
    module = importlib.import_module("evals.sequences")
    raise typer.Exit(module.main(context.args) or 0)


def _usage(line: str) -> None:
    print(f"evals: {line}", file=sys.stderr)
    raise typer.Exit(2)


if __name__ == "__main__":
    app(prog_name="python -m evals")
