"""Which words of a command line name the program, and nothing else.

Command lines hold prompts, keys and paths that a user typed. What is kept: the executable, the
script an interpreter or launcher runs, and fixed words that tell a helper (`codex app-server`) from
the program a person looks at. Everything else, above all inline code and unknown options, is
dropped here, before it gets anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_WORDS = 4
MAX_LENGTH = 200
SCANNED = 16
"""Arguments looked at: subcommands come early."""

_INTERPRETER = re.compile(
    r"^(python[\d.]*|pypy[\d.]*|node|nodejs|bun|deno|tsx|ts-node|ruby[\d.]*|perl[\d.]*|php[\d.]*"
    r"|sh|bash|dash|ash|ksh|zsh|fish)$"
)
_LAUNCHER = re.compile(r"^(uv|uvx|npx|npm|pnpm|pnpx|yarn|bunx|pipx|poetry|hatch|rye)$")
_LAUNCHING = frozenset({"run", "tool", "exec", "x", "dlx"})
"""Subcommands before the script: `uv tool run X`, `npm exec X`, `deno run X`."""

_SHELL = re.compile(r"^(sh|bash|dash|ash|ksh|zsh|fish)$")
_SHELL_INLINE = re.compile(r"^(-c.*|-[a-zA-Z]*c[a-z]*|--command.*)$")
_INLINE = re.compile(r"^(-[cep].*|-[a-zA-Z]*[cep]|--(eval|print|command|call)(=.*)?)$")
"""What follows is code."""

_TAKES_VALUE = frozenset(
    """
    -r --require --import --loader --experimental-loader -C --conditions -W -X -o -O
    --rcfile --init-file -I --env-file --from --with --with-editable --with-requirements
    --python --package --index --index-url --default-index --extra-index-url --project
    --directory --prefix --workspace -w --group --extra --config --cwd --preload
    """.split()  # noqa: SIM905 - a list of 40 quoted words is harder to read
)

HELPER_WORDS = frozenset(
    """
    app-server pid-update-loop daemon exec exec-server mcp mcp-server proto serve server
    acp web worker sandbox remote-control login logout update upgrade doctor completion
    print -p --print --acp --experimental-acp --headless --managed-daemon
    """.split()  # noqa: SIM905 - a list of 40 quoted words is harder to read
)
"""Words kept wherever they stand: subcommands and flags of agents that draw no screen of their own.
A fixed list, so that no word of a prompt can pass."""


def naming_words(argv: Sequence[str]) -> tuple[str, ...]:
    """At most four words, each at most 200 characters, that say what runs."""
    if not argv or not argv[0]:
        return ()
    words = [_executable(argv[0])]
    name = words[0].rpartition("/")[2].removeprefix("-").lower()
    rest = [argument for argument in argv[1 : SCANNED + 1] if argument]
    if _INTERPRETER.match(name) or _LAUNCHER.match(name):
        inline = None
        if _INTERPRETER.match(name):
            inline = _SHELL_INLINE if _SHELL.match(name) else _INLINE
        named, rest = _script(rest, inline)
        words += named
    words += _helper_words(rest)
    return tuple(word[:MAX_LENGTH] for word in words[:MAX_WORDS])


def _executable(word: str) -> str:
    """Programs that write a title of their own over their arguments may put anything behind it."""
    return word if word.startswith("/") else word.split(" ", 1)[0]


def _script(arguments: list[str], inline: re.Pattern[str] | None) -> tuple[list[str], list[str]]:
    """The words that name the script or package, and the arguments that belong to it."""
    named: list[str] = []
    index = 0
    while index < len(arguments):
        argument = arguments[index]
        if argument == "-m" and index + 1 < len(arguments):
            return [*named, "-m", arguments[index + 1]], arguments[index + 2 :]
        if inline and inline.match(argument):
            return named, []
        if argument in _TAKES_VALUE or (not inline and argument == "-p"):
            index += 2
            continue
        index += 1
        if argument.startswith("-"):
            continue
        if argument in _LAUNCHING and len(named) < 2:
            named.append(argument)
            continue
        # An address may carry a token.
        return named if "://" in argument else [*named, argument], arguments[index:]
    return named, []


def _helper_words(arguments: Sequence[str]) -> list[str]:
    words: list[str] = []
    previous = ""
    for argument in arguments:
        if argument == "--":
            break
        if argument in HELPER_WORDS and previous not in ("-c", "-e", "-p", "--print", "--config"):
            words.append(argument)
        previous = argument
    return words
