"""`openbus schema`: the JSON Schema of a pane state."""

from __future__ import annotations

import typer

from openbus.cli import output
from openbus.model import json_schema


def register(app: typer.Typer) -> None:
    app.command("schema")(schema)


def schema() -> None:
    """Print the JSON Schema of one pane state (`openbus.pane/1`)."""
    output.print_json(json_schema(), indent=True)
