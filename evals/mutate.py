"""What can be made of a corpus screen without looking at a real program again.

*Mechanical* changes must not change the reading: another frame of the same spinner, blank rows at
the end given or left out. *Quotations* take every screen that asks for a person and show it where
nobody asks: printed by `cat` or `tail -f`, opened in `less` or `vim`, or repeated in an agent's own
reply above its free composer. None of those may be read as needs-you.

Everything here works on the captured text itself and uses no reader: a mutation that leaned on the
rules under test would prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from openbus.corpus import CorpusError, CorpusFile, read
from openbus.model import Capture, Cursor, Process

SGR = re.compile(r"\x1b\[[0-9;:]*m|\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)")
"""What `capture-pane -e` puts between characters: attributes and hyperlinks."""

SPINNERS = ("·✢✳✶✻✽*", "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "⠂⠐", "•◦", "◐◓◑◒")
"""Frames of one spinner each, as seen in Claude Code, Codex and Gemini (2026-11)."""

_BUSY = re.compile(r"^\s{0,1}(?P<frame>\S)\s.*(?:…|\.\.\. ?\(|esc to interrupt|esc to cancel)")
_BAR = re.compile(r"^\s{1,4}(?P<bar>[⬝■]{4,})\s")
_REPLY_END = re.compile(r"the total\.\s*(?:$|\s{4,})")
"""The last words of the one reply that every agent's `idle_done` screen shows."""

REPLY_INDENT = {"claude-code": 2, "codex": 2, "gemini": 2, "opencode": 5}

AGENTS = ["claude-code", "codex", "gemini", "opencode"]


def all_of(case: CorpusFile) -> Iterator[CorpusFile]:
    """Every mutation of `case`; `file` says which, after a `#`."""
    yield from spinners(case)
    yield from blank_rows(case)
    if case.expect.get("needs_you") is True:
        yield from quotations(case)


# --- mechanical -----------------------------------------------------------------------------------


def spinners(case: CorpusFile) -> Iterator[CorpusFile]:
    """The same screen and title with every other frame of each spinner that is on it."""
    yield from _spinner_rows(case)
    title = case.capture.title
    for family in SPINNERS:
        # `✳` and `*` open titles of resting agents: only spinners of one meaning are cycled.
        if title[:1] and title[0] in family and family[0] in "⠋⠂◐":
            for frame in family:
                if frame != title[0]:
                    capture = msgspec.structs.replace(case.capture, title=frame + title[1:])
                    yield _variant(case, f"title-{frame}", capture)


def _spinner_rows(case: CorpusFile) -> Iterator[CorpusFile]:
    rows = case.capture.ansi.split("\n")
    for number, row in enumerate(rows):
        plain = SGR.sub("", row)
        if busy := _BUSY.match(plain):
            at = busy.start("frame")
            for family in SPINNERS:
                if plain[at] in family:
                    for frame in family:
                        if frame != plain[at]:
                            changed = [*rows]
                            changed[number] = put(row, at, frame)
                            yield _variant(case, f"row{number}-{frame}", _with(case, changed))
        if bar := _BAR.match(plain):
            changed = [*rows]
            for offset, cell in enumerate(reversed(bar["bar"])):
                changed[number] = put(changed[number], bar.start("bar") + offset, cell)
            if changed != rows:
                yield _variant(case, f"row{number}-bar", _with(case, changed))


def blank_rows(case: CorpusFile) -> Iterator[CorpusFile]:
    """tmux writes a blank row as an empty line; a caller may have cut those at the end."""
    text = case.capture.ansi
    if text.endswith("\n\n"):
        yield _variant(case, "cut", _replace(case, text.rstrip("\n") + "\n"))


def put(row: str, index: int, char: str) -> str:
    """`row` with the visible character number `index` replaced, attributes untouched."""
    seen = 0
    at = 0
    while at < len(row):
        if code := SGR.match(row, at):
            at = code.end()
            continue
        if seen == index:
            return row[:at] + char + row[at + 1 :]
        seen += 1
        at += 1
    return row


# --- quotations -----------------------------------------------------------------------------------


def quotations(case: CorpusFile) -> Iterator[CorpusFile]:
    """The screen that asks, shown where nobody asks."""
    plain = _trimmed([SGR.sub("", row).rstrip() for row in case.capture.ansi.split("\n")])
    coloured = _trimmed(case.capture.ansi.split("\n"))
    if not plain:
        return
    prompt = "dev@host:~/project$ "
    yield _shell(case, "cat", [prompt + "cat dialog.txt", *plain], prompt)
    colour_rows = [prompt + "cat dialog.ansi", *coloured]
    yield _shell(case, "cat-colour", colour_rows, "\x1b[0m" + prompt)
    yield _shell(case, "tail", [prompt + "tail -f dialog.txt", *plain], "", ["tail", "-f"])
    yield _full_screen(case, "less", plain, "\x1b[7mdialog.txt (END)\x1b[27m", 16)
    bytes_in_file = sum(len(row.encode()) + 1 for row in plain)
    yield _full_screen(case, "vim", plain, f'"dialog.txt" {len(plain)}L, {bytes_in_file}B', 0)
    if quoted := _in_reply(case, plain):
        yield quoted


