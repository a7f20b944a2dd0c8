"""`openbus replay`: recorded sequences through the live pipeline on a virtual clock."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from openbus.cli import options, output
from openbus.cli.errors import CommandError


def register(app: typer.Typer) -> None:
    app.command("replay")(replay)


def replay(
    files: Annotated[list[Path], typer.Argument(help="Recordings (agent-sequence/1).")],
    as_json: options.AsJson = False,
) -> None:
    """Replay recordings: what would have been published, announced and withdrawn, and when.

    One line per event. Exit status 1 when a file could not be used; the others are replayed.
    """
    from openbus.classify import classify
    from openbus.cli.look import library
    from openbus.replay import SequenceError, load_sequence
    from openbus.replay import replay as play

    manifests = library(options.settings())
    problems: list[str] = []
    for file in files:
        try:
            sequence = load_sequence(file)
        except SequenceError as error:
            problems.append(str(error))
            continue
        for item in play(sequence, manifests, lambda c, memo: classify(c, manifests, memo)):
            line = item.line(str(file))
            text = msgspec.json.encode(line).decode() if as_json else _human(line)
            sys.stdout.write(text + "\n")
    if problems:
        raise CommandError(problems[0], *(f"openbus: {line}" for line in problems[1:]))


def _human(line: dict[str, Any]) -> str:
    question = line.get("question")
    asked = question.get("text") if isinstance(question, dict) else None
    words = [
        f"{line['t']:8.2f}",
        f"{line['event']:9}",
        str(line.get("activity") or "-"),
        str(line.get("attention") or "-"),
        str(asked or ""),
    ]
    return output.text(" ".join(words)).plain.rstrip()
