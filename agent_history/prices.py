"""List prices of Anthropic's models, and what a reply costs at them.

Source: `model_prices_and_context_window_backup.json` of LiteLLM 1.110.2 (PyPI), read on
2026-11-30; the prices of claude-opus-5-5 agree with a `cost-state` record that Claude Code
2.1.332 wrote. US dollars per million tokens: input, output, cache read, cache write for five
minutes, cache write for an hour; then the context window. A model that is not here has no list
price: its cost is then what Claude Code recorded, or unknown.
"""

from __future__ import annotations

from typing import NamedTuple

PRICES_DATE = "2026-11-30"


class Price(NamedTuple):
    """Dollars per million tokens, the context window, and the factor of the fast mode."""

    input: float
    output: float
    cache_read: float
    cache_5m: float
    cache_1h: float
    window: int
    fast: float = 1.0


PRICES = {
    "claude-haiku-4-5": Price(1, 5, 0.1, 1.25, 2, 200_000),
    "claude-haiku-5-5": Price(0.1, 0.5, 0.01, 0.125, 0.2, 1_000_000),
    "claude-sonnet-4-5": Price(3, 15, 0.3, 3.75, 6, 200_000),
    "claude-sonnet-4-6": Price(3, 15, 0.3, 3.75, 6, 1_000_000),
    "claude-sonnet-5": Price(2, 10, 0.2, 2.5, 4, 1_000_000),
    "claude-sonnet-5-5": Price(2, 10, 0.1, 2.5, 4, 1_000_000),
    "claude-opus-4-5": Price(5, 25, 0.5, 6.25, 10, 200_000),
    "claude-opus-4-6": Price(5, 25, 0.5, 6.25, 10, 1_000_000),
    "claude-opus-4-7": Price(5, 25, 0.5, 6.25, 10, 1_000_000),
    "claude-opus-4-8": Price(5, 25, 0.5, 6.25, 10, 1_000_000, 2.0),
    "claude-opus-5": Price(5, 25, 0.5, 6.25, 10, 1_000_000, 2.0),
    "claude-opus-5-5": Price(4, 20, 0.2, 5, 8, 1_000_000, 2.0),
    "claude-fable-5": Price(10, 50, 1, 12.5, 20, 1_000_000),
    "claude-fable-5-1": Price(10, 50, 0.25, 12.5, 20, 1_000_000),
    "claude-mythos-5": Price(10, 50, 1, 12.5, 20, 1_000_000),
    "claude-mythos-5-1": Price(10, 50, 0.25, 12.5, 20, 1_000_000),
    "claude-mythos-preview": Price(10, 50, 1, 12.5, 20, 1_000_000),
}


def price_of(model: str) -> Price | None:
    """The list price of a model; a dated name (`…-20250929`) and a `[1m]` suffix are understood."""
    name = model.removesuffix("[1m]")
    found = PRICES.get(name)
    if found is None and len(name) > 9 and name[-9] == "-" and name[-8:].isdigit():
        found = PRICES.get(name[:-9])
    return found


def window_of(model: str) -> int:
    """The model's context window in tokens; 0 when unknown."""
    if model.endswith("[1m]"):
        return 1_000_000
    price = price_of(model)
    return price.window if price else 0


def cost_of(
    price: Price, fresh: int, output: int, cache_read: int, cache_5m: int, cache_1h: int, fast: bool
) -> float:
    """What tokens cost at a price, in dollars."""
    total = (
        fresh * price.input
        + output * price.output
        + cache_read * price.cache_read
        + cache_5m * price.cache_5m
        + cache_1h * price.cache_1h
    )
    return total * (price.fast if fast else 1.0) / 1_000_000
