"""Corpus files: one pane on one screen, with what is true about it.

`openbus capture` writes them, `openbus classify`, `openbus explain` and the evals read them. The
format (JSON) is described in `docs/corpus.md`. Decoding is forgiving about what is missing – only
`ansi` must be there – and strict about what is wrong: a file that cannot be used is one
`CorpusError` with the reason, never a guess.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from openbus.model import Capture, Cursor, Process

MAX_BYTES = 32 * 1024 * 1024
"""Larger files are refused unread: a screen of 1,000 x 500 cells with attributes is below 20 MB."""

MAX_CELLS = 5_000
"""Upper bound for a width or a height that is believed."""


class CorpusError(Exception):
    """A file that cannot be used. `str()` is one line: file, reason, way out."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file}: {reason}")
        self.file = file
        self.reason = reason


class CorpusFile(msgspec.Struct, frozen=True, kw_only=True):
    """One corpus file. `expect` holds the labels as written: an absent field is not scored."""

    file: str
    capture: Capture
    program: str = ""
    version: str = ""
    state: str = ""
    size: str = ""
    captured_at: str = ""
    expect: dict[str, Any] = {}
    synthetic: bool = False
    native: dict[str, Any] | None = None


def decode(data: bytes, file: str) -> CorpusFile:
    """One file's content. Raises `CorpusError`; `file` only names it."""
    if len(data) > MAX_BYTES:
        raise CorpusError(file, _too_large(len(data)))
    try:
        # Not msgspec: the standard library keeps lone surrogate escapes, which screens can hold.
        raw = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        detail = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise CorpusError(
            file, f"not JSON ({detail}); `openbus capture PANE > FILE` writes such a file"
        ) from None
    if not isinstance(raw, dict):
        raise CorpusError(file, "not a corpus file (the JSON is no object)")
    if not isinstance(raw.get("ansi"), str):
        raise CorpusError(file, "not a corpus file (it lacks `ansi`, the screen as text)")
    pane = _object(raw, "pane", file)
    expect = _object(raw, "expect", file)
    native = raw.get("native")
    return CorpusFile(
        file=file,
        capture=_capture(raw["ansi"], pane),
        program=_text(raw.get("program")),
        version=_text(raw.get("version")),
        state=_text(raw.get("state")),
        size=_text(raw.get("size")),
        captured_at=_text(raw.get("captured_at")),
        expect=expect,
        synthetic=raw.get("synthetic") is True,
        native=native if isinstance(native, dict) else None,
    )


def read(path: Path) -> CorpusFile:
    """The file at `path`. Raises `CorpusError`, for an unreadable file as well."""
    file = str(path)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise CorpusError(file, _too_large(size))
        return decode(path.read_bytes(), file)
    except OSError as error:
        raise CorpusError(file, f"cannot be read ({(error.strerror or 'error').lower()})") from None


def paths_below(roots: Iterable[Path]) -> Iterator[Path]:
    """Every `*.json` below each folder in order of name; a root that is a file stands for itself.

    A root that does not exist is yielded as it is, so that reading it names it.
    """
    for root in roots:
        if root.is_dir():
            yield from sorted(path for path in root.rglob("*.json") if path.is_file())
        else:
            yield root


def encode(
    capture: Capture,
    *,
    program: str,
    version: str,
    state: str,
    captured_at: str,
    text: str = "",
    expect: dict[str, Any] | None = None,
    synthetic: bool = False,
) -> str:
    """A corpus file as text. `captured_at` is ISO 8601 in UTC; `text` the joined plain screen."""
    record: dict[str, Any] = {
        "program": program,
        "version": version,
        "state": state,
        "size": f"{capture.width}x{capture.height}",
        "captured_at": captured_at,
        "expect": expect or {},
        "pane": {
            "current_command": capture.command,
            "title": capture.title,
            "width": capture.width,
            "height": capture.height,
            "cursor_x": capture.cursor.x,
            "cursor_y": capture.cursor.y,
            "cursor_visible": capture.cursor.visible,
            "alternate_on": capture.alternate_on,
            "in_mode": capture.in_mode,
            "dead": capture.dead,
            "current_path": capture.cwd,
            **({} if capture.line_mode is None else {"line_mode": capture.line_mode}),
            "processes": [
                {
                    "comm": process.comm,
                    "foreground": process.foreground,
                    "depth": process.depth,
                    "argv": list(process.argv),
                }
                for process in capture.processes
            ],
        },
        "ansi": capture.ansi,
        "text": text,
    }
    if synthetic:
        record["synthetic"] = True
    return json.dumps(record, ensure_ascii=False, indent=0) + "\n"


def _too_large(size: int) -> str:
    return f"too large ({size // (1024 * 1024)} MB; a screen needs less than 32 MB)"


def _object(raw: dict[str, Any], name: str, file: str) -> dict[str, Any]:
    value = raw.get(name, {})
    if not isinstance(value, dict):
        raise CorpusError(file, f"not a corpus file (`{name}` is no object)")
    return value


def _capture(ansi: str, pane: dict[str, Any]) -> Capture:
    ansi = printable(ansi)
    rows = ansi.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    # A file without the pane's size (a pasted screen) is as wide and as high as its text.
    width = _count(pane.get("width")) or min(max(map(len, rows), default=1) or 1, MAX_CELLS)
    height = _count(pane.get("height")) or min(len(rows) or 1, MAX_CELLS)
    return Capture(
        ansi=ansi,
        width=width,
        height=height,
        cursor=Cursor(
            x=_count(pane.get("cursor_x")),
            y=_count(pane.get("cursor_y")),
            visible=pane.get("cursor_visible", True) is True,
        ),
        alternate_on=pane.get("alternate_on") is True,
        in_mode=pane.get("in_mode") is True,
        dead=pane.get("dead") is True,
        title=_text(pane.get("title")),
        command=_text(pane.get("current_command")),
        cwd=_text(pane.get("current_path")),
        line_mode=mode if isinstance(mode := pane.get("line_mode"), bool) else None,
        processes=tuple(_processes(pane.get("processes"))),
    )


def _processes(value: Any) -> Iterator[Process]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict) and isinstance(item.get("comm"), str):
            argv = item.get("argv")
            yield Process(
                comm=printable(item["comm"]),
                foreground=item.get("foreground") is True,
                depth=_count(item.get("depth")),
                argv=tuple(_text(word) for word in argv) if isinstance(argv, list) else (),
            )


def printable(text: str) -> str:
    """`text` with lone surrogates replaced, so that it can be encoded again."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _text(value: Any) -> str:
    return printable(value) if isinstance(value, str) else ""


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return max(0, min(value, MAX_CELLS))
