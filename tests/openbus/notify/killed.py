"""Run by a test and ended with `kill -9`: announces, sends, marks, withdraws, as fast as it can.

Arguments: the outbox, and a file in which the device writes down what it is shown.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from openbus.notify.desk import Desk
from openbus.notify.outbox import Outbox
from openbus.notify.policy import Presence, Rules
from openbus.notify.records import Outcome
from tests.openbus.notify.desk_support import PHONE, ask


def main(outbox_path: str, device_path: str) -> None:
    outbox = Outbox(Path(outbox_path))
    now = 1_700_000_000_000
    desk = Desk(Rules(per_hour=10**9), [PHONE], outbox.load(now))
    device = os.open(device_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    print("ready", flush=True)
    number = 0
    while True:
        number += 1
        now += 3_000
        desk.announce(ask(number % 50 + 1, number), now)
        if number > 20:
            old = number - 20
            gone = ask(old % 50 + 1, old)
            desk.withdraw(gone.pane, gone.contract, "ended", now)
        while jobs := desk.plan(Presence(), (), {}, now):
            assert outbox.write(desk.drain())
            for job in jobs:
                os.write(device, f"{job.verb} {job.message.tag}\n".encode())
                desk.finish(job, Outcome(result="accepted"), now)
        assert outbox.write(desk.drain())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
