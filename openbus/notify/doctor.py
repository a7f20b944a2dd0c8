"""What `openbus doctor` says about notifications. Reads files; sends and creates nothing."""

from __future__ import annotations

from pathlib import Path

from openbus.doctor import Check
from openbus.notify.apprise_sender import UrlError, check_url
from openbus.notify.devices import Devices
from openbus.notify.ntfy import parse as parse_ntfy
from openbus.notify.settings import NOBODY, NotifySettings
from openbus.store import StoreError

NAME = "notifications"


def check_notifications(settings: NotifySettings, folder: Path) -> list[Check]:
    """Whether a needs-you reaches a person, and one check for every part that cannot be used.
    `folder` is the state folder."""
    problems = list(settings.problems)
    usable = []
    for name, channel in settings.channels.items():
        if channel.url is not None and parse_ntfy(channel.url) is None:
            try:
                check_url(channel.url)
            except UrlError as error:
                problems.append(f"notify.toml: [channels.{name}] url: {error}")
                continue
        if channel.kinds is None or "needs_you" in channel.kinds:
            usable.append(name)
    try:
        browsers = len(Devices(folder).all())
    except StoreError as error:
        problems.append(str(error))
        browsers = 0
    checks = [_reaches(settings, usable, browsers)]
    checks += [
        Check(name=NAME, ok=False, detail=problem, way_out="docs/notifications.md lists the keys")
        for problem in problems
    ]
    return checks


def _reaches(settings: NotifySettings, usable: list[str], browsers: int) -> Check:
    if "needs_you" not in settings.rules.kinds:
        return Check(
            name=NAME,
            ok=False,
            detail="kind needs_you is switched off, so nobody is told when a pane needs a person",
            way_out="take `needs_you = false` out of notify.toml, [kinds]",
        )
    if not usable and not browsers:
        detail, _, way_out = NOBODY.partition("; ")
        return Check(name=NAME, ok=False, detail=detail, way_out=way_out)
    ways = [*usable, *([f"{browsers} paired for Web Push"] if browsers else [])]
    return Check(name=NAME, ok=True, detail=f"needs-you is told by {', '.join(ways)}")
