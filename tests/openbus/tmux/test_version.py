from __future__ import annotations

import pytest

from openbus.tmux.version import parse_version, too_old


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("tmux 3.3a", (3, 3, 1)),
        ("3.2", (3, 2, 0)),
        ("tmux 3.7c\n", (3, 7, 3)),
        ("tmux next-3.6", (3, 6, 0)),
        ("tmux 3.7-rc", (3, 7, 0)),
        ("tmux 3.5-rc2", (3, 5, 0)),
        ("tmux master", None),
        ("tmux openbsd-7.6", None),
        ("", None),
    ],
)
def test_version_strings_are_understood(text: str, version: tuple[int, int, int] | None) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize("text", ["1.8", "tmux 2.9a", "3.0a", "3.1c", "3.2"])
def test_releases_before_3_2a_are_too_old(text: str) -> None:
    assert too_old(text)


@pytest.mark.parametrize("text", ["3.2a", "3.4", "next-3.6", "master", "openbsd-7.6", "4.0"])
def test_later_releases_and_builds_without_a_number_are_not(text: str) -> None:
    assert not too_old(text)
