"""The `openbus` command. Each command is one module with a `register(app)` of its own."""

from __future__ import annotations

import io
import os
import sys

import typer

from openbus.cli.errors import CommandError


def build() -> typer.Typer:
    """The whole command line."""
    from openbus.cli import capture, classify, doctor, explain, live, ls, pair, push, schema, shadow

    app = typer.Typer(
        name="openbus",
        help="Which of your terminal coding agents needs you?",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for command in (ls, explain, classify, capture, doctor, schema, shadow, live, pair, push):
        command.register(app)
    return app


def main() -> None:
    """Entry point: exit status 0 done, 1 failed, 2 usage, 3 time-out."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A glyph that the locale cannot say must not end the command.
            stream.reconfigure(errors="backslashreplace")
    try:
        build()()
    except CommandError as failure:
        for line in failure.lines:
            print(line, file=sys.stderr)
        sys.exit(failure.status)
    except BrokenPipeError:
        # The reader of our output left (`openbus ls | head`): nothing more to say to anybody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
