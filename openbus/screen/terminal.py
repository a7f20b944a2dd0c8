"""Plain terminals: is a shell at its prompt, does a command run, does a program ask on its line?

A program without a screen of its own asks on the logical line on which the terminal cursor stands
(y/n, password, "press Enter"). Only that line is looked at, and only if it is the last used one:
text further up is history, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from openbus.model import Activity, Capture, Option, Process, Question, WaitingOn
from openbus.screen.grid import Screen
from openbus.screen.identify import Identity, name_of
from openbus.screen.judge import judge_dialog
from openbus.screen.prompts import find_prompt
from openbus.screen.region import Ask, Region
from openbus.screen.rules import DialogRule, Manifest
from openbus.screen.text import squash, unframe

_GLYPHS = "$#%❯➜»λ›>▶⟩→∫➤❱⚡\ue0a0-\ue0d7"
"""What shell prompts end in, the private glyphs of prompt themes included."""
_PROMPT = re.compile(rf"^.{{0,240}}?[{_GLYPHS}](\s|$)|^[{_GLYPHS}]")
_SELECT_ROW = re.compile(r"(\d{1,2})\)\s+(\S(?:.*?\S)?)(?=\s{2,}\d{1,2}\)|\s*$)")


class Terminal(msgspec.Struct, frozen=True, kw_only=True):
    """What a plain terminal shows, with the rule and rows that say so."""

    activity: Activity
    detail: str | None = None
    waiting_on: WaitingOn | None = None
    question: Question | None = None
    dialog: str | None = None
    rule: str = "shell"
    rows: tuple[int, ...] = ()


def read_terminal(screen: Screen, capture: Capture, who: Identity, manifest: Manifest) -> Terminal:
    """Read a pane in which no known agent runs."""
    lines = screen.lines
    leaf = _leaf(who.foreground, manifest)
    name = name_of(leaf) if leaf is not None else None
    carried = leaf is not None and bool({leaf.comm, name} & set(manifest.program.transports))
    if leaf is not None and {leaf.comm, name} & set(manifest.program.idle):
        return Terminal(activity="idle", detail=name, rule="interactive")
    at = _cursor_line(screen, capture)
    quiet = leaf is not None and bool({leaf.comm, name} & set(manifest.program.quiet))
    if at is not None and not capture.alternate_on:
        first, last, line = at
        typed = leaf is not None and _typed_in_repl(manifest, line)
        if typed:
            return Terminal(activity="idle", detail=name, rule="repl-typed", rows=(last,))
        if not quiet:
            held = leaf is not None and not carried
            asked = _asked(manifest, lines, first, last, line, held=held)
            if asked is not None and not _edited(capture, leaf, asked):
                return asked
        for mark in manifest.marks:
            if mark.meaning == "over" and leaf is not None and mark.row.search(line):
                return Terminal(activity="idle", detail=name, rule=mark.id, rows=(last,))
    if leaf is None:
        row = at[1] if at is not None else None
        return Terminal(activity="idle", rule="prompt", rows=(row,) if row is not None else ())
    if carried:
        if at is not None and _PROMPT.search(at[2]):
            return Terminal(activity="idle", detail=name, rule="prompt", rows=(at[1],))
        return Terminal(activity="unknown", detail=name, rule="transport")
    prompt = None if quiet else find_prompt(screen, capture.cursor)
    if prompt is not None:
        return Terminal(
            activity="waiting",
            waiting_on="user",
            question=prompt.question,
            dialog=prompt.family,
            rule=prompt.family,
            rows=prompt.proof,
            detail=name,
        )
    menu = None if quiet else _menu(screen, capture, manifest)
    if menu is not None:
        return Terminal(
            activity="waiting",
            waiting_on="user",
            question=menu.question,
            dialog=menu.rule,
            rule=menu.rule,
            rows=menu.proof,
            detail=name,
        )
    external = _external(manifest, lines)
    if external is not None:
        return external
    if capture.alternate_on:
        return Terminal(activity="unknown", detail=name, rule="full-screen")
    return Terminal(activity="working", detail=name, rule="foreground")


def _edited(capture: Capture, leaf: Process | None, asked: Terminal) -> bool:
    """The shell itself holds the terminal in raw mode: a person edits a command line there. Only a
    wait for a single key looks the same."""
    return leaf is None and capture.line_mode is False and asked.rule != "press-key"


def _typed_in_repl(manifest: Manifest, line: str) -> bool:
    """A line that a person types to a read-eval-print loop: its prompt stands in front."""
    return any(
        mark.meaning == "turn" and mark.row.search(line) is not None for mark in manifest.marks
    )


def _leaf(foreground: Sequence[Process], manifest: Manifest) -> Process | None:
    """The innermost foreground process that is not a shell waiting at its own prompt."""
    found: Process | None = None
    for process in foreground:
        words = [a for a in process.argv if a]
        exe = words[0].rsplit("/", 1)[-1].lstrip("-") if words else process.comm
        shell = exe in manifest.program.exe and not _runs_script(words[1:])
        if not shell and (found is None or process.depth >= found.depth):
            found = process
    return found


def _runs_script(arguments: Sequence[str]) -> bool:
    """A shell that runs a script or a command line (`-c`) is not at a prompt of its own."""
    for position, word in enumerate(arguments):
        if not word.startswith("-"):
            before = arguments[position - 1] if position else ""
            return before not in ("--rcfile", "--init-file")
        if not word.startswith("--") and "c" in word[1:]:
            return True
    return False


def _cursor_line(screen: Screen, capture: Capture) -> tuple[int, int, str] | None:
    """The logical line that ends at a visible cursor on the last used row: rows and text."""
    row = capture.cursor.y
    if not capture.cursor.visible or row >= len(screen.rows):
        return None
    if any(r.text for r in screen.rows[row + 1 :]):
        return None
    text = screen.rows[row].text
    if screen.rows[row].columns > capture.cursor.x:
        return None
    first = row
    while first > 0 and row - first < 20:
        above = screen.rows[first - 1]
        # A row that wraps at a blank loses it; a lone ")" tells a row that a program wrapped.
        full = above.columns >= screen.width - 1
        if not full and not (text.count(")") > text.count("(") and above.text):
            break
        first -= 1
        text = above.text + (text if above.columns >= screen.width else f" {text}")
    return first, row, text


def _asked(
    manifest: Manifest, lines: Sequence[str], first: int, last: int, line: str, *, held: bool
) -> Terminal | None:
    """A question on the cursor's line. `held`: a program, not the shell, has the terminal."""
    if not line.strip():
        return None
    options = _select_options(lines, first)
    if len(options) >= 2 and (line.strip() == "#?" or not _PROMPT.search(line)):
        return _select(line, options, first, last)
    if not held and _PROMPT.search(line):
        return None
    for rule in manifest.dialogs:
        if rule.widget != "line" or rule.question is None or (rule.needs_program and not held):
            continue
        match = rule.question.search(line)
        if match is None or (rule.unless is not None and rule.unless.search(line)):
            continue
        text = squash(match.groupdict().get("q") or line)
        return _line_ask(rule, text, (), (first, last))
    return None


