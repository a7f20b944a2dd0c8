"""Sessions and details for a person at a terminal. Control characters are taken out first."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agent_history.limits import newest
from agent_history.records import (
    ApprovalAsk,
    Detail,
    ErrorAsk,
    PlanItem,
    QuestionAsk,
    Session,
)
from agent_history.search import Hit

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
ID_SHOWN = 13
"""Characters of a session id in tables: the whole time stamp of the ids that begin with one."""

COLOURS = {
    "asking": "bold yellow", "error": "bold red", "working": "green", "delegating": "green",
    "done": "cyan", "idle": "dim",
}  # fmt: skip
MARKS = {"completed": "✓", "in_progress": "▸", "pending": "·"}


def plain(text: str) -> str:
    """Transcript text made safe for a terminal: no control codes, no markup."""
    return escape(_CONTROL.sub("", text))


def ago(at: int | None, now: int) -> str:
    """How long ago, in one unit."""
    if at is None:
        return "–"
    seconds = max(0, now - at) // 1000
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def count(number: int | None) -> str:
    """A number of tokens, short."""
    if number is None:
        return "–"
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def total(session: Session) -> int | None:
    """All tokens of the session's own thread."""
    tokens = session.tokens
    if tokens is None:
        return None
    return tokens.input + tokens.output + tokens.cache_read + tokens.cache_write


def short(identity: str) -> str:
    """The beginning of a session's own id: enough for `show`, which takes any beginning."""
    return plain((identity.partition(":")[2] or identity)[:ID_SHOWN])


def sessions_table(sessions: Iterable[Session], now: int) -> Table:
    """The list that `scan` prints."""
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("session", no_wrap=True, min_width=ID_SHOWN)
    for name in ("status", "why", "ago", "agent", "project"):
        table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=24)
    # The title takes what the others leave.
    table.add_column("title", ratio=1, no_wrap=True, overflow="ellipsis")
    for name in ("tokens", "cost", "plan"):
        table.add_column(name, justify="right", no_wrap=True)
    for session in sessions:
        plan = session.plan
        cost = "–" if session.cost_usd is None else f"${session.cost_usd:.2f}"
        table.add_row(
            short(session.id),
            f"[{COLOURS[session.status]}]{session.status}[/]",
            session.status_reason,
            ago(session.last_activity_at, now),
            session.harness.removesuffix("-code"),
            plain(session.project),
            plain(session.title),
            count(total(session)) + ("+" if session.partial else ""),
            cost,
            f"{plan.done}/{plan.total}" if plan else "–",
        )
    return table


def limit_lines(sessions: Iterable[Session], now: int) -> Iterable[str]:
    """The accounts' usage limits, as they were recorded last."""
    for (harness, subscription), limits in newest(sessions).items():
        windows = ", ".join(
            f"{window.used_percent:.0f} % of {window.id}"
            + (f" (resets in {ago(now, window.resets_at)})" if window.resets_at else "")
            for window in limits.windows
        )
        account = f"{harness} {subscription or ''}".rstrip()
        yield f"{plain(account)}: {windows}, {ago(limits.at, now)} ago"


def ask_lines(session: Session) -> Iterable[str]:
    """What the session needs."""
    ask = session.ask
    if isinstance(ask, QuestionAsk):
        for asked in ask.questions:
            yield f"  ? {plain(asked.text)}"
            yield from (f"    - {plain(option.label)}" for option in asked.options)
    elif isinstance(ask, ApprovalAsk):
        yield f"  ? {plain(ask.tool)}: {plain(ask.target)}"
    elif isinstance(ask, ErrorAsk):
        yield f"  ! {plain(ask.text) or 'the turn failed'}"


def plan_lines(items: Iterable[PlanItem]) -> Iterable[str]:
    """A plan's steps; `x` is a tick of the user."""
    for item in items:
        mark = "x" if item.ticked else MARKS[item.status]
        yield f"  {mark} {plain(item.content)}  [dim]{item.key}[/]"


def print_detail(console: Console, session: Session, detail: Detail, now: int) -> None:
    """What `show` prints."""
    colour = COLOURS[session.status]
    console.print(f"[bold]{plain(session.title)}[/]  [dim]{session.id}[/]")
    console.print(
        f"[{colour}]{session.status}[/] ({session.status_reason}), "
        f"{ago(session.last_activity_at, now)} ago, "
        f"{plain(session.cwd)} {plain(session.git_branch)}"
    )
    for line in ask_lines(session):
        console.print(line)
    context = session.context
    if context is not None:
        of = f" of {count(context.limit)}" if context.limit else ""
        console.print(f"context {count(context.used)}{of}, {session.model} {session.effort}")
    for use in detail.models or ():
        tokens = use.tokens
        cost = "" if use.cost_usd is None else f", ${use.cost_usd:.4f}"
        console.print(
            f"  {use.model}: {count(tokens.input)} in, {count(tokens.output)} out, "
            f"{count(tokens.cache_read)} read, {count(tokens.cache_write)} written{cost}"
        )
    sections: tuple[tuple[str, list[str]], ...] = (
        ("plan", list(plan_lines(detail.plan))),
        ("subagents", [
            f"  {agent.status:10} {plain(agent.name)} [dim]{agent.id}[/]"
            for agent in detail.subagents or ()
        ]),
        ("files", [
            f"  +{file.added} -{file.removed} {plain(file.path)}" for file in detail.files or ()
        ]),
        ("latest calls", [
            f"  {'✗' if call.error else '▸' if call.running else '·'} {plain(call.name)} "
            f"[dim]{plain(call.target or '')}[/]"
            for call in detail.activity[-10:]
        ]),
    )  # fmt: skip
    for name, lines in sections:
        if lines:
            console.print(f"[bold]{name}[/]")
            for line in lines:
                console.print(line, no_wrap=True, overflow="ellipsis")


def hits_table(hits: Iterable[Hit], now: int) -> Table:
    """What `search` prints."""
    table = Table(box=None, pad_edge=False)
    for name, width in (("ago", None), ("session", ID_SHOWN), ("where", 7), ("text", None)):
        table.add_column(name, overflow="ellipsis", no_wrap=True, min_width=width)
    for hit in hits:
        for match in hit.matches:
            when = ago(match.at or hit.last_activity_at, now)
            table.add_row(when, short(hit.id), match.where, plain(match.text))
    return table
