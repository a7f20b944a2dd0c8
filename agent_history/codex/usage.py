"""Codex's cumulative token counts, booked to the model that was in use, each token once.

`token_count` repeats: every reply writes two equal ones. A count that does not grow is no reply.
A fork or a subagent begins with its parent's counters, which are not its own.
"""

from __future__ import annotations

import msgspec

from agent_history.codex.rows import Usage
from agent_history.records import ModelUse, Tokens


class ModelTokens(msgspec.Struct, array_like=True):
    """Tokens of one model: input with its cached part, output with its reasoning part."""

    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0

    def tokens(self) -> Tokens:
        """As a record: `input` leaves the cache out."""
        return Tokens(
            input=max(0, self.input - self.cached - self.written),
            output=self.output,
            cache_read=self.cached,
            cache_write=self.written,
        )


class TokenBook:
    """Differences of cumulative counts."""

    def __init__(self) -> None:
        self.models: dict[str, ModelTokens] = {}
        self.before = Usage()
        self.carried = False
        """Counts before the first one seen are this thread's own: they were only not read."""

    def base(self, total: Usage) -> None:
        """A counter of the parent, replayed: the next difference starts here."""
        self.before = total

    def count(self, model: str, total: Usage, last: Usage | None) -> bool:
        """Book one count; True when it is a new reply."""
        before = self.before
        if total.total_tokens == before.total_tokens and total == before:
            return False
        grown = (
            total.input_tokens >= before.input_tokens
            and total.output_tokens >= before.output_tokens
            and total.cached_input_tokens >= before.cached_input_tokens
        )
        # A counter that fell began anew, and one that begins high was carried over from a file
        # that is not here: only what the last reply used is known to be new.
        known = grown and (self.carried or before.total_tokens > 0 or last is None)
        step = _minus(total, before) if known else (last or total)
        self.before = total
        booked = self.models.get(model)
        if booked is None:
            booked = self.models[model] = ModelTokens()
        booked.input += step.input_tokens
        booked.cached += min(step.cached_input_tokens, step.input_tokens)
        booked.written += step.cache_write_input_tokens
        booked.output += step.output_tokens
        return True


def _minus(total: Usage, before: Usage) -> Usage:
    return Usage(
        total.input_tokens - before.input_tokens,
        total.cached_input_tokens - before.cached_input_tokens,
        total.cache_write_input_tokens - before.cache_write_input_tokens,
        total.output_tokens - before.output_tokens,
        total.total_tokens - before.total_tokens,
    )


def sum_tokens(models: dict[str, ModelTokens]) -> Tokens:
    """The sum over models."""
    parts = [total.tokens() for total in models.values()]
    return Tokens(
        input=sum(part.input for part in parts),
        output=sum(part.output for part in parts),
        cache_read=sum(part.cache_read for part in parts),
        cache_write=sum(part.cache_write for part in parts),
    )


def model_uses(models: dict[str, ModelTokens]) -> tuple[ModelUse, ...]:
    """Tokens per model; Codex records no spend."""
    order = sorted(models.items(), key=lambda item: (-item[1].output, item[0]))
    return tuple(
        ModelUse(model=model, tokens=total.tokens(), cost_usd=None) for model, total in order
    )
