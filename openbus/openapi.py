"""The OpenAPI document of the HTTP API, made from the records themselves."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from openbus.events import Intent
from openbus.model import PaneState
from openbus.openapi_more import paths


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str | None = None


def document(version: str, served: Collection[str] = (), *, locked: bool = True) -> dict[str, Any]:
    """OpenAPI 3.1. `served` = the paths of this server; of the further parts only those are in.
    `locked` = a key is needed."""
    (pane, intent, trouble), components = msgspec.json.schema_components(
        [PaneState, Intent, Problem], ref_template="#/components/schemas/{name}"
    )
    key = {"name": "key", "in": "path", "required": True, "schema": {"type": "string"}}
    filters = [
        _query(
            "needs_you",
            "only panes that need a person",
            {"type": "string", "enum": ["0", "1", "true", "false"]},
        ),
        _query("pane", "full key, %N or SOCKET:%N; repeatable", {"type": "string"}),
    ]
    events = {
        "summary": "Server-sent events: pane, gone, announce, withdraw, reset",
        "description": "`id:` is EPOCH-REV; `Last-Event-ID` replays. `pane` carries a PaneState, "
        "`announce` and `withdraw` an Intent, `gone` a key. After `reset` a full snapshot follows.",
        "parameters": [
            *filters,
            _query("heartbeat", "seconds between comments", {"type": "integer"}),
            {
                "name": "Last-Event-ID",
                "in": "header",
                "schema": {"type": "string"},
            },
        ],
        "responses": {
            "200": {
                "description": "the stream",
                "content": {"text/event-stream": {"schema": {"anyOf": [pane, intent]}}},
            },
            **_troubles(trouble, 401, 422),
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "OpenBus", "version": version},
        "security": [{"token": []}] if locked else [],
        "paths": {
            "/api/panes": {
                "get": {
                    "summary": "All panes, most urgent first",
                    "parameters": [
                        *filters,
                        _query("host", "only this machine", {"type": "string"}),
                    ],
                    "responses": {
                        **_ok({"type": "array", "items": pane}),
                        **_troubles(trouble, 401, 422),
                    },
                }
            },
            "/api/panes/{key}": {
                "get": {
                    "summary": "One pane",
                    "parameters": [key],
                    "responses": {**_ok(pane), **_troubles(trouble, 401, 404)},
                }
            },
            "/api/panes/{key}/screen": {
                "get": {
                    "summary": "The last captured screen as styled rows",
                    "parameters": [key],
                    "responses": {**_ok({"type": "object"}), **_troubles(trouble, 401, 404)},
                }
            },
            "/api/events": {"get": events},
            "/api/shadow": {
                "get": {
                    "summary": "Native evidence against the terminal, as counted in shadow",
                    "responses": {**_ok({"type": "object"}), **_troubles(trouble, 401)},
                }
            },
            "/metrics": {
                "get": {
                    "summary": "Prometheus text",
                    "responses": {"200": {"description": "metrics"}, **_troubles(trouble, 401)},
                }
            },
            "/healthz": {
                "get": {
                    "summary": "Whether the watcher lives; open, no content",
                    "security": [],
                    "responses": {
                        "200": {"description": "it does"},
                        "503": {"description": "it does not"},
                    },
                }
            },
            **{path: found for path, found in paths(trouble).items() if path in served},
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}} if locked else {},
        },
    }


_REASONS = {401: "no key", 404: "not found", 422: "bad filter", 429: "too many wrong keys"}


def _query(name: str, text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": text, "schema": schema}


def _ok(schema: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}}


def _troubles(schema: dict[str, Any], *statuses: int) -> dict[str, Any]:
    return {
        str(status): {
            "description": _REASONS[status],
            "content": {"application/problem+json": {"schema": schema}},
        }
        for status in (*statuses, *((429,) if 401 in statuses else ()))
    }
