"""Write every case at every size: `python -m evals.synthetic`."""

from __future__ import annotations

import sys
from pathlib import Path

from evals.synthetic import claude, claude_asks, codex, others, rare
from evals.synthetic.build import SIZES, Case, build

TARGET = Path(__file__).parents[1] / "corpus-synthetic"


def cases() -> list[Case]:
    """Every case, in order of its name."""
    return sorted(
        [
            *claude.screens(),
            *claude_asks.screens(),
            *codex.screens(),
            *others.gemini(),
            *others.opencode(),
            *others.shells(),
            *rare.screens(),
        ],
        key=lambda case: case.name,
    )


def main(target: Path = TARGET) -> int:
    """Write all files below `target`."""
    for case in cases():
        for size in SIZES:
            file = target / case.program / f"{case.name}--{size}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(build(case, size), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
