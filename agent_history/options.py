"""What a reader is allowed and asked to read."""

from __future__ import annotations

import msgspec


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Privacy switches and the width of a scan.

    With `excerpts` or `plans` off the text is never extracted, not merely hidden.
    """

    excerpts: bool = True
    plans: bool = True
    every_age: bool = False
    """List sessions older than the last day, too."""
    exact: bool = False
    """Read older transcripts whole instead of their ends."""
    ticks: frozenset[str] = frozenset()
    """Keys of plan steps the user ticked."""
