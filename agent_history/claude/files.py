"""Which files of a Claude Code home are transcripts, and which session each belongs to.

The name of a project folder is never decoded: every sign becomes a dash in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from agent_history.reading.files import Fingerprint, fingerprint


class Found(NamedTuple):
    """A transcript on disk. `owner` is the session a subagent's file lies under, '' when flat."""

    path: str
    name: str
    print: Fingerprint
    owner: str


class Listing(NamedTuple):
    """Everything a home holds: sessions, subagents' files, and folders that cannot be read."""

    sessions: list[Found]
    agents: list[Found]
    unreadable: list[str]


def list_homes(homes: tuple[str, ...]) -> Listing:
    """The transcripts of several homes; a file reached twice by links counts once."""
    listing = Listing([], [], [])
    seen: set[tuple[int, int]] = set()
    for home in homes:
        projects = os.path.join(home, "projects")
        for project in _folders(projects, listing.unreadable, seen):
            _project(project, listing, seen)
    return listing


def _folders(folder: str, unreadable: list[str], seen: set[tuple[int, int]]) -> Iterator[str]:
    for entry in _entries(folder, unreadable):
        try:
            if not entry.is_dir():
                continue
            # A link to a folder has its own inode; what counts is the folder behind it.
            found = os.stat(entry.path)
        except OSError:
            continue
        if (found.st_dev, found.st_ino) not in seen:
            seen.add((found.st_dev, found.st_ino))
            yield entry.path


def _entries(folder: str, unreadable: list[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    except OSError:
        unreadable.append(folder)
        return []


def _project(project: str, listing: Listing, seen: set[tuple[int, int]]) -> None:
    for entry in _entries(project, listing.unreadable):
        name = entry.name
        if name.endswith(".jsonl"):
            found = _file(entry.path, name[:-6], "", seen)
            if found is not None:
                flat = name.startswith("agent-")
                (listing.agents if flat else listing.sessions).append(found)
        elif "." not in name:
            folder = os.path.join(entry.path, "subagents")
            for agent in _entries(folder, listing.unreadable):
                if agent.name.startswith("agent-") and agent.name.endswith(".jsonl"):
                    found = _file(agent.path, agent.name[:-6], name, seen)
                    if found is not None:
                        listing.agents.append(found)


def _file(path: str, name: str, owner: str, seen: set[tuple[int, int]]) -> Found | None:
    found = fingerprint(path)
    if found is None or (found.device, found.inode) in seen:
        return None
    seen.add((found.device, found.inode))
    return Found(path, name, found, owner)
