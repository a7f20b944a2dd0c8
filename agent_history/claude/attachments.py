"""The records Claude Code writes of what it sends along: sizes and names for the breakdown.

`api-request-shape` holds the system prompt and the tool definitions (2.1.3xx, seen 2026-11-30).
The shapes of `instructions` and `mcp_instructions_delta` were not seen on a real disk; their
texts are found under whichever of the usual keys they use, else they stay in `system`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agent_history.context import BreakdownSizes
from agent_history.kinds import mcp_server


def chars(value: Any) -> int:
    """The length of a value as it is sent."""
    return len(value) if isinstance(value, str) else len(msgspec.json.encode(value))


def read_shape(sizes: BreakdownSizes, shape: dict[str, Any]) -> None:
    """The system prompt and the tool definitions of a request."""
    system, tools = shape.get("system"), shape.get("tools")
    if isinstance(system, list):
        sizes.fixed_text(
            "system",
            "",
            sum(chars(part.get("text", "")) for part in system if isinstance(part, dict)),
        )
    elif isinstance(system, str):
        sizes.fixed_text("system", "", len(system))
    if isinstance(tools, list):
        _tools(sizes, [tool for tool in tools if isinstance(tool, dict)])
    sizes.whole_system = bool(sizes.fixed["system"]) and isinstance(tools, list)


def _tools(sizes: BreakdownSizes, tools: list[dict[str, Any]]) -> None:
    servers: dict[str, list[int]] = {}
    sizes.fixed["builtInTools"].pop("", None)
    for tool in tools:
        name = str(tool.get("name") or "")
        server = mcp_server(name)
        if server is None:
            sizes.fixed_text("builtInTools", name, chars(tool))
        else:
            servers.setdefault(server, []).append(chars(tool))
    for server, lengths in servers.items():
        sizes.fixed_text("mcpTools", server, sum(lengths))
        sizes.mcp_tools[server] = len(lengths)


def read_attachment(sizes: BreakdownSizes, attachment: dict[str, Any]) -> None:
    """One `attachment` record."""
    kind = attachment.get("type")
    if kind == "skill_listing":
        _skills(sizes, attachment)
    elif kind == "agent_listing_delta":
        lines = attachment.get("addedLines")
        if isinstance(lines, list):
            sizes.fixed_text("builtInTools", "Agent types", sum(map(chars, lines)))
    elif kind == "deferred_tools_delta":
        _deferred(sizes, attachment)
    elif kind == "mcp_instructions_delta":
        _mcp_instructions(sizes, attachment)
    elif kind in ("instructions", "nested_memory"):
        for path, length in _memory(attachment):
            sizes.fixed_text("memory", path, length)


def _skills(sizes: BreakdownSizes, attachment: dict[str, Any]) -> None:
    content, names = attachment.get("content"), attachment.get("names")
    if not isinstance(content, str):
        return
    lines = {
        line[2:].split(":", 1)[0]: len(line) for line in content.split("\n") if line[:2] == "- "
    }
    known = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    named = {name: lines[name] for name in known or lines if name in lines}
    if known and len(named) < len(known):
        # Names without a line of their own share what the others leave.
        rest = max(0, len(content) - sum(named.values())) // (len(known) - len(named))
        named = {name: named.get(name, rest) for name in known}
    for name, length in named.items():
        sizes.fixed_text("skills", name, length)


def _deferred(sizes: BreakdownSizes, attachment: dict[str, Any]) -> None:
    names = attachment.get("addedNames")
    built_in = 0
    servers: dict[str, int] = {}
    for name in names if isinstance(names, list) else ():
        server = mcp_server(name) if isinstance(name, str) else None
        if server is None:
            built_in += chars(name)
        else:
            servers[server] = servers.get(server, 0) + 1
            old = sizes.fixed["mcpTools"].get(server, 0)
            sizes.fixed_text("mcpTools", server, old + chars(name))
    if built_in:
        sizes.fixed_text("builtInTools", "Deferred tools", built_in)
    for server, count in servers.items():
        sizes.mcp_tools.setdefault(server, count)


def _mcp_instructions(sizes: BreakdownSizes, attachment: dict[str, Any]) -> None:
    names, blocks = attachment.get("addedNames"), attachment.get("addedBlocks")
    if not isinstance(names, list) or not isinstance(blocks, list):
        return
    for name, block in zip(names, blocks, strict=False):
        if isinstance(name, str):
            old = sizes.fixed["mcpTools"].get(name, 0)
            sizes.fixed_text("mcpTools", name, old + chars(block))


def _memory(value: Any) -> list[tuple[str, int]]:
    """Path and length of every `{path, content}` inside an attachment."""
    if isinstance(value, list):
        return [found for item in value for found in _memory(item)]
    if not isinstance(value, dict):
        return []
    path = value.get("path") or value.get("filePath")
    content = value.get("content")
    if isinstance(path, str) and isinstance(content, str):
        return [(path, len(content))]
    if (
        isinstance(path, str)
        and isinstance(content, dict)
        and isinstance(content.get("content"), str)
    ):
        return [(path, len(content["content"]))]
    return [found for item in value.values() for found in _memory(item)]
