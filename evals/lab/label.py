"""Labels of recorded screens: what is true, in the shape of a corpus file's `expect`.

The truth comes from the scenario and from the step that was just taken. Only the wording of
choices is read off the screen, here and without the readers under test.
"""

from __future__ import annotations

import re
from typing import Any

Expect = dict[str, Any]

_CHOICE = re.compile(
    r"^(?P<before>[\s│┃]*[❯›>●]?\s*)(?P<number>\d)\.\s*(?:\[.\]\s*)?(?P<label>\S.*?)[\s│┃]*$"
)
_FOOTER = re.compile(r"(?i)^(esc|enter|tab|press) ")


def waiting(
    program: str, kind: str, question: str | None = None, options: list[str] | None = None
) -> Expect:
    """The agent is blocked until a person chooses."""
    expect: Expect = {
        "program": program,
        "needs_you": True,
        "activity": "waiting",
        "kind": kind,
    }
    if question:
        expect["question"] = question
    if options:
        expect["options"] = options
    return expect


def busy(program: str, **more: Any) -> Expect:
    return {"program": program, "needs_you": False, "activity": "working", **more}


def idle(program: str, **more: Any) -> Expect:
    return {"program": program, "needs_you": False, "activity": "idle", **more}


def failed(program: str) -> Expect:
    """The turn ended in an error."""
    return {"program": program, "needs_you": False, "activity": "error"}


def overlay(program: str) -> Expect:
    """Something that the user opened."""
    activities = ["idle", "working", "unknown"]
    return {"program": program, "needs_you": False, "overlay": True, "activity_any": activities}


def gone(program: str) -> Expect:
    """Back at the shell."""
    return {
        "needs_you": False,
        "activity_any": ["exited", "idle"],
        "program_any": ["shell", program],
    }


def numbered(screen: str, question: str, *, described: bool = False) -> list[str]:
    """Labels of the numbered menu below the last row that begins `question`.

    Rows that continue a label are joined to it. `described`: rows below a label describe it, as in
    questions; a description in a column of its own is left out either way.
    """
    rows = screen.split("\n")
    found = [at for at, row in enumerate(rows) if question[:16] in row]
    labels: list[str] = []
    column = 0
    joins = False
    for row in rows[found[-1] + 1 if found else 0 :]:
        match = _CHOICE.match(row)
        if match and int(match["number"]) == len(labels) + 1:
            label, gap, _ = match["label"].partition("  ")
            labels.append(label)
            column = match.start("number")
            joins = not described and not gap
            continue
        body = row.strip(" │┃")
        indent = len(row) - len(row.lstrip(" │┃"))
        joins = joins and bool(body) and indent >= column and not _FOOTER.match(body)
        if joins:
            labels[-1] += f" {body}"
    return labels


def beside_cursor(screen: str) -> list[str]:
    """Labels of a menu without numbers: the block of indented rows around the cursor `❯`."""
    rows = screen.split("\n")
    cursors = [at for at, row in enumerate(rows) if re.match(r"^\s+❯\s+\S", row)]
    if not cursors:
        return []
    first = last = cursors[-1]
    while first > 0 and _is_entry(rows[first - 1]):
        first -= 1
    while last + 1 < len(rows) and _is_entry(rows[last + 1]):
        last += 1
    return [row.strip(" ❯") for row in rows[first : last + 1]]


def present(screen: str, labels: tuple[str, ...]) -> list[str]:
    """Those labels that the screen shows, in their order."""
    return [label for label in labels if label in screen]


def _is_entry(row: str) -> bool:
    return re.match(r"^\s{3,}\S", row) is not None
