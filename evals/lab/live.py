"""`live`: a real agent, the real service beside it, and what was published against the truth.

The flow is the one that records screens. Wherever it would record, the state is held here for a few
seconds instead: that is a span of known truth. The first request for permission is granted, the
others are declined by the flow.
"""

from __future__ import annotations

import datetime
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from evals.lab import npm
from evals.lab.agent import Agent, Place
from evals.lab.errors import LabError
from evals.lab.fake_model import FakeModel
from evals.lab.flow import Flow
from evals.lab.live_score import Score, Seen, Span, judge, score, timeline
from evals.lab.live_service import CHILDREN, LOOKING, LiveService
from evals.lab.lookout import Lookout
from evals.lab.record import AGENTS, PACE, SHOWN, SHOWN_BIN, system_path
from evals.lab.terminal import Terminal, Tmux, end_leftovers, make_project
from openbus import corpus

HOLD = 3.5
"""Seconds that a state is held: longer than everything that OpenBus waits for."""

QUIET = 2.0
"""Seconds without a turn and a dialog after which an answered turn counts as ended."""

TURN = 60.0
SIZE = (120, 40)

FLOWS = (
    "idle",
    "working_stream",
    "working_think",
    "approval_shell",
    "approval_edit",
    "question_single",
    "overlays",
    "texts",
    "error_4",
)
"""Steps that are run unless others are named: each kind of state once."""

GRANTED = "approval_shell"

