"""`openbus shadow`: native evidence against the terminal, as the running service counts it."""

from __future__ import annotations

from typing import Any

import typer
from rich.table import Table

from openbus.cli import options, output
from openbus.cli.errors import CommandError
from openbus.client import ServiceError, fetch_json


def register(app: typer.Typer) -> None:
    app.command("shadow")(shadow)


def shadow(as_json: options.AsJson = False) -> None:
    """Compare what agents' own servers say with what their screens show.

    Nothing of it changes a published state. Switch it on with `openbus up --codex-evidence`.
    """
    try:
        found = fetch_json("/api/shadow")
    except ServiceError as error:
        raise CommandError(str(error)) from None
    if found is None:
        raise CommandError("no service is running; start it with `openbus up --codex-evidence`")
    if as_json:
        output.print_json(found)
        return
    if not found["sources"]:
        print("no evidence source is on; `openbus up --codex-evidence` switches Codex on")
        return
    for source in found["sources"]:
        _print(source)


def _print(source: dict[str, Any]) -> None:
    detail = source["detail"]
    console = output.console()
    console.print(output.text(source["source"]), style="bold")
    for server in detail["servers"]:
        place = server["home"] or server["socket"]
        version = server["version"] or "version unknown"
        console.print(
            output.text(
                f"  {place}: {server['health']} ({server['reason']}), {version}, "
                f"{server['loaded']} threads loaded, "
                f"{server['requests_per_second']} requests a second"
            )
        )
        for item in server["drift"]:
            console.print(output.text(f"    drift: {item}"))
        for method, timing in sorted(server["latency_ms"].items()):
            console.print(
                output.text(f"    {method}: p50 {timing['p50']} ms, p99 {timing['p99']} ms")
            )
    panes = ", ".join(f"{count} {verdict}" for verdict, count in sorted(source["verdicts"].items()))
    console.print(output.text(f"  panes: {panes or 'none'}; {_agreement(detail)}"))
    if detail["other_servers"]:
        console.print(
            output.text(f"  {detail['other_servers']} panes use a server that is not in the opt-in")
        )
    age = detail["cache"]["age_ms"]
    if age is not None:
        console.print(output.text(f"  snapshots: {age['n']}, age p50 {age['p50'] / 1000:.1f} s"))
    _print_bindings(detail["bindings"])


def _agreement(detail: dict[str, Any]) -> str:
    share = detail["agreement"]
    return "nothing compared yet" if share is None else f"agreement {share:.1%} of the time"


def _print_bindings(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    table = Table(box=None, pad_edge=False)
    for head in ("pane", "binding", "how", "thread", "native", "screen", "comparison"):
        table.add_column(head)
    for row in rows:
        native = row["native"] or ""
        if row["native_waiting"]:
            native += ", waiting"
        screen = row["screen"] + (", needs you" if row["needs_you"] else "")
        cells = (
            row["pane"].rsplit(":", 2)[1],
            row["verdict"],
            row["how"],
            row["thread"] or "",
            native,
            screen,
            row["comparison"].replace("_", " "),
        )
        table.add_row(*(output.text(cell) for cell in cells))
    output.console().print(table)
