"""Tests that drive real agents run only when they are asked for by their mark."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without `-m real_agents` such tests are not part of the run: they download agents."""
    if "real_agents" in str(config.option.markexpr):
        return
    real = [item.get_closest_marker("real_agents") is not None for item in items]
    left_out = [item for item, is_real in zip(items, real, strict=True) if is_real]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item, is_real in zip(items, real, strict=True) if not is_real]
