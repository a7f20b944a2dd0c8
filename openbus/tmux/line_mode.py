"""Whether a terminal hands over whole lines: the one sign that tells a shell's own `read` from its
prompt when nobody else runs in the foreground.

A shell that edits its command line (readline, zle) switches the terminal to raw mode while it is at
its prompt; `read`, `select` and `sudo` leave it in canonical mode while they wait. Asking for the
mode changes nothing: the terminal is opened for reading without becoming anybody's controlling
terminal, and closed at once.
"""

from __future__ import annotations

import os
import termios

_LOCAL_FLAGS = 3


def line_mode(tty: str) -> bool | None:
    """True in canonical mode, False in raw mode, None where it cannot be known."""
    try:
        descriptor = os.open(tty, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return bool(termios.tcgetattr(descriptor)[_LOCAL_FLAGS] & termios.ICANON)
    except termios.error:
        return None
    finally:
        os.close(descriptor)