def _shell(
    case: CorpusFile, name: str, rows: list[str], prompt: str, argv: list[str] | None = None
) -> CorpusFile:
    """A terminal that printed `rows` and shows `prompt`, or runs `argv` with nothing below."""
    height = case.capture.height
    shown = [*rows, prompt][-height:]
    capture = Capture(
        ansi=_lines(shown, height),
        width=case.capture.width,
        height=height,
        cursor=Cursor(x=len(SGR.sub("", prompt)), y=len(shown) - 1),
        title="host",
        command=argv[0] if argv else "bash",
        cwd=case.capture.cwd,
        processes=_processes(argv),
    )
    return _quotation(case, name, capture, {"activity": "working" if argv else "idle"})


def _full_screen(
    case: CorpusFile, name: str, rows: list[str], status: str, cursor_x: int
) -> CorpusFile:
    """`less` or `vim` with the file open; its status line is the last row."""
    height = case.capture.height
    shown = rows[-(height - 1) :]
    filler = "~" if name == "vim" else ""
    shown += [filler] * (height - 1 - len(shown)) if name == "vim" else []
    shown.append(status)
    capture = Capture(
        ansi=_lines(shown, height),
        width=case.capture.width,
        height=height,
        cursor=Cursor(x=cursor_x, y=len(shown) - 1 if name == "less" else 0),
        alternate_on=True,
        title="host",
        command=name,
        cwd=case.capture.cwd,
        processes=_processes([name, "dialog.txt"]),
    )
    return _quotation(case, name, capture, {"activity_any": ["idle", "working", "unknown"]})


def _in_reply(case: CorpusFile, quote: list[str]) -> CorpusFile | None:
    """The agent's own reply repeats the screen above a composer that is free.

    The frame is the `idle_done` screen of the same program, version and size, from the same folder.
    """
    indent = REPLY_INDENT.get(case.program)
    if indent is None:
        return None
    try:
        frame = read(Path(case.file).with_name(f"idle_done--{case.size}.json"))
    except CorpusError:
        return None
    rows = frame.capture.ansi.split("\n")[: frame.capture.height]
    plain = [SGR.sub("", row).rstrip() for row in rows]
    end = next((i for i, row in enumerate(plain) if _REPLY_END.search(row)), None)
    # OpenCode's side panel stands right of the reply: rows cannot move without tearing it.
    if end is None or (case.program == "opencode" and case.capture.width > 120):
        return None
    width = case.capture.width - indent
    body = ["", *((" " * indent + row[:width]).rstrip() for row in quote)][-(len(rows) - 8) :]
    carry = "\x1b[0m"
    grown = [*rows[: end + 1], carry, *body, carry + rows[end + 1], *rows[end + 2 :]]
    added = len(grown) - len(rows)
    cursor = frame.capture.cursor.y + added
    spare = _spare_rows(grown, end + 1 + len(body) + 1, cursor)[:added]
    cursor -= sum(number < cursor for number in spare)
    grown = [row for number, row in enumerate(grown) if number not in spare]
    cut = len(grown) - len(rows)
    if cut > 0:
        codes = "".join(code.group() for row in grown[:cut] for code in SGR.finditer(row))
        grown = [codes + grown[cut], *grown[cut + 1 :]]
        cursor -= cut
    capture = msgspec.structs.replace(
        frame.capture,
        ansi="\n".join(grown) + "\n",
        cursor=msgspec.structs.replace(frame.capture.cursor, y=cursor),
    )
    return _quotation(case, "reply", capture, {"activity": "idle", "program": case.program})


def _spare_rows(rows: list[str], start: int, cursor: int) -> list[int]:
    """Blank rows that a longer reply would have used up: above the composer, then at the end."""
    empty = [not row for row in rows]
    between = [i for i in range(start, cursor) if empty[i] and i > 0 and empty[i - 1]]
    tail = []
    for number in range(len(rows) - 1, cursor, -1):
        if not empty[number]:
            break
        tail.append(number)
    return between + tail


def _quotation(case: CorpusFile, name: str, capture: Capture, expect: dict[str, Any]) -> CorpusFile:
    shell = {} if "program" in expect else {"program_not": AGENTS}
    labels = {"needs_you": False, "lookalike": f"quoted in {name}", **shell, **expect}
    variant = _variant(case, f"quoted-{name}", capture)
    program = case.program if "program" in expect else "shell"
    return msgspec.structs.replace(variant, expect=labels, program=program)


def _processes(argv: list[str] | None) -> tuple[Process, ...]:
    if not argv:
        return ()
    return (Process(comm=argv[0], foreground=True, depth=1, argv=tuple(argv)),)


def _trimmed(rows: list[str]) -> list[str]:
    while rows and not SGR.sub("", rows[-1]).strip():
        rows = rows[:-1]
    while rows and not SGR.sub("", rows[0]).strip():
        rows = rows[1:]
    return rows


def _lines(rows: list[str], height: int) -> str:
    return "\n".join([*rows, *[""] * (height - len(rows))]) + "\n"


def _with(case: CorpusFile, rows: list[str]) -> Capture:
    return _replace(case, "\n".join(rows))


def _replace(case: CorpusFile, ansi: str) -> Capture:
    return msgspec.structs.replace(case.capture, ansi=ansi)


def _variant(case: CorpusFile, name: str, capture: Capture) -> CorpusFile:
    return msgspec.structs.replace(case, file=f"{case.file}#{name}", capture=capture)
