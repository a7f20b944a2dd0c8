"""The one exception of the lab."""

from __future__ import annotations


class LabError(Exception):
    """The lab cannot go on. `str()` is one line: what, why, and the way out."""
