"""`openbus up` and `openbus service`: running the service."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec
import typer

from openbus.cli import options
from openbus.cli.errors import CommandError
from openbus.cli.output import report
from openbus.config import state_dir


def register(app: typer.Typer) -> None:
    app.command("up")(up)
    service = typer.Typer(no_args_is_help=True, help="Start OpenBus by itself when you log in.")
    service.command("install")(install)
    service.command("status")(status)
    service.command("remove")(remove)
    app.add_typer(service, name="service")


def up(
    socket_name: options.SocketNames = None,
    socket_path: options.SocketPaths = None,
    listen: Annotated[
        str | None, typer.Option(help="HOST:PORT of the web page; 127.0.0.1:7368 unless set.")
    ] = None,
    no_web: Annotated[bool, typer.Option("--no-web", help="Only the local socket.")] = False,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="No token; only for loopback addresses.")
    ] = False,
    json_log: Annotated[bool, typer.Option("--json-log", help="Log lines as JSON.")] = False,
    codex_evidence: Annotated[
        bool,
        typer.Option(
            "--codex-evidence",
            help="Compare with Codex's own server, read-only (docs/native-evidence.md).",
        ),
    ] = False,
) -> None:
    """Run the service: watch tmux, publish states, serve them. Ctrl-C ends it.

    Without a socket option every tmux server of this user is found by itself. Prints a link with a
    token that opens the page. It shows and announces; answering an ask from OpenBus comes with a
    later version.
    """
    from openbus import logs
    from openbus.service import StartError, start
    from openbus.state import StateError

    settings = options.settings(socket_name, socket_path)
    service = settings.service
    service = msgspec.structs.replace(
        service,
        listen=listen or service.listen,
        web=service.web and not no_web,
        token=service.token and not no_token,
    )
    codex = settings.codex
    codex = msgspec.structs.replace(codex, evidence=codex.evidence or codex_evidence)
    settings = msgspec.structs.replace(settings, service=service, codex=codex)
    try:
        start(settings, state_dir(), logs.configure(json_log), _say)
    except (StartError, StateError) as error:
        raise CommandError(str(error)) from None


def _say(line: str) -> None:
    try:
        print(line, flush=True)
    except OSError:
        return  # nobody reads us any more; the service goes on


def install(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be written and run.")
    ] = False,
) -> None:
    """Install a systemd user unit, or a launchd agent on macOS, and start it."""
    from openbus.install import InstallError, plan
    from openbus.install import install as do_install

    try:
        what = plan()
        if dry_run:
            print(f"# {what.path}")
            sys.stdout.write(what.content.decode())
            for command in what.enable:
                print(f"# {' '.join(command)}")
            return
        do_install(what)
    except InstallError as error:
        raise CommandError(str(error)) from None
    print(f"installed and started: {what.path}")


def status() -> None:
    """Whether the service is installed and running. Exit status 1 when it does not run."""
    from openbus.client import ServiceError, fetch_panes, find
    from openbus.install import InstallError, plan

    try:
        path = plan().path
        print(f"installed: {path}" if path.exists() else "not installed")
    except InstallError as error:
        report([error])
    try:
        panes = fetch_panes()
    except ServiceError as error:
        raise CommandError(str(error)) from None
    running = find()
    if panes is None or running is None:
        raise CommandError("no service is running; start it with `openbus up`")
    waiting = sum(pane.needs_you for pane in panes)
    print(
        f"running: pid {running.pid}, version {running.version}, {running.url or 'no web page'}, "
        f"{len(panes)} panes, {waiting} need you"
    )


def remove() -> None:
    """Stop the installed service and remove its file."""
    from openbus.install import InstallError, plan
    from openbus.install import remove as do_remove

    try:
        gone = do_remove(plan())
    except InstallError as error:
        raise CommandError(str(error)) from None
    print("removed" if gone else "it was not installed")
