"""`openbus push`: try the ways to a person, read what was told, list devices, silence."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from openbus.cli import options, output
from openbus.cli.errors import CommandError
from openbus.cli.ls import current
from openbus.cli.target import find
from openbus.config import state_dir
from openbus.notify import settings as notify_settings
from openbus.notify.content import trial
from openbus.notify.devices import Devices, Subscription
from openbus.notify.mutes import Mutes
from openbus.notify.outbox import FILE, read_log
from openbus.notify.policy import Mute, Scope
from openbus.notify.records import Outcome
from openbus.notify.settings import NOBODY
from openbus.store import StoreError
from openbus.tmux.connection import Connection

if TYPE_CHECKING:  # it loads an HTTP client, which most commands do not need
    from openbus.notify.post import Post

_SPAN = re.compile(r"^(\d+)(m|h|d)$")
_UNITS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}
_STYLES = {"sent": "green", "failed": "red", "no channel": "bold red", "held": "yellow"}


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Devices and notifications.", no_args_is_help=True)
    group.command("test")(test)
    group.command("log")(log)
    group.command("devices")(devices)
    group.command("mute")(mute)
    app.add_typer(group, name="push")


def test(
    channel: Annotated[
        str | None, typer.Option(help="Only this one, as `openbus push devices` names it.")
    ] = None,
) -> None:
    """Send a test notification on every channel and to every device, and say what became of it.

    Works without the service. Exit status 1 when one of them failed or there is none.
    """
    from openbus.notify.post import Post

    tmux = options.settings().tmux

    def connect(socket: str) -> Connection:
        return Connection(socket, binary=tmux.binary, timeout=tmux.timeout)

    post = Post(notify_settings.load(), state_dir(), connect=connect, binary=tmux.binary)
    output.report(post.problems)
    senders = {
        name: sender
        for name, sender in post.senders.items()
        if sender.channel.human and channel in (None, name)
    }
    if not senders:
        raise CommandError(NOBODY if channel is None else f"no channel {channel!r}")
    outcomes = asyncio.run(_try(post, list(senders)))
    failed = bool(post.problems)
    for name, outcome in outcomes.items():
        kind = senders[name].channel.type
        accepted = outcome.result == "accepted"
        failed = failed or not accepted
        words = "delivered" if accepted else f"failed: {outcome.reason}"
        output.console().print(
            Text.assemble((f"{name} ({kind}): ", "bold"), (words, "green" if accepted else "red")),
            soft_wrap=True,
        )
    if failed:
        raise CommandError()


async def _try(post: Post, names: list[str]) -> dict[str, Outcome]:
    parcel = trial(_now())
    try:
        senders = post.senders
        outcomes = await asyncio.gather(*(senders[name].send(parcel) for name in names))
    finally:
        await post.close()
    return dict(zip(names, outcomes, strict=True))


def log(
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many entries.")] = 100,
    as_json: options.AsJson = False,
) -> None:
    """What was sent, updated, withdrawn, held, suppressed and failed, and why; oldest first.

    It names panes, kinds and channels; what a notification said is not kept.
    """
    path = state_dir() / FILE
    try:
        entries = read_log(path, limit)
    except sqlite3.Error as error:
        raise CommandError(f"cannot read {path}: {error}; `openbus up` begins a new one") from None
    if as_json:
        output.print_json(entries)
        return
    if not entries:
        output.report(["nothing was told yet"])
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("WHEN", "WHAT", "KIND", "PANE", "ASK", "CHANNEL"):
        table.add_column(name, no_wrap=True)
    table.add_column("WHY", overflow="fold", ratio=1)
    for entry in entries:
        table.add_row(
            Text(f"{datetime.fromtimestamp(entry.at / 1000):%m-%d %H:%M:%S}"),
            Text(entry.what, style=_STYLES.get(entry.what, "")),
            Text(entry.kind),
            output.text(_short(entry.pane)),
            Text(f"{entry.contract[:6]}/{entry.episode}"),
            output.text(entry.channel),
            output.text(entry.reason),
        )
    output.console().print(table)


def devices(
    as_json: options.AsJson = False,
    remove: Annotated[
        str | None, typer.Option(metavar="ID", help="Forget the browser with this id.")
    ] = None,
) -> None:
    """List the ways to a person: channels of notify.toml, and browsers that asked for Web Push."""
    from openbus.notify.post import Post

    settings = notify_settings.load()
    known = Devices(state_dir(), settings.webpush.hosts)
    try:
        if remove is not None:
            if not known.remove(remove.removeprefix("webpush:")):
                raise CommandError(f"no device {remove!r}; `openbus push devices` lists them")
            return
        browsers = known.all()
    except StoreError as error:
        raise CommandError(str(error)) from None
    post = Post(settings, state_dir())
    output.report(post.problems)
    found = [sender.channel for sender in post.senders.values() if sender.channel.human]
    asyncio.run(post.close())
    labels = {f"webpush:{one.id}": _label(one) for one in browsers}
    if as_json:
        output.print_json(
            [
                {
                    "name": one.name,
                    "type": one.type,
                    "device": one.device,
                    "label": labels.get(one.name, ""),
                    "kinds": one.kinds,
                    "withdraws": one.withdraws,
                }
                for one in found
            ]
        )
        return
    if not found:
        output.report([NOBODY])
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("NAME", "TYPE", "DEVICE", "TAKES BACK", "LABEL"):
        table.add_column(name)
    for one in found:
        table.add_row(
            output.text(one.name),
            Text(one.type),
            Text(one.device),
            Text("yes" if one.withdraws else "no"),
            output.text(labels.get(one.name, "")),
        )
    output.console().print(table)


def mute(
    pane: Annotated[str | None, typer.Argument(metavar="[PANE]")] = None,
    session: Annotated[str | None, typer.Option(help="A tmux session.")] = None,
    program: Annotated[str | None, typer.Option(help="A program, such as codex.")] = None,
    span: Annotated[
        str | None, typer.Option("--for", metavar="SPAN", help="30m, 2h, 1d; else until undone.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Undo.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Hold back notifications of a pane, a session or a program; without any, list what is muted.

    What is still true when the mute ends is told then.
    """
    mutes, now = Mutes(state_dir()), _now()
    chosen = [(scope, name) for scope, name in _named(pane, session, program) if name is not None]
    try:
        if not chosen:
            if span is not None or off:
                raise CommandError("name a pane, --session or --program", status=2)
            _list_mutes(mutes.current(now), as_json)
            return
        until = None if span is None else now + _length(span)
        for scope, name in chosen:
            if off and not mutes.remove(scope, name, now):
                output.report([f"{scope} {name} was not muted"])
            elif not off:
                mutes.add(Mute(scope=scope, name=name, until=until), now)
    except StoreError as error:
        raise CommandError(str(error)) from None


