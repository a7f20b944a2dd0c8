"""`record`: one version of one agent, in some sizes, into a folder of corpus files."""

from __future__ import annotations

import datetime
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evals.lab import claude_code, codex, gemini, npm, opencode
from evals.lab.agent import Agent, Place
from evals.lab.errors import LabError
from evals.lab.fake_model import FakeModel
from evals.lab.flow import Flow, Pace
from evals.lab.terminal import Terminal, Tmux, end_leftovers, make_project
from openbus import corpus
from openbus.model import Capture

AGENTS: dict[str, Agent] = {
    module.AGENT.program: module.AGENT for module in (claude_code, codex, gemini, opencode)
}

PACE = Pace()
"""For real agents on a busy machine."""

SHOWN = "/home/dev/project"
"""What stands for the lab's own folder in corpus files. The folder is named so that it has the same
length: boxes and wrapped rows keep their shape."""

SHOWN_BIN = "/opt/agents"


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What to record. `sizes` are columns and rows, `only` parts of step names."""

    program: str
    version: str
    sizes: tuple[tuple[int, int], ...]
    out: Path
    cache: Path
    only: tuple[str, ...] = ()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Files written, and steps that did not come about with the reason."""

    files: tuple[Path, ...]
    missed: tuple[str, ...]


def record(
    job: Job,
    tell: Callable[[str], None],
    agents: Mapping[str, Agent] = AGENTS,
    pace: Pace = PACE,
) -> Outcome:
    """Do it; `tell` gets one line per file. Raises `LabError`."""
    agent = agents.get(job.program)
    if agent is None:
        raise LabError(f"unknown program {job.program!r}; there is: {', '.join(agents)}")
    executables = npm.install(job.program, agent.package, job.version, job.cache)
    root = Path(tempfile.mkdtemp(prefix="lab-"))
    files: list[Path] = []
    missed: list[str] = []
    path = f"{executables}:{system_path()}"
    try:
        with (
            FakeModel(root / "w") as model,
            Tmux(root / "tmux.sock", root, path) as tmux,
        ):
            for size in job.sizes:
                writer = _Writer(job, size, {str(root): SHOWN, str(executables): SHOWN_BIN})
                lab = _Lab(model=model, tmux=tmux, root=root, pace=pace)
                left = _session(lab, agent, job, size, writer, tell)
                missed += [f"{size[0]}x{size[1]} {name}: {why}" for name, why in left.items()]
                files += writer.files
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return Outcome(files=tuple(files), missed=tuple(missed))


class _Lab(msgspec.Struct, frozen=True, kw_only=True):
    """What all sizes of a run share."""

    model: FakeModel
    tmux: Tmux
    root: Path
    pace: Pace


def _session(
    lab: _Lab,
    agent: Agent,
    job: Job,
    size: tuple[int, int],
    writer: _Writer,
    tell: Callable[[str], None],
) -> dict[str, str]:
    name = f"{agent.program}-{size[0]}x{size[1]}"
    project = lab.model.work / name
    home = lab.root / "h" / name
    home.mkdir(parents=True)
    make_project(project)
    place = Place(version=job.version, home=home, project=project, url=lab.model.url)
    environment = {"HOME": str(home), **agent.prepare(place)}
    terminal = Terminal(lab.tmux, name, size, project, environment)

    def save(state: str, expect: dict[str, Any]) -> None:
        tell(str(writer.write(state, expect, terminal.capture(), terminal.screen())))

    def gate(open_: bool) -> None:
        if open_:
            (project / ".go").touch()
        else:
            (project / ".go").unlink(missing_ok=True)

    try:
        flow = Flow(agent, terminal, save, lambda: lab.model.release(name), gate, lab.pace)
        return flow.run(job.only)
    finally:
        terminal.close()
        end_leftovers(home)


class _Writer:
    """Writes corpus files without a trace of where they were recorded."""

    def __init__(self, job: Job, size: tuple[int, int], names: dict[str, str]) -> None:
        self.files: list[Path] = []
        self._job = job
        self._size = f"{size[0]}x{size[1]}"
        self._names = names

    def write(self, state: str, expect: dict[str, Any], capture: Capture, text: str) -> Path:
        host = socket.gethostname()
        if capture.title == host:
            # tmux titles a new pane with the name of the machine.
            capture = msgspec.structs.replace(capture, title="host")
        content = corpus.encode(
            capture,
            program=self._job.program,
            version=self._job.version,
            state=state,
            captured_at=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            text=text,
            expect=expect,
        )
        for found, shown in self._names.items():
            content = content.replace(found, shown)
        folder = self._job.out / self._job.program / self._job.version
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{state}--{self._size}.json"
        path.write_text(content)
        self.files.append(path)
        return path


def system_path() -> str:
    """Where node, git and the usual commands are; nothing else of the user's PATH."""
    found: Iterable[str | None] = (shutil.which(name) for name in ("node", "git", "bash"))
    folders: Sequence[str] = [str(Path(path).parent) for path in found if path]
    return ":".join(dict.fromkeys([*folders, "/usr/local/bin", "/usr/bin", "/bin"]))
