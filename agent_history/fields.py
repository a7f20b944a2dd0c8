"""Small shared rules of the records: how text is cut and which value a call shows."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

LABEL = 160
TEXT = 500
LONG_TEXT = 2_000
MAX_QUESTIONS = 4
MAX_OPTIONS = 8
MAX_CALLS = 100
MAX_HISTORY = 600
MAX_PROMPTS = 50
MAX_REPLIES = 50
MAX_THOUGHTS = 20
MAX_ERRORS = 20
HALF_HOUR_MS = 30 * 60_000
DAY_MS = 24 * 60 * 60_000

# Inputs that hold a file's text: never shown, they can be whole files.
CONTENT_KEYS = frozenset(
    {"content", "contents", "old_string", "new_string", "new_source", "edits", "patch", "diff"}
)
TARGET_KEYS = (
    "file_path",
    "path",
    "notebook_path",
    "filename",
    "command",
    "cmd",
    "pattern",
    "query",
    "url",
    "description",
    "subject",
    "skill",
    "task_name",
    "message",
)
PATH_KEYS = ("file_path", "path", "notebook_path", "filename")
COMMAND_KEYS = ("command", "cmd")


def cut(text: str, limit: int) -> str:
    """`text`, at most `limit` characters, the last of them "…" where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line(text: str, limit: int = LABEL) -> str:
    """`text` with blanks collapsed, cut."""
    # Four times the limit is enough to collapse; a command can be megabytes long.
    return cut(" ".join(text[: limit * 4].split()), limit)


def first_line(text: str, limit: int = LABEL) -> str:
    """The first line of `text` that is not blank, cut."""
    for line in text.split("\n"):
        if line.strip():
            return one_line(line, limit)
    return ""


def epoch_ms(value: str | None) -> int | None:
    """An ISO-8601 time as epoch milliseconds; None when it is none. Without a zone it is UTC."""
    if not value:
        return None
    try:
        # What both agents write, `2026-11-30T21:04:53.325Z`: the date is parsed once a minute.
        if len(value) == 24 and value[23] == "Z" and value[19] == "." and value[16] == ":":
            return _minute_ms(value[:16]) + int(value[17:19]) * 1000 + int(value[20:23])
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return None
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=UTC)
    return round(parsed.timestamp() * 1000)


@lru_cache(maxsize=256)
def _minute_ms(minute: str) -> int:
    return round(datetime.fromisoformat(minute).replace(tzinfo=UTC).timestamp()) * 1000


def relative(path: str, folder: str) -> str:
    """`path` relative to the session's folder where it lies inside it, else as it is."""
    if folder and path.startswith(folder.rstrip("/") + "/"):
        return path[len(folder.rstrip("/")) + 1 :]
    return path


def command_of(arguments: dict[str, Any]) -> str | None:
    """The shell command in a call's input; an argv list is joined, its `sh -c` wrapper left out."""
    for key in COMMAND_KEYS:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value:
            return shell_text([str(part) for part in value])
    return None


def shell_text(argv: list[str]) -> str:
    """An argv as a person would type it: what follows `bash -lc`, else the words."""
    shells = ("bash", "sh", "zsh", "dash")
    if len(argv) == 3 and os.path.basename(argv[0]) in shells and argv[1] in ("-lc", "-c"):
        return argv[2]
    return " ".join(argv)


def target_of(arguments: dict[str, Any], folder: str) -> str:
    """A call's short target: its file, command or search; '' when it names none."""
    for key in TARGET_KEYS:
        value = arguments.get(key)
        if key in COMMAND_KEYS:
            value = command_of({key: value})
        if isinstance(value, str) and value:
            return one_line(relative(value, folder) if key in PATH_KEYS else value)
    questions = arguments.get("questions")
    if isinstance(questions, list) and questions and isinstance(questions[0], dict):
        first = questions[0].get("question") or questions[0].get("title")
        return one_line(first) if isinstance(first, str) else ""
    return ""


def path_of(arguments: dict[str, Any], folder: str) -> str | None:
    """The file a call names, relative to the session's folder; None when it names none."""
    for key in PATH_KEYS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return relative(value, folder)
    return None


def project_of(cwd: str) -> tuple[str, str, str]:
    """Project name, project path and worktree name of a folder.

    Agents put worktrees at `<repo>/.claude/worktrees/<name>` (Claude Code 2.1) and at
    `<codex home>/worktrees/<id>/<repo>` (Codex desktop).
    """
    path, worktree = cwd.rstrip("/"), ""
    head, mark, tail = path.partition("/.claude/worktrees/")
    if mark:
        path, worktree = head, tail.split("/", 1)[0]
    else:
        head, mark, tail = path.partition("/.codex/worktrees/")
        if mark:
            worktree = tail.split("/", 1)[0]
    return os.path.basename(path), path, worktree


def added(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Counts by name, summed, the most frequent first."""
    total: Counter[str] = Counter()
    for part in counts:
        total.update(part)
    return dict(total.most_common())
