"""Tokens and money of one transcript, grouped by message id and request id.

Every content block of a reply is a row of its own with the same usage; older versions wrote
growing copies. The last copy of a group counts. A row without a message id stands for itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agent_history.claude.rows import Usage
from agent_history.prices import cost_of, price_of
from agent_history.records import ModelUse, Tokens

WEB_SEARCH_DOLLARS = 0.01
SYNTHETIC = "<synthetic>"


class Reply(msgspec.Struct, gc=False, array_like=True):
    """Tokens of one reply."""

    model: str
    input: int
    output: int
    cache_read: int
    cache_5m: int
    cache_1h: int
    searches: int
    fast: bool

    @property
    def used(self) -> int:
        """The context after this reply."""
        return self.input + self.cache_read + self.cache_5m + self.cache_1h + self.output


class ModelTotal(msgspec.Struct, array_like=True):
    """Totals of one model; a fast reply is priced apart and counts its tokens here."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_5m: int = 0
    cache_1h: int = 0
    searches: int = 0
    fast: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)

    def add(self, reply: Reply, sign: int = 1) -> None:
        """Book a reply, or take an earlier copy of it back with `sign` -1."""
        self.input += sign * reply.input
        self.output += sign * reply.output
        self.cache_read += sign * reply.cache_read
        self.cache_5m += sign * reply.cache_5m
        self.cache_1h += sign * reply.cache_1h
        self.searches += sign * reply.searches
        if reply.fast:
            parts = (reply.input, reply.output, reply.cache_read, reply.cache_5m, reply.cache_1h)
            self.fast = tuple(  # type: ignore[assignment]
                old + sign * new for old, new in zip(self.fast, parts, strict=True)
            )

    def tokens(self) -> Tokens:
        """The totals as a record."""
        return Tokens(
            input=self.input,
            output=self.output,
            cache_read=self.cache_read,
            cache_write=self.cache_5m + self.cache_1h,
        )

    def cost(self, model: str) -> float | None:
        """Dollars at list price; None for a model without one."""
        price = price_of(model)
        if price is None:
            return None
        fast = self.fast
        slow = (
            self.input - fast[0],
            self.output - fast[1],
            self.cache_read - fast[2],
            self.cache_5m - fast[3],
            self.cache_1h - fast[4],
        )
        return (
            cost_of(price, *slow, fast=False)
            + cost_of(price, *fast, fast=True)
            + self.searches * WEB_SEARCH_DOLLARS
        )


def reply_of(model: str, usage: Usage) -> Reply:
    """A reply from its usage. Cache writes without a lifetime are five-minute ones."""
    parts = usage.cache_creation
    hour = parts.ephemeral_1h_input_tokens if parts is not None else 0
    hour = min(hour, usage.cache_creation_input_tokens)
    searches = usage.server_tool_use.web_search_requests if usage.server_tool_use else 0
    return Reply(
        model,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_input_tokens,
        usage.cache_creation_input_tokens - hour,
        hour,
        searches,
        usage.speed == "fast",
    )


class UsageBook:
    """Replies of one transcript, each counted once with its last copy."""

    def __init__(self) -> None:
        self.replies: dict[tuple[str, str | None], Reply] = {}
        self.models: dict[str, ModelTotal] = {}

    def book(self, key: tuple[str, str | None] | None, reply: Reply) -> bool:
        """Book one copy of a reply; True when it is the first one."""
        totals = self.models.get(reply.model)
        if totals is None:
            totals = self.models[reply.model] = ModelTotal()
        if key is None:
            totals.add(reply)
            return True
        old = self.replies.get(key)
        self.replies[key] = reply
        if old is not None:
            if old == reply:
                return False
            self.models[old.model].add(old, -1)
        totals.add(reply)
        return old is None

    def tokens(self) -> Tokens | None:
        """Totals of all models; None before the first reply."""
        return total_tokens(self.models)


def total_tokens(models: dict[str, ModelTotal]) -> Tokens | None:
    """The sum over models; None when there is none."""
    if not models:
        return None
    parts = [total.tokens() for total in models.values()]
    return Tokens(
        input=sum(part.input for part in parts),
        output=sum(part.output for part in parts),
        cache_read=sum(part.cache_read for part in parts),
        cache_write=sum(part.cache_write for part in parts),
    )


def merged(main: UsageBook, others: Iterable[UsageBook]) -> dict[str, ModelTotal]:
    """Totals over a session and its side chains, a reply found in two of them counted once.

    A side question's log repeats messages of its parent under another request id: what the main
    thread has under the same message id is not the side chain's.
    """
    seen: set[tuple[str, str | None]] = set()
    own = {message for message, _ in main.replies}
    out: dict[str, ModelTotal] = {}
    for book in (main, *others):
        keyless = {model: copy_of(total) for model, total in book.models.items()}
        for key, reply in book.replies.items():
            keyless[reply.model].add(reply, -1)
            if key in seen or (book is not main and key[0] in own):
                continue
            seen.add(key)
            out.setdefault(reply.model, ModelTotal()).add(reply)
        for model, total in keyless.items():
            into = out.setdefault(model, ModelTotal())
            add_total(into, total)
    return {model: total for model, total in out.items() if total != ModelTotal()}


def copy_of(total: ModelTotal) -> ModelTotal:
    """A copy that can be changed."""
    return msgspec.structs.replace(total)


def add_total(into: ModelTotal, total: ModelTotal) -> None:
    """Add one total to another."""
    into.input += total.input
    into.output += total.output
    into.cache_read += total.cache_read
    into.cache_5m += total.cache_5m
    into.cache_1h += total.cache_1h
    into.searches += total.searches
    into.fast = tuple(  # type: ignore[assignment]
        old + new for old, new in zip(into.fast, total.fast, strict=True)
    )


def model_uses(models: dict[str, ModelTotal]) -> tuple[ModelUse, ...]:
    """Totals per model, the most expensive input first."""
    order = sorted(models.items(), key=lambda item: (-item[1].output, item[0]))
    return tuple(
        ModelUse(model=model, tokens=total.tokens(), cost_usd=total.cost(model))
        for model, total in order
    )


def total_cost(models: dict[str, ModelTotal], recorded: float | None) -> float | None:
    """Dollars of all models at list price; where one has none, the recorded total, or None."""
    if not models:
        return None
    costs = [total.cost(model) for model, total in models.items()]
    if all(cost is not None for cost in costs):
        return sum(cost for cost in costs if cost is not None)
    return recorded
