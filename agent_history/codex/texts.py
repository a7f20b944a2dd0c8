"""Small readings of Codex's texts: content parts, exit codes, scripts, errors."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from agent_history.fields import TEXT
from agent_history.reading.decode import loads

_EXITED = re.compile(rb'exited with code (-?\d+)|exit_code\\?":\s*(-?\d+)')
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_CMD = re.compile(r'"?\bcmd"?\s*:\s*("(?:[^"\\]|\\.)*")')


def content_text(data: msgspec.Raw) -> str:
    """The text parts of a message's content, joined."""
    value = loads(data) if data else None
    if isinstance(value, str):
        return value
    parts = [part.get("text") for part in value or () if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str) and part)


def exit_code_of(output: msgspec.Raw) -> tuple[int | None, str | None]:
    """Exit code and text of a call's output; None when it says nothing of one.

    Output is `Process exited with code N` and then the text, or JSON with
    `{"metadata":{"exit_code":N}}` at its end: both ends are looked at, not the middle.
    """
    data = bytes(output)
    match = _EXITED.search(data[:400]) or _EXITED.search(data[-200:])
    if match is None:
        failed = data.startswith(b'"Script failed') or b'"text":"Script failed' in data[:80]
        return (1, plain(output)) if failed else (None, None)
    code = int(match[1] or match[2])
    return code, plain(output) if code else None


def plain(output: msgspec.Raw) -> str:
    """A failed call's own output, without the lines Codex puts before it."""
    value = loads(output)
    if isinstance(value, list):
        value = content_text(output)
    if not isinstance(value, str):
        return ""
    inner = loads(value.encode("utf-8", "replace")) if value.startswith("{") else None
    if isinstance(inner, dict) and isinstance(inner.get("output"), str):
        value = inner["output"]
    _, mark, rest = str(value).partition("\nOutput:\n")
    return (rest if mark else str(value))[:TEXT]


def script_command(script: str) -> tuple[str | None, bool]:
    """The first command in a code-mode script, and whether the script makes no other call."""
    match = _CMD.search(script)
    single = script.count("tools.") == 1
    if match is None:
        return None, single
    try:
        command = json.loads(match[1])
    except ValueError:
        return None, single
    return str(command), single


def patched_path(patch: str) -> str | None:
    """The first file a patch names."""
    match = _PATCHED.search(patch)
    return match[1].strip() if match else None


def error_message(error: Any) -> str | None:
    """The words of `task_complete.error`; None when the turn had no error."""
    if error is None:
        return None
    if isinstance(error, str):
        return error
    if isinstance(error, dict):
        message = error.get("message")
        if isinstance(message, str):
            return message
        info = error.get("codex_error_info")
        return info if isinstance(info, str) else ""
    return ""
