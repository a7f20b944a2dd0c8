"""Schemathesis against the OpenAPI document of a real service."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.e2e.stage import Stage
from tests.web.conftest import base

OPTIONS = [
    "--phases=examples,coverage,fuzzing",
    "--max-examples=15",
    "--request-timeout=10",
    "--no-color",
    # An endless stream, and a route that sends to real devices.
    "--exclude-path=/api/events",
    "--exclude-path=/api/push/test",
    # A push endpoint that fits the schema must still be at a known push service, and a range of
    # times must not be backwards.
    "--exclude-checks=ignored_auth,positive_data_acceptance",
    "--seed=7",
]

CONFIG = """\
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 413, 415, 422, 429, "5xx"]
"""
"""A body that is too long is refused with 413, which the tool does not count by itself."""


def test_the_api_is_as_its_document_says(stage: Stage) -> None:
    # Without a key: the tool would send wrong ones and test only that they are locked out.
    stage.player("alice")
    stage.up("--no-token")
    stage.wait_for("alice", "idle")
    (stage.folder / "schemathesis.toml").write_text(CONFIG)
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            "run",
            f"{base(stage)}api/openapi.json",
            "--header=Sec-Fetch-Site: same-origin",
            *OPTIONS,
        ],
        cwd=stage.folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[:9000] + done.stderr[-1000:]
    assert "traceback" not in stage.log().lower()
