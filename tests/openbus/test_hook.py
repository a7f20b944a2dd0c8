"""The user's own command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from openbus.events import Event
from openbus.hook import WAITING, Hook
from tests.openbus.live_support import Script, asking, reading


def intent_event(command: str = "make deploy") -> Event:
    script = Script()
    script.sees(asking(command=command))
    script.wait(1000)
    [change] = [change for change in script.changes if change.event == "announce"]
    return Event(epoch="e", rev=1, event="announce", key=change.key, intent=change.intent)


async def run_once(hook: Hook, events: list[Event]) -> None:
    task = asyncio.create_task(hook.run())
    for event in events:
        hook.hear(event)
    async with asyncio.timeout(20):
        while hook.runs < len(events):  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # the hook tells nobody when it is done
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_it_gets_the_intent_on_stdin(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["sh", "-c", f'cat > "{out}"; echo "$OPENBUS_EVENT" >> "{out}"']
    await run_once(Hook(command, 10), [intent_event()])
    body, _, name = out.read_text().partition("}announce")
    assert name == "\n"
    heard = json.loads(body + "}")
    assert heard["event"] == "announce"
    assert heard["question"]["command"] == "make deploy"


async def test_states_are_not_its_business() -> None:
    hook = Hook(["false"], 10)
    script = Script()
    [change] = script.sees(reading())
    hook.hear(Event(epoch="e", rev=1, event="pane", key=change.key, state=change.state))
    assert hook.runs == 0


async def test_what_fails_or_hangs_is_named_without_its_content() -> None:
    told: list[dict[str, Any]] = []

    def tell(event: str, **more: Any) -> None:
        told.append({"event": event, **more})

    await run_once(Hook(["false"], 10, tell), [intent_event()])
    await run_once(Hook(["sleep", "60"], 0.2, tell), [intent_event()])
    await run_once(Hook(["/nowhere/at-all"], 10, tell), [intent_event()])
    outcomes = [entry["outcome"] for entry in told]
    assert outcomes == [
        "exit status 1",
        "ended after 0.2 s",
        "cannot be started: no such file or directory",
    ]
    assert "deploy" not in repr(told)


async def test_a_slow_command_drops_the_oldest_and_never_blocks() -> None:
    hook = Hook(["true"], 10)
    for number in range(WAITING + 5):
        hook.hear(intent_event(f"make {number}"))
    assert hook.dropped == 5
