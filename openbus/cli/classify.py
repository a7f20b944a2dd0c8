"""`openbus classify`: read corpus files and print one reading per file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from openbus.classify import classify
from openbus.cli import options, output
from openbus.cli.errors import CommandError
from openbus.cli.look import library
from openbus.corpus import MAX_BYTES, CorpusError, CorpusFile, decode, read
from openbus.model import Reading


def register(app: typer.Typer) -> None:
    app.command("classify")(classify_files)


def classify_files(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Corpus files, or `-`.")],
    as_json: options.AsJson = False,
) -> None:
    """Read corpus files (or `-` for stdin) and print one reading per file.

    With --json one object per line. A file that cannot be used is named on stderr, the others are
    read, and the exit status is 1.
    """
    manifests = library(options.settings())
    failed = False
    for name in files:
        try:
            corpus_file = load(name)
        except CorpusError as error:
            output.report([error])
            failed = True
            continue
        reading = classify(corpus_file.capture, manifests)
        if as_json:
            output.print_json(record(name, reading))
        else:
            output.console().print(output.text(line(name, reading)), soft_wrap=True)
    if failed:
        raise CommandError()


def load(name: str) -> CorpusFile:
    """The corpus file at path `name`; `-` is stdin. Raises `CorpusError`."""
    if name == "-":
        return decode(sys.stdin.buffer.read(MAX_BYTES + 1), "-")
    return read(Path(name))


def record(file: str, reading: Reading) -> dict[str, Any]:
    """The reading as an object of the public surface."""
    fields: dict[str, Any] = msgspec.to_builtins(reading)
    return {"file": file, "needs_you": reading.needs_you, **fields}


def line(file: str, reading: Reading) -> str:
    """The reading in one line."""
    words = [f"{file}:", reading.program.name, reading.activity]
    if reading.detail:
        words.append(f"({reading.detail})")
    if reading.needs_you:
        words.append("needs you")
    if reading.question is not None:
        words.append(f"[{reading.question.kind}] {reading.question.text}")
    return " ".join(words)
