"""What each agent calls its tools: a neutral `Use` becomes a `Call` that the agent offers.

Names and arguments as seen in the requests of Codex 0.107-0.171, Claude Code 2.0-2.1,
OpenCode 1.0-1.18 and Gemini CLI 0.20-0.61 (2026-11).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evals.lab.scenario import Choice, Say, Use
from evals.lab.wire.common import Call, Part

Offered = dict[str, dict[str, Any]]
Given = dict[str, Any]


def parts_for(use: Use, dialect: str, offered: Offered, project: Path) -> list[Part]:
    """The calls that do `use` for this agent; a sentence when it offers no tool for that."""
    calls = _BY_DIALECT[dialect](use, offered, project)
    if calls:
        return list(calls)
    if use.tool == "plan":
        # Codex takes a plan out of the text between these marks; elsewhere they do no harm.
        return [Say(f"<proposed_plan>\n{use.given['plan']}\n</proposed_plan>\n")]
    return [Say(f"(there is no tool for that here: {use.tool})")]


def _responses(use: Use, offered: Offered, project: Path) -> list[Call]:
    given = use.given
    match use.tool:
        case "shell":
            return _codex_shell(given, offered)
        case "read":
            return _codex_shell({"command": f"cat {given['path']}"}, offered)
        case "edit" | "write":
            return _codex_patch(_patch(use), offered)
        case "fetch":
            why = "Read that page"
            return _codex_shell(
                {"command": f"curl -s {given['url']}", "why": why, "ask": True}, offered
            )
        case "ask":
            questions = [
                {"id": choice.id, **_question(choice), "options": _options(choice)}
                for choice in given["choices"]
            ]
            return _if_offered("request_user_input", {"questions": questions}, offered)
        case "todo" if "update_plan" in offered:
            steps = [{"step": item, "status": status} for item, status in _todo(given)]
            return _if_offered("update_plan", {"plan": steps}, offered)
        case "subagent":
            return _codex_spawn(given, offered)
        case "mcp":
            return _mcp(given, offered) or _codex_script(
                f"tools.mcp__lab__{given['name']}({json.dumps(given['with'])})", offered
            )
        case _:
            return []


def _codex_shell(given: Given, offered: Offered) -> list[Call]:
    arguments: Given = {"cmd": given["command"]}
    if given.get("ask"):
        arguments["sandbox_permissions"] = "require_escalated"
        arguments["justification"] = f"{given['why']}?"
    arguments["yield_time_ms"] = 1_000 if given.get("background") else 20_000
    if "exec_command" in offered:
        return _if_offered("exec_command", arguments, offered)
    if "shell_command" in offered:
        del arguments["yield_time_ms"]
        arguments["command"] = arguments.pop("cmd")
        return _if_offered("shell_command", arguments, offered)
    return _codex_script(f"tools.exec_command({json.dumps(arguments)})", offered)


def _codex_patch(patch: str, offered: Offered) -> list[Call]:
    declared = offered.get("apply_patch")
    if declared is None:
        return _codex_script(f"tools.apply_patch({json.dumps(patch)})", offered)
    freeform = declared.get("type") == "custom"
    return [Call(name="apply_patch", arguments=patch if freeform else {"input": patch})]


def _codex_script(expression: str, offered: Offered) -> list[Call]:
    """Code mode (0.145 and later): the only tool is `exec`, which runs JavaScript."""
    if "exec" not in offered:
        return []
    script = f"const result = await {expression};\ntext(result.output ?? JSON.stringify(result));"
    return [Call(name="exec", arguments=script)]


def _codex_spawn(given: Given, offered: Offered) -> list[Call]:
    known = json.dumps(offered.get("spawn_agent", {}))
    arguments: Given = {"message": given["prompt"]}
    if '"task_name"' in known:
        arguments["task_name"] = re.sub(r"\W+", "_", str(given["why"]).lower())
    if '"fork_turns"' in known:
        arguments["fork_turns"] = "none"
    return _if_offered("spawn_agent", arguments, offered)


def _patch(use: Use) -> str:
    """A change in Codex's own patch format."""
    given = use.given
    if use.tool == "write":
        lines = "".join(f"+{line}\n" for line in str(given["content"]).splitlines())
        change = f"*** Add File: {given['path']}\n{lines}"
    else:
        change = f"*** Update File: {given['path']}\n@@\n-{given['old']}+{given['new']}"
    return f"*** Begin Patch\n{change}*** End Patch\n"