def _named(
    pane: str | None, session: str | None, program: str | None
) -> list[tuple[Scope, str | None]]:
    key = pane
    if pane is not None and pane.count(":") < 4:
        key = find(pane, [state.pane for state in current(options.settings())]).key
    return [("pane", key), ("session", session), ("program", program)]


def _list_mutes(mutes: tuple[Mute, ...], as_json: bool) -> None:
    if as_json:
        output.print_json(mutes)
    elif not mutes:
        output.report(["nothing is muted"])
    for one in () if as_json else mutes:
        until = "until undone"
        if one.until is not None:
            until = (
                f"until {datetime.fromtimestamp(one.until / 1000, UTC).astimezone():%m-%d %H:%M}"
            )
        output.console().print(output.text(f"{one.scope} {one.name} {until}"), soft_wrap=True)


def _length(span: str) -> int:
    match = _SPAN.match(span)
    if match is None:
        raise CommandError(f"{span!r} is no span such as 30m, 2h or 1d", status=2)
    return int(match[1]) * _UNITS[match[2]]


def _label(subscription: Subscription) -> str:
    return subscription.label or "a browser"


def _short(key: str) -> str:
    """`SOCKET:%N` of a pane key."""
    parts = key.split(":")
    return f"{parts[1]}:{parts[3]}" if len(parts) == 5 else key


def _now() -> int:
    return time.time_ns() // 1_000_000
