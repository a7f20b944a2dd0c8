"""tmux version strings: `3.3a`, `next-3.6`, `3.7-rc`, `openbsd-7.6`, `master`."""

from __future__ import annotations

import re

OLDEST = (3, 2, 1)
"""3.2a: the first release with everything used here (`list-panes -f`, `source-file -`)."""

NEWEST = (3, 7)
"""The newest release that was tried."""

_NUMBER = re.compile(r"^(?:next-)?(\d+)\.(\d+)([a-z])?(?:-rc\d*)?$")

Version = tuple[int, int, int]


def parse_version(text: str) -> Version | None:
    """Major, minor and patch letter as a number (`a` = 1) of `tmux -V` or `#{version}`.

    None for builds without a release number (`master`, `openbsd-7.6`): these follow the newest
    source, so they are taken as new enough.
    """
    match = _NUMBER.match(text.strip().removeprefix("tmux").strip())
    if match is None:
        return None
    letter = match[3]
    return int(match[1]), int(match[2]), ord(letter) - ord("a") + 1 if letter else 0


def too_old(text: str) -> bool:
    """Whether this version string names a release older than 3.2a."""
    version = parse_version(text)
    return version is not None and version < OLDEST
