"""The rows of a Claude Code transcript, as far as they are read.

Seen in files of 2.0.76, 2.1.197 and 2.1.332 (2026-11-30). Types that are not named here are
passed over; the set grows every month.
"""

from __future__ import annotations

import msgspec

INTERRUPTED = "[Request interrupted by user"
# Rows of type `user` that no person typed and that start no turn.
NOT_TYPED = (
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "Caveat: The messages below",
)
NOTIFICATIONS = ("<task-notification>", "<bash-notification>", "<agent-notification>")
# Record types that say nothing a record of ours shows.
# fmt: off
PASSED_OVER = frozenset({
    "queue-operation", "file-history-snapshot", "file-history-delta", "mode", "permission-mode",
    "last-prompt", "agent-name", "tools-used", "atis-latch", "api-request", "api-request-blob",
    "tag", "agent-color", "agent-setting", "pr-link", "continued-in", "content-replacement",
    "fork-context-ref", "frame-link", "ended-by-model", "bridge-session", "history-suppression",
    "attribution-snapshot", "isolation-latch", "dev-mods", "memory-mode", "observer-ref",
    "progress",
})
# fmt: on


class CacheCreation(msgspec.Struct, gc=False):
    """Cache writes by their lifetime."""

    ephemeral_5m_input_tokens: int = 0
    ephemeral_1h_input_tokens: int = 0


class ServerTools(msgspec.Struct, gc=False):
    """Calls that the API itself made."""

    web_search_requests: int = 0


class Usage(msgspec.Struct, gc=False):
    """Tokens of one reply; `input_tokens` leaves cache reads and writes out."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_creation: CacheCreation | None = None
    server_tool_use: ServerTools | None = None
    speed: str | None = None


class Block(msgspec.Struct, gc=False):
    """One content block: text, thinking, tool_use or tool_result."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw()
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: msgspec.Raw = msgspec.Raw()


class Message(msgspec.Struct, gc=False):
    """The API's message inside a row."""

    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    content: str | list[Block] | None = None


class Origin(msgspec.Struct, gc=False):
    """Who wrote a user row (2.1.19x on)."""

    kind: str | None = None


class Row(msgspec.Struct, rename="camel", gc=False):
    """One line of a transcript."""

    type: str | None = None
    timestamp: str | None = None
    message: Message | None = None
    request_id: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    session_id: str | None = None
    agent_id: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None
    effort: str | None = None
    subtype: str | None = None
    origin: Origin | None = None
    prompt_source: str | None = None
    entrypoint: str | None = None
    tool_use_result: msgspec.Raw = msgspec.Raw()
    custom_title: str | None = None
    ai_title: str | None = None
    summary: str | None = None
    compact_metadata: msgspec.Raw = msgspec.Raw()
    attachment: msgspec.Raw = msgspec.Raw()
    shape: msgspec.Raw = msgspec.Raw()
    model_usage: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()
    total_cost_usd: float | None = msgspec.field(default=None, name="totalCostUSD")
    worktree_session: msgspec.Raw = msgspec.Raw()


def texts_of(content: str | list[Block] | None) -> list[str]:
    """The text of a message, block by block."""
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    return [block.text for block in content if block.type == "text" and block.text]
