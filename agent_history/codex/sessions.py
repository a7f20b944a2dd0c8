"""From Codex folds and state to the records this library gives out. Pure."""

from __future__ import annotations

import msgspec

from agent_history.asks import approval, question
from agent_history.calls import CallState, running_tool
from agent_history.codex.fold import PERMISSION_TOOL, QUESTION_TOOL, CodexFold
from agent_history.codex.state import Known
from agent_history.codex.usage import ModelTokens, model_uses, sum_tokens
from agent_history.context import ContextSample
from agent_history.fields import first_line, project_of
from agent_history.options import Options
from agent_history.reading.decode import as_dict
from agent_history.records import (
    Ask,
    Child,
    Context,
    ContextParts,
    Detail,
    ErrorAsk,
    Lines,
    NamedAgent,
    RunningTool,
    Said,
    Session,
    Status,
    Subagent,
    UnknownAsk,
    UsageLimits,
    UsageWindow,
)
from agent_history.status import Facts, decide, still_open

HARNESS = "codex"


class Totals(msgspec.Struct, array_like=True):
    """Numbers of one thread that only a whole read knows; what the persistent cache keeps."""

    models: dict[str, ModelTokens]
    prompts: int
    added: int
    removed: int
    sample: tuple[list[int], int, int, int | None]
    started_at: int | None
    planned: bool
    """Is there a plan in the part that only a whole read sees?"""


class Thread(msgspec.Struct, frozen=True):
    """A thread as the reader holds it."""

    thread: str
    fold: CodexFold
    path: str
    known: Known
    name: str
    """Its name in the thread index, or ''."""
    live: bool


def totals_of(fold: CodexFold) -> Totals:
    """The numbers of a fold."""
    return Totals(
        models=fold.tokens.models,
        prompts=fold.prompts,
        added=fold.changes.added,
        removed=fold.changes.removed,
        sample=fold.sample.state(),
        started_at=fold.started_at,
        planned=fold.plan.known,
    )


def seed(fold: CodexFold, totals: Totals) -> None:
    """Let a fold that saw only the ends count on from the numbers of a whole read."""
    fold.tokens.models = totals.models
    fold.prompts = totals.prompts
    fold.changes.added, fold.changes.removed = totals.added, totals.removed
    fold.sample = ContextSample.from_state(totals.sample)
    fold.started_at = totals.started_at


def title_of(thread: Thread) -> str:
    """The newest name, else the state database's title, else the first prompt's line."""
    known = thread.known
    return first_line(known.name or thread.name or known.title or thread.fold.first_prompt)


def agent_name(thread: Thread, parent: CodexFold | None) -> str:
    """A subagent's name: from the thread index, else its nickname."""
    recorded = parent.agents.get(thread.thread, "") if parent else ""
    nickname = thread.fold.nickname or thread.known.nickname or recorded
    return thread.known.name or thread.name or nickname or title_of(thread) or thread.thread


def facts_of(thread: Thread, subagents: int) -> Facts:
    """What the thread's rollout, receipts and lock say."""
    fold = thread.fold
    return Facts(
        turn_open=fold.open,
        ended_at=fold.ended_at,
        last_at=fold.last_at,
        outcome=fold.outcome,
        live=thread.live,
        question=asked(fold) is not None,
        approval=awaiting_approval(fold) is not None,
        only_agents_open=fold.only_agents_open(),
        unread=thread.known.unread,
        subagents=subagents,
    )


def asked(fold: CodexFold) -> CallState | None:
    """The open question: an event, or the open call of the question tool."""
    if fold.waiting_for == "question":
        return fold.waiting
    return fold.open_call(QUESTION_TOOL)


def awaiting_approval(fold: CodexFold) -> CallState | None:
    """What waits for approval: an event, or the open call of the permission tool.

    A command's own approval is not written by current versions (0.9x-0.17x): such a wait cannot be
    told from a running command, and it is not guessed.
    """
    if fold.waiting_for == "approval":
        return fold.waiting
    return fold.open_call(PERMISSION_TOOL)


def ask_of(fold: CodexFold, status: Status, reason: str) -> Ask | None:
    """What the thread needs from its user."""
    if status == "error":
        return ErrorAsk(text=fold.errors[-1].message if fold.errors else "")
    if status != "asking":
        return None
    asking, waiting = asked(fold), awaiting_approval(fold)
    if reason == "question" and asking is not None:
        return question(asking.arguments())
    return approval(waiting, fold.cwd) if waiting is not None else UnknownAsk()


def newest_tool(fold: CodexFold) -> RunningTool | None:
    """The newest open call."""
    for state in reversed(fold.calls.open.values()):
        return running_tool(state, fold.cwd)
    return None


