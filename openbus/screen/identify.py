"""Which program runs in a pane: from the foreground process tree, then from marks on the screen.

Executables and script paths decide, never arguments that a user typed. Screen marks are for panes
whose foreground process only carries another terminal (ssh, a nested tmux, a container): they name
a program with low confidence and say so. Text that merely looks like an agent (`cat`, an editor)
never does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from openbus.model import Capture, Process, Program
from openbus.screen.manifest import Library
from openbus.screen.rules import Manifest

SHELL = "shell"
_INTERPRETERS = re.compile(r"^(node|nodejs|bun|deno|python[\d.]*|ruby|uv|npx|pnpm|npm)$")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The program, its manifest, and the reason in words for `explain`."""

    program: Program
    manifest: Manifest | None
    evidence: str
    foreground: tuple[Process, ...] = ()


def identify(capture: Capture, lines: Sequence[str], library: Library) -> Identity:
    """Name the program of a pane. `lines` is the visible text, used only behind a transport."""
    foreground = tuple(p for p in capture.processes if p.foreground)
    children = tuple(p for p in foreground if p.depth > 0 or not _is_shell(p, library))
    for process in sorted(foreground, key=lambda p: p.depth):
        exe = _exe(process)
        for manifest in library.manifests:
            reason = _matches(manifest, process, exe)
            if reason and manifest.id != SHELL:
                program = Program(name=manifest.id, via="process", confidence="high")
                return Identity(
                    program=program, manifest=manifest, evidence=reason, foreground=children
                )
    shell = library.get(SHELL)
    if not capture.processes:
        named = _by_command(capture.command, library)
        if named is not None:
            program = Program(name=named.id, via="process", confidence="low")
            reason = f"command {capture.command}"
            return Identity(program=program, manifest=named, evidence=reason)
    carrier = _carrier(children, capture, shell)
    if carrier:
        for manifest in library.manifests:
            row = _screen_mark(manifest, lines)
            if row is not None:
                program = Program(name=manifest.id, via="screen", confidence="low")
                return Identity(
                    program=program,
                    manifest=manifest,
                    evidence=f"row {row} behind {carrier}",
                    foreground=children,
                )
    program = Program(name=SHELL, via="process", confidence="high")
    reason = f"foreground {children[0].comm}" if children else "shell at its prompt"
    return Identity(program=program, manifest=shell, evidence=reason, foreground=children)


def name_of(process: Process) -> str:
    """The name a person would use: the executable, or the script that an interpreter runs."""
    words = [_base(a) for a in process.argv[:2] if a and not a.startswith("-")]
    if len(words) > 1 and (_INTERPRETERS.match(words[0]) or words[0] in ("bash", "sh", "zsh")):
        return words[1]
    return process.comm or (words[0] if words else "")


def _base(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]


def _is_shell(process: Process, library: Library) -> bool:
    shell = library.get(SHELL)
    return shell is not None and _exe(process).lstrip("-") in shell.program.exe


def _exe(process: Process) -> str:
    return _base(process.argv[0]) if process.argv and process.argv[0] else process.comm


def _matches(manifest: Manifest, process: Process, exe: str) -> str | None:
    rule = manifest.program
    if exe not in rule.exe and process.comm not in rule.exe:
        return _script(manifest, process, exe)
    if any(word in process.argv for word in rule.not_argv):
        return None
    return f"executable {exe or process.comm}"


def _script(manifest: Manifest, process: Process, exe: str) -> str | None:
    rule = manifest.program
    for path in process.argv[:3]:
        if "/" not in path:
            continue
        named = _base(path) in rule.exe and path in process.argv[1:2] and _INTERPRETERS.match(exe)
        fragment = next((f for f in rule.script if f in path), None)
        if (named or fragment) and not any(word in process.argv for word in rule.not_argv):
            return f"script {_base(path)}" if named else f"script path …{fragment}…"
    return None


def _by_command(command: str, library: Library) -> Manifest | None:
    return next((m for m in library.manifests if m.id != SHELL and command in m.program.exe), None)


def _carrier(children: Iterable[Process], capture: Capture, shell: Manifest | None) -> str | None:
    if shell is None:
        return None
    for process in children:
        if _exe(process) in shell.program.transports or process.comm in shell.program.transports:
            return process.comm
    if not capture.processes and capture.command in shell.program.transports:
        return capture.command
    return None


def _screen_mark(manifest: Manifest, lines: Sequence[str]) -> int | None:
    for pattern in manifest.program.screen:
        for row, line in enumerate(lines):
            if line and pattern.search(line):
                return row
    return None
