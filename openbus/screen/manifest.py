"""Agent manifests: what a program looks like, as data (`openbus/agents/*.toml`).

A manifest holds words and glyphs; geometry is code (`composer.py`, `widgets.py`). Files of the user
extend shipped ones: the same `id` in the head = merged, rule by rule id (a known id is overridden
key by key, `enabled = false` drops it, new ones come first). A file that is wrong in any place is
skipped as a whole and reported with line and reason; what was loaded before it stays.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import msgspec

from openbus.model import Kind
from openbus.screen.rules import (
    FINDERS,
    MARK_MEANINGS,
    PLACES,
    WIDGETS,
    ComposerRule,
    DialogRule,
    FieldRule,
    Glyphs,
    Manifest,
    MarkRule,
    OverlayRule,
    Pattern,
    ProgramRule,
    TitleRule,
)

SCHEMA = "openbus.agent/1"
MAX_PATTERN = 500
"""Longest regular expression, characters."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A manifest that was not loaded: file, line (from 1) and reason."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}; the file is skipped"


class Library(msgspec.Struct, frozen=True, kw_only=True):
    """All manifests in order of precedence, and what could not be loaded."""

    manifests: tuple[Manifest, ...]
    problems: tuple[Problem, ...] = ()

    def get(self, name: str) -> Manifest | None:
        """The manifest with this id."""
        return next((m for m in self.manifests if m.id == name), None)

    def rule_ids(self) -> tuple[str, ...]:
        """Every rule that can decide as `program/rule`, for "which rules never fired"."""
        found: list[str] = []
        for m in self.manifests:
            marks = (mark for mark in (*m.marks, *m.footers) if not mark.silent)
            found += [f"{m.id}/{mark.id}" for mark in marks]
            found += [f"{m.id}/{dialog.id}" for dialog in m.dialogs]
            found += [f"{m.id}/{overlay.id}" for overlay in m.overlays]
        return tuple(found)


