"""Visible labels: the conversation's title and the language model."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from openbus.model import Reading
from openbus.screen.composer import Composer
from openbus.screen.rules import FieldRule, Manifest


def labelled(
    reading: Reading,
    lines: Sequence[str],
    composer: Composer | None,
    manifest: Manifest,
    pane_title: str,
) -> Reading:
    """The reading with title and model as far as they are visible.

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
    return msgspec.structs.replace(
        reading, title=title or found.get("title"), model=found.get("model")
    )


def _value(field: FieldRule, lines: Sequence[str], composer: Composer | None) -> str | None:
    if field.place == "footer" and composer is None:
        return None
    first = composer.top if field.place == "footer" and composer is not None else 0
    for line in lines[first:]:
        match = field.row.search(line)
        if match is not None:
            return match.group("value").strip()
    return None
