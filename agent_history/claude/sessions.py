"""From folds and live records to the records this library gives out. Pure."""

from __future__ import annotations

import msgspec

from agent_history.asks import approval, question
from agent_history.calls import running_tool
from agent_history.claude.fold import ClaudeFold
from agent_history.claude.live import AppRecord, LiveRecord
from agent_history.claude.usage import (
    ModelTotal,
    UsageBook,
    merged,
    model_uses,
    total_cost,
    total_tokens,
)
from agent_history.context import ContextSample
from agent_history.fields import (
    HALF_HOUR_MS,
    first_line,
    project_of,
)
from agent_history.options import Options
from agent_history.prices import window_of
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
)
from agent_history.status import Facts, decide, still_open

HARNESS = "claude-code"
RESERVED = 33_000
"""Tokens Claude Code keeps free for compacting by default; the setting is not read."""


class Totals(msgspec.Struct, array_like=True):
    """Numbers of one transcript that only a whole read knows; what the persistent cache keeps."""

    models: dict[str, ModelTotal]
    side: dict[str, ModelTotal]
    prompts: int
    added: int
    removed: int
    sample: tuple[list[int], int, int, int | None]
    started_at: int | None
    planned: bool
    """Is there a plan in the part that only a whole read sees?"""
    title_at: int | None = None
    """Offset of the newest title record, where it lies outside the ends."""


def totals_of(fold: ClaudeFold) -> Totals:
    """The numbers of a fold."""
    return Totals(
        models=fold.usage.models,
        side=fold.side.models,
        prompts=fold.prompts,
        added=fold.changes.added,
        removed=fold.changes.removed,
        sample=fold.sample.state(),
        started_at=fold.started_at,
        planned=fold.plan.known,
    )


def seed(fold: ClaudeFold, totals: Totals) -> None:
    """Let a fold that saw only the ends count on from the numbers of a whole read."""
    fold.usage.models, fold.side.models = totals.models, totals.side
    fold.prompts = totals.prompts
    fold.changes.added, fold.changes.removed = totals.added, totals.removed
    fold.sample = ContextSample.from_state(totals.sample)
    fold.started_at = totals.started_at


class Agent(msgspec.Struct, frozen=True):
    """One subagent: its transcript and what its `.meta.json` says."""

    agent_id: str
    fold: ClaudeFold
    path: str
    description: str = ""
    type: str = ""


def agent_name(agent: Agent, parent: ClaudeFold | None) -> str:
    """A subagent's name: the description it was started with, else its first prompt's line."""
    known = parent.agents.get(agent.agent_id) if parent else None
    return (
        agent.description
        or (known[0] if known else "")
        or agent.fold.first_prompt
        or agent.agent_id
    )


def agent_facts(agent: Agent, parent: ClaudeFold | None) -> Facts:
    """The subagent's turn; a result the parent already has ends it."""
    fold = agent.fold
    known = parent.agents.get(agent.agent_id) if parent else None
    finished = known is not None and known[2]
    return Facts(
        turn_open=fold.open and not finished,
        ended_at=fold.ended_at if fold.ended_at is not None else fold.last_at,
        last_at=fold.last_at,
        outcome="completed" if finished and fold.outcome is None else fold.outcome,
    )


def working(agent: Agent, parent: ClaudeFold | None, now: int) -> bool:
    """Is the subagent at work? Its parent's process says nothing about it: the transcript does."""
    return still_open(agent_facts(agent, parent), now)


def subagent(agent: Agent, parent: ClaudeFold | None, now: int) -> Subagent:
    """A subagent as `Detail.subagents` shows it."""
    fold = agent.fold
    known = parent.agents.get(agent.agent_id) if parent else None
    facts = agent_facts(agent, parent)
    status, _ = decide(facts, now)
    is_open = still_open(facts, now)
    return Subagent(
        id=agent.agent_id,
        name=agent_name(agent, parent),
        type=agent.type or (known[1] if known else ""),
        status=status,
        model=fold.model,
        tokens=fold.usage.tokens(),
        tool=newest_tool(fold) if is_open else None,
        started_at=fold.started_at,
        last_activity_at=fold.last_at,
    )


def inline_agent(fold: ClaudeFold) -> tuple[Subagent, ...]:
    """Side-chain rows inside the transcript itself: one entry, they carry no agent id."""
    tokens = total_tokens(fold.side.models)
    if tokens is None:
        return ()
    model = next(iter(fold.side.models))
    return (
        Subagent(
            id="inline",
            name="inline side chains",
            type="",
            status="idle",
            model=model,
            tokens=tokens,
            tool=None,
            started_at=None,
            last_activity_at=None,
        ),
    )


def newest_tool(fold: ClaudeFold) -> RunningTool | None:
    """The newest open call."""
    for state in reversed(fold.calls.open.values()):
        return running_tool(state, fold.cwd)
    return None


def ask_of(fold: ClaudeFold, status: Status, reason: str) -> Ask | None:
    """What the session needs from its user."""
    if status == "error":
        return ErrorAsk(text=fold.errors[-1].message if fold.errors else "")
    if status != "asking":
        return None
    asking = fold.question_open()
    if reason == "question" and asking is not None:
        return question(asking.arguments())
    if reason == "approval":
        return approval(next(reversed(fold.calls.open.values())), fold.cwd)
    return UnknownAsk()


def title_of(fold: ClaudeFold, app: AppRecord | None) -> str:
    """The title: the user's, the app's, the model's, a summary's, the first prompt's line."""
    app_title = app.title if app else ""
    return first_line(
        fold.custom_title or app_title or fold.ai_title or fold.summary or fold.first_prompt
    )


