"""How a command ends without success."""

from __future__ import annotations


class CommandError(Exception):
    """Ends the command: `lines` go to stderr, `status` is the exit status.

    1 = failed, 2 = usage, 3 = time-out. The first line says what, why and the way out.
    """

    def __init__(self, *lines: str, status: int = 1) -> None:
        super().__init__("\n".join(lines))
        self.lines = (f"openbus: {lines[0]}", *lines[1:]) if lines else ()
        self.status = status
