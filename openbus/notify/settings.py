"""`notify.toml` in the configuration folder: who is told what, when and how.

It holds addresses that are secrets, so it must be readable by its owner alone. What is wrong with
one channel is named with its place and leaves the others working.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from openbus.config import config_dir
from openbus.model import ATTENTION_ORDER, Attention
from openbus.notify.policy import Rules
from openbus.notify.quiet import parse as parse_quiet
from openbus.notify.records import Device

FILE = "notify.toml"
URLS = "OPENBUS_NOTIFY_URLS"
"""Variable with addresses for Apprise, separated by blanks; each is a channel of its own."""

NOBODY = (
    "no device and no channel is set up, so nobody is told when a pane needs a person; "
    "docs/notifications.md shows the ways"
)

CONTACT = "mailto:openbus@example.com"


class Kinds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which kinds are told. The end of every turn is noise to most people, so `done` is off."""

    needs_you: bool = True
    limit: bool = True
    error: bool = True
    asked: bool = True
    done: bool = False


class ChannelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to a person: exactly one of `url`, `command`, `tmux`. `device` is `phone` unless it
    is tmux; `kinds` None = all that are on."""

    url: str | None = None
    command: tuple[str, ...] | None = None
    tmux: Literal["message", "bell", "both"] | None = None
    device: Device | None = None
    kinds: tuple[Attention, ...] | None = None


class WebPush(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`hosts`: push services beside the known ones; `contact`: where they may write to."""

    hosts: tuple[str, ...] = ()
    contact: str = CONTACT


class NotifySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the file says, checked. `problems` are one line each and hold no secret."""

    rules: Rules = Rules()
    channels: Mapping[str, ChannelSettings] = {}
    webpush: WebPush = WebPush()
    problems: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    private: bool = False
    quiet: str | None = None
    zone: str | None = None
    per_hour: int = 60
    kinds: Kinds = Kinds()
    channels: dict[str, msgspec.Raw] = {}
    webpush: WebPush = WebPush()


def load(environ: Mapping[str, str] = os.environ, file: Path | None = None) -> NotifySettings:
    """Read the file and the environment. Never raises for what they hold: what cannot be used is
    in `problems`, the rest is used."""
    path = file or config_dir(environ) / FILE
    problems: list[str] = []
    found = _read(path, problems)
    channels = {}
    for name, raw in found.channels.items():
        place = f"{path}: [channels.{name}]"
        channel = _channel(raw, place, problems)
        if channel is not None:
            channels[name] = channel
    for number, url in enumerate(environ.get(URLS, "").split(), start=1):
        channels[f"env{number}"] = ChannelSettings(url=url)
    return NotifySettings(
        rules=_rules(found, path, problems),
        channels=channels,
        webpush=found.webpush,
        problems=tuple(problems),
    )


def _read(path: Path, problems: list[str]) -> _File:
    try:
        info = path.stat()
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return _File()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        problems.append(f"cannot read {path}: {reason}")
        return _File()
    if info.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        problems.append(
            f"{path} is open to others and holds secrets, so it is not used; chmod 600 {path}"
        )
        return _File()
    try:
        raw = tomllib.loads(text)
        tables = raw.get("channels", {})
        if isinstance(tables, dict):
            raw["channels"] = {
                name: msgspec.Raw(msgspec.json.encode(table)) for name, table in tables.items()
            }
        return msgspec.convert(raw, _File)
    except tomllib.TOMLDecodeError as error:
        problems.append(f"{path} is not TOML: {error}; correct it")
    except msgspec.ValidationError as error:
        problems.append(f"{path}: {error}; docs/notifications.md lists the keys")
    return _File()


def _channel(raw: msgspec.Raw, place: str, problems: list[str]) -> ChannelSettings | None:
    try:
        channel = msgspec.json.decode(raw, type=ChannelSettings)
    except msgspec.ValidationError as error:
        problems.append(f"{place}: {error}; docs/notifications.md lists the keys")
        return None
    ways = [channel.url, channel.command or None, channel.tmux]
    if sum(way is not None for way in ways) != 1:
        problems.append(f"{place}: give exactly one of url, command and tmux")
        return None
    return channel


def _rules(found: _File, path: Path, problems: list[str]) -> Rules:
    quiet = None
    try:
        if found.quiet is not None:
            quiet = parse_quiet(found.quiet, found.zone)
    except ValueError as error:
        problems.append(f"{path}: quiet: {error}; there are no quiet hours until it is corrected")
    if found.per_hour < 1:
        problems.append(f"{path}: per_hour: it must be 1 or more; 60 is used")
    return Rules(
        kinds=frozenset(
            kind for kind in ATTENTION_ORDER if kind != "none" and getattr(found.kinds, kind)
        ),
        quiet=quiet,
        per_hour=found.per_hour if found.per_hour > 0 else 60,
        private=found.private,
    )
