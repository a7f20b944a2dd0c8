"""The OpenAPI paths beside panes and events: who is paired, notifications, sessions, timeline."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_OBJECT: Schema = {"type": "object"}
_LIST: Schema = {"type": "array", "items": _OBJECT}
_TIME: Schema = {"type": "integer", "minimum": 0, "maximum": 999_999_999_999_999}
_SUBSCRIPTION: Schema = {
    "type": "object",
    "required": ["endpoint", "keys"],
    "properties": {
        "endpoint": {"type": "string", "minLength": 1, "maxLength": 2000},
        "keys": {
            "type": "object",
            "required": ["p256dh", "auth"],
            "properties": {
                "p256dh": {"type": "string", "minLength": 1, "maxLength": 400},
                "auth": {"type": "string", "minLength": 1, "maxLength": 400},
            },
        },
        "device": {"type": "string", "enum": ["phone", "desk"]},
        "label": {"type": "string", "maxLength": 60},
        "browser": {"type": ["string", "null"], "minLength": 1, "maxLength": 400},
    },
}
_PRESENCE: Schema = {
    "type": "object",
    "required": ["browser"],
    "properties": {
        "browser": {"type": "string", "minLength": 1, "maxLength": 400},
        "pane": {"type": ["string", "null"], "minLength": 1, "maxLength": 400},
    },
}
_MUTE: Schema = {
    "type": "object",
    "required": ["scope", "name"],
    "properties": {
        "scope": {"type": "string", "enum": ["pane", "session", "program"]},
        "name": {"type": "string", "minLength": 1, "maxLength": 400},
        "seconds": {"type": ["integer", "null"], "minimum": 1, "maximum": 31_536_000},
    },
}


def paths(trouble: Schema) -> dict[str, Any]:
    """Path -> operations; `trouble` is the schema of a problem."""

    def reads(summary: str, schema: Schema, *statuses: int, query: Any = ()) -> dict[str, Any]:
        return {
            "summary": summary,
            "parameters": list(query),
            "responses": {"200": _answer(schema), **_problems(trouble, 401, 429, *statuses)},
        }

    def writes(
        summary: str, status: int, body: Schema | None, *statuses: int, answer: Schema | None = None
    ) -> dict[str, Any]:
        made: dict[str, Any] = {
            "summary": summary,
            "responses": {
                str(status): _answer(answer) if answer else {"description": "done"},
                **_problems(trouble, 401, 403, 429, *statuses),
            },
        }
        if body is not None:
            made["requestBody"] = {
                "required": True,
                "content": {"application/json": {"schema": body}},
            }
        return made

    push = (413, 415, 422, 503, 507)
    return {
        "/api/me": {"get": reads("Who asks, and what this service offers", _OBJECT)},
        "/api/paired": {"get": reads("Paired browsers and tokens", _LIST, 507)},
        "/api/paired/{id}": {
            "parameters": [_in_path("id")],
            "delete": writes("Revoke one; its open pages close", 204, None, 404, 507),
        },
        "/api/settings": {"get": reads("What is on, with the lines that change it", _OBJECT)},
        "/api/history": {
            "get": reads(
                "Spans of one state each, per pane",
                _OBJECT,
                422,
                query=[
                    _in_query("from", "epoch milliseconds", _TIME, required=True),
                    _in_query("to", "epoch milliseconds, at most 31 days later", _TIME, True),
                    _in_query("pane", "full key", _TEXT),
                ],
            )
        },
        "/api/sessions": {"get": reads("Sessions that agents keep on disk", _LIST)},
        "/api/sessions/{id}": {
            "parameters": [_in_path("id")],
            "get": reads(
                "One session in depth",
                _OBJECT,
                404,
                query=[_in_query("subagent", "id of a subagent", _TEXT)],
            ),
        },
        "/api/plan-ticks/{key}": {
            "parameters": [_in_path("key", "^[0-9A-Za-z:_-]{4,100}$")],
            "put": writes("Tick a plan step", 204, None, 404, 422, 507),
            "delete": writes("Undo a tick", 204, None, 404, 422, 507),
        },
        "/api/push/key": {"get": reads("The key browsers subscribe with", _OBJECT, 503, 507)},
        "/api/push/status": {"get": reads("How every channel does", _OBJECT, 503, 507)},
        "/api/push/log": {
            "get": reads(
                "What was told, and why",
                _LIST,
                422,
                503,
                query=[
                    _in_query(
                        "limit", "newest", {"type": "integer", "minimum": 1, "maximum": 10000}
                    )
                ],
            )
        },
        "/api/push/subscriptions": {
            "get": reads("Browsers with notifications", _LIST, 503, 507),
            "post": writes("Subscribe a browser", 201, _SUBSCRIPTION, *push, answer=_OBJECT),
        },
        "/api/push/subscriptions/{id}": {
            "parameters": [_in_path("id")],
            "delete": writes("Forget a browser", 204, None, 404, 503, 507),
        },
        "/api/push/presence": {"put": writes("What a page shows", 204, _PRESENCE, *push)},
        "/api/push/mutes": {
            "get": reads("What is silenced", _LIST, 503, 507),
            "put": writes("Silence", 204, _MUTE, *push),
        },
        "/api/push/mutes/{scope}/{name}": {
            "parameters": [_in_path("scope"), _in_path("name")],
            "delete": writes("Undo", 204, None, 404, 503, 507),
        },
        "/api/push/test": {
            "post": writes("Send a test on every channel", 200, None, 503, 507, answer=_LIST)
        },
    }


_REASONS = {
    401: "no key",
    403: "may only look, or not from our page",
    404: "not found",
    413: "too long",
    415: "not JSON",
    422: "cannot be used",
    429: "too many wrong keys",
    503: "notifications have not started yet",
    507: "cannot be stored",
}


def _answer(schema: Schema) -> dict[str, Any]:
    return {"description": "OK", "content": {"application/json": {"schema": schema}}}


def _problems(trouble: Schema, *statuses: int) -> dict[str, Any]:
    return {
        str(status): {
            "description": _REASONS[status],
            "content": {"application/problem+json": {"schema": trouble}},
        }
        for status in statuses
    }


def _in_path(name: str, pattern: str | None = None) -> dict[str, Any]:
    schema = {**_TEXT, "minLength": 1} if pattern is None else {**_TEXT, "pattern": pattern}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(name: str, text: str, schema: Schema, required: bool = False) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "description": text,
        "schema": schema,
        "required": required,
    }
