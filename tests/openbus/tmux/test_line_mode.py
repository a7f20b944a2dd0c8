"""The mode of a terminal, asked for without changing it."""

from __future__ import annotations

import os
import pty
import termios

from openbus.tmux.line_mode import line_mode


def test_canonical_and_raw_mode_are_told_apart_and_left_alone() -> None:
    master, slave = pty.openpty()
    try:
        name = os.ttyname(slave)
        before = termios.tcgetattr(slave)
        assert line_mode(name) is True
        raw = termios.tcgetattr(slave)
        raw[3] &= ~termios.ICANON
        termios.tcsetattr(slave, termios.TCSANOW, raw)
        assert line_mode(name) is False
        termios.tcsetattr(slave, termios.TCSANOW, before)
        assert termios.tcgetattr(slave) == before
    finally:
        os.close(slave)
        os.close(master)


def test_a_terminal_that_is_gone_or_none_is_unknown() -> None:
    assert line_mode("/nonexistent/tty") is None
    assert line_mode("/dev/null") is None
