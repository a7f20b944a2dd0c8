"""Sessions on disk are joined to panes as evidence, and move nothing that the screen decides."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import msgspec
import pytest

from agent_history.options import Options
from agent_history.plan import PlanReplay
from openbus.agent_history import SessionSource, bind, progress
from openbus.evidence import Binding, Envelope, EvidenceSource, PaneView
from openbus.model import Pane, PaneState, Plan, Process, Program, Server, Window
from tests.agent_history.stores import (
    NOW,
    SESSION,
    THREAD,
    Claude,
    Rollouts,
    call,
    calls,
    context,
    event,
    meta,
    monitor,
    prompt,
    reply,
)

TODO = [{"content": "Bump", "status": "completed"}, {"content": "Tag", "status": "in_progress"}]


def pane(name: str = "%1", cwd: str = "/home/dev/shop") -> Pane:
    server = Server(socket="/tmp/tmux-0/x", pid=1, started=1)
    return Pane(key=f"h:x:1-1:{name}:9", id=name, server=server, pid=9, session="s", index=0,
                window=Window(index=0, name="w"), cwd=cwd)  # fmt: skip


def view(program: str, *pids: int, name: str = "%1", title: str = "") -> PaneView:
    found = tuple(Process(comm="node", foreground=True, depth=n, pid=p) for n, p in enumerate(pids))
    return PaneView(pane=pane(name), program=program, processes=found, title=title)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    claude = Claude(tmp_path)
    claude.write(prompt("fix it"), calls(call("TodoWrite", todos=TODO)), reply("secret words"))
    claude.live(pid=4242)
    Rollouts(tmp_path).write(meta(), context(), event("user_message", message="explain it"))
    return tmp_path


def source(home: Path) -> SessionSource:
    return SessionSource(lambda: NOW, sessions=monitor(home, Options()))


async def scanned(home: Path, *views: PaneView) -> SessionSource:
    made = source(home)
    made.observe(views, NOW)
    await made.scan()
    return made


async def test_claude_code_is_bound_by_its_registered_process(home: Path) -> None:
    found = await scanned(home, view("claude-code", 9, 4242))
    joined = found.joined(pane().key)
    assert joined is not None and joined.session is not None
    assert (joined.binding.verdict, joined.session.id) == ("bound", f"claude-code:{SESSION}")
    assert joined.plan == Plan(done=1, total=2, current=1)


async def test_codex_is_bound_by_the_writer_lock_its_process_holds(home: Path) -> None:
    folder = home / ".codex/thread-writer-locks"
    folder.mkdir()
    (folder / f"{THREAD}.lock").touch()
    found = (folder / f"{THREAD}.lock").stat()
    import os

    device = f"{os.major(found.st_dev):x}:{os.minor(found.st_dev):x}:{found.st_ino}"
    (home / "proc/locks").write_text(f"1: FLOCK  ADVISORY  WRITE 77 {device} 0 EOF\n")
    joined = (await scanned(home, view("codex", 9, 77))).joined(pane().key)
    assert joined is not None and joined.session is not None
    assert joined.session.id == f"codex:{THREAD}"


async def test_folder_and_title_make_a_candidate_that_is_not_shown(home: Path) -> None:
    found = await scanned(home, view("codex", 9, title="explain it - codex"))
    joined = found.joined(pane().key)
    assert joined is not None and joined.session is None
    assert (joined.binding.verdict, joined.binding.candidates) == (
        "candidate", (f"codex:{THREAD}",),
    )  # fmt: skip


async def test_two_panes_in_one_folder_are_not_guessed(home: Path) -> None:
    views = [view("codex", 9, name=name, title="explain it") for name in ("%1", "%2")]
    found = await scanned(home, *views)
    for one in views:
        joined = found.joined(one.pane.key)
        assert joined is not None and joined.binding.verdict == "ambiguous"


async def test_a_thread_that_another_source_bound_is_taken_when_it_is_on_disk(home: Path) -> None:
    def claim(thread: str, held: bool = False) -> SessionSource:
        binding = Binding(verdict="bound", how="visible id", thread=thread, held=held)
        envelope = Envelope(source="codex", pane=pane().key, incarnation="%1:9", binding=binding)
        return SessionSource(
            lambda: NOW, sessions=monitor(home, Options()), claims=lambda key, now: envelope
        )

    for made, expected in (
        (claim(THREAD), f"codex:{THREAD}"), (claim("elsewhere"), None), (claim(THREAD, True), None),
    ):  # fmt: skip
        made.observe([view("codex", 9)], NOW)
        await made.scan()
        joined = made.joined(pane().key)
        assert joined is not None
        assert (joined.session.id if joined.session else None) == expected


def test_a_process_that_runs_two_sessions_is_ambiguous() -> None:
    owners = {"codex:a": 77, "codex:b": 77, "claude-code:c": 77}
    found = bind(view("codex", 77), {}, owners, alone=True)
    assert (found.verdict, found.candidates) == ("ambiguous", ("codex:a", "codex:b"))


async def test_a_session_never_moves_what_the_screen_decided(home: Path) -> None:
    found = await scanned(home, view("claude-code", 9, 4242))
    state = PaneState(
        host="h", pane=pane(), program=Program(name="claude-code", via="process"),
        activity="waiting", waiting_on="user", needs_you=True,
    )  # fmt: skip
    shown = found.decorate(state)
    assert shown.session is not None and shown.plan is not None
    assert msgspec.structs.replace(shown, session=None, plan=None) == state
    assert found.decorate(shown) is shown
    other = msgspec.structs.replace(state, pane=pane("%7"))
    assert found.decorate(other) is other, "a pane without an agent stays as it is"


async def test_the_api_shows_sessions_with_their_panes(home: Path) -> None:
    found = await scanned(home, view("claude-code", 9, 4242))
    listed = {session["id"]: session for session in found.sessions()}
    assert listed[f"claude-code:{SESSION}"]["panes"] == [pane().key]
    assert listed[f"claude-code:{SESSION}"]["excerpt"] == "secret words"
    assert listed[f"codex:{THREAD}"]["panes"] == []
    shown = await found.session(f"claude-code:{SESSION}")
    assert shown is not None and shown["detail"]["sessionId"] == SESSION
    assert await found.session("codex:nothing") is None


async def test_evidence_and_report_hold_no_text(home: Path) -> None:
    found: EvidenceSource = await scanned(home, view("claude-code", 9, 4242))
    envelope = found.evidence(pane().key, NOW)
    assert envelope is not None and envelope.binding.thread == f"claude-code:{SESSION}"
    assert found.evidence("no:such:pane", NOW) is None
    report = found.report(NOW)
    assert report.health == {"ok": 2} and report.verdicts == {"bound": 1}
    assert b"words" not in msgspec.json.encode([report, envelope])


async def test_a_live_session_older_than_a_day_is_still_bound(home: Path) -> None:
    import os

    old = NOW - 3 * 86_400_000
    path = Claude(home).path()
    path.unlink()
    Claude(home).write(prompt("fix it", at=old), reply("ok", at=old))
    os.utime(path, (old / 1000, old / 1000))
    joined = (await scanned(home, view("claude-code", 9, 4242))).joined(pane().key)
    assert joined is not None and joined.session is not None


async def listed(made: SessionSource, count: int) -> None:
    while len(made.sessions()) < count:  # noqa: ASYNC110 - the source has nobody to tell
        await asyncio.sleep(0.02)


async def test_it_runs_until_cancelled_and_sees_what_changes(home: Path) -> None:
    made = source(home)
    running = asyncio.create_task(made.run())
    async with asyncio.timeout(20):
        await listed(made, 2)
        Claude(home).write(prompt("go"), reply("ok"), session="1" + SESSION[1:])
        await listed(made, 3)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


def test_ticks_count_as_done_and_numbers_are_all_a_pane_shows() -> None:
    plan = PlanReplay()
    plan.claude_call("t", "TodoWrite", {"todos": TODO})
    items = plan.items()
    assert progress(items) == Plan(done=1, total=2, current=1)
    assert progress(plan.items({items[1].key})) == Plan(done=2, total=2, current=None)
    assert progress(()) is None
