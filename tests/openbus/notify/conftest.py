from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.openbus.tmux.lab import Lab


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as servers:
        yield servers
