"""Plans: structured plan calls, replayed in transcript order. Free text is never interpreted.

1. A full list replaces everything before it; a status that is none of the three reads as pending.
2. `advance` completes the step in progress and starts the next pending one.
3. `done` + `start` complete the listed steps and start the named one; numbers count from 1.
4. A wrap-up completes the step in progress; pending steps stay pending.
5. Steps or wrap-ups with no full list before them give no plan.
6. Claude Code tasks: only a successful result that matches its request creates or changes a task.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from typing import Any, Literal

from agent_history.records import PlanItem, PlanProgress

StepStatus = Literal["pending", "in_progress", "completed"]

CLAUDE_TASK_TOOLS = frozenset({"TaskCreate", "TaskUpdate"})
CLAUDE_PLAN_TOOLS = CLAUDE_TASK_TOOLS | {
    "TodoWrite",
    "mcp__ccd_turn__update_plan",
    "mcp__ccd_turn__wrap_up",
}


class Step:
    """One step while the plan is replayed."""

    __slots__ = ("content", "status", "task")

    def __init__(self, content: str, status: StepStatus, task: str | None = None) -> None:
        self.content = content
        self.status = status
        self.task = task


def status_of(value: object) -> StepStatus:
    """The step's own status; anything else is pending."""
    if value == "in_progress":
        return "in_progress"
    return "completed" if value == "completed" else "pending"


def key_of(content: str, occurrence: int) -> str:
    """The step's key: a hash of its text, and of its number among equal texts."""
    return hashlib.sha256(f"{occurrence}\0{content}".encode()).hexdigest()[:16]


class PlanReplay:
    """The plan as the calls so far left it. Pure: fed with calls and results, asked for items."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._listed = False
        self._requests: dict[str, tuple[str, dict[str, Any]]] = {}

    @property
    def known(self) -> bool:
        """Was there a full list, or a confirmed task?"""
        return bool(self.steps) or self._listed

    def full_list(self, items: Iterable[object], text_key: str) -> None:
        """Rule 1: a full list of `{text_key: …, "status": …}`."""
        self.steps = [
            Step(item[text_key], status_of(item.get("status")))
            for item in items
            if isinstance(item, dict) and isinstance(item.get(text_key), str) and item[text_key]
        ]
        self._listed = True
        self._requests.clear()

    def advance(self) -> None:
        """Rule 2."""
        if not self._listed:
            return
        for index, step in enumerate(self.steps):
            if step.status == "in_progress":
                step.status = "completed"
                later = self.steps[index + 1 :]
                break
        else:
            later = self.steps
        for step in later or self.steps:
            if step.status == "pending":
                step.status = "in_progress"
                return

    def mark(self, done: object, start: object) -> None:
        """Rule 3. Numbers outside the list are passed over."""
        if not self._listed:
            return
        numbers = done if isinstance(done, list) else [done]
        for number in numbers:
            step = self._numbered(number)
            if step is not None:
                step.status = "completed"
        begun = self._numbered(start)
        if begun is not None:
            begun.status = "in_progress"

    def wrap_up(self) -> None:
        """Rule 4."""
        for step in self.steps if self._listed else ():
            if step.status == "in_progress":
                step.status = "completed"

    def _numbered(self, number: object) -> Step | None:
        if not isinstance(number, int) or isinstance(number, bool):
            return None
        return self.steps[number - 1] if 1 <= number <= len(self.steps) else None

    def claude_call(self, call: str, name: str, arguments: dict[str, Any]) -> None:
        """A plan call of Claude Code or of its desktop app."""
        if name == "TodoWrite":
            if isinstance(arguments.get("todos"), list):
                self.full_list(arguments["todos"], "content")
        elif name == "mcp__ccd_turn__update_plan":
            self._app_call(arguments)
        elif name == "mcp__ccd_turn__wrap_up":
            self.wrap_up()
        elif name in CLAUDE_TASK_TOOLS:
            self._requests[call] = (name, arguments)

    def _app_call(self, arguments: dict[str, Any]) -> None:
        items = arguments.get("items")
        if isinstance(items, list):
            texts = [{"content": item} if isinstance(item, str) else item for item in items]
            keys = ("content", "step", "text", "title")
            found = next(
                (key for key in keys if any(isinstance(t, dict) and key in t for t in texts)),
                "content",
            )
            self.full_list(texts, found)
        elif arguments.get("advance"):
            self.advance()
        elif "done" in arguments or "start" in arguments:
            self.mark(arguments.get("done"), arguments.get("start"))

    def claude_result(self, call: str, failed: bool, result: object) -> None:
        """Rule 6: the structured result of a task call; anything unclear is ignored."""
        request = self._requests.pop(call, None)
        if request is None or failed or not isinstance(result, dict):
            return
        name, arguments = request
        if name == "TaskCreate":
            self._created(arguments, result)
        elif result.get("success") is True:
            self._updated(arguments, result)

    def _created(self, arguments: dict[str, Any], result: dict[str, Any]) -> None:
        task = result.get("task")
        if not isinstance(task, dict):
            return
        number, subject = str(task.get("id") or ""), task.get("subject") or arguments.get("subject")
        if (
            not number
            or not isinstance(subject, str)
            or subject != arguments.get("subject", subject)
        ):
            return
        if self._listed:
            # Tasks after a full list are another source: the newest source is the plan.
            self.steps, self._listed = [], False
        step = Step(subject, "pending", number)
        for index, old in enumerate(self.steps):
            if old.task == number:
                self.steps[index] = step
                return
        self.steps.append(step)

    def _updated(self, arguments: dict[str, Any], result: dict[str, Any]) -> None:
        number = str(arguments.get("taskId") or "")
        if str(result.get("taskId", number)) != number or not number:
            return
        step = next((step for step in self.steps if step.task == number), None)
        if step is None:
            return
        change = result.get("statusChange")
        status = change.get("to") if isinstance(change, dict) else arguments.get("status")
        if status == "deleted":
            self.steps.remove(step)
            return
        if status in ("pending", "in_progress", "completed"):
            step.status = status_of(status)
        fields = result.get("updatedFields")
        subject = arguments.get("subject")
        if (
            isinstance(subject, str)
            and subject
            and isinstance(fields, list)
            and "subject" in fields
        ):
            step.content = subject

    def items(self, ticks: Collection[str] = ()) -> tuple[PlanItem, ...]:
        """The steps with their keys; `ticks` are the keys the user ticked."""
        seen: dict[str, int] = {}
        out = []
        for step in self.steps:
            occurrence = seen.get(step.content, 0)
            seen[step.content] = occurrence + 1
            key = key_of(step.content, occurrence)
            out.append(
                PlanItem(content=step.content, status=step.status, key=key, ticked=key in ticks)
            )
        return tuple(out)

    def progress(self, ticks: Collection[str] = ()) -> PlanProgress | None:
        """How far the plan is; None when the agent kept none. A ticked step counts as done."""
        if not self.steps:
            return None
        items = self.items(ticks)
        current = next(
            (item.content for item in items if item.status == "in_progress" and not item.ticked),
            None,
        )
        done = sum(item.ticked or item.status == "completed" for item in items)
        return PlanProgress(total=len(items), done=done, current=current)
