"""Small JSON Schemas of our own for the part of the app-server's answers that we read.

They describe what this adapter consumes, not what the server may send: more fields are fine, a
field of another type is drift and is reported as such. Shapes verified with Codex 0.159.2, 0.165.0
and 0.171.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

_TEXT = {"type": "string"}
_MAYBE_TEXT = {"type": ["string", "null"]}
ID_PATTERN = "^[0-9A-Za-z_-]{1,128}$"
"""A thread id: today a UUID. Anything longer or with other characters is not used as one."""

_ID = {"type": "string", "pattern": ID_PATTERN}
_STATUS = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": _TEXT,
        "activeFlags": {"type": "array", "items": _TEXT},
    },
}
_IDS = {"type": "array", "items": _ID}

SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "initialize": {
        "type": "object",
        "required": ["userAgent", "codexHome"],
        "properties": {"userAgent": _MAYBE_TEXT, "codexHome": _MAYBE_TEXT},
    },
    "loaded": {
        "type": "object",
        "required": ["data"],
        "properties": {"data": _IDS, "nextCursor": _MAYBE_TEXT},
    },
    "page": {
        "type": "object",
        "required": ["data"],
        "properties": {
            "data": {"type": "array", "items": {"type": "object"}},
            "nextCursor": _MAYBE_TEXT,
        },
    },
    "thread": {
        "type": "object",
        "required": ["id", "status", "ephemeral"],
        "properties": {
            "id": _ID,
            "status": _STATUS,
            "ephemeral": {"type": "boolean"},
            "parentThreadId": _MAYBE_TEXT,
            "name": _MAYBE_TEXT,
            "cwd": _MAYBE_TEXT,
            "historyMode": _MAYBE_TEXT,
            "model": _MAYBE_TEXT,
            "reasoningEffort": _MAYBE_TEXT,
            "gitInfo": {
                "type": ["object", "null"],
                "properties": {
                    "branch": _MAYBE_TEXT,
                    "originUrl": _MAYBE_TEXT,
                    "sha": _MAYBE_TEXT,
                },
            },
        },
    },
}


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[name])


def drift(name: str, value: object) -> tuple[str, ...]:
    """Where `value` differs from what we read, as `name.field: rule`; empty when it fits.

    Names fields and rules of our schema only, never a value: the result may be logged.
    """
    return tuple(
        sorted(
            {
                ".".join([name, *(p for p in error.absolute_path if isinstance(p, str))])
                + f": {error.validator}"
                for error in _validator(name).iter_errors(value)
            }
        )
    )