def _messages(use: Use, offered: Offered, project: Path) -> list[Call]:
    given = use.given
    match use.tool:
        case "shell":
            arguments: Given = {"command": given["command"], "description": given["why"]}
            if given["background"]:
                arguments["run_in_background"] = True
            return _if_offered("Bash", arguments, offered)
        case "read":
            return _if_offered("Read", {"file_path": str(project / given["path"])}, offered)
        case "edit":
            change = {"old_string": given["old"], "new_string": given["new"]}
            path = str(project / given["path"])
            return _if_offered("Edit", {"file_path": path, **change}, offered)
        case "write":
            path = str(project / given["path"])
            return _if_offered("Write", {"file_path": path, "content": given["content"]}, offered)
        case "fetch":
            arguments = {"url": given["url"], "prompt": "What does it say?"}
            return _if_known("WebFetch", arguments, offered)
        case "ask":
            questions = [
                {**_question(c), "options": _options(c), "multiSelect": c.multiple}
                for c in given["choices"]
            ]
            return _if_known("AskUserQuestion", {"questions": questions}, offered)
        case "plan":
            return _claude_plan(given, offered)
        case "todo":
            return _claude_todo(given, offered)
        case "subagent":
            arguments = {"description": given["why"], "prompt": given["prompt"]}
            arguments["subagent_type"] = "general-purpose"
            return _if_offered("Agent", arguments, offered) or _if_offered(
                "Task", arguments, offered
            )
        case "mcp":
            return _mcp(given, offered)
        case _:
            return []


def _claude_plan(given: Given, offered: Offered) -> list[Call]:
    """Claude Code shows the plan from the file that it names in its prompt (2.1); `fake_model`
    passes that path when the file does not exist yet, and the first round writes it."""
    path = given.get("plan_file")
    if path and not Path(path).exists():
        return _if_offered("Write", {"file_path": path, "content": given["plan"]}, offered)
    return _if_known("ExitPlanMode", {"plan": given["plan"]}, offered)


def _claude_todo(given: Given, offered: Offered) -> list[Call]:
    items = _todo(given)
    if "TodoWrite" in offered:
        todos = [{"content": i, "status": s, "activeForm": f"Working on: {i}"} for i, s in items]
        return _if_offered("TodoWrite", {"todos": todos}, offered)
    creation = [
        {"subject": item, "description": item, "activeForm": f"Working on: {item}"}
        for item, _ in items
    ]
    return [
        call for arguments in creation for call in _if_offered("TaskCreate", arguments, offered)
    ]


def _chat(use: Use, offered: Offered, project: Path) -> list[Call]:
    given = use.given
    match use.tool:
        case "shell":
            arguments: Given = {"command": given["command"], "description": given["why"]}
            if given["background"]:
                # OpenCode 1.18 has no background shell of its own.
                arguments["command"] = f"nohup {given['command']} >/dev/null 2>&1 &"
            return _if_offered("bash", arguments, offered)
        case "read":
            return _if_offered("read", {"filePath": str(project / given["path"])}, offered)
        case "edit":
            change = {"oldString": given["old"], "newString": given["new"]}
            path = str(project / given["path"])
            return _if_offered("edit", {"filePath": path, **change}, offered)
        case "write":
            path = str(project / given["path"])
            return _if_offered("write", {"filePath": path, "content": given["content"]}, offered)
        case "fetch":
            return _if_offered("webfetch", {"url": given["url"], "format": "markdown"}, offered)
        case "ask":
            questions = [
                {**_question(c), "options": _options(c), "multiple": c.multiple}
                for c in given["choices"]
            ]
            return _if_offered("question", {"questions": questions}, offered)
        case "todo":
            todos = [
                {"id": str(n), "content": item, "status": status, "priority": "medium"}
                for n, (item, status) in enumerate(_todo(given))
            ]
            return _if_offered("todowrite", {"todos": todos}, offered)
        case "subagent":
            arguments = {"description": given["why"], "prompt": given["prompt"]}
            return _if_offered("task", {**arguments, "subagent_type": "general"}, offered)
        case "mcp":
            return _mcp(given, offered)
        case _:
            return []


