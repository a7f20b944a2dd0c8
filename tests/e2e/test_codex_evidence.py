"""The evidence source against real Codex: it binds, compares, and leaves everything as it was.

Each test has a disposable home, its own tmux server and its own fake model. Run by
`make e2e`; needs node and npm, and the network once for the binaries.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from openbus.codex import locate
from openbus.evidence import Envelope
from tests.e2e.codex_lab import VERSIONS, Lab, until
from tests.e2e.codex_observer import Observer
from tests.e2e.fake_responses import FakeResponses

pytestmark = pytest.mark.real_agents

MakeLab = Callable[..., Lab]
Found = dict[str, Envelope | None]


@pytest.fixture
def model() -> Iterator[FakeResponses]:
    with FakeResponses() as served:
        yield served


@pytest.fixture(params=VERSIONS)
def make_lab(
    request: pytest.FixtureRequest, model: FakeResponses, tmp_path: Path
) -> Iterator[MakeLab]:
    """Labs that end with the test. What the adapter logged meanwhile must hold no secret."""
    labs: list[Lab] = []

    def make(show_id: str = "") -> Lab:
        # Codex refuses a home below the system's temporary folder
        base = Path(os.environ.get("OPENBUS_CODEX_LAB", str(Path.home() / ".cache/openbus/lab")))
        root = base / f"{os.getpid()}-{tmp_path.name[-12:]}-{len(labs)}"
        labs.append(Lab(root, request.param, model.port, show_id=show_id))
        return labs[-1]

    with structlog.testing.capture_logs() as logs:
        try:
            yield make
            secrets = {"planted", *(str(lab.root) for lab in labs)}
            secrets.update(thread for lab in labs for thread in threads(lab))
        finally:
            for lab in labs:
                lab.close()
    printed = repr(logs)
    assert not [secret for secret in secrets if secret in printed]


def threads(lab: Lab) -> list[str]:
    """Thread ids by the names of the rollouts, oldest first: the truth."""
    return sorted(path.stem[-36:] for path in lab.rollouts())


def started(lab: Lab, *arguments: str) -> str:
    """A pane with an idle Codex after one turn, so that its thread is on disk."""
    pane = lab.start(*arguments)
    lab.wait_for(pane, "GPT-5.5", 90.0)
    time.sleep(1.0)
    lab.say(pane, "planted hello")
    lab.wait_for(pane, "You said: planted hello")
    until(lambda: bool(lab.rollouts()), 10.0, "a rollout")
    return pane


def bound(pane: str, thread: str | None = None) -> Callable[[Found], bool]:
    def true(found: Found) -> bool:
        envelope = found[pane]
        return (
            envelope is not None
            and envelope.binding.verdict == "bound"
            and thread in (None, envelope.binding.thread)
        )

    return true


def waiting(pane: str) -> Callable[[Found], bool]:
    def true(found: Found) -> bool:
        envelope = found[pane]
        return bool(envelope and envelope.snapshot and envelope.snapshot.native_status.waiting)

    return true


def held(pane: str) -> Callable[[Found], bool]:
    def true(found: Found) -> bool:
        envelope = found[pane]
        return waiting(pane)(found) and envelope is not None and envelope.binding.held

    return true


def native(pane: str, activity: str) -> Callable[[Found], bool]:
    def true(found: Found) -> bool:
        envelope = found[pane]
        return bool(
            envelope and envelope.snapshot and envelope.snapshot.native_status.activity == activity
        )

    return true


def settled(lab: Lab) -> dict[str, str]:
    """The home's content once Codex itself has stopped writing."""
    before: dict[str, str] = {}

    def still() -> bool:
        nonlocal before
        now = lab.fingerprint()
        same, before = now == before, now
        time.sleep(2.0)
        return same

    until(still, 60.0, "Codex is quiet")
    return before


def watch(observer: Observer, lab: Lab, pane: str, seconds: float, *, dialog: bool = False) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        observer.show(lab.view(pane, dialog=dialog))
        time.sleep(0.5)


# --- binding


