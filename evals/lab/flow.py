"""Drives one agent in one size through its states and records each with its truth.

A step that does not come about (an older version lacks the tool, a dialog has other words) is
named as missed and records nothing: a wrong label is worse than a missing one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

import msgspec

from evals.lab import label
from evals.lab.agent import Agent, Approval, Dialog
from evals.lab.label import Expect
from evals.lab.scenario import CACHE, CHECKS, DATABASE, SEED, Choice, named
from evals.lab.terminal import PROMPT, Terminal

CHOICES: dict[str, tuple[Choice, ...]] = {
    "ask_one": (CACHE,),
    "ask_many": (CHECKS,),
    "ask_two": (DATABASE, SEED),
}
STATES = {"ask_one": "question_single", "ask_many": "question_multi", "ask_two": "question_two"}

Save = Callable[[str, Expect], None]


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. `start`: until an agent shows anything (OpenCode migrates a database first);
    `turn`: until what a step waits for is there; `settle`: what a dialog gets to finish drawing."""

    start: float = 180.0
    turn: float = 60.0
    settle: float = 1.0


class MissedError(Exception):
    """A step did not come about. `str()` says what was waited for."""


class Flow:
    """One session. `save(state, expect)` writes what the terminal shows now; `release` ends the
    model's slow answers; `gate(True)` lets the project's slow command end, `gate(False)` makes it
    slow again."""

    def __init__(
        self,
        agent: Agent,
        terminal: Terminal,
        save: Save,
        release: Callable[[], None],
        gate: Callable[[bool], None],
        pace: Pace,
    ) -> None:
        self._agent = agent
        self._program = agent.program
        self._terminal = terminal
        self._save = save
        self._release = release
        self._gate = gate
        self._pace = pace

    def run(self, only: Sequence[str] = ()) -> dict[str, str]:
        """All steps, or those whose name holds one of `only`; the missed ones with the reason."""
        missed: dict[str, str] = {}
        for name, step in self._steps():
            chosen = not only or name in ("start", "leave") or any(part in name for part in only)
            if not chosen:
                continue
            try:
                step()
            except MissedError as error:
                missed[name] = str(error)
                if name == "start":
                    break
            self._recover()
        return missed

    def _steps(self) -> list[tuple[str, Callable[[], None]]]:
        steps: list[tuple[str, Callable[[], None]]] = [
            ("start", self._start),
            ("idle", self._idle),
            ("working_stream", self._stream),
            ("working_think", self._think),
            ("working_silent", self._silent),
            ("working_tool", self._tool),
        ]
        for approval in self._agent.approvals:
            steps.append((approval.state, self._approval(approval)))
        steps += [(STATES[name], self._question(name)) for name in self._agent.questions]
        if self._agent.plan:
            steps.append(("plan", self._plan))
        if self._agent.background_mark:
            steps.append(("background", self._background))
        steps.append(("overlays", self._overlays))
        steps.append(("texts", self._texts))
        steps += [(name, self._error(name)) for name in self._agent.errors]
        steps.append(("leave", self._leave))
        return steps

    # --- start and idle -------------------------------------------------------------------------

    def _start(self) -> None:
        self._terminal.line(f"clear; {self._agent.package.executable}")
        if self._agent.start:
            self._start_dialogs()
        self._need(self._agent.ready, "its composer", self._pace.start)
        time.sleep(2 * self._pace.settle)
        self._need_idle()
        self._save("idle_empty", label.idle(self._program))

    def _start_dialogs(self) -> None:
        """A new folder is asked about, sometimes after the composer was drawn (Codex), in some
        versions not at all (Codex 0.107); another question may follow (Claude Code)."""
        left = list(self._agent.start)
        marks = "|".join([self._agent.ready, *(dialog.mark for dialog in left)])
        self._need(marks, "its first screen", self._pace.start)
        timeout = self._pace.turn / 3
        while left:
            found = self._first(left, timeout)
            if found is None:
                break
            self._ask(found.state, found.kind, found.question)
            self._terminal.keys(*found.keys)
            # What asked the same under other words will not come any more.
            left = [dialog for dialog in left if dialog.state != found.state]
            timeout = 4 * self._pace.settle

    def _first(self, dialogs: list[Dialog], timeout: float) -> Dialog | None:
        """The dialog of these that is up, or comes up within `timeout` seconds."""
        marks = "|".join(f"(?:{dialog.mark})" for dialog in dialogs)
        if not self._terminal.until(lambda: self._shows(marks), timeout):
            return None
        time.sleep(self._pace.settle)
        return next((dialog for dialog in dialogs if self._shows(dialog.mark)), None)

    def _idle(self) -> None:
        self._terminal.type("Look at the retry helper and tell me if we can")
        self._need(r"tell\s+me\s+if\s+we\s+can", "the draft")
        self._save("idle_draft", label.idle(self._program, draft=True))
        self._terminal.keys("C-u")
        self._say("quick")
        self._need(r"the\s+total", "the answer")
        self._need_idle()
        self._save("idle_done", label.idle(self._program))

    # --- working --------------------------------------------------------------------------------

    def _stream(self) -> None:
        self._say("stream")
        self._need_busy()
        time.sleep(2 * self._pace.settle)
        self._working("working_stream")
        self._terminal.type("and also check the refund path")
        self._need(r"refund\s+path", "the draft")
        self._save("working_draft", label.busy(self._program, draft=True))
        self._terminal.keys(self._agent.queue)
        time.sleep(self._pace.settle)
        self._save("working_queued", label.busy(self._program))
        self._release()
        time.sleep(self._pace.settle)
        self._release()
        self._need_idle()
        self._save("idle_after_stream", label.idle(self._program))

    def _think(self) -> None:
        self._say("think")
        self._need_busy()
        time.sleep(2 * self._pace.settle)
        self._working("working_think")
        self._terminal.keys(*self._agent.interrupt)
        self._need_idle()
        self._save("interrupted", label.idle(self._program))

    def _silent(self) -> None:
        self._say("silent")
        self._need_busy()
        time.sleep(4 * self._pace.settle)
        self._working("working_silent")

    def _tool(self) -> None:
        self._say("tool")
        if self._agent.approves_tools:
            if not self._terminal.until(self._blocked, self._pace.turn):
                raise MissedError("the dialog for the command did not come up")
            time.sleep(self._pace.settle)
            self._terminal.keys("Enter")
        self._need_busy()
        time.sleep(3 * self._pace.settle)
        self._working("working_tool")
        self._gate(True)
        self._need(r"slow\s+tests\s+passed", "the end of the command")
        self._need_idle()
        self._save("idle_after_tool", label.idle(self._program))

    # --- waiting --------------------------------------------------------------------------------

    def _approval(self, approval: Approval) -> Callable[[], None]:
        def step() -> None:
            self._say(approval.scenario)
            self._ask(approval.state, "approval", approval.question, words=approval.words)
            if approval.more:
                self._terminal.keys(*approval.more)
                time.sleep(self._pace.settle)
                state = f"{approval.state}_moved"
                self._ask(state, "approval", approval.question, words=approval.words)

        return step

    def _question(self, scenario: str) -> Callable[[], None]:
        first, *others = CHOICES[scenario]

        def step() -> None:
            if self._agent.questions_in_plan_mode and self._agent.plan:
                self._mode(self._agent.plan.mode, on=True)
            self._say(scenario)
            self._ask(STATES[scenario], "question", first.question, choice=first)
            for choice in others:
                self._terminal.keys("Enter")
                state = f"{STATES[scenario]}_second"
                self._ask(state, "question", choice.question, choice=choice)

        return step

    def _plan(self) -> None:
        plan = self._agent.plan
        assert plan is not None
        self._mode(plan.mode, on=True)
        self._save("idle_plan_mode", label.idle(self._program))
        self._say("plan")
        self._ask("plan_approval", "plan", plan.question)
        self._recover()
        self._mode(plan.mode, on=False)

    # --- the rest -------------------------------------------------------------------------------

    def _background(self) -> None:
        self._say("background")
        self._need(r"port\s+5173", "the answer")
        self._need_idle()
        self._need(self._agent.background_mark, "the row of the background command")
        self._save("idle_bg_shell", label.idle(self._program, background=True))

    def _overlays(self) -> None:
        for overlay in self._agent.overlays:
            self._terminal.type(overlay.text)
            if overlay.enter:
                self._terminal.keys("Enter")
            self._need(overlay.mark, overlay.state)
            time.sleep(self._pace.settle)
            self._save(overlay.state, label.overlay(self._program))
            self._terminal.keys("Escape")
            time.sleep(self._pace.settle)
            self._recover()

    def _texts(self) -> None:
        """Answers that read like something else."""
        for state, name, mark, more in (
            ("idle_end_question", "asked_in_prose", r"next\s+release", {"asked_in_prose": True}),
            ("idle_lookalike_menu", "dialog_quoted", r"only\s+examples", {"lookalike": "dialog"}),
            ("idle_long_reply", "long_reply", "part_120", {}),
        ):
            self._say(name)
            self._need(mark, "the answer")
            self._need_idle()
            self._save(state, label.idle(self._program, **more))

    def _error(self, name: str) -> Callable[[], None]:
        def step() -> None:
            self._say(name)
            if self._agent.retry_mark and name == "error_500":
                self._need(self._agent.retry_mark, "the row that it tries again")
                self._save("retrying_500", label.busy(self._program))
            self._need(r"(?i)error|unauthorized|high demand|invalid|too long", "the error")
            self._need_idle(2 * self._pace.turn)
            self._save(name, label.failed(self._program))

        return step

    def _leave(self) -> None:
        self._terminal.line(self._agent.leave)
        if not self._terminal.wait(PROMPT, 3 * self._pace.settle):
            # Some ask whether a command that still runs may be ended.
            self._terminal.keys("Enter")
        self._need(PROMPT, "the shell")
        time.sleep(self._pace.settle)
        self._save("exited", label.gone(self._program))

    # --- pace -----------------------------------------------------------------------------------

    def _say(self, scenario: str) -> None:
        self._terminal.line(named(scenario).sentence)

    def _ask(
        self,
        state: str,
        kind: str,
        question: str,
        *,
        words: tuple[str, ...] = (),
        choice: Choice | None = None,
    ) -> None:
        """Record a dialog: its question must stand there, and the choices must be readable."""
        # A narrow screen wraps the question.
        self._need(r"\s+".join(map(re.escape, question[:24].split())), question)
        time.sleep(self._pace.settle)
        screen = self._terminal.screen()
        if words:
            options = label.present(screen, words)
        else:
            options = label.numbered(screen, question, described=choice is not None)
            options = options or label.beside_cursor(screen)
        known = [text for text, _ in choice.options] if choice else []
        if not options or options[: len(known)] != known:
            raise MissedError(f"its choices could not be read below {question!r}")
        full = question if question.endswith("?") else _sentence(screen, question)
        self._save(state, label.waiting(self._program, kind, full, options))

    def _working(self, state: str) -> None:
        if not self._busy():
            raise MissedError("the turn was over before it could be recorded")
        self._save(state, label.busy(self._program))

    def _mode(self, mark: str, *, on: bool) -> None:
        for _ in range(6):
            if self._shows(mark) == on:
                return
            assert self._agent.plan is not None
            self._terminal.keys(*self._agent.plan.keys)
            time.sleep(self._pace.settle)
        raise MissedError(f"the mode {mark!r} could not be switched")

    def _recover(self) -> None:
        """Back to a free composer, whatever stands there; or at the shell."""
        for _ in range(8):
            if self._shows(PROMPT):
                return
            if self._busy():
                self._release()
                self._gate(True)
                self._terminal.keys(*self._agent.interrupt)
            elif self._agent.refusal_mark and self._shows(self._agent.refusal_mark):
                self._terminal.keys("Enter")
            elif self._blocked():
                self._terminal.keys("Escape")
            else:
                break
            time.sleep(self._pace.settle)
        self._gate(False)
        self._terminal.keys("C-u")

    def _busy(self) -> bool:
        spins = self._agent.working_title
        titled = bool(spins) and re.search(spins, self._terminal.title()) is not None
        return titled or self._shows(self._agent.busy)

    def _blocked(self) -> bool:
        rows = [row for row in self._terminal.screen().split("\n") if row.strip()]
        bottom = "\n".join(rows[-self._agent.dialog_rows :])
        return re.search(self._agent.blocked, bottom) is not None

    def _shows(self, pattern: str) -> bool:
        return re.search(pattern, self._terminal.screen().rstrip(), re.MULTILINE) is not None

    def _need(self, pattern: str, what: str, timeout: float | None = None) -> None:
        if not self._terminal.until(lambda: self._shows(pattern), timeout or self._pace.turn):
            raise MissedError(f"{what} did not come up")

    def _need_busy(self) -> None:
        if not self._terminal.until(self._busy, self._pace.turn):
            raise MissedError("the turn did not begin")

    def _need_idle(self, timeout: float | None = None) -> None:
        """Two looks a second apart: between a tool and the next request nothing says busy."""

        def free() -> bool:
            for _ in range(2):
                if self._busy() or self._blocked() or not self._shows(self._agent.ready):
                    return False
                time.sleep(self._pace.settle)
            return not self._busy()

        if not self._terminal.until(free, timeout or self._pace.turn):
            raise MissedError("the turn did not end")


def _sentence(screen: str, beginning: str) -> str:
    """The question as the last row with its beginning shows it: agents put names into it."""
    row = next(row for row in reversed(screen.split("\n")) if beginning in row)
    return row[row.index(beginning) :].rstrip(" │┃")
