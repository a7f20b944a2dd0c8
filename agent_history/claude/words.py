"""Replies and thoughts in a Claude Code transcript."""

from __future__ import annotations

import msgspec

from agent_history.fields import epoch_ms
from agent_history.records import Said
from agent_history.said import thoughts_and_replies


class WordBlock(msgspec.Struct, gc=False):
    """A content block, as far as its text goes."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None


class WordMessage(msgspec.Struct, gc=False):
    """A message with its blocks."""

    id: str | None = None
    content: str | list[WordBlock] | None = None


class WordRow(msgspec.Struct, rename="camel", gc=False):
    """A row, as far as its text goes."""

    type: str | None = None
    timestamp: str | None = None
    uuid: str | None = None
    is_sidechain: bool | None = None
    is_api_error_message: bool | None = None
    message: WordMessage | None = None


class ClaudeWords:
    """Collects the agent's text; API errors and signature-only thinking are left out."""

    def __init__(self, subagent: bool) -> None:
        self._subagent = subagent
        self._thoughts, self._replies = thoughts_and_replies()

    def feed(self, row: msgspec.Struct) -> None:
        """Take one row."""
        assert isinstance(row, WordRow)
        message = row.message
        if row.type != "assistant" or message is None or row.is_api_error_message:
            return
        if row.is_sidechain and not self._subagent:
            return
        at = epoch_ms(row.timestamp) or 0
        name = message.id or row.uuid or ""
        for block in message.content if isinstance(message.content, list) else ():
            if block.type == "text" and block.text:
                self._replies.add(name, at, block.text)
            elif block.type == "thinking" and block.thinking:
                self._thoughts.add(name, at, block.thinking)

    def replies(self) -> tuple[Said, ...]:
        """The newest replies, oldest first."""
        return self._replies.said()

    def thoughts(self) -> tuple[Said, ...]:
        """The newest thoughts, oldest first."""
        return self._thoughts.said()
