"""Sessions as rows of numbers and names, for spreadsheets and scripts.

No text of a transcript is in them: no title, excerpt, prompt, plan step, command or question.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

import msgspec

from agent_history.records import Session

COLUMNS = (
    "id", "harness", "project", "projectPath", "worktree", "gitBranch", "model", "effort",
    "agentVersion", "status", "statusReason", "turnOutcome", "live", "startedAt",
    "lastActivityAt", "prompts", "subagents", "inputTokens", "outputTokens", "cacheReadTokens",
    "cacheWriteTokens", "contextUsed", "contextLimit", "costUsd", "linesAdded", "linesRemoved",
    "planTotal", "planDone", "partial",
)  # fmt: skip


def row(session: Session) -> dict[str, Any]:
    """One session as a flat row; None where the agent records nothing."""
    tokens, context, lines, plan = session.tokens, session.context, session.lines, session.plan
    values: dict[str, Any] = msgspec.to_builtins(session)
    values |= {
        "inputTokens": tokens.input if tokens else None,
        "outputTokens": tokens.output if tokens else None,
        "cacheReadTokens": tokens.cache_read if tokens else None,
        "cacheWriteTokens": tokens.cache_write if tokens else None,
        "contextUsed": context.used if context else None,
        "contextLimit": context.limit if context else None,
        "linesAdded": lines.added if lines else None,
        "linesRemoved": lines.removed if lines else None,
        "planTotal": plan.total if plan else None,
        "planDone": plan.done if plan else None,
    }
    return {name: values.get(name) for name in COLUMNS}


def as_csv(sessions: Iterable[Session]) -> str:
    """The rows as CSV with a header line."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row(session) for session in sessions)
    return out.getvalue()


def as_json_lines(sessions: Iterable[Session]) -> str:
    """The rows as one JSON object per line."""
    return "".join(msgspec.json.encode(row(session)).decode() + "\n" for session in sessions)
