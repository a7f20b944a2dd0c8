"""What commands print: JSON alone on stdout, everything else that is no result on stderr.

Text from screens, titles and paths is not ours: control characters are taken out before it reaches
a terminal, and none of it is read as markup.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from openbus.screen.grid import clean

PIPE_COLUMNS = 160
"""Width of tables that go to a file or a pipe, which have none of their own."""


def print_json(value: Any, *, indent: bool = False) -> None:
    """One JSON document and a line end. JSON escapes control characters by itself, and what the
    encoding of stdout cannot say is escaped as well."""
    data = msgspec.json.encode(value)
    if indent:
        data = msgspec.json.format(data, indent=2)
    text = data.decode("utf-8")
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), indent=2 if indent else None)
    sys.stdout.write(text + "\n")


def report(lines: Iterable[object]) -> None:
    """Problems that did not keep the command from its work: one line each on stderr."""
    for line in lines:
        print(f"openbus: {clean(str(line))}", file=sys.stderr)


def console() -> Console:
    """A console on stdout; its width is the terminal's where there is one."""
    width = None if sys.stdout.isatty() else PIPE_COLUMNS
    return Console(width=width, highlight=False, markup=False, emoji=False)


def text(value: str | None, style: str = "") -> Text:
    """Foreign text, ready for a terminal."""
    return Text(clean(value or ""), style=style)
