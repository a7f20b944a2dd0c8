"""Tests that drive real agents run only when they are asked for by their mark."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without `-m real_agents` such tests are not part of the run: they download agents."""
    if "real_agents" in str(config.option.markexpr):
        return
    asked = [item for item in items if item.get_closest_marker("real_agents") is None]
    config.hook.pytest_deselected(items=[item for item in items if item not in asked])
    items[:] = asked
