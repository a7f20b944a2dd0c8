"""Tool kinds: one icon per kind of call, from the tool's name and, for a shell, its command.

The kinds are ACP's plus Gemini CLI's `agent`, `plan` and `communicate`. A shell command is
`read`, `search`, `delete` or `move` only when every step of it does only that; anything this
module is not sure of stays `execute`.
"""

from __future__ import annotations

import re

READ, SEARCH, DELETE, MOVE, EXECUTE, OTHER = "read", "search", "delete", "move", "execute", "other"

_NAMES = {
    READ: "read readfile viewfile view notebookread viewimage readmanyfiles readmcpresource "
    "readmcpresourcetool cat",
    SEARCH: "grep glob ls list listdir listdirectory grepsearch search searchfiles codesearch "
    "toolsearch find findbyname lsp codebasesearch listmcpresources listmcpresourcestool",
    "edit": "edit write multiedit notebookedit strreplace writefile applypatch replace patch "
    "codeaction writetofile create",
    DELETE: "delete deletefile remove",
    MOVE: "move rename movefile",
    EXECUTE: "bash shell execcommand exec runcommand localshell localshellcall runshellcommand "
    "writestdin bashoutput killshell killbash powershell terminal monitor commandexecution",
    "think": "think sequentialthinking",
    "fetch": "webfetch websearch fetch googlewebsearch readurlcontent web webrun",
    "agent": "agent task spawnagent waitagent wait sendinput closeagent resumeagent taskoutput "
    "taskstop agentoutput agentoutputtool invokesubagent delegate delegatetask followuptask "
    "interruptagent listagents",
    "plan": "todowrite todoread todo todolist updateplan taskcreate taskupdate tasklist taskget "
    "writetodos",
    "communicate": "askuserquestion requestuserinput requestuserinputasync question clarify "
    "askuser sendmessage senduserfile pushnotification requestpermissions",
    "switch_mode": "enterplanmode exitplanmode planenter planexit switchmode",
}
KIND_BY_NAME = {name: kind for kind, names in _NAMES.items() for name in names.split()}

_READ_COMMANDS = frozenset(
    ["cat", "head", "tail", "less", "more", "nl", "wc", "file", "stat", "bat", "strings", "od"]
)
_SEARCH_COMMANDS = frozenset(
    [
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "find",
        "fd",
        "fdfind",
        "ls",
        "tree",
        "which",
        "whereis",
        "locate",
    ]
)
_FILTERS = frozenset(
    [
        "head",
        "tail",
        "sort",
        "uniq",
        "wc",
        "cut",
        "tr",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "cat",
        "nl",
        "column",
        "less",
        "more",
    ]
)
_GIT = {
    "show": READ,
    "log": READ,
    "diff": READ,
    "status": READ,
    "blame": READ,
    "grep": SEARCH,
    "ls-files": SEARCH,
    "rm": DELETE,
    "mv": MOVE,
}
_FIND_ACTIONS = ("-exec", "-ok", "-delete", "-fprint", "-fls")
_ADDRESS = r"(?:\d+|\$|/[^/]*/)"
_SED_PRINT = re.compile(
    rf"\s*(?:{_ADDRESS}(?:,{_ADDRESS})?\s*)?p(?:\s*;\s*(?:{_ADDRESS}(?:,{_ADDRESS})?\s*)?p)*;?\s*"
)
# Words, quoted parts and operators of a POSIX shell line; anything else is one odd character.
_TOKEN = re.compile(
    r"""(?P<word>(?:[^\s'"\\;&|<>()`$#]|\\.|'[^']*'|"(?:[^"\\$`]|\\.|\$(?![({]))*"|\$(?![({])|(?<=\S)\#)+)"""
    r"""|(?P<op>\d*>&\d|\d*(?:>>|>|<)|&&|\|\||\|&|[;&|\n])|(?P<blank>[ \t]+|\\\n)|(?P<odd>.)""",
    re.DOTALL,
)
_HARMLESS_REDIRECT = re.compile(r"\d*>&\d")


def normal(name: str) -> str:
    """A tool's name without case, spaces, dashes and underscores."""
    return name.lower().replace(" ", "").replace("-", "").replace("_", "")


def mcp_server(name: str) -> str | None:
    """The server in `mcp__<server>__<tool>`; None for every other tool."""
    parts = name.split("__", 2)
    return parts[1] if len(parts) == 3 and parts[0] == "mcp" else None


def kind_of_tool(name: str) -> str:
    """A tool's kind from its name alone."""
    if mcp_server(name) is not None:
        return OTHER
    return KIND_BY_NAME.get(normal(name), OTHER)


def kind_of_call(name: str, command: str | None, was_cut: bool = False) -> str:
    """A call's kind; for a shell tool also from its command.

    `was_cut` says that `command` is not whole: what is missing could write, so it stays `execute`.
    """
    kind = kind_of_tool(name)
    if kind != EXECUTE or not command or was_cut:
        return kind
    return kind_of_command(command)


