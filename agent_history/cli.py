"""`agent-history`: the sessions of coding agents on this machine, from the command line.

No command shows an excerpt, so none is ever extracted here.

Exit status: 0 done (with warnings on stderr), 1 when nothing could be read, 2 usage.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Annotated, Any, NoReturn

import msgspec
import platformdirs
import typer
from rich.console import Console
from rich.progress import Progress as Bar

from agent_history import clock
from agent_history import export as exports
from agent_history.cache import TotalsCache
from agent_history.doctor import report
from agent_history.homes import homes_of
from agent_history.options import Options
from agent_history.records import Detail, Session, to_json
from agent_history.registry import Monitor, Progress, Scan
from agent_history.search import search as search_in
from agent_history.tables import hits_table, limit_lines, plan_lines, print_detail, sessions_table
from agent_history.ticks import Ticks
from agent_history.watching import changes

app = typer.Typer(
    name="agent-history",
    help="Sessions of Claude Code and Codex on this machine: what they do, need, plan and cost. "
    "Reads only; nothing in an agent's folder changes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, the fields in camelCase.")]
AllFlag = Annotated[bool, typer.Option("--all", help="Sessions of every age.")]
ExactFlag = Annotated[
    bool, typer.Option("--exact", help="Read older transcripts whole, not only their ends.")
]
HomeOption = Annotated[
    str | None,
    typer.Option(help="Use this home folder instead of yours; replaces all overrides."),
]
HarnessOption = Annotated[
    list[str] | None, typer.Option(help="Only this harness: claude-code or codex. Repeatable.")
]
NowOption = Annotated[int | None, typer.Option(help="Take this time (epoch ms) as now.")]
SessionArgument = Annotated[
    str, typer.Argument(metavar="SESSION", help="A session id, or the beginning of one.")
]


def fail(message: str, status: int = 1) -> NoReturn:
    """One clear line on stderr, and out."""
    print(f"agent-history: {message}", file=sys.stderr)
    raise typer.Exit(status)


def warn(message: str) -> None:
    """A warning line on stderr."""
    print(f"agent-history: warning: {message}", file=sys.stderr)


def cache_file() -> str:
    """Where totals are kept between two runs."""
    return os.path.join(platformdirs.user_cache_dir("agent-history"), "totals.msgpack")


def ticks_file() -> str:
    """Where ticked plan steps are kept."""
    return os.path.join(platformdirs.user_state_dir("agent-history"), "ticks.json")


def monitor_of(home: str | None, harness: list[str] | None, options: Options) -> Monitor:
    """The monitor that a command asks."""
    monitor = Monitor(homes_of(os.environ, home), options, TotalsCache(cache_file()), only=harness)
    if not monitor.readers:
        fail(f"no such harness: {', '.join(harness or [])}; known: claude-code, codex", 2)
    return monitor


@contextlib.contextmanager
def progress_bar(show: bool) -> Iterator[Progress | None]:
    """A bar on stderr while a first full scan reads everything."""
    if not show or not sys.stderr.isatty():
        yield None
        return
    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def scanned(monitor: Monitor, now: int, home: str | None, quiet: bool) -> Scan:
    """A scan with its warnings printed; ends the program when nothing could be read."""
    with progress_bar(show=not quiet) as progress:
        found = monitor.scan(now, progress)
    for message in (*found.errors.values(), *found.warnings):
        warn(message)
    for session in found.sessions:
        for note in session.notes:
            warn(f"{session.id}: {note}")
    if not found.read:
        place = home or "this home"
        looked = ", ".join(monitor.watch_roots())
        fail(f"no agent's sessions could be read in {place} (looked in {looked})")
    return found


def print_json(value: Any) -> None:
    """One JSON value on stdout."""
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def one(monitor: Monitor, given: str, now: int, subagent: str | None) -> tuple[Session, Detail]:
    """The session that an id or the beginning of one names."""
    if ":" in given:
        found = monitor.read_session(given, now, subagent)
        if found is not None:
            return found
    name = given.partition(":")[2] or given
    every = [
        identity for reader in monitor.readers for identity in reader.ids()
        if identity == given or identity.partition(":")[2].startswith(name)
    ]  # fmt: skip
    if len(every) > 1:
        fail(f"{given} names several sessions: {', '.join(sorted(every)[:10])}", 2)
    found = monitor.read_session(every[0], now, subagent) if every else None
    if found is None:
        what = f"{given} with subagent {subagent}" if subagent else given
        fail(f"no session {what}; `agent-history scan --all` lists them")
    return found


@app.command()
def scan(
    json: JsonFlag = False,
    every_age: AllFlag = False,
    exact: ExactFlag = False,
    home: HomeOption = None,
    harness: HarnessOption = None,
    now: NowOption = None,
) -> None:
    """List the sessions of the last day, newest first."""
    at = clock() if now is None else now
    ticks = Ticks(ticks_file()).keys()
    options = Options(every_age=every_age, exact=exact, excerpts=False, ticks=ticks)
    found = scanned(monitor_of(home, harness, options), at, home, quiet=not every_age)
    if json:
        print_json([to_json(session) for session in found.sessions])
    else:
        console = Console()
        console.print(sessions_table(found.sessions, at))
        for line in limit_lines(found.sessions, at):
            console.print(f"[dim]{line}[/]")


@app.command()
def show(
    session: SessionArgument,
    json: JsonFlag = False,
    subagent: Annotated[str | None, typer.Option(help="Show this subagent of it.")] = None,
    files_only: Annotated[
        bool, typer.Option("--files-only", help="Only the files it changed.")
    ] = False,
    home: HomeOption = None,
    harness: HarnessOption = None,
    now: NowOption = None,
) -> None:
    """Show one session in depth, of any age."""
    at = clock() if now is None else now
    monitor = monitor_of(home, harness, Options(excerpts=False, ticks=Ticks(ticks_file()).keys()))
    found, detail = one(monitor, session, at, subagent)
    if files_only:
        paths = [file.path for file in detail.files or ()]
        if json:
            files = [{"path": path} for path in paths]
            print_json({"id": detail.id, "sessionId": detail.session_id, "files": files})
        else:
            print("\n".join(paths))
    elif json:
        print_json(to_json(detail))
    else:
        print_detail(Console(), found, detail, at)


@app.command()
def plan(
    session: SessionArgument,
    json: JsonFlag = False,
    tick: Annotated[list[str] | None, typer.Option(help="Tick the step with this key.")] = None,
    untick: Annotated[list[str] | None, typer.Option(help="Take a tick back.")] = None,
    home: HomeOption = None,
    harness: HarnessOption = None,
    now: NowOption = None,
) -> None:
    """Show a session's plan; your own ticks are kept by the step's key, without its text."""
    ticks = Ticks(ticks_file())
    at = clock() if now is None else now
    monitor = monitor_of(home, harness, Options(excerpts=False, ticks=ticks.keys()))
    _, detail = one(monitor, session, at, None)
    known = {item.key for item in detail.plan}
    for key in (*(tick or ()), *(untick or ())):
        if key not in known:
            fail(f"no step of this plan has the key {key}; `--json` shows the keys")
    try:
        for key in tick or ():
            ticks.set(key, ticked=True)
        for key in untick or ():
            ticks.set(key, ticked=False)
    except OSError as error:
        fail(f"cannot keep ticks in {ticks_file()}: {error.strerror}")
    if tick or untick:
        monitor = monitor_of(home, harness, Options(excerpts=False, ticks=ticks.keys()))
        _, detail = one(monitor, session, at, None)
    if json:
        print_json([to_json(item) for item in detail.plan])
    elif not detail.plan:
        print("no plan")
    else:
        for line in plan_lines(detail.plan):
            Console().print(line)


@app.command()
def search(
    query: Annotated[list[str], typer.Argument(help="Words that all have to occur.")],
    json: JsonFlag = False,
    every_age: AllFlag = False,
    home: HomeOption = None,
    harness: HarnessOption = None,
    now: NowOption = None,
) -> None:
    """Search titles, projects, prompts, replies and changed files."""
    at = clock() if now is None else now
    monitor = monitor_of(home, harness, Options(every_age=every_age, excerpts=False))
    found = scanned(monitor, at, home, quiet=True)
    hits = list(search_in(monitor, found.sessions, " ".join(query), at))
    if json:
        print_json([to_json(hit) for hit in hits])
    else:
        Console().print(hits_table(hits, at))


@app.command()
def export(
    form: Annotated[str, typer.Option("--format", help="csv or jsonl.")] = "csv",
    json: Annotated[bool, typer.Option("--json", help="The same as --format jsonl.")] = False,
    every_age: AllFlag = False,
    exact: ExactFlag = False,
    home: HomeOption = None,
    harness: HarnessOption = None,
    now: NowOption = None,
) -> None:
    """Print sessions as rows of numbers and names; no text of a transcript is in them."""
    form = "jsonl" if json else form
    if form not in ("csv", "jsonl"):
        fail(f"unknown format {form}; use csv or jsonl", 2)
    options = Options(every_age=every_age, exact=exact, excerpts=False)
    monitor = monitor_of(home, harness, options)
    found = scanned(monitor, clock() if now is None else now, home, quiet=not every_age)
    write = exports.as_csv if form == "csv" else exports.as_json_lines
    sys.stdout.write(write(found.sessions))


@app.command()
def watch(json: JsonFlag = False, home: HomeOption = None, harness: HarnessOption = None) -> None:
    """Print sessions as they change, one line each, until Ctrl-C."""
    monitor = monitor_of(home, harness, Options(excerpts=False, ticks=Ticks(ticks_file()).keys()))
    console = Console()
    with contextlib.suppress(KeyboardInterrupt):
        for session in changes(monitor, clock):
            if json:
                sys.stdout.buffer.write(msgspec.json.encode(to_json(session)) + b"\n")
                sys.stdout.buffer.flush()
            else:
                table = sessions_table([session], clock())
                table.show_header = False
                console.print(table)


@app.command()
def doctor(
    json: JsonFlag = False,
    home: HomeOption = None,
    harness: HarnessOption = None,
    now: NowOption = None,
) -> None:
    """Say what can be read here, what is missing and why. Changes nothing."""
    homes = homes_of(os.environ, home)
    monitor = monitor_of(home, harness, Options(excerpts=False))
    found = report(monitor, homes, cache_file(), clock() if now is None else now)
    if json:
        print_json(found)
        return
    for part in found["harnesses"]:
        print(f"{part['id']}: {part['error'] or ('here' if part['here'] else 'not here')}")
        for folder in part["folders"]:
            print(f"  {folder['state']:10} {folder['path']}")
        if part["here"]:
            versions = ", ".join(part["versions"]) or "none"
            print(f"  {part['sessionsLastDay']} sessions in the last day, versions {versions}")
            print(f"  checked with {part['checkedVersions']}")
        for name, number in part["unknownRecords"].items():
            print(f"  unknown record {name}: {number}")
        for model in part["modelsWithoutPrice"]:
            print(f"  no list price for {model}: its cost is what Claude Code recorded")
    for message in found["warnings"]:
        print(f"warning: {message}")
    print(f"prices of {found['pricesDate']}; totals cache {found['cache']['state']}: "
          f"{found['cache']['path']}")  # fmt: skip


def main() -> None:
    """Entry point of the program."""
    with contextlib.suppress(BrokenPipeError):
        app()
