"""`openbus up --codex-evidence` beside a real Codex: shadow only, and quiet about it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.codex_lab import VERSIONS, Lab, until
from tests.e2e.fake_responses import FakeResponses

pytestmark = pytest.mark.real_agents

OPENBUS = str(Path(sys.executable).with_name("openbus"))


class Service:
    """One service of the test's own, on one lab's tmux server."""

    def __init__(self, lab: Lab, folder: Path, *options: str) -> None:
        self.environment = {
            **os.environ,
            "OPENBUS_STATE_DIR": str(folder / "state"),
            "OPENBUS_CONFIG_DIR": str(folder / "config"),
            "OPENBUS_CODEX_HOMES": str(lab.home),
        }
        self.log = folder / "log"
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                [OPENBUS, "up", "-L", lab.socket, "--no-web", "--json-log", *options],
                env=self.environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def ask(self, *words: str) -> Any:
        done = subprocess.run(
            [OPENBUS, *words, "--json"], env=self.environment, capture_output=True, text=True
        )
        return json.loads(done.stdout) if done.returncode == 0 else None

    def row(self) -> dict[str, Any]:
        """The one Codex pane in the shadow report."""
        report = self.ask("shadow")
        rows = report["sources"][0]["detail"]["bindings"] if report else []
        return rows[0] if rows else {}

    def until_row(self, why: str, true: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def look() -> bool:
            found.update(self.row())
            return bool(found and true(found))

        until(look, 60.0, f"{why}; {found}")
        return found

    def stop(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(15)
        return self.log.read_text()


@pytest.fixture(params=VERSIONS)
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    base = Path(os.environ.get("OPENBUS_CODEX_LAB", str(Path.home() / ".cache/openbus/lab")))
    with FakeResponses() as model:
        made = Lab(base / f"{os.getpid()}-{tmp_path.name[-12:]}", request.param, model.port,
                   show_id="both")  # fmt: skip
        try:
            yield made
        finally:
            made.close()


def test_the_service_compares_and_publishes_nothing_native(lab: Lab, tmp_path: Path) -> None:
    service = Service(lab, tmp_path, "--codex-evidence")
    try:
        pane = lab.start()
        lab.wait_for(pane, "GPT-5.5", 90.0)
        time.sleep(1.0)
        lab.say(pane, "planted hello")
        lab.wait_for(pane, "You said: planted hello")
        truth = lab.rollouts()[0].stem[-36:]

        row = service.until_row("bound and idle", lambda r: r["comparison"] == "agree")
        assert row["verdict"] == "bound" and row["thread"] == truth[-8:]

        lab.say(pane, "shell touch planted-file")
        lab.wait_for(pane, "Would you like to run")
        row = service.until_row("both wait", lambda r: r["native_waiting"] and r["needs_you"])
        service.until_row("they agree", lambda r: r["comparison"] == "agree")

        states = service.ask("ls")
        (state,) = [s for s in states if s["program"]["name"] == "codex"]
        assert state["needs_you"] and state["native"] is None
        assert truth not in json.dumps(service.ask("shadow"))
        time.sleep(2.0)
        assert "Would you like to run" in lab.screen(pane)
        report = service.ask("shadow")["sources"][0]
        assert report["health"] == {"ok": 1}
        assert report["detail"]["servers"][0]["requests_per_second"] < 2
        assert report["detail"]["failures"] == {}
    finally:
        log = service.stop()
    assert "openbus; VERSION" in log  # what connecting changes was said
    for secret in ("planted", truth, str(lab.home)):
        assert secret not in log


def test_without_the_option_nothing_connects(lab: Lab, tmp_path: Path) -> None:
    service = Service(lab, tmp_path)
    try:
        pane = lab.start()
        lab.wait_for(pane, "GPT-5.5", 90.0)
        until(lambda: bool(service.ask("ls")), 20.0, "the pane is listed")
        time.sleep(3.0)
        assert service.ask("shadow") == {"sources": []}
        lab.say(pane, "planted hello")
        lab.wait_for(pane, "You said: planted hello")
    finally:
        log = service.stop()
    assert "connected" not in log
