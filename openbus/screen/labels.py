"""Visible labels: the conversation's title, the language model, and what was said last."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from openbus.model import Reading
from openbus.screen.composer import Composer
from openbus.screen.rules import FieldRule, Manifest
from openbus.screen.text import main_column, squash

MAX_HEADLINE = 160
"""Longest headline, characters."""

_TIMER = re.compile(r"\s*(\(.*|· .*|\d+s$)$")


def labelled(
    reading: Reading,
    lines: Sequence[str],
    composer: Composer | None,
    manifest: Manifest,
    pane_title: str,
) -> Reading:
    """The reading with title, model and headline as far as they are visible.

    The pane's title counts only for a process-verified program: anybody can set one.
    """
    title = None
    rule = manifest.title.text
    if rule is not None and reading.program.via == "process":
        match = rule.search(pane_title.strip())
        title = match.group("title").strip() if match else None
    found: dict[str, str] = {}
    for field in manifest.fields:
        value = _value(field, lines, composer)
        if value:
            found.setdefault(field.name, value)
    top = composer.top if composer is not None else len(lines)
    return msgspec.structs.replace(
        reading,
        title=title or found.get("title"),
        model=found.get("model"),
        headline=_headline(lines[:top], manifest),
    )


def _headline(body: Sequence[str], manifest: Manifest) -> str | None:
    """First row of this turn's last reply: the lowest one with the program's reply bullet.

    Running timers behind it are left out, so that a headline changes only with what it says.
    """
    bullets = manifest.glyphs.reply
    if not bullets:
        return None
    for line in reversed(body):
        text = line.lstrip()
        if not text or text[1:2] not in (" ", "\xa0"):
            continue
        if text[0] in manifest.glyphs.user:
            return None
        if text[0] in bullets:
            said = _TIMER.sub("", squash(main_column(text[1:])))
            return said[:MAX_HEADLINE] or None
    return None


def _value(field: FieldRule, lines: Sequence[str], composer: Composer | None) -> str | None:
    if field.place == "footer" and composer is None:
        return None
    first = composer.top if field.place == "footer" and composer is not None else 0
    for line in lines[first:]:
        match = field.row.search(line)
        if match is not None:
            return match.group("value").strip()
    return None
