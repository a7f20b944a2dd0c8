"""Replies and reasoning summaries of a Codex rollout: the model's side, in both dialects."""

from __future__ import annotations

import msgspec

from agent_history.codex.texts import content_text
from agent_history.fields import epoch_ms
from agent_history.records import Said
from agent_history.said import thoughts_and_replies


class WordPayload(msgspec.Struct, gc=False):
    """A `response_item`, as far as its text goes."""

    type: str | None = None
    role: str | None = None
    content: msgspec.Raw = msgspec.Raw()
    summary: msgspec.Raw = msgspec.Raw()


class WordRow(msgspec.Struct, gc=False):
    """A line, as far as its text goes."""

    type: str | None = None
    timestamp: str | None = None
    payload: WordPayload | None = None


class CodexWords:
    """Collects assistant messages and reasoning summaries; encrypted reasoning is left out."""

    def __init__(self) -> None:
        self._thoughts, self._replies = thoughts_and_replies()
        self._count = 0

    def feed(self, row: msgspec.Struct) -> None:
        """Take one line."""
        assert isinstance(row, WordRow)
        payload = row.payload
        if row.type != "response_item" or payload is None:
            return
        at = epoch_ms(row.timestamp) or 0
        self._count += 1
        if payload.type == "message" and payload.role == "assistant":
            self._replies.add(str(self._count), at, content_text(payload.content))
        elif payload.type == "reasoning":
            self._thoughts.add(str(self._count), at, content_text(payload.summary))

    def replies(self) -> tuple[Said, ...]:
        """The newest replies, oldest first."""
        return self._replies.said()

    def thoughts(self) -> tuple[Said, ...]:
        """The newest thoughts, oldest first."""
        return self._thoughts.said()
