"""Anthropic's list prices, dated and with their source."""

from __future__ import annotations

import pytest

from agent_history.prices import PRICES, cost_of, price_of, window_of


def test_dated_and_wide_names_find_their_model() -> None:
    assert price_of("claude-sonnet-4-5-20250929") == PRICES["claude-sonnet-4-5"]
    assert price_of("claude-opus-4-8[1m]") == PRICES["claude-opus-4-8"]
    assert price_of("claude-sonnet-4-5-2025") is None and price_of("gpt-5.5") is None
    assert (window_of("claude-sonnet-4-5[1m]"), window_of("claude-next")) == (1_000_000, 0)


def test_what_claude_code_recorded_for_itself_is_what_the_list_says() -> None:
    # The `cost-state` of a session of Claude Code 2.1.332.
    cost = cost_of(PRICES["claude-opus-5-5"], 80, 336, 12_000, 2400, 1600, fast=False)
    assert cost == pytest.approx(0.03424)


def test_fast_mode_costs_its_factor() -> None:
    price = PRICES["claude-opus-4-8"]
    slow = cost_of(price, 100, 100, 0, 0, 0, fast=False)
    assert cost_of(price, 100, 100, 0, 0, 0, fast=True) == pytest.approx(2 * slow)