def _line_ask(
    rule: DialogRule, text: str, options: tuple[Option, ...], rows: tuple[int, int]
) -> Terminal:
    question = Question(
        kind=rule.kind,
        text=text,
        options=options,
        free_text=rule.kind in ("password", "prompt"),
        rows=rows,
    )
    return Terminal(
        activity="waiting",
        waiting_on="user",
        question=question,
        dialog=rule.id,
        rule=rule.id,
        rows=rows if rows[0] != rows[1] else rows[:1],
    )


def _select(line: str, options: tuple[Option, ...], first: int, last: int) -> Terminal:
    """bash `select`: a list `1) …` right above a line that is no shell prompt."""
    top = first - len(options)
    question = Question(kind="menu", text=squash(line), options=options, rows=(max(0, top), last))
    return Terminal(
        activity="waiting",
        waiting_on="user",
        question=question,
        dialog="select",
        rule="select",
        rows=(first - 1, last),
    )


def _select_options(lines: Sequence[str], row: int) -> tuple[Option, ...]:
    found: dict[int, str] = {}
    above = row - 1
    while above >= 0 and re.match(r"\s*\d{1,2}\)\s+\S", lines[above]):
        for number, label in _SELECT_ROW.findall(lines[above]):
            found[int(number)] = label
        above -= 1
    if sorted(found) != list(range(1, len(found) + 1)):
        return ()
    return tuple(Option(label=found[n], key=str(n)) for n in sorted(found))


def _menu(screen: Screen, capture: Capture, manifest: Manifest) -> Ask | None:
    """A menu drawn by a program that no manifest knows, with its cursor hidden or inside."""
    if not any(glyph in line for line in screen.lines for glyph in manifest.glyphs.cursor):
        return None
    lines = [unframe(line, manifest.glyphs.box) for line in screen.lines]
    region = Region(
        screen=screen, lines=lines, raw=screen.lines, lo=0, hi=len(lines) - 1, manifest=manifest
    )
    found = judge_dialog(region)
    if not isinstance(found, Ask):
        return None
    first, last = found.question.rows
    inside = first <= capture.cursor.y <= last
    return found if not capture.cursor.visible or inside else None


def _external(manifest: Manifest, lines: Sequence[str]) -> Terminal | None:
    row = next((r for r in range(len(lines) - 1, -1, -1) if lines[r].strip()), None)
    if row is None:
        return None
    for mark in manifest.marks:
        if mark.meaning == "external" and mark.row.search(lines[row]):
            return Terminal(activity="waiting", waiting_on="external", rule=mark.id, rows=(row,))
    return None
