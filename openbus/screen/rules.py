"""The rules of a manifest as records: what `openbus/agents/*.toml` can say."""

from __future__ import annotations

import re

import msgspec

from openbus.model import Kind

MARK_MEANINGS = frozenset(
    {
        "working",
        "tool",
        "thinking",
        "subagents",
        "retrying",
        "compacting",
        "restarting",
        "over",
        "turn",
        "content",
        "error",
        "interrupted",
        "background",
        "limit",
        "external",
    }
)
WORKING_MEANINGS = frozenset(
    {"working", "tool", "thinking", "subagents", "retrying", "compacting", "restarting"}
)
FINDERS = frozenset({"cursor", "frame", "edge", "anchor"})
WIDGETS = frozenset({"menu", "buttons", "line", "field", "hints"})
PLACES = frozenset({"body", "composer", "footer", "screen", "dialog"})

Pattern = re.Pattern[str]


class ProgramRule(msgspec.Struct, frozen=True, kw_only=True):
    """Who it is. `exe`: names of executables; `script`: fragments of the paths in argv 0-2;
    `not_argv`: words that mark a helper; `screen`: marks for ssh and nested tmux. Of a shell:
    `transports` carry another terminal, `idle` wait for the user by nature (editors), `quiet` only
    print."""

    exe: tuple[str, ...] = ()
    script: tuple[str, ...] = ()
    not_argv: tuple[str, ...] = ()
    screen: tuple[Pattern, ...] = ()
    transports: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()


class Glyphs(msgspec.Struct, frozen=True, kw_only=True):
    """Single characters: option cursors, gutters and boxes that are blanked before matching, the
    bullets of a reply and of a prompt."""

    cursor: str = "❯›>●▶"
    box: str = "│┃║"
    reply: str = ""
    user: str = ""


class TitleRule(msgspec.Struct, frozen=True, kw_only=True):
    """Patterns over `#{pane_title}`. `working` decides only where the screen is silent; `needs` is
    a witness that helps an unknown dialog; `text` has a group `title`."""

    working: Pattern | None = None
    needs: Pattern | None = None
    text: Pattern | None = None


class ComposerRule(msgspec.Struct, frozen=True, kw_only=True):
    """Where the person types. `row` has a group `draft`; `placeholder`: "dim" or texts; `every`:
    all rows inside a frame must match, for programs that draw dialogs in the same frame; `single`:
    no blank row may stand between the prompt and the cursor; `busy`: a prompt that says that the
    program works."""

    id: str
    find: str
    row: Pattern
    edge: Pattern | None = None
    frame: Pattern | None = None
    busy: Pattern | None = None
    placeholder: tuple[str, ...] = ()
    every: bool = False
    single: bool = False


class MarkRule(msgspec.Struct, frozen=True, kw_only=True):
    """A row that means something. `color`: "red" = its first visible character is red,
    "text:red" = its first letter is. `rows`: a wrapped row is joined with up to this many.
    `silent`: never decides, is looked through. Groups: `n…` counts, `reset` a time."""

    id: str
    meaning: str
    row: Pattern
    color: str | None = None
    rows: int = 1
    silent: bool = False


class DialogRule(msgspec.Struct, frozen=True, kw_only=True):
    """A known ask. Every given pattern must match a row of the dialog's own region. `field` is the
    placeholder of an option that is a text field: gone = something is typed there. `witness`: the
    dialog stands above a live composer, and a row below the composer that matches says so."""

    id: str
    kind: Kind
    widget: str
    question: Pattern | None = None
    heading: Pattern | None = None
    footer: Pattern | None = None
    options: Pattern | None = None
    command: Pattern | None = None
    command_after: Pattern | None = None
    buttons: Pattern | None = None
    skip_options: Pattern | None = None
    unless: Pattern | None = None
    field: Pattern | None = None
    free_text: bool = False
    needs_program: bool = False
    witness: Pattern | None = None
    fixed_question: str | None = None


class OverlayRule(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the user opened over the conversation; never an ask. `weak`: a hint only,
    looked at after the general judgement of a menu."""

    id: str
    row: Pattern
    place: str = "screen"
    name: str = "menu"
    weak: bool = False


class FieldRule(msgspec.Struct, frozen=True, kw_only=True):
    """A visible label: group `value`; `name` is "model" or "title"."""

    id: str
    name: str
    row: Pattern
    place: str = "footer"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """One program. `seen` lists versions that somebody captured.

    `over_keeps_error`: a "turn over" row below an error of the same turn does not clear it.
    `busy_without_composer`: no prompt on the screen means that it works. `cursor_below`: the cursor
    stays visible below a dialog.
    """

    id: str
    label: str
    seen: tuple[str, ...] = ()
    over_keeps_error: bool = False
    busy_without_composer: bool = False
    cursor_below: bool = False
    program: ProgramRule = ProgramRule()
    glyphs: Glyphs = Glyphs()
    title: TitleRule = TitleRule()
    composers: tuple[ComposerRule, ...] = ()
    marks: tuple[MarkRule, ...] = ()
    footers: tuple[MarkRule, ...] = ()
    dialogs: tuple[DialogRule, ...] = ()
    overlays: tuple[OverlayRule, ...] = ()
    fields: tuple[FieldRule, ...] = ()