@pytest.mark.parametrize("show_id", ["status", "title", "both"])
def test_a_visible_thread_id_binds_exactly(make_lab: MakeLab, show_id: str) -> None:
    lab = make_lab(show_id)
    pane = started(lab)
    (truth,) = threads(lab)
    with Observer((str(lab.home),)) as observer:
        found = observer.waits_for(lab, (pane,), bound(pane), "bound")[pane]
    assert found is not None and found.binding.thread == truth
    words = {"status": "status line", "title": "title", "both": "status line and title"}
    assert found.binding.how == words[show_id] and not found.binding.held
    assert found.snapshot is not None and found.snapshot.server_version == lab.version


def test_without_a_visible_id_nothing_is_bound_and_the_candidate_is_right(
    make_lab: MakeLab,
) -> None:
    """The first TUI starts the daemon, which takes its time; the second one's thread is born with
    it."""
    lab = make_lab()
    first = time.monotonic()
    started(lab)
    time.sleep(max(0.0, 12.0 - (time.monotonic() - first)))
    pane = lab.start()
    lab.wait_for(pane, "GPT-5.5", 90.0)
    time.sleep(1.0)
    lab.say(pane, "planted second")
    lab.wait_for(pane, "You said: planted second")
    until(lambda: len(threads(lab)) == 2, 20.0, "a second thread")
    truth = threads(lab)[1]
    with Observer((str(lab.home),)) as observer:

        def decided(found: Found) -> bool:
            envelope = found[pane]
            return envelope is not None and envelope.binding.verdict == "candidate"

        found = observer.waits_for(lab, (pane,), decided, "a candidate")[pane]
        assert found is not None and found.binding.candidates == (truth,)
        assert found.binding.thread is None and found.snapshot is None
        lab.say(pane, f"look at {truth}")
        lab.wait_for(pane, "You said: look at")
        watch(observer, lab, pane, 5.0)
        assert observer.report()["panes"].get("bound", 0) == 0


@pytest.mark.parametrize("show_id", ["", "both"])
def test_an_embedded_tui_is_bound_by_its_open_files(make_lab: MakeLab, show_id: str) -> None:
    """After `/new` the old thread stays open for a minute: only a visible id tells them apart."""
    lab = make_lab(show_id)
    pane = started(lab, "--no-daemon")
    (first,) = threads(lab)
    with Observer((str(lab.home),)) as observer:
        found = observer.waits_for(lab, (pane,), bound(pane, first), "bound")[pane]
        assert found is not None and found.binding.how == "open files"
        assert observer.server()["connections"] == 0
        lab.say(pane, "/new")
        time.sleep(2.0)
        lab.say(pane, "planted second")
        lab.wait_for(pane, "You said: planted second")
        until(lambda: len(threads(lab)) == 2, 20.0, "a second thread")
        second = threads(lab)[1]
        seconds = 100.0 if not show_id else 20.0
        found = observer.waits_for(lab, (pane,), bound(pane, second), "follows", seconds=seconds)[
            pane
        ]
        assert found is not None
        assert found.binding.how == ("open files and visible id" if show_id else "open files")


def test_a_new_thread_in_the_same_pane_is_followed(make_lab: MakeLab) -> None:
    lab = make_lab("both")
    pane = started(lab)
    (first,) = threads(lab)
    with Observer((str(lab.home),)) as observer:
        observer.waits_for(lab, (pane,), bound(pane, first), "bound")
        lab.say(pane, "/new")
        time.sleep(2.0)
        lab.say(pane, "planted second")
        lab.wait_for(pane, "You said: planted second")
        until(lambda: len(threads(lab)) == 2, 20.0, "a second thread")
        observer.waits_for(lab, (pane,), bound(pane, threads(lab)[1]), "follows")


def test_one_thread_in_two_panes_is_bound_in_both(make_lab: MakeLab) -> None:
    lab = make_lab("both")
    pane = started(lab)
    (truth,) = threads(lab)
    other = lab.start("resume", truth)
    lab.wait_for(other, truth, 60.0)
    with Observer((str(lab.home),)) as observer:

        def both(found: Found) -> bool:
            return bound(pane, truth)(found) and bound(other, truth)(found)

        observer.waits_for(lab, (pane, other), both, "bound twice")
        assert observer.report()["panes"]["shared_threads"] == 1


