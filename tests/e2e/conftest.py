from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stage import Stage
from tests.openbus.tmux.lab import Lab


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Lab() as lab:
        made = Stage(lab, tmp_path)
        try:
            yield made
        finally:
            made.close()
