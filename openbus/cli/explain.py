"""`openbus explain`: why a pane, or a saved screen, is read as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.text import Text

from openbus.cli import options, output
from openbus.cli.classify import load
from openbus.cli.errors import CommandError
from openbus.cli.look import library, look
from openbus.cli.ls import known
from openbus.cli.target import find, place
from openbus.corpus import CorpusError
from openbus.model import Capture, PaneState
from openbus.screen.explain import Explanation
from openbus.screen.explain import explain as explain_screen


def register(app: typer.Typer) -> None:
    app.command("explain")(explain)


def explain(
    target: Annotated[str, typer.Argument(metavar="PANE|FILE", help="A pane, or a corpus file.")],
    as_json: options.AsJson = False,
    socket_name: options.SocketNames = None,
    socket_path: options.SocketPaths = None,
) -> None:
    """Say why a pane or a saved screen is read as it is.

    Shows what named the program, the rules that fired with the rows that prove them, the rules that
    nearly fired and why they did not, and what grounding dropped.
    """
    settings = options.settings(socket_name, socket_path)
    manifests = library(settings)
    state: PaneState | None = None
    capture: Capture
    if _is_file(target):
        try:
            capture = load(target).capture
        except CorpusError as error:
            raise CommandError(str(error)) from None
        name = target
    else:
        seen = look(settings, manifests)
        pane = find(target, [one.pane for one in seen])
        found = next(one for one in seen if one.pane.key == pane.key)
        capture = found.capture
        # What was published is what is to be explained; without a service this look decides.
        state = next((one for one in known() or () if one.pane.key == pane.key), found.state)
        name = f"{pane.id} {place(pane)} ({pane.key})"
    explanation = explain_screen(capture, manifests)
    if as_json:
        fields: dict[str, Any] = msgspec.to_builtins(explanation)
        output.print_json({"target": target, "state": state, **fields})
        return
    console = output.console()
    for line in lines(name, explanation, state):
        console.print(line, soft_wrap=True)


def _is_file(target: str) -> bool:
    return target == "-" or target.endswith(".json") or Path(target).is_file()


def lines(name: str, explanation: Explanation, state: PaneState | None) -> Iterator[Text]:
    """The explanation for a terminal."""
    reading = explanation.reading
    program = explanation.program
    yield output.text(name, style="bold")
    sure = "" if program.confidence == "high" else " (not sure)"
    yield _field("program", f"{program.name}{sure}: {explanation.evidence}")
    words: list[str] = [reading.activity]
    if reading.detail:
        words.append(f"({reading.detail})")
    if reading.waiting_on:
        words.append(f"on {'you' if reading.waiting_on == 'user' else 'something outside'}")
    if state is not None and state.attention != "none":
        words.append(f"→ {state.attention.replace('_', ' ')}")
    yield _field("state", " ".join(words))
    if reading.question is not None:
        yield _field("question", f"[{reading.question.kind}] {reading.question.text}")
        for option in reading.question.options:
            yield _field("", f"{'❯' if option.selected else ' '} {option.label}")
    beside = [
        f"overlay {reading.overlay}" if reading.overlay else "",
        f"{reading.background} in background" if reading.background else "",
        "draft in the composer" if reading.draft else "",
        "last reply ends in a question" if reading.asked else "",
        "the screen does not show the activity" if reading.keep else "",
    ]
    if any(beside):
        yield _field("beside", ", ".join(filter(None, beside)))
    composer = explanation.composer
    yield _field("composer", f"rows {composer[0]}-{composer[1]}" if composer else "none is visible")
    for fired in explanation.fired:
        yield _field("fired", f"{fired.rule}{'' if fired.rows else ' (no row: tmux or title)'}")
        for row, text in zip(fired.rows, fired.text, strict=True):
            yield _field("", f"row {row}: {text}")
    for near in explanation.nearly:
        rows = ", ".join(map(str, near.rows))
        yield _field("nearly", f"{near.rule}: {near.why_not} (rows {rows})")
    for dropped in explanation.grounding:
        yield _field("dropped", dropped)


def _field(label: str, value: str) -> Text:
    return Text.assemble((f"{label:>9}  ", "dim"), output.text(value))