class ManifestError(ValueError):
    """A wrong manifest: `line` from 1, and the reason as text."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


_TABLES = {
    "composer": "composers",
    "mark": "marks",
    "footer": "footers",
    "dialog": "dialogs",
    "overlay": "overlays",
    "field": "fields",
}
_FLAGS = frozenset({"over_keeps_error", "busy_without_composer", "cursor_below"})
_HEAD = frozenset({"schema", "id", "label", "extends", "seen"}) | _FLAGS
_SINGLE = frozenset({"program", "glyphs", "title"})


def load_library(user_dir: Path | None = None) -> Library:
    """Shipped manifests, then `*.toml` of `user_dir` merged over them in name order."""
    raws: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    problems: list[Problem] = []
    for name, text in _sources(user_dir, problems):
        try:
            raw = _decode(text)
        except ManifestError as error:
            problems.append(Problem(file=name, line=error.line, reason=error.reason))
            continue
        raws.setdefault(raw["id"], []).append((name, text, raw))
    built: dict[str, tuple[dict[str, Any], Manifest]] = {}
    for key in sorted(raws, key=lambda key: "extends" in raws[key][0][2]):
        for name, text, raw in raws[key]:
            try:
                base = built[key][0] if key in built else _base(raw, text, built)
                merged = _merge(base, raw)
                built[key] = merged, _build(merged)
            except ManifestError as error:
                problems.append(Problem(file=name, line=error.line, reason=error.reason))
    manifests = tuple(built[key][1] for key in sorted(built))
    return Library(manifests=manifests, problems=tuple(problems))


def _base(
    raw: dict[str, Any], text: str, built: Mapping[str, tuple[dict[str, Any], Manifest]]
) -> dict[str, Any]:
    """The manifest that this one extends (`extends = "opencode"`), else nothing."""
    name = raw.get("extends")
    if name is None:
        return {}
    if name not in built:
        raise ManifestError(_line(text, "extends"), f'extends "{name}", which does not exist')
    return built[name][0]


def parse_manifest(text: str) -> Manifest:
    """One manifest from TOML text; raises `ManifestError`."""
    return _build(_decode(text))


def _sources(user_dir: Path | None, problems: list[Problem]) -> Iterable[tuple[str, str]]:
    shipped = resources.files("openbus.agents")
    for entry in sorted(shipped.iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".toml"):
            yield f"openbus/agents/{entry.name}", entry.read_text("utf-8")
    if user_dir is None or not user_dir.is_dir():
        return
    for path in sorted(user_dir.glob("*.toml")):
        try:
            yield str(path), path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problems.append(Problem(file=str(path), line=1, reason=f"cannot be read: {error}"))


def _decode(text: str) -> dict[str, Any]:
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        raise ManifestError(int(found.group(1)) if found else 1, f"not TOML: {error}") from None
    if raw.get("schema") != SCHEMA:
        raise ManifestError(_line(text, "schema"), f'schema must be "{SCHEMA}"')
    if not isinstance(raw.get("id"), str) or not re.fullmatch(r"[a-z][a-z0-9-]*", raw["id"]):
        raise ManifestError(_line(text, "id"), "id must be lower-case letters, digits and -")
    for key in raw:
        if key not in _HEAD and key not in _SINGLE and key not in _TABLES:
            raise ManifestError(_line(text, key), f'unknown key "{key}"')
    for table in _TABLES:
        rules = raw.get(table, [])
        if not isinstance(rules, list):
            raise ManifestError(_line(text, table), f"write [[{table}]], not [{table}]")
        seen: set[str] = set()
        for n, rule in enumerate(rules):
            line = _table_line(text, table, n)
            if not isinstance(rule, dict) or not isinstance(rule.get("id"), str):
                raise ManifestError(line, f"[[{table}]] has no id")
            if rule["id"] in seen:
                raise ManifestError(line, f'duplicate id "{rule["id"]}" in [[{table}]]')
            seen.add(rule["id"])
            if rule.get("enabled", True):
                _rule(table, rule, line, text, partial=True)
    for name in _SINGLE & raw.keys():
        _single(name, raw[name], text)
    return raw


def _merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    merged = {**old, **{k: v for k, v in new.items() if k not in _TABLES and k not in _SINGLE}}
    for name in _SINGLE:
        if name in old or name in new:
            merged[name] = {**old.get(name, {}), **new.get(name, {})}
    for table in _TABLES:
        rules = {rule["id"]: rule for rule in old.get(table, [])}
        added = {rule["id"]: rule for rule in new.get(table, [])}
        fresh = {key: rule for key, rule in added.items() if key not in rules}
        kept = {key: {**rule, **added.get(key, {})} for key, rule in rules.items()}
        order = {**fresh, **kept} if old else fresh
        merged[table] = [rule for rule in order.values() if rule.get("enabled", True)]
    return merged


def _build(raw: Mapping[str, Any]) -> Manifest:
    tables: dict[str, Any] = {
        field: tuple(_rule(table, rule, 1, "", partial=False) for rule in raw.get(table, []))
        for table, field in _TABLES.items()
    }
    singles: dict[str, Any] = {name: _single(name, raw.get(name, {}), "") for name in _SINGLE}
    return Manifest(
        id=raw["id"],
        label=str(raw.get("label", raw["id"])),
        seen=tuple(raw.get("seen", ())),
        over_keeps_error=bool(raw.get("over_keeps_error", False)),
        busy_without_composer=bool(raw.get("busy_without_composer", False)),
        cursor_below=bool(raw.get("cursor_below", False)),
        **singles,
        **tables,
    )


_SHAPES: dict[str, type[msgspec.Struct]] = {
    "composer": ComposerRule,
    "mark": MarkRule,
    "footer": MarkRule,
    "dialog": DialogRule,
    "overlay": OverlayRule,
    "field": FieldRule,
    "program": ProgramRule,
    "glyphs": Glyphs,
    "title": TitleRule,
}
_RENAMED = {"is": "meaning", "in": "place"}
_PATTERNS = frozenset(
    {"row", "edge", "frame", "busy", "question", "heading", "footer", "options", "command"}
    | {
        "command_after",
        "field",
        "buttons",
        "skip_options",
        "unless",
        "witness",
        "working",
        "needs",
        "text",
    }
)
_ENUMS: dict[str, frozenset[str]] = {
    "is": MARK_MEANINGS,
    "find": FINDERS,
    "widget": WIDGETS,
    "in": PLACES,
    "kind": frozenset(get_args(Kind)),
}
_REQUIRED = {
    "composer": ("find", "row"),
    "mark": ("is", "row"),
    "footer": ("is", "row"),
    "dialog": ("kind", "widget"),
    "overlay": ("row",),
    "field": ("name", "row"),
}


def _rule(table: str, rule: Mapping[str, Any], line: int, text: str, *, partial: bool) -> Any:
    known = {_RENAMED.get(k, k): k for k in (*_RENAMED,)}
    allowed = {known.get(f, f) for f in _SHAPES[table].__struct_fields__} | {"enabled"}
    values: dict[str, Any] = {}
    for key, value in rule.items():
        at = _key_line(text, line, key)
        if key not in allowed:
            raise ManifestError(at, f'unknown key "{key}" in [[{table}]] "{rule["id"]}"')
        if key != "enabled":
            values[_RENAMED.get(key, key)] = _value(key, value, at, rule["id"])
    missing = [key for key in _REQUIRED[table] if key not in rule]
    if missing and not partial:
        raise ManifestError(line, f'[[{table}]] "{rule["id"]}" lacks {", ".join(missing)}')
    return None if partial else _SHAPES[table](**values)


def _single(name: str, table: Any, text: str) -> Any:
    line = _line(text, f"[{name}]")
    if not isinstance(table, dict):
        raise ManifestError(line, f"[{name}] must be a table")
    values: dict[str, Any] = {}
    for key, value in table.items():
        at = _key_line(text, line, key)
        if key not in _SHAPES[name].__struct_fields__:
            raise ManifestError(at, f'unknown key "{key}" in [{name}]')
        if name == "program":
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise ManifestError(at, f"{key} must be a list of strings")
            pattern = key == "screen"
            values[key] = tuple(_pattern(v, at, key) if pattern else v for v in value)
        else:
            values[key] = _value(key, value, at, name)
    return _SHAPES[name](**values)


def _value(key: str, value: Any, line: int, owner: str) -> Any:
    if key in _PATTERNS:
        return _pattern(value, line, f'"{owner}" {key}')
    if key in _ENUMS and value not in _ENUMS[key]:
        raise ManifestError(
            line, f'"{owner}": {key} = "{value}" is none of {", ".join(sorted(_ENUMS[key]))}'
        )
    if key == "placeholder":
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
            raise ManifestError(line, f'"{owner}": placeholder must be text or a list of texts')
        return tuple(texts)
    flags = ("silent", "free_text", "needs_program", "every", "single", "weak")
    expected: type = int if key == "rows" else bool if key in flags else str
    if not isinstance(value, expected):
        raise ManifestError(line, f'"{owner}": {key} must be {expected.__name__}')
    return value


def _pattern(value: Any, line: int, what: str) -> Pattern:
    if not isinstance(value, str):
        raise ManifestError(line, f"{what} must be a regular expression in a string")
    if len(value) > MAX_PATTERN:
        raise ManifestError(line, f"{what} is longer than {MAX_PATTERN} characters")
    try:
        return re.compile(value)
    except re.error as error:
        raise ManifestError(line, f"{what} is no regular expression: {error}") from None


def _line(text: str, key: str) -> int:
    pattern = re.escape(key) if key.startswith("[") else rf"\[*{re.escape(key)}\]*\s*(=|$)"
    return _first_line(text, rf"^\s*{pattern}", 1)


def _table_line(text: str, table: str, n: int) -> int:
    found = [m.start() for m in re.finditer(rf"(?m)^[ \t]*\[\[\s*{table}\s*\]\]", text)]
    return text.count("\n", 0, found[n]) + 1 if n < len(found) else 1


def _key_line(text: str, line: int, key: str) -> int:
    return _first_line(text, rf"^\s*{re.escape(key)}\s*=", line)


def _first_line(text: str, pattern: str, start: int) -> int:
    for number, row in enumerate(text.splitlines(), 1):
        if number >= start and re.search(pattern, row):
            return number
    return start