def test_a_server_named_by_the_tui_is_reported_and_followed_only_when_configured(
    make_lab: MakeLab,
) -> None:
    lab = make_lab("both")
    private = lab.root / "own"
    private.mkdir(mode=0o700)
    path = private / "server.sock"
    server = subprocess.Popen(
        [str(lab.launcher), "app-server", "--listen", f"unix://{path}"],
        env=lab.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(path.exists, 30.0, "the server listens")
        pane = started(lab, "--remote", f"unix://{path}")
        (truth,) = threads(lab)
        with Observer((str(lab.home),)) as observer:
            watch(observer, lab, pane, 5.0)
            report = observer.report()
            assert report["other_servers"] == 1
            assert report["servers"][0]["connections"] == 0
        with Observer((str(lab.home),), (str(path),)) as observer:
            observer.waits_for(lab, (pane,), bound(pane, truth), "bound")
            assert observer.server(1)["connections"] == 1
            assert observer.server(0)["connections"] == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            server.terminate()
        server.wait(20)


def test_codexs_own_metadata_names_the_same_socket(make_lab: MakeLab) -> None:
    lab = make_lab()
    program = str(lab.launcher.resolve())
    environment = lab.environment()
    home = str(lab.home)

    def ask() -> str | None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "defpath", environment["PATH"])  # the npm launcher needs node
            return asyncio.run(locate.supported_path(program, home))

    before = set(lab.home.rglob("*"))
    assert ask() is None
    made = set(lab.home.rglob("*")) - before
    # what every start of the program makes
    assert {path.relative_to(lab.home).parts[0] for path in made} <= {"tmp"}
    assert not any(path.is_file() for path in made)
    started(lab)
    assert ask() == str(lab.control_socket())


# --- nothing is resumed, answered or written


def test_no_row_and_no_file_of_the_home_changes_by_our_reads(make_lab: MakeLab) -> None:
    lab = make_lab("both")
    pane = started(lab)
    before = settled(lab)
    with Observer((str(lab.home),)) as observer:
        observer.waits_for(lab, (pane,), bound(pane), "bound")
        watch(observer, lab, pane, 8.0)
        assert observer.server()["requests"]["thread/read"] >= 1
    assert settled(lab) == before


def test_a_pending_approval_stays_pending_and_stays_the_users(make_lab: MakeLab) -> None:
    lab = make_lab("status")
    pane = started(lab)
    (truth,) = threads(lab)
    with Observer((str(lab.home),)) as observer:
        observer.waits_for(lab, (pane,), bound(pane, truth), "bound")
        lab.say(pane, "shell touch planted-file")
        lab.wait_for(pane, "Would you like to run")
        found = observer.waits_for(lab, (pane,), held(pane), "held", dialog=True)[pane]
        assert found is not None and not found.binding.usable
        assert found.binding.thread == truth
        watch(observer, lab, pane, 4.0, dialog=True)
    with Observer((str(lab.home),)) as observer:  # one that comes while it is pending
        watch(observer, lab, pane, 4.0, dialog=True)
        assert observer.server()["connections"] == 1
    time.sleep(1.0)
    assert "Would you like to run" in lab.screen(pane)
    assert not (lab.project / "planted-file").exists()
    lab.keys(pane, "y")
    until((lab.project / "planted-file").exists, 20.0, "the user's answer counts")


def test_a_pending_question_stays_pending(make_lab: MakeLab) -> None:
    lab = make_lab("both")
    pane = started(lab)
    lab.wait_for(pane, "Worked for")
    lab.keys(pane, "BTab")
    lab.wait_for(pane, "Plan mode")
    with Observer((str(lab.home),)) as observer:
        observer.waits_for(lab, (pane,), bound(pane), "bound")
        lab.say(pane, "ask planted question")
        lab.wait_for(pane, "Which color should it be?")
        found = observer.waits_for(lab, (pane,), waiting(pane), "waiting", dialog=True)[pane]
        assert found is not None and found.snapshot is not None
        assert found.snapshot.native_status.flags == ("waitingOnUserInput",)
    time.sleep(1.0)
    assert "Which color should it be?" in lab.screen(pane)
    lab.keys(pane, "Enter")
    lab.wait_for(pane, "The tool has finished.")