def kind_of_command(command: str) -> str:
    """`read`, `search`, `delete` or `move` when every step only does that, else `execute`."""
    steps = _steps(command)
    if steps is None:
        return EXECUTE
    kinds: set[str] = set()
    for words, piped in steps:
        if piped:
            if (words[0] not in _FILTERS and words[0] != "sed") or _kind_of_step(words) == EXECUTE:
                return EXECUTE
            continue
        if words[0] == "cd" and len(steps) > 1:
            continue
        kinds.add(_kind_of_step(words))
    return kinds.pop() if len(kinds) == 1 else EXECUTE


def _steps(command: str) -> list[tuple[list[str], bool]] | None:
    """The simple commands with "is fed by a pipe"; None when the line does more than that."""
    steps: list[tuple[list[str], bool]] = []
    words: list[str] = []
    piped = False
    tokens = [match for match in _TOKEN.finditer(command) if match.lastgroup != "blank"]
    skip = False
    for index, token in enumerate(tokens):
        text = token.group()
        if skip:
            skip = False
            continue
        if token.lastgroup == "odd":
            return None
        if token.lastgroup == "word":
            words.append(_unquote(text))
            continue
        if _HARMLESS_REDIRECT.fullmatch(text):
            continue
        if text.endswith(">") or text.endswith("<"):
            following = tokens[index + 1].group() if index + 1 < len(tokens) else ""
            if text.endswith(">") and following != "/dev/null":
                return None
            skip = True
            continue
        if text == "&":
            return None
        if words:
            steps.append((words, piped))
            words = []
        elif text != "\n":
            return None
        piped = text in ("|", "|&")
    if words:
        steps.append((words, piped))
    return steps or None


def _unquote(word: str) -> str:
    return re.sub(r"\\(.)|['\"]", lambda match: match.group(1) or "", word)


def _kind_of_step(words: list[str]) -> str:
    name, rest = words[0], words[1:]
    if name == "git":
        return _git(rest)
    if name == "sed":
        return READ if _sed_prints(rest) else EXECUTE
    if name == "sort":
        return EXECUTE if _has_option(rest, "o", "--output") else READ
    if name == "uniq":
        return EXECUTE if sum(word[:1] != "-" or word == "-" for word in rest) > 1 else READ
    if name in ("less", "more"):
        writes = _has_option(rest, "o", "--log-file") or _has_option(rest, "O", "--LOG-FILE")
        return EXECUTE if writes else READ
    if name == "find" and any(word.startswith(_FIND_ACTIONS) for word in rest):
        return EXECUTE
    if name in ("fd", "fdfind") and (
        _has_option(rest, "x", "--exec") or _has_option(rest, "X", "--exec-batch")
    ):
        return EXECUTE
    if name == "rg" and any(word.startswith(("--pre", "--hostname-bin")) for word in rest):
        return EXECUTE
    if name == "tree" and any(word == "-o" or word.startswith("-o") for word in rest):
        return EXECUTE
    if name == "bat" and any(word.startswith("--pager") for word in rest):
        return EXECUTE
    if name in ("cut", "tr", "column") or name in _READ_COMMANDS:
        return READ
    if name in _SEARCH_COMMANDS:
        return SEARCH
    if name in ("rm", "rmdir", "unlink"):
        return DELETE
    return MOVE if name == "mv" else EXECUTE


def _has_option(words: list[str], short: str, long: str) -> bool:
    for word in words:
        if word == long or word.startswith(long + "="):
            return True
        # `-uo out` and `-oout` both carry the option; a value such as `-k2,2` does not.
        if re.fullmatch(rf"-[A-Za-z]*{short}.*", word) and not word.startswith("--"):
            return True
    return False


def _git(words: list[str]) -> str:
    index = 0
    while index < len(words):
        if words[index] == "-C":
            index += 2
        elif words[index] == "--no-pager":
            index += 1
        else:
            break
    rest = words[index:]
    runs = ("--output", "--ext-diff", "--open-files-in-pager", "-O")
    if not rest or any(word.startswith(runs) for word in rest):
        return EXECUTE
    return _GIT.get(rest[0], EXECUTE)


def _sed_prints(words: list[str]) -> bool:
    scripts: list[str] = []
    takes_script = True
    index = 0
    while index < len(words):
        word = words[index]
        if word in ("-e", "--expression") and index + 1 < len(words):
            scripts.append(words[index + 1])
            takes_script = False
            index += 1
        elif word in ("-n", "-E", "-r", "--quiet", "--silent", "--regexp-extended"):
            pass
        elif word.startswith("-"):
            return False
        elif takes_script:
            scripts.append(word)
            takes_script = False
        index += 1
    return bool(scripts) and all(_SED_PRINT.fullmatch(script) for script in scripts)