def _gemini(use: Use, offered: Offered, project: Path) -> list[Call]:
    given = use.given
    match use.tool:
        case "shell":
            arguments: Given = {"command": given["command"], "description": given["why"]}
            if given["background"] and _declares("run_shell_command", "is_background", offered):
                arguments["is_background"] = True
            return _if_offered("run_shell_command", arguments, offered)
        case "read":
            # `absolute_path` until 0.2x, `file_path` since.
            named = _declares("read_file", "file_path", offered)
            key = "file_path" if named else "absolute_path"
            return _if_offered("read_file", {key: str(project / given["path"])}, offered)
        case "edit":
            change = {"old_string": given["old"], "new_string": given["new"]}
            arguments = {"file_path": str(project / given["path"]), **change}
            return _if_offered("replace", {**arguments, "instruction": "Round lines"}, offered)
        case "write":
            path = str(project / given["path"])
            arguments = {"file_path": path, "content": given["content"]}
            return _if_offered("write_file", arguments, offered)
        case "fetch":
            return _if_offered("web_fetch", {"prompt": f"Read {given['url']}"}, offered)
        case "ask":
            questions = [
                {
                    **_question(c),
                    "type": "choice",
                    "options": _options(c),
                    "multiSelect": c.multiple,
                }
                for c in given["choices"]
            ]
            return _if_offered("ask_user", {"questions": questions}, offered)
        case "todo":
            todos = [{"description": item, "status": status} for item, status in _todo(given)]
            return _if_offered("write_todos", {"todos": todos}, offered)
        case "subagent":
            generalist = {"agent_name": "generalist", "prompt": given["prompt"]}
            return (
                _if_offered("invoke_agent", generalist, offered)
                or _if_offered("generalist", {"request": given["prompt"]}, offered)
                or _if_offered("codebase_investigator", {"objective": given["prompt"]}, offered)
            )
        case "mcp":
            return _mcp(given, offered)
        case _:
            return []


def _mcp(given: Given, offered: Offered) -> list[Call]:
    """MCP tools carry a prefix that differs from agent to agent."""
    names = [name for name in offered if name.endswith(given["name"])]
    return _if_offered(names[0], given["with"], offered) if names else []


def _if_offered(name: str, arguments: Given, offered: Offered) -> list[Call]:
    if name not in offered:
        return []
    space = offered[name].get("namespace")
    return [Call(name=name, arguments=arguments, namespace=str(space) if space else None)]


def _if_known(name: str, arguments: Given, offered: Offered) -> list[Call]:
    """Claude Code 2.1.3 declares some tools only after `ToolSearch`, yet accepts calls of them."""
    deferred: Offered = {name: {}} if "ToolSearch" in offered else {}
    return _if_offered(name, arguments, {**deferred, **offered})


def _declares(tool: str, argument: str, offered: Offered) -> bool:
    return f'"{argument}"' in json.dumps(offered.get(tool, {}))


def _question(choice: Choice) -> dict[str, Any]:
    return {"question": choice.question, "header": choice.header}


def _options(choice: Choice) -> list[dict[str, str]]:
    return [{"label": label, "description": why} for label, why in choice.options]


def _todo(given: Given) -> list[tuple[str, str]]:
    """Items with their status: `done` are finished, the next is under way."""
    done = int(given["done"])
    statuses = ["completed"] * done + ["in_progress"] + ["pending"] * len(given["items"])
    return list(zip(given["items"], statuses, strict=False))


_BY_DIALECT: dict[str, Callable[[Use, Offered, Path], list[Call]]] = {
    "responses": _responses,
    "messages": _messages,
    "chat": _chat,
    "gemini": _gemini,
}
