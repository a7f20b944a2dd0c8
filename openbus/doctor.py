"""What works here, what is missing and how to get it. Looks only; changes nothing."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import platformdirs

from openbus.tmux.connection import Connection
from openbus.tmux.errors import TmuxError
from openbus.tmux.inventory import Inventory, inventory
from openbus.tmux.processes import ProcessTable
from openbus.tmux.servers import Problem, ServerRef, discover
from openbus.tmux.version import NEWEST, parse_version, too_old

HOOKS_WE_RUN = ("after-list-panes", "after-list-clients", "after-capture-pane", "after-source-file")
"""Hooks of the user that our reading would run, as any tmux command does."""

_INOTIFY = Path("/proc/sys/fs/inotify")


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing looked at. `way_out` says what to do when it is not ok."""

    name: str
    ok: bool
    detail: str
    way_out: str | None = None


async def diagnose(
    socket_names: Sequence[str] = (),
    socket_paths: Sequence[str] = (),
    *,
    state_dir: Path | None = None,
    binary: str = "tmux",
) -> list[Check]:
    """All checks, in the order a reader wants them. Never raises for what it finds."""
    checks = [await check_tmux(binary)]
    found = discover(socket_names, socket_paths, binary=binary)
    problems = list(found.problems)
    answers: list[tuple[ServerRef, Inventory]] = []
    for ref in found.servers:
        conn = Connection(ref.socket, label=ref.label, binary=binary)
        try:
            answers.append((ref, await inventory(conn)))
            checks.append(await check_hooks(conn))
        except TmuxError as error:
            problems.append(Problem.of(error))
    checks.insert(1, check_servers(answers))
    checks += [
        Check(name="tmux socket", ok=False, detail=problem.what, way_out=problem.way_out)
        for problem in problems
        if problem.socket is not None
    ]
    panes = sum(len(listed.panes) for _, listed in answers)
    ttys = [row.tty for _, listed in answers for row in listed.panes if not row.pane.dead]
    checks += [
        check_processes(),
        check_inotify(panes),
        check_terminals(ttys),
        check_locale(),
        check_state_dir(state_dir or Path(platformdirs.user_state_dir("openbus"))),
    ]
    return checks


async def check_tmux(binary: str = "tmux") -> Check:
    """The tmux program and its version."""
    try:
        version = await Connection("", binary=binary).program_version()
    except TmuxError as error:
        return Check(name="tmux", ok=False, detail=error.what, way_out=error.way_out)
    where = shutil.which(binary)
    number = parse_version(version)
    if too_old(version):
        return Check(
            name="tmux",
            ok=False,
            detail=f"version {version} at {where} is too old",
            way_out="install tmux 3.2a or later",
        )
    known = "" if number and number[:2] <= NEWEST else ", newer than the releases tried (3.2a-3.7)"
    return Check(name="tmux", ok=True, detail=f"version {version} at {where}{known}")


def check_servers(answers: Sequence[tuple[ServerRef, Inventory]]) -> Check:
    """The servers that answered, with their panes."""
    if not answers:
        return Check(
            name="tmux servers",
            ok=False,
            detail="none answered",
            way_out="start tmux, or name its socket",
        )
    listed = ", ".join(
        f"{ref.label} ({len(found.panes)} panes, {found.version})" for ref, found in answers
    )
    return Check(name="tmux servers", ok=True, detail=listed)


async def check_hooks(conn: Connection) -> Check:
    """Whether reading this server runs hooks that the user has set. Raises a `TmuxError`."""
    output = await conn.run(["show-hooks -g"])
    # A hook that is set is listed as `name[0] command`, one that is not by its name alone.
    names = {line.partition("[")[0] for line in output.stdout.decode().splitlines() if "[" in line}
    ours = sorted(names.intersection(HOOKS_WE_RUN))
    if not ours:
        return Check(name=f"hooks of {conn.label}", ok=True, detail="reading runs none of yours")
    return Check(
        name=f"hooks of {conn.label}",
        ok=False,
        detail=f"each reading runs your {', '.join(ours)}",
        way_out="keep these hooks cheap, or unset them with `tmux set-hook -gu NAME`",
    )


def check_processes() -> Check:
    """Whether processes can be seen, which is how an agent is told from a look-alike."""
    table = ProcessTable.take()
    if not table.below(os.getpid()):
        return Check(
            name="processes",
            ok=False,
            detail="our own process is not in the process table",
            way_out="mount /proc, or install `ps`",
        )
    return Check(name="processes", ok=True, detail=f"{len(table)} seen")


def check_inotify(panes: int, folder: Path = _INOTIFY) -> Check:
    """Whether the kernel's limits leave room for one watch a pane."""
    try:
        watches = int((folder / "max_user_watches").read_text())
        instances = int((folder / "max_user_instances").read_text())
    except (OSError, ValueError):
        return Check(
            name="inotify", ok=True, detail="not here; tmux's list of active windows is used"
        )
    ok = watches > 2 * panes + 1000 and instances >= 8
    return Check(
        name="inotify",
        ok=ok,
        detail=f"{watches} watches and {instances} instances for {panes} panes",
        way_out=None if ok else "raise fs.inotify.max_user_watches and max_user_instances (sysctl)",
    )


def check_terminals(ttys: Sequence[str]) -> Check:
    """Whether the panes' terminals are of this machine and ours to watch."""
    hidden = [tty for tty in ttys if not os.access(tty, os.R_OK)]
    if hidden:
        return Check(
            name="pane terminals",
            ok=False,
            detail=f"{len(hidden)} of {len(ttys)} cannot be watched ({hidden[0]}): "
            "their server runs in another container or as another user; its panes are polled",
            way_out="run OpenBus where that server runs",
        )
    return Check(name="pane terminals", ok=True, detail=f"all {len(ttys)} can be watched")


def check_locale() -> Check:
    """Whether our own output can hold what agents draw. Panes are read right in any locale."""
    encoding = (sys.stdout.encoding or "ascii").lower()
    ok = encoding in ("utf-8", "utf8")
    return Check(
        name="locale",
        ok=ok,
        detail=f"output is written as {encoding}",
        way_out=None if ok else "set a UTF-8 locale, for example `export LC_ALL=C.UTF-8`",
    )


def check_state_dir(path: Path) -> Check:
    """The folder for OpenBus's own data: ours alone, or not there yet."""
    name = "state directory"
    try:
        info = path.stat()
    except FileNotFoundError:
        parent = next(folder for folder in path.parents if folder.exists())
        if os.access(parent, os.W_OK | os.X_OK):
            return Check(name=name, ok=True, detail=f"{path} would be created (mode 0700)")
        return Check(
            name=name,
            ok=False,
            detail=f"{path} cannot be created: {parent} is not writable",
            way_out="make it writable, or set XDG_STATE_HOME",
        )
    except OSError as error:
        return Check(
            name=name,
            ok=False,
            detail=f"{path} cannot be looked at: {error.strerror}",
            way_out="correct the mode of the folders above it, or set XDG_STATE_HOME",
        )
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
        return Check(
            name=name,
            ok=False,
            detail=f"{path} is not a folder of yours",
            way_out="move it away, or set XDG_STATE_HOME",
        )
    if info.st_mode & 0o077:
        return Check(
            name=name,
            ok=False,
            detail=f"{path} is open to others (mode {stat.S_IMODE(info.st_mode):04o})",
            way_out=f"chmod 700 {path}",
        )
    return Check(name=name, ok=True, detail=str(path))
