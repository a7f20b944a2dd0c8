"""The rules reader: a parsed screen and a manifest become a reading. Pure; no I/O, no clock.

Order of authority on one screen: a live dialog, then an overlay, then the footer below the
composer, then the lowest mark above it, then the title of a process-verified program, then the
composer itself, and where nothing speaks, `unknown`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from openbus.model import Activity, Capture, Program, Reading, Why
from openbus.screen.composer import Composer, find_composer
from openbus.screen.dialogs import find_dialog, find_witnessed
from openbus.screen.grid import Row, Screen, is_red
from openbus.screen.identify import Identity
from openbus.screen.judge import judge_dialog
from openbus.screen.labels import labelled
from openbus.screen.region import Ask, Region
from openbus.screen.rules import WORKING_MEANINGS, Manifest, MarkRule
from openbus.screen.terminal import read_terminal
from openbus.screen.text import indent, is_rule, joined, main_column, unframe

MAX_MARK_ROWS = 200
"""Rows above the composer that are searched for a mark."""
MAX_ROWS_OF_NOTE = 4


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A mark that was found: its rule, its row, and a count or a time that it names."""

    rule: MarkRule
    row: int
    count: int = 0
    reset: str | None = None


def read(screen: Screen, capture: Capture, who: Identity) -> Reading:
    """Read one screen. `who` comes from `identify`; without a manifest the answer is `unknown`."""
    manifest = who.manifest
    if capture.dead:
        return Reading(program=who.program, activity="exited", why=(Why(rule="tmux/pane-dead"),))
    if manifest is None:
        return Reading(program=who.program, activity="unknown", why=(Why(rule="no-manifest"),))
    if manifest.id == "shell":
        seen = read_terminal(screen, capture, who, manifest)
        return Reading(
            program=who.program,
            activity=seen.activity,
            detail=seen.detail,
            waiting_on=seen.waiting_on,
            question=seen.question,
            dialog=seen.dialog,
            why=(Why(rule=f"shell/{seen.rule}", rows=seen.rows),),
        )
    return _AgentScreen(screen, capture, who.program, manifest).read()


