"""Screens for tests: real ones from the corpus, and small ones written by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from openbus.corpus import CorpusFile, read
from openbus.model import Capture, Cursor, Process
from openbus.screen.manifest import Library, load_library

CORPUS = Path(__file__).parents[3] / "evals" / "corpus"


@cache
def library() -> Library:
    return load_library()


@cache
def screen_file(name: str) -> CorpusFile:
    """A corpus file by `program/version/state--size`."""
    return read(CORPUS / f"{name}.json")


def shown(*rows: str, width: int = 80, height: int = 24, **fields: object) -> Capture:
    """A capture of these rows, top first."""
    return Capture(ansi="\n".join(rows), width=width, height=height, **fields)  # type: ignore[arg-type]


def running(program: str, *rows: str, **fields: object) -> Capture:
    """A capture of a pane in which an agent's executable is in the foreground."""
    process = Process(comm=program, foreground=True, depth=1, argv=(f"/usr/bin/{program}",))
    return shown(*rows, processes=(process,), **fields)


def with_rows(capture: Capture, *rows: str) -> Capture:
    """The same pane showing other rows."""
    return msgspec.structs.replace(capture, ansi="\n".join(rows))


HIDDEN = Cursor(x=0, y=0, visible=False)
