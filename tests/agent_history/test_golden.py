"""One file shows the whole output for a home with both agents: what changes in it is meant.

`python -m tests.agent_history.test_golden` writes it anew.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from agent_history.homes import homes_of
from agent_history.options import Options
from agent_history.records import to_json
from agent_history.registry import Monitor
from tests.agent_history.stores import NOW, fixture_home

GOLDEN = Path(__file__).parent / "golden.json"
SHOWN = (
    "claude-code:da6b0b4c-bca2-46be-89bb-48e33a63b89f",
    "codex:01a22e4a-9df3-72e1-8ca6-e1401091f1fd",
)


def output(home: Path) -> dict[str, Any]:
    """Everything a scan lists, and two sessions in depth."""
    for name in ("claude-2.0.76", "claude-2.1.197", "codex-0.128.0", "codex-0.171.0"):
        fixture_home(name, home)
    monitor = Monitor(homes_of({}, str(home), proc=str(home / "no-proc")), Options())
    sessions = monitor.scan(NOW).sessions
    found = {
        "scan": [to_json(session) for session in sessions],
        "show": [to_json(detail) for one in SHOWN if (detail := monitor.detail(one, NOW))],
    }
    text = json.dumps(found).replace(str(home.resolve()), "~")
    plain: dict[str, Any] = json.loads(text)
    return plain


def test_the_whole_output_of_a_home_with_both_agents(tmp_path: Path) -> None:
    assert output(tmp_path) == json.loads(GOLDEN.read_text())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_text(json.dumps(output(Path(folder)), indent=1, ensure_ascii=False) + "\n")
    sys.stdout.write(f"wrote {GOLDEN}\n")