def session(
    session_id: str,
    fold: ClaudeFold,
    agents: list[Agent],
    totals: Totals,
    live: LiveRecord | None,
    app: AppRecord | None,
    options: Options,
    now: int,
    partial: bool,
    notes: tuple[str, ...],
) -> Session:
    """The session's record."""
    busy = sorted(
        (agent for agent in agents if working(agent, fold, now)),
        key=lambda agent: agent.fold.started_at or 0,
    )
    facts = Facts(
        turn_open=fold.open,
        ended_at=fold.ended_at,
        last_at=fold.last_at,
        outcome=fold.outcome,
        live=live is not None,
        process=live.status if live else "",
        process_at=live.updated_at if live else None,
        question=fold.question_open() is not None,
        approval=bool(fold.calls.open) and bool(live and live.status == "waiting"),
        only_agents_open=fold.only_agents_open(),
        unread=app.unread if app else None,
        subagents=len(busy),
    )
    status, reason = decide(facts, now)
    running = status in ("working", "delegating") and still_open(facts, now)
    project, path, worktree = project_of(fold.first_cwd or fold.cwd)
    last = max((agent.fold.last_at or 0 for agent in agents), default=0)
    used = fold.latest.used if fold.latest else None
    tokens = total_tokens(totals.models)
    return Session(
        id=f"{HARNESS}:{session_id}",
        harness=HARNESS,
        title=title_of(fold, app),
        project=project,
        project_path=path,
        worktree=fold.worktree or worktree or project_of(fold.cwd)[2],
        cwd=fold.cwd,
        git_branch=fold.branch,
        model=fold.model,
        effort=fold.effort,
        status=status,
        status_reason=reason,
        ask=ask_of(fold, status, reason),
        usage_limits=None,
        live=live is not None,
        started_at=totals.started_at,
        last_activity_at=max(last, fold.last_at or 0) or None,
        tool=newest_tool(fold) if running else None,
        tokens=tokens,
        context=Context(used=used, limit=limit_of(fold)) if used is not None else None,
        context_history=ContextSample.from_state(totals.sample).values(used),
        cost_usd=session_cost(fold, agents, totals),
        lines=Lines(added=totals.added, removed=totals.removed),
        plan=fold.plan.progress(options.ticks),
        subagents=len(busy),
        working_subagents=tuple(
            NamedAgent(id=agent.agent_id, name=agent_name(agent, fold)) for agent in busy
        ),
        awaiting=(),
        prompts=totals.prompts,
        turn_started_at=fold.turn_started_at if still_open(facts, now) else None,
        children=tuple(
            Child(id=f"{HARNESS}:{session_id}__agent-{agent.agent_id}") for agent in agents
        ),
        turn_outcome=None if still_open(facts, now) else fold.outcome,
        agent_version=fold.version,
        partial=partial,
        notes=notes,
        excerpt=fold.latest_excerpt(),
    )


def limit_of(fold: ClaudeFold) -> int:
    """The model's window; 0 when unknown. More in use than the window holds means a wider one."""
    limit = window_of(fold.model)
    used = fold.latest.used if fold.latest else 0
    return 1_000_000 if limit and limit < used <= 1_000_000 else limit


def session_cost(fold: ClaudeFold, agents: list[Agent], totals: Totals) -> float | None:
    """List price of every reply, subagents included, each reply once."""
    if fold.usage.models == totals.models:
        main, side = fold.usage, fold.side
    else:
        # Totals of an earlier run: the replies behind them are not in memory.
        main, side = UsageBook(), UsageBook()
        main.models, side.models = totals.models, totals.side
    models = merged(main, [side, *(agent.fold.usage for agent in agents)])
    return total_cost(models, fold.recorded_cost)


def detail(
    session_id: str,
    fold: ClaudeFold,
    agents: list[Agent],
    source: str,
    said: tuple[tuple[Said, ...], tuple[Said, ...]],
    options: Options,
    live: bool,
    now: int,
    agent: Agent | None = None,
    parent: ClaudeFold | None = None,
) -> Detail:
    """The session's details, or with `agent` that subagent's own."""
    latest = fold.latest
    recent = fold.last_at is not None and now - fold.last_at <= HALF_HOUR_MS
    running = fold.open and (live or recent)
    limit = limit_of(fold)
    breakdown = None
    if latest is not None:
        breakdown = fold.sizes.breakdown(
            fold.latest_at, latest.used, limit, RESERVED, latest.output
        )
    thoughts, replies = said
    subagents = None
    if agent is None:
        ordered = sorted(agents, key=lambda item: item.fold.started_at or 0)
        subagents = (*(subagent(item, fold, now) for item in ordered), *inline_agent(fold))
    identity = f"{HARNESS}:{session_id}"
    return Detail(
        id=identity,
        session_id=session_id,
        source=source,
        models=model_uses(fold.usage.models),
        context_parts=None
        if latest is None
        else ContextParts(
            input=latest.input,
            cache_read=latest.cache_read,
            cache_write=latest.cache_5m + latest.cache_1h,
            output=latest.output,
        ),
        history=tuple(fold.history),
        compactions=tuple(fold.compactions),
        activity=fold.calls.activity(fold.cwd, running),
        tools=fold.calls.tools(),
        plan=fold.plan.items(options.ticks),
        subagents=subagents,
        files=fold.changes.files(fold.cwd),
        prompts=tuple(fold.recent_prompts),
        thoughts=thoughts,
        replies=replies,
        errors=tuple(fold.errors),
        context_breakdown=breakdown,
        agent_id=agent.agent_id if agent else msgspec.UNSET,
        context_limit=(limit or None) if agent else msgspec.UNSET,
    )