def test_the_approval_of_a_sub_agent_is_left_to_the_user(make_lab: MakeLab) -> None:
    """The observer is handed the request itself here: it neither answers nor fails it."""
    lab = make_lab("both")
    pane = started(lab)
    with Observer((str(lab.home),)) as observer:
        observer.waits_for(lab, (pane,), bound(pane), "bound")
        lab.say(pane, "spawnshell planted")
        lab.wait_for(pane, "Would you like to run")
        dropped = lambda: observer.server()["dropped"].get("server_request", 0)  # noqa: E731
        until(lambda: dropped() >= 1, 20.0, "the request reached us")
        watch(observer, lab, pane, 3.0, dialog=True)
        assert "Would you like to run" in lab.screen(pane)
    time.sleep(1.0)
    assert "Would you like to run" in lab.screen(pane)
    assert not (lab.project / "child-file").exists()
    lab.keys(pane, "y")
    until((lab.project / "child-file").exists, 20.0, "the user's answer counts")


# --- what the server tells


def test_an_error_and_an_interrupted_turn_are_seen_by_events(make_lab: MakeLab) -> None:
    lab = make_lab("both")
    pane = started(lab)
    with Observer((str(lab.home),)) as observer:
        observer.waits_for(lab, (pane,), bound(pane), "bound")
        assert observer.server()["events"]
        lab.say(pane, "fail planted")
        observer.waits_for(lab, (pane,), native(pane, "error"), "error", seconds=12.0)
        lab.say(pane, "slow 30")
        observer.waits_for(lab, (pane,), native(pane, "active"), "active", seconds=12.0)
        lab.keys(pane, "Escape")
        lab.wait_for(pane, "interrupted")
        observer.waits_for(lab, (pane,), native(pane, "idle"), "idle", seconds=12.0)


def test_a_daemon_that_is_killed_leaves_a_stale_binding_and_comes_back_as_another(
    make_lab: MakeLab,
) -> None:
    lab = make_lab("both")
    pane = started(lab)
    (truth,) = threads(lab)
    with Observer((str(lab.home),)) as observer:
        first = observer.waits_for(lab, (pane,), bound(pane, truth), "bound")[pane]
        os.kill(lab.daemon_pid(), signal.SIGKILL)

        def stale(found: Found) -> bool:
            envelope = found[pane]
            return envelope is not None and envelope.binding.verdict == "stale"

        observer.waits_for(lab, (pane,), stale, "stale")
        assert observer.server()["health"] == "unavailable"
        other = lab.start("resume", truth)
        lab.wait_for(other, truth, 60.0)
        again = observer.waits_for(lab, (other,), bound(other, truth), "bound again")[other]
    assert first is not None and first.snapshot is not None
    assert again is not None and again.snapshot is not None
    assert again.snapshot.generation != first.snapshot.generation


def test_a_server_without_a_tui_is_never_connected_to(make_lab: MakeLab) -> None:
    """Otherwise the observer would become the originator of the user's threads."""
    lab = make_lab("both")
    server = subprocess.Popen(
        [str(lab.launcher), "app-server", "--listen", "unix://"],
        env=lab.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lab.control_socket().exists, 30.0, "the server listens")
        with Observer((str(lab.home),)) as observer:
            time.sleep(4.0)
            assert observer.server()["connections"] == 0
            assert observer.server()["reason"] == "no_tui"
    finally:
        server.terminate()
        server.wait(20)


def test_the_originator_stays_the_tui_and_the_user_agent_names_us_honestly(
    make_lab: MakeLab, model: FakeResponses
) -> None:
    lab = make_lab("both")
    pane = started(lab)
    with Observer((str(lab.home),)) as observer:
        observer.waits_for(lab, (pane,), bound(pane), "bound")
        lab.say(pane, "planted while observed")
        lab.wait_for(pane, "You said: planted while observed")
    last = [r for r in model.requests if r["words"] == "planted while observed"][-1]
    assert last["originator"] == "codex-tui"
    assert re.search(r"\(openbus; [^)]+\)$", last["user_agent"])
    assert '"originator":"codex-tui"' in lab.rollouts()[0].read_text()[:2_000].replace(" ", "")
