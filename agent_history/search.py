"""A plain search over what the details of sessions show: titles, projects, prompts, replies, files.

Every word has to occur, case does not matter. It reads whole sessions and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_history.fields import LABEL
from agent_history.records import Detail, Record, Session
from agent_history.registry import Monitor

MATCHES = 5


class Match(Record, frozen=True):
    """One place where the words occur; `at` is None for a title or a path."""

    where: str
    at: int | None
    text: str


class Hit(Record, frozen=True):
    """One session with the newest places found in it."""

    id: str
    title: str
    project_path: str
    last_activity_at: int | None
    matches: tuple[Match, ...]


def search(monitor: Monitor, sessions: list[Session], query: str, now: int) -> Iterator[Hit]:
    """The sessions in which every word of `query` occurs, in the given order."""
    words = query.casefold().split()
    if not words:
        return
    for session in sessions:
        found = monitor.read_session(session.id, now)
        matches = tuple(places(session, found[1] if found else None, words))
        if matches:
            yield Hit(
                id=session.id,
                title=session.title,
                project_path=session.project_path,
                last_activity_at=session.last_activity_at,
                matches=matches[:MATCHES],
            )


def places(session: Session, detail: Detail | None, words: list[str]) -> Iterator[Match]:
    """Where all words occur together, the newest first."""
    for where, text in (("title", session.title), ("project", session.project_path)):
        if holds(text, words):
            yield Match(where=where, at=None, text=text)
    if detail is None:
        return
    said = [("prompt", entry.at, entry.text) for entry in detail.prompts]
    said += [("reply", entry.at, entry.text) for entry in detail.replies]
    for where, at, text in sorted(said, key=lambda entry: -entry[1]):
        if holds(text, words):
            yield Match(where=where, at=at, text=around(text, words[0]))
    for file in detail.files or ():
        if holds(file.path, words):
            yield Match(where="file", at=None, text=file.path)


def holds(text: str, words: list[str]) -> bool:
    """Do all words occur in `text`?"""
    folded = text.casefold()
    return all(word in folded for word in words)


def around(text: str, word: str) -> str:
    """The line around the first occurrence of a word, on one line, cut on both sides."""
    place = max(0, text.casefold().find(word) - LABEL // 3)
    shown = " ".join(text[place : place + LABEL].split())
    return ("…" if place else "") + shown + ("…" if place + LABEL < len(text) else "")