_USERS = (
    ("show-options", "-g"),
    ("show-options", "-s"),
    ("show-options", "-gw"),
    ("show-hooks", "-g"),
    ("list-keys",),
    ("show-environment", "-g"),
    ("list-buffers",),
    ("list-clients",),
)
"""What is the user's in tmux."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What to run. `flows` are parts of step names; `save`: where screens that were published
    wrongly go as corpus files, and the timeline of the run."""

    program: str
    version: str
    cache: Path
    flows: tuple[str, ...] = FLOWS
    save: Path | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `missed` are steps of the flow that did not come about; `intrusions` is what
    OpenBus did to tmux or to the agent, which must be nothing."""

    program: str
    version: str
    score: Score
    missed: tuple[str, ...]
    intrusions: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not (self.score.findings or self.missed or self.intrusions)


def run(job: Job, tell: Callable[[str], None], agents: Mapping[str, Agent] = AGENTS) -> Outcome:
    """Do it; `tell` gets one line per span. Raises `LabError`."""
    agent = agents.get(job.program)
    if agent is None:
        raise LabError(f"unknown program {job.program!r}; there is: {', '.join(agents)}")
    executables = npm.install(job.program, agent.package, job.version, job.cache)
    root = Path(tempfile.mkdtemp(prefix="lab-"))
    try:
        with (
            FakeModel(root / "w") as model,
            Tmux(root / "tmux.sock", root, f"{executables}:{system_path()}") as tmux,
        ):
            before = _users(tmux)
            with LiveService(root / "openbus", root / "tmux.sock", agent.program) as service:
                session = _Session(job, agent, model, tmux, service, root, executables, tell)
                missed = session.run()
            intrusions = [f"tmux {name}" for name in sorted(service.commands() - LOOKING)]
            if _users(tmux) != before:
                intrusions.append("changed tmux settings")
            intrusions += [f"started {name}" for name in sorted(service.children - CHILDREN)]
    finally:
        shutil.rmtree(root, ignore_errors=True)
    witnesses = (session.spans, session.seen, service.shown, service.told)
    if job.save:
        _folder(job).joinpath("timeline.txt").write_text("\n".join(timeline(*witnesses)) + "\n")
    return Outcome(
        program=job.program,
        version=job.version,
        score=score(*witnesses),
        missed=tuple(f"{name}: {why}" for name, why in missed.items()),
        intrusions=tuple(intrusions),
    )


class _Session:
    """One pane with the agent in it, driven through the flow."""

    def __init__(
        self,
        job: Job,
        agent: Agent,
        model: FakeModel,
        tmux: Tmux,
        service: LiveService,
        root: Path,
        executables: Path,
        tell: Callable[[str], None],
    ) -> None:
        self.spans: list[Span] = []
        self._job = job
        self._agent = agent
        self._model = model
        self._tmux = tmux
        self._service = service
        self._names = {str(root): SHOWN, str(executables): SHOWN_BIN}
        self._tell = tell
        self._project = model.work / agent.program
        self._home = root / "h"
        self._home.mkdir()
        make_project(self._project)
        place = Place(version=job.version, home=self._home, project=self._project, url=model.url)
        environment = {"HOME": str(self._home), **agent.prepare(place)}
        self._terminal = Terminal(tmux, agent.program, SIZE, self._project, environment)
        self._lookout = Lookout(agent, tmux, agent.program)

    @property
    def seen(self) -> list[Seen]:
        return self._lookout.seen

    def run(self) -> dict[str, str]:
        """Drive it; the steps that did not come about with the reason."""
        release = self._agent.program
        try:
            with self._lookout:
                flow = Flow(
                    self._agent,
                    self._terminal,
                    self._hold,
                    lambda: self._model.release(release),
                    self._gate,
                    PACE,
                )
                return flow.run(self._job.flows)
        finally:
            self._terminal.close()
            end_leftovers(self._home)

    def _gate(self, open_: bool) -> None:
        if open_:
            (self._project / ".go").touch()
        else:
            (self._project / ".go").unlink(missing_ok=True)

    def _hold(self, state: str, expect: dict[str, Any]) -> None:
        start = time.monotonic()
        time.sleep(HOLD)
        span = span_of(state, expect, start, time.monotonic())
        self._note(span, expect)
        if state == GRANTED:
            self._grant(expect)

    def _grant(self, expect: dict[str, Any]) -> None:
        self._terminal.keys("Enter")
        deadline = time.monotonic() + TURN
        while True:
            looks = self._lookout.seen[-1]
            if looks.what == "free" and time.monotonic() - looks.at > QUIET:
                break
            if time.monotonic() > deadline:
                return
            time.sleep(0.1)
        idle = {"program": expect["program"], "needs_you": False, "activity": "idle"}
        self._hold("idle_granted", idle)

    def _note(self, span: Span, expect: dict[str, Any]) -> None:
        self.spans.append(span)
        self._service.look_at_children()
        wrong = judge(span, self._service.shown, self._service.told)
        words = "; ".join(f"{finding.what}, {finding.text}" for finding in wrong)
        self._tell(f"{self._job.program} {span.name}: {words or 'as it is'}")
        if wrong and self._job.save:
            self._save(span.name, expect)

    def _save(self, state: str, expect: dict[str, Any]) -> None:
        content = corpus.encode(
            self._terminal.capture(),
            program=self._job.program,
            version=self._job.version,
            state=state,
            captured_at=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            text=self._terminal.screen(),
            expect=expect,
        )
        for found, shown in self._names.items():
            content = content.replace(found, shown)
        (_folder(self._job) / f"{state}--{SIZE[0]}x{SIZE[1]}.json").write_text(content)


def span_of(state: str, expect: dict[str, Any], start: float, end: float) -> Span:
    """What a recorded state's label demands of what is published.

    A turn that ended is announced; before the first turn and while the user types nothing is.
    """
    activities = frozenset(expect.get("activity_any") or [expect["activity"]])
    allowed: frozenset[str] = frozenset()
    expected = None
    if expect["needs_you"]:
        allowed = frozenset({"needs_you"})
    elif expect.get("asked_in_prose"):
        allowed, expected = frozenset({"asked"}), "asked"
    elif activities == {"error"}:
        allowed, expected = frozenset({"error", "limit"}), "error"
    elif activities == {"idle"} and not expect.get("draft") and state != "idle_empty":
        allowed = frozenset({"done"})
        expected = "done" if state in ("idle_done", "idle_granted") else None
    return Span(
        name=state,
        start=start,
        end=end,
        activities=activities,
        needs_you=expect["needs_you"],
        allowed=allowed,
        expected=expected,
    )


def _folder(job: Job) -> Path:
    assert job.save is not None
    folder = job.save / job.program / job.version
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _users(tmux: Tmux) -> str:
    text = "".join(tmux.run(*words) for words in _USERS)
    return hashlib.sha256(text.encode()).hexdigest()
