"""Sessions are followed by notices, and re-listed on a timer."""

from __future__ import annotations

import threading
from pathlib import Path

from agent_history.records import Session
from agent_history.watching import changed, changes
from tests.agent_history.stores import NOW, SESSION, Claude, monitor, prompt, reply


def test_only_what_changed_is_told(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    claude.write(prompt("go"), reply("ok"))
    everything = monitor(tmp_path)
    known: dict[str, Session] = {}
    first = changed(known, everything.scan(NOW).sessions)
    again = changed(known, everything.scan(NOW).sessions)
    assert [session.id for session in first] == [f"claude-code:{SESSION}"] and again == []
    claude.write(reply("more", message_id="m2"))
    assert len(changed(known, everything.scan(NOW).sessions)) == 1


def test_a_session_that_appears_is_told(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    claude.write(prompt("go"), reply("ok"))
    following = changes(monitor(tmp_path), lambda: NOW)
    assert next(following).id.endswith(SESSION)
    other = "1" + SESSION[1:]
    writing = threading.Thread(
        target=lambda: claude.write(prompt("new"), reply("ok"), session=other)
    )
    writing.start()
    assert next(following).id.endswith(other)
    writing.join()
    following.close()