class _AgentScreen:
    """One screen of one agent, while it is being read."""

    def __init__(
        self, screen: Screen, capture: Capture, program: Program, manifest: Manifest
    ) -> None:
        self.screen = screen
        self.capture = capture
        self.program = program
        self.manifest = manifest
        self.raw: Sequence[str] = screen.lines
        box = manifest.glyphs.box
        self.lines = [unframe(line, box) for line in self.raw]
        self.composer = find_composer(screen, capture.cursor, manifest)
        self.background = 0

    def read(self) -> Reading:
        reading = self._read()
        if self.program.via == "screen" and not self._cursor_agrees(reading):
            # A remote shell that shows an agent's old screen: its cursor stands elsewhere.
            reason = Why(rule="identify/cursor-elsewhere")
            return Reading(program=self.program, activity="unknown", keep=True, why=(reason,))
        return reading

    def _cursor_agrees(self, reading: Reading) -> bool:
        cursor = self.capture.cursor
        if not cursor.visible:
            return True
        if reading.question is not None:
            first, last = reading.question.rows
            return first <= cursor.y <= last
        composer = self.composer
        return composer is not None and composer.top <= cursor.y <= composer.bottom

    def _read(self) -> Reading:
        region = self._region()
        known = find_dialog(region) if region is not None else None
        known = known or self._witnessed()
        if isinstance(known, Ask):
            return self._asking(known)
        overlay = (known.name, "picker", known.proof) if known is not None else None
        overlay = overlay or self._overlay(weak=False)
        if overlay is None and region is not None and region.lo == 0:
            guess = judge_dialog(region)
            if isinstance(guess, Ask):
                return self._asking(guess)
            if guess is not None:
                overlay = (guess.name, "picker", guess.proof)
        overlay = overlay or self._overlay(weak=True)
        activity, detail, why, mark = self._activity(overlay[0] if overlay is not None else None)
        asked = (
            activity == "idle"
            and overlay is None
            and self.composer is not None
            and not self.composer.draft
            and self._asked_in_prose(mark)
        )
        reasons = [why]
        if overlay is not None:
            reasons.append(Why(rule=f"{self.manifest.id}/{overlay[1]}", rows=overlay[2]))
        limit = mark is not None and mark.rule.meaning == "limit"
        return self._labelled(
            Reading(
                program=self.program,
                activity=activity,
                detail=detail,
                waiting_on="external" if activity == "waiting" else None,
                overlay=overlay[0] if overlay is not None else None,
                background=self.background,
                draft=self.composer is not None and self.composer.draft,
                asked=asked,
                limit=limit,
                limit_reset=mark.reset if mark is not None and limit else None,
                keep=activity == "unknown",
                why=tuple(reasons),
            )
        )

    def _labelled(self, reading: Reading) -> Reading:
        title = self.capture.title
        return labelled(reading, self.raw, self.composer, self.manifest, title)

    # --- asks -----------------------------------------------------------------------------------

    def _region(self) -> Region | None:
        """Where a dialog may be: below a live composer, or the whole screen without one."""
        last = max((r for r, line in enumerate(self.raw) if line), default=-1)
        lo = 0
        if self.composer is not None and not self._inside_dialog(self.composer, last):
            lo = self.composer.bottom + 1
        mark = self._lowest_mark() if self.composer is None else None
        if lo > last or (mark is not None and mark.rule.meaning == "restarting"):
            return None
        title = self.manifest.title.needs
        return Region(
            screen=self.screen,
            lines=self.lines,
            raw=self.raw,
            lo=lo,
            hi=last,
            manifest=self.manifest,
            cursor=self.capture.cursor,
            title_needs=(
                self.program.via == "process"
                and title is not None
                and bool(title.search(self.capture.title))
            ),
        )

    def _witnessed(self) -> Ask | None:
        composer = self.composer
        if composer is None or not any(d.witness is not None for d in self.manifest.dialogs):
            return None
        body = Region(
            screen=self.screen,
            lines=self.lines,
            raw=self.raw,
            lo=0,
            hi=composer.top - 1,
            manifest=self.manifest,
        )
        return find_witnessed(body, self.raw[composer.bottom + 1 :])

    def _inside_dialog(self, composer: Composer, last: int) -> bool:
        """What looks like a composer is a dialog's own text field: the dialog's hints follow."""
        below = [self.lines[r].strip() for r in range(composer.row + 1, last + 1)]
        hints = [text for text in below if text]
        hints.append(" ".join(hints))
        footers = {rule.footer for rule in self.manifest.dialogs if rule.footer is not None}
        return any(footer.search(text) for footer in footers for text in hints)

    def _asking(self, ask: Ask) -> Reading:
        question = ask.question
        return self._labelled(
            Reading(
                program=self.program,
                activity="waiting",
                waiting_on="user",
                question=question,
                dialog=ask.rule,
                background=self._count_background(),
                draft=self._typed_in(ask),
                why=(Why(rule=f"{self.manifest.id}/{ask.rule}", rows=ask.proof),),
            )
        )

    def _typed_in(self, ask: Ask) -> bool:
        """Unsent text in the dialog's own field: a visible cursor behind text, or an option that
        the user overwrote."""
        rule = next((d for d in self.manifest.dialogs if d.id == ask.rule), None)
        if rule is not None and rule.field is not None and ask.question.options:
            return not any(rule.field.search(o.label) for o in ask.question.options)
        first, last = ask.question.rows
        cursor = self.capture.cursor
        if not first <= cursor.y <= last or cursor.y >= len(self.lines):
            return False
        line = self.lines[cursor.y]
        row = self.screen.rows[cursor.y]
        at = row.index_at(cursor.x)
        typed = line[:at].strip().lstrip(self.manifest.glyphs.cursor).strip()
        typed = re.sub(r"^\d{1,2}[.)]\s*(\[.?\]\s*)?", "", typed)
        placeholder = row.style_at(max(0, at - 1)).dim
        return bool(typed) and not placeholder and len(line) <= at + 1

    # --- overlays -------------------------------------------------------------------------------

    def _overlay(self, *, weak: bool) -> tuple[str, str, tuple[int, ...]] | None:
        composer = self.composer
        for rule in self.manifest.overlays:
            if rule.weak != weak:
                continue
            if rule.place == "composer":
                rows: Sequence[int] = (
                    range(composer.top, composer.bottom + 1) if composer is not None else ()
                )
            elif rule.place == "footer":
                rows = range(composer.bottom + 1, len(self.raw)) if composer is not None else ()
            elif rule.place == "body":
                rows = range(composer.top if composer is not None else len(self.raw))
            elif rule.place == "dialog":
                rows = range(len(self.raw)) if composer is None else ()
            else:
                rows = range(len(self.raw))
            for row in rows:
                if composer is not None and row == composer.row and not composer.draft:
                    continue
                if self.raw[row] and rule.row.search(self.raw[row]):
                    return rule.name, rule.id, (row,)
        return None

    # --- activity -------------------------------------------------------------------------------

    def _activity(self, overlay: str | None) -> tuple[Activity, str | None, Why, Mark | None]:
        mark = self._footer_mark() or self._lowest_mark()
        meaning = mark.rule.meaning if mark is not None else None
        if mark is not None and meaning in WORKING_MEANINGS:
            return "working", _detail(mark), self._why(mark), mark
        if self.composer is not None and self.composer.busy:
            return "working", None, self._why(None), None
        title = self.manifest.title.working
        if title is not None and self.program.via == "process" and title.search(self.capture.title):
            return "working", None, Why(rule=f"{self.manifest.id}/title"), None
        if mark is not None and meaning == "external":
            return "waiting", None, self._why(mark), mark
        composer = self.composer
        if composer is None:
            # An overlay hides the composer; what stands beneath may still tell.
            if overlay == "login" or (overlay and meaning in ("over", "interrupted")):
                return "idle", None, self._why(mark), mark
            if self.manifest.busy_without_composer and self.program.via == "process":
                return "working", None, Why(rule=f"{self.manifest.id}/no-prompt"), mark
            return "unknown", None, Why(rule="no-composer"), None
        if mark is not None and meaning == "error" and not composer.draft:
            return "error", None, self._why(mark), mark
        stopped = "interrupted" if meaning == "interrupted" else None
        return "idle", stopped, self._why(mark), mark

    def _why(self, mark: Mark | None) -> Why:
        rows = () if self.composer is None else (self.composer.row,)
        if mark is None:
            rule = self.composer.rule if self.composer is not None else "overlay"
            return Why(rule=f"{self.manifest.id}/{rule}", rows=rows)
        return Why(rule=f"{self.manifest.id}/{mark.rule.id}", rows=(mark.row, *rows))

    def _footer_mark(self) -> Mark | None:
        if self.composer is None:
            return None
        found: Mark | None = None
        for row in range(self.composer.bottom + 1, len(self.raw)):
            if not self.raw[row]:
                continue
            for rule in self.manifest.footers:
                match = self._hit(rule, row)
                if match is None:
                    continue
                mark = _mark(rule, row, match)
                if rule.meaning == "background":
                    self.background = max(self.background, mark.count or 1)
                elif rule.meaning in WORKING_MEANINGS and found is None:
                    found = mark
        return found

    def _lowest_mark(self) -> Mark | None:
        """Upwards from the composer (or the last row), the first row that means something."""
        top = self.composer.top if self.composer is not None else len(self.raw)
        ended: Mark | None = None
        for row in range(top - 1, max(-1, top - MAX_MARK_ROWS), -1):
            if not self.raw[row]:
                continue
            for rule in self.manifest.marks:
                match = self._hit(rule, row)
                if match is None:
                    continue
                mark = _mark(rule, row, match)
                if rule.silent or self._stale(rule):
                    break
                if mark.count:
                    self.background = max(self.background, mark.count)
                if rule.meaning == "background":
                    self.background = max(self.background, 1)
                    break
                if rule.meaning == "over" and self.manifest.over_keeps_error and ended is None:
                    ended = mark
                    break
                if ended is not None and rule.meaning not in ("error", "turn", "limit"):
                    return ended
                if ended is not None and rule.meaning == "turn":
                    return ended
                return mark
        return ended

    def _stale(self, rule: MarkRule) -> bool:
        """A composer says that this is over, whatever the row above it claims."""
        if self.composer is None:
            return False
        working = rule.meaning in WORKING_MEANINGS
        return rule.meaning == "restarting" or (working and self.manifest.busy_without_composer)

    def _count_background(self) -> int:
        self._footer_mark()
        return self.background

    def _hit(self, rule: MarkRule, row: int) -> re.Match[str] | None:
        line = self.raw[row]
        match = rule.row.search(line)
        if match is None and rule.rows > 1:
            last = row
            while last + 1 < min(row + rule.rows, len(self.raw)) and self.raw[last + 1]:
                last += 1
            if last > row and line[0] not in " \t":
                match = rule.row.search(joined(self.raw, row, last))
        if match is None or (rule.color and not _coloured(self.screen.rows[row], rule.color)):
            return None
        return match

    # --- prose and labels -----------------------------------------------------------------------

    def _asked_in_prose(self, mark: Mark | None) -> bool:
        """The last reply ends in a question, and nothing but marks stands below it."""
        assert self.composer is not None
        if mark is not None and mark.rule.meaning not in ("over", "turn", "content", "background"):
            return False
        row = self.composer.top - 1
        while row >= 0 and (not self.raw[row] or is_rule(self.raw[row]) or self._is_mark(row)):
            row -= 1
        if row < 0:
            return False
        text = main_column(self.lines[row]).strip()
        if not text.rstrip("\"'”’)*_`").endswith(("?", "？")):
            return False
        return self._in_reply(row)

    def _is_mark(self, row: int) -> bool:
        """Is this row a mark that says nothing about the turn, or the rest of a wrapped one?"""
        depth = indent(self.raw[row])
        for above in range(row - 1, max(-1, row - MAX_ROWS_OF_NOTE), -1):
            if not depth or not self.raw[above]:
                break
            if indent(self.raw[above]) < depth:
                if self._hits_note(above):
                    return True
                break
        return self._hits_note(row)

    def _hits_note(self, row: int) -> bool:
        return any(
            self._hit(rule, row) is not None
            for rule in self.manifest.marks
            if rule.silent or rule.meaning in ("over", "background")
        )

    def _in_reply(self, row: int) -> bool:
        reply, user = self.manifest.glyphs.reply, self.manifest.glyphs.user
        for above in range(row, max(-1, row - 60), -1):
            head = self.raw[above].lstrip()[:1]
            if not head:
                continue
            if head in user:
                return False
            if not reply or head in reply:
                return True
        return False


def _mark(rule: MarkRule, row: int, match: re.Match[str]) -> Mark:
    groups = match.groupdict()
    count = sum(int(v) for k, v in groups.items() if k.startswith("n") and v and v.isdigit())
    return Mark(rule=rule, row=row, count=count, reset=groups.get("reset"))


def _detail(mark: Mark) -> str | None:
    return None if mark.rule.meaning == "working" else mark.rule.meaning


def _coloured(row: Row, wanted: str) -> bool:
    where, _, colour = wanted.rpartition(":")
    if colour != "red":
        return False
    text = row.text
    at = len(text) - len(text.lstrip())
    if where == "text":
        while at < len(text) and not text[at].isalnum():
            at += 1
    return is_red(row.style_at(at).fg)
