"""`python -m evals.lab record PROGRAM VERSION`."""

from __future__ import annotations

from evals.lab.cli import main

if __name__ == "__main__":
    main()
