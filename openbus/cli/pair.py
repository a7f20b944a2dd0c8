"""`openbus pair`: let a browser in, make a token for a script, list and revoke."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated

import typer

from openbus.cli import options, output
from openbus.cli.errors import CommandError
from openbus.config import state_dir
from openbus.pairing import Pairing, PairingError, Role, pairing_url
from openbus.store import StoreError


def register(app: typer.Typer) -> None:
    app.command("pair")(pair)


def pair(
    view: Annotated[bool, typer.Option("--view", help="It may look and change nothing.")] = False,
    url: Annotated[
        str | None,
        typer.Option(help="Address for the link, when a proxy or Tailscale is in front."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Make a token for a script instead; shown once."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Who is paired.")] = False,
    revoke: Annotated[
        str | None, typer.Option(metavar="ID", help="Remove one; its pages close at once.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Print a link, and its code for a phone's camera, that pairs one browser.

    The link works once, within ten minutes. Nothing of it is kept but a hash.
    """
    from openbus.door import now_ms

    book = Pairing(state_dir())
    role: Role = "view" if view else "full"
    try:
        if list_:
            _list(book, as_json)
        elif revoke is not None:
            if not book.revoke(revoke):
                raise CommandError(
                    f"nobody has the id {revoke!r}; `openbus pair --list` lists them"
                )
        elif token is not None:
            secret = book.issue(role, token, now_ms())
            if as_json:
                output.print_json({"token": secret, "role": role})
            else:
                print(secret)
        else:
            _invite(book, role, url, as_json)
    except (StoreError, PairingError) as error:
        raise CommandError(str(error)) from None


def _invite(book: Pairing, role: Role, url: str | None, as_json: bool) -> None:
    from openbus.client import find
    from openbus.door import now_ms
    from openbus.greet import beyond, qr, reachable
    from openbus.listen import is_loopback

    running = find()
    if running is None:
        raise CommandError("no service is running; start it with `openbus up`")
    if running.url is None:
        raise CommandError("the service has no web page; start it without --no-web")
    if url is not None and not url.startswith(("http://", "https://")):
        raise CommandError(f"{url!r} is no address such as https://name.example/", status=2)
    base = url.rstrip("/") + "/" if url is not None else reachable(running.url)
    link = pairing_url(base, book.invite(role, now_ms()))
    if as_json:
        output.print_json({"url": link, "role": role})
        return
    print(link)
    if sys.stdout.isatty():
        print(qr(link))
    rest = "It may look and change nothing." if role == "view" else ""
    output.report([f"pairs one browser within ten minutes. {rest}".strip()])
    host = base.partition("://")[2].rstrip("/").rpartition(":")[0].strip("[]")
    if url is None and is_loopback(host):
        output.report(
            [
                "this address is reached from this machine only; for a phone put "
                "`tailscale serve` in front and give its address with --url (docs/web.md)"
            ]
        )
    elif url is None:
        output.report(beyond(base))


def _list(book: Pairing, as_json: bool) -> None:
    keys = book.everybody()
    if as_json:
        output.print_json(
            [
                {
                    "id": key.id,
                    "kind": key.kind,
                    "role": key.role,
                    "label": key.label,
                    "added_at": key.added_at,
                    "seen_at": key.seen_at,
                }
                for key in keys
            ]
        )
        return
    if not keys:
        output.report(["nothing is paired; `openbus pair` prints a link"])
    for key in keys:
        added, seen = (
            f"{datetime.fromtimestamp(at / 1000):%Y-%m-%d %H:%M}"
            for at in (key.added_at, key.seen_at)
        )
        line = f"{key.id}  {key.kind:7}  {key.role:4}  paired {added}  seen {seen}  {key.label}"
        output.console().print(output.text(line), soft_wrap=True)
