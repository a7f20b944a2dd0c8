"""A real process, really killed: what it left behind is whole and is gone on with."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from openbus.notify.desk import Desk
from openbus.notify.outbox import Outbox
from openbus.notify.policy import Presence, Rules
from openbus.notify.records import SHOWN, Outcome, Standing
from tests.openbus.notify.desk_support import NOON, PHONE, pane_key


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2, 0.4])
def test_after_kill_9_the_outbox_goes_on(tmp_path: Path, after: float) -> None:
    box, shown = tmp_path / "outbox", tmp_path / "device"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.openbus.notify.killed", str(box), str(shown)],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()

    told = shown.read_text().splitlines()
    outbox = Outbox(box)
    assert outbox.durable and outbox.notice is None
    now = NOON + 10**9
    stored = outbox.load(now)
    desk = Desk(Rules(per_hour=10**9), [PHONE], stored)
    true = [
        Standing(pane=n.pane, contract=n.contract, kind=n.kind, program="codex") for n in desk.open
    ]
    for _ in range(2):
        desk.audit(true, {pane_key(number) for number in range(1, 51)}, now)
        now += 2_000
    again = []
    while jobs := desk.plan(Presence(), (), {}, now):
        for job in jobs:
            again.append(f"{job.verb} {job.message.tag}")
            desk.finish(job, Outcome(result="accepted"), now)
        now += 2_000
    # At most the one call whose mark was lost is made twice; what was marked is not.
    twice = [line for line, count in Counter(told + again).items() if count > 1]
    assert len(twice) <= 1
    marked = {f"announce {m.tag}" for m in stored.messages if m.shown == SHOWN}
    assert not marked & set(again)
    assert {f"announce {notice.tag}" for notice in desk.open} <= set(told + again)
