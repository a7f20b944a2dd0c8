"""Comparisons with ccusage itself are made only where `CCUSAGE` names its binary (`make lab`)."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the comparisons out of a run that has nothing to compare with."""
    if os.environ.get("CCUSAGE"):
        return
    here = os.path.dirname(__file__)
    apart = [
        item
        for item in items
        if item.get_closest_marker("real_agents") and str(item.path).startswith(here)
    ]
    if apart:
        config.hook.pytest_deselected(items=apart)
        items[:] = [item for item in items if item not in apart]