def usage_limits(fold: CodexFold) -> UsageLimits | None:
    """The account's limits as this thread last recorded them."""
    if not fold.limits:
        return None
    data = as_dict(fold.limits)
    windows = []
    for name in ("primary", "secondary"):
        window = data.get(name)
        if not isinstance(window, dict):
            continue
        used, resets = window.get("used_percent"), window.get("resets_at")
        minutes = window.get("window_minutes")
        after = window.get("resets_in_seconds")
        at = None
        if isinstance(resets, int | float):
            at = int(resets * 1000)
        elif isinstance(after, int | float):
            at = fold.limits_at + int(after * 1000)
        windows.append(
            UsageWindow(
                id=name,
                used_percent=float(used) if isinstance(used, int | float) else 0.0,
                window_minutes=minutes if isinstance(minutes, int) else None,
                resets_at=at,
            )
        )
    plan = data.get("plan_type")
    return UsageLimits(
        at=fold.limits_at,
        subscription=plan if isinstance(plan, str) else None,
        windows=tuple(windows),
    )


def session(
    thread: Thread,
    children: list[Thread],
    totals: Totals,
    options: Options,
    now: int,
    partial: bool,
    notes: tuple[str, ...],
) -> Session:
    """The thread's record."""
    fold, known = thread.fold, thread.known
    busy = sorted(
        (child for child in children if still_open(facts_of(child, 0), now)),
        key=lambda child: child.fold.started_at or 0,
    )
    facts = facts_of(thread, len(busy))
    status, reason = decide(facts, now)
    is_open = still_open(facts, now)
    running = status in ("working", "delegating") and is_open
    project, path, worktree = project_of(fold.first_cwd)
    last = max([fold.last_at or 0, *(child.fold.last_at or 0 for child in children)])
    context = None
    if fold.context is not None:
        context = Context(used=fold.context, limit=fold.limit)
    return Session(
        id=f"{HARNESS}:{thread.thread}",
        harness=HARNESS,
        title=title_of(thread),
        project=project,
        project_path=path,
        worktree=worktree,
        cwd=fold.cwd,
        git_branch=fold.branch or known.branch,
        model=fold.model,
        effort=fold.effort,
        status=status,
        status_reason=reason,
        ask=ask_of(fold, status, reason),
        usage_limits=usage_limits(fold),
        live=thread.live,
        started_at=totals.started_at,
        last_activity_at=last or None,
        tool=newest_tool(fold) if running else None,
        tokens=sum_tokens(totals.models),
        context=context,
        context_history=ContextSample.from_state(totals.sample).values(fold.context),
        cost_usd=None,
        lines=Lines(added=totals.added, removed=totals.removed),
        plan=fold.plan.progress(options.ticks),
        subagents=len(busy),
        working_subagents=tuple(
            NamedAgent(id=child.thread, name=agent_name(child, fold)) for child in busy
        ),
        prompts=totals.prompts,
        turn_started_at=fold.turn_started_at if is_open else None,
        children=tuple(Child(id=f"{HARNESS}:{child.thread}") for child in children),
        turn_outcome=None if is_open else fold.outcome,
        agent_version=fold.version,
        partial=partial,
        notes=notes,
        excerpt=fold.latest_excerpt(),
    )


def subagent(child: Thread, parent: CodexFold, now: int) -> Subagent:
    """A child thread as `Detail.subagents` shows it."""
    fold = child.fold
    facts = facts_of(child, 0)
    status, _ = decide(facts, now)
    return Subagent(
        id=child.thread,
        name=agent_name(child, parent),
        type=fold.role or child.known.role,
        status=status,
        model=fold.model,
        tokens=sum_tokens(fold.tokens.models),
        tool=newest_tool(fold) if still_open(facts, now) else None,
        started_at=fold.started_at,
        last_activity_at=fold.last_at,
    )


def reserved_of(limit: int) -> int:
    """What Codex keeps free: it reports 95 % of its window and compacts at 90 % of all of it."""
    return max(0, limit - round(limit / 0.95 * 0.9))


def detail(
    thread: Thread,
    children: list[Thread],
    said: tuple[tuple[Said, ...], tuple[Said, ...]],
    options: Options,
    now: int,
) -> Detail:
    """The thread's details."""
    fold = thread.fold
    parts = fold.parts
    breakdown = None
    if parts is not None and fold.context is not None:
        breakdown = fold.sizes.breakdown(
            fold.context_at, fold.context, fold.limit, reserved_of(fold.limit), parts.output_tokens
        )
    ordered = sorted(children, key=lambda child: child.fold.started_at or 0)
    thoughts, replies = said
    return Detail(
        id=f"{HARNESS}:{thread.thread}",
        session_id=thread.thread,
        source=thread.path,
        models=model_uses(fold.tokens.models),
        context_parts=None
        if parts is None
        else ContextParts(
            input=parts.input_tokens - parts.cached_input_tokens - parts.cache_write_input_tokens,
            cache_read=parts.cached_input_tokens,
            cache_write=parts.cache_write_input_tokens,
            output=(fold.context or 0) - parts.input_tokens,
        ),
        history=tuple(fold.history),
        compactions=None,
        activity=fold.calls.activity(fold.cwd, still_open(facts_of(thread, 0), now)),
        tools=fold.calls.tools(),
        plan=fold.plan.items(options.ticks),
        subagents=tuple(subagent(child, fold, now) for child in ordered),
        files=fold.changes.files(fold.cwd),
        prompts=tuple(fold.recent_prompts),
        thoughts=thoughts,
        replies=replies,
        errors=tuple(fold.errors),
        context_breakdown=breakdown,
    )
