"""The lines of a Codex rollout, as far as they are read.

Seen in files of 0.128.0 (legacy dialect) and 0.171.0 (paginated dialect), 2026-11-30; approval
and input requests follow the protocol and are not written by current versions. One wide payload
type serves all lines: what a line lacks is None.
"""

from __future__ import annotations

import msgspec


class Usage(msgspec.Struct, gc=False):
    """Tokens; `input_tokens` holds the cached ones, `output_tokens` the reasoning ones."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0


class Info(msgspec.Struct, gc=False):
    """The numbers of a `token_count`."""

    total_token_usage: Usage | None = None
    last_token_usage: Usage | None = None
    model_context_window: int | None = None


class Item(msgspec.Struct, gc=False):
    """The item of an `item_completed` (paginated dialect)."""

    type: str | None = None
    id: str | None = None
    content: msgspec.Raw = msgspec.Raw()
    command: msgspec.Raw = msgspec.Raw()
    exit_code: int | None = None
    aggregated_output: str | None = None
    status: str | None = None
    changes: msgspec.Raw = msgspec.Raw()
    kind: str | None = None
    agent_thread_id: str | None = None


class Payload(msgspec.Struct, gc=False):
    """The payload of any line."""

    type: str | None = None
    id: str | None = None
    turn_id: str | None = None
    started_at: int | float | None = None
    info: Info | None = None
    rate_limits: msgspec.Raw = msgspec.Raw()
    model_context_window: int | None = None
    message: str | None = None
    name: str | None = None
    arguments: str | None = None
    call_id: str | None = None
    input: str | None = None
    output: msgspec.Raw = msgspec.Raw()
    role: str | None = None
    content: msgspec.Raw = msgspec.Raw()
    item: Item | None = None
    model: str | None = None
    effort: str | None = None
    cwd: str | None = None
    collaboration_mode: msgspec.Raw = msgspec.Raw()
    last_agent_message: str | None = None
    error: msgspec.Raw = msgspec.Raw()
    exit_code: int | None = None
    aggregated_output: str | None = None
    success: bool | None = None
    changes: msgspec.Raw = msgspec.Raw()
    command: msgspec.Raw = msgspec.Raw()
    questions: msgspec.Raw = msgspec.Raw()
    action: msgspec.Raw = msgspec.Raw()
    tools: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    agent_thread_id: str | None = None
    new_thread_id: str | None = None
    new_agent_nickname: str | None = None
    timestamp: str | None = None
    cli_version: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    agent_nickname: str | None = None
    agent_role: str | None = None
    source: msgspec.Raw = msgspec.Raw()
    git: msgspec.Raw = msgspec.Raw()
    base_instructions: msgspec.Raw = msgspec.Raw()


class Row(msgspec.Struct, gc=False):
    """One line of a rollout."""

    type: str | None = None
    timestamp: str | None = None
    payload: Payload | None = None
