"""One case becomes one corpus file in the frame of a real screen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from evals.mutate import SGR
from openbus.corpus import encode, read
from openbus.model import Capture, Cursor, Process

CORPUS = Path(__file__).parents[1] / "corpus"
SIZES = ("80x24", "120x40")
VERSIONS = {
    "claude-code": "2.1.332",
    "codex": "0.171.0",
    "gemini": "0.61.0",
    "opencode": "1.18.33",
    "shell": "plain",
}

IDLE = {"activity": "idle", "needs_you": False}
WORKING = {"activity": "working", "needs_you": False}
ASKS = {"activity": "waiting", "needs_you": True}
OVERLAY = {
    "needs_you": False,
    "overlay": True,
    "activity_any": ["idle", "working", "unknown"],
}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One screen. `rows`: what stands above the composer, or up to the last row when `asks`.

    `footer`: rows of a user's status line below the composer. `title` None keeps the frame's.
    `at_top`: a page at launch, which starts in the first row.
    """

    name: str
    program: str
    rows: tuple[str, ...]
    expect: dict[str, Any]
    title: str | None = None
    composer: bool = True
    footer: tuple[str, ...] = ()
    processes: tuple[Process, ...] | None = None
    command: str | None = None
    in_mode: bool = False
    at_top: bool = False


def build(case: Case, size: str) -> str:
    """The corpus file of `case` at `size` as text."""
    version = VERSIONS[case.program]
    folder = CORPUS / case.program / version
    if case.program == "shell":
        frame = read(folder / f"shell_idle--{size}.json")
        capture = _shell(case, frame.capture)
    else:
        state = "idle_done" if case.composer else "approval_shell"
        frame = read(folder / f"{state}--{size}.json")
        capture = _agent(case, frame.capture)
    program = {} if "program_any" in case.expect else {"program": case.program}
    return encode(
        capture,
        program=case.program,
        version=version,
        state=case.name,
        captured_at=frame.captured_at,
        text="\n".join(SGR.sub("", row).rstrip() for row in capture.ansi.split("\n")),
        expect={**program, **case.expect},
        synthetic=True,
    )


def _agent(case: Case, frame: Capture) -> Capture:
    rows = frame.ansi.split("\n")[: frame.height]
    bottom: list[str] = []
    cursor = frame.cursor
    if case.composer:
        start = _composer_start(case.program, frame.cursor.y)
        while rows and not SGR.sub("", rows[-1]).strip() and case.program != "opencode":
            rows.pop()
        # Attributes carry over from row to row: those in force at the cut go with the rows below.
        codes = "".join(SGR.findall("\n".join(rows[:start])))
        in_force = codes[max(codes.rfind("\x1b[0m"), codes.rfind("\x1b[0;"), 0) :]
        bottom = [f"\x1b[0m{in_force}{rows[start]}", *rows[start + 1 :]]
        if case.footer:
            bottom[-1:] = [*(f"\x1b[0m  \x1b[2m{row}\x1b[0m" for row in case.footer), bottom[-1]]
    room = frame.height - len(bottom)
    body = [row + "\x1b[0m" for row in (*case.rows, *([""] if case.composer else ()))][-room:]
    gap = [""] * (room - len(body))
    # Full-screen programs keep composer and dialogs at the bottom, first-run pages at the top.
    top_first = case.at_top or (case.composer and frame.alternate_on)
    top = [*body, *gap] if top_first else [*gap, *body]
    if case.composer:
        cursor = Cursor(x=cursor.x, y=room + frame.cursor.y - start, visible=cursor.visible)
    elif case.program == "claude-code":
        options = [i for i, row in enumerate(top) if re.match(r"\s*❯ \d", SGR.sub("", row))]
        cursor = Cursor(x=1, y=(options or [len(top) - 1])[0], visible=False)
    return msgspec.structs.replace(
        frame,
        ansi="\n".join([*top, *bottom]) + "\n",
        cursor=cursor,
        title=frame.title if case.title is None else case.title,
        in_mode=case.in_mode,
        processes=frame.processes if case.processes is None else case.processes,
        command=frame.command if case.command is None else case.command,
    )


def _composer_start(program: str, cursor: int) -> int:
    """First row that belongs to the composer, found from the cursor as each program draws it."""
    above = {"claude-code": 2, "codex": 0, "gemini": 4, "opencode": 1}
    return cursor - above[program]


def _shell(case: Case, frame: Capture) -> Capture:
    prompt = frame.ansi.split("\n")[0].rstrip()
    lines = [row.replace("$PROMPT", prompt) for row in case.rows]
    # The terminal wraps at its width, in the middle of words.
    rows = [
        line[at : at + frame.width]
        for line in lines
        for at in range(0, max(1, len(line)), frame.width)
    ]
    visible = SGR.sub("", rows[-1])
    padded = rows[-frame.height :] + [""] * (frame.height - len(rows))
    return msgspec.structs.replace(
        frame,
        ansi="\n".join(padded) + "\n",
        cursor=Cursor(x=len(visible) + 1, y=len(rows) - 1),
        processes=case.processes or (),
        command=case.command or "bash",
    )
