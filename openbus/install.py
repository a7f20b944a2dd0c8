"""Running the service by itself: a systemd user unit, or a launchd agent on macOS.

Only these two files are ever written, and only when asked; `plan` says what would be done.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec

UNIT = "openbus.service"
LABEL = "io.openbus.service"


class InstallError(Exception):
    """What could not be done; `str()` is one line with the way out."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A file and the commands that make it effective, or undo it."""

    path: Path
    content: bytes
    enable: tuple[tuple[str, ...], ...]
    disable: tuple[tuple[str, ...], ...]


def plan(system: str = sys.platform, home: Path | None = None) -> Plan:
    """What installing means on this system. Raises `InstallError` where there is no way."""
    home = home or Path.home()
    program = _program()
    if system == "darwin":
        path = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        agent = {
            "Label": LABEL,
            "ProgramArguments": [program, "up", "--json-log"],
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Background",
        }
        domain = f"gui/{os.getuid()}"
        return Plan(
            path=path,
            content=plistlib.dumps(agent),
            enable=(("launchctl", "bootstrap", domain, str(path)),),
            disable=(("launchctl", "bootout", f"{domain}/{LABEL}"),),
        )
    if system == "linux":
        config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        path = config / "systemd" / "user" / UNIT
        unit = (
            "[Unit]\n"
            "Description=OpenBus: which terminal agent needs you\n\n"
            "[Service]\n"
            f"ExecStart={_quote(program)} up --json-log\n"
            "Restart=on-failure\n"
            "RestartSec=5\n"
            "TimeoutStopSec=5\n\n"
            "[Install]\n"
            "WantedBy=default.target\n"
        )
        return Plan(
            path=path,
            content=unit.encode(),
            enable=(
                ("systemctl", "--user", "daemon-reload"),
                ("systemctl", "--user", "enable", "--now", UNIT),
            ),
            disable=(("systemctl", "--user", "disable", "--now", UNIT),),
        )
    raise InstallError(
        f"there is no service manager that OpenBus knows on {system}; run `openbus up` yourself"
    )


def install(what: Plan) -> None:
    """Write the file and start the service. Raises `InstallError`; nothing stays behind then."""
    manager = what.enable[0][0]
    if shutil.which(manager) is None:
        raise InstallError(f"{manager} is not installed; run `openbus up` yourself")
    try:
        what.path.parent.mkdir(parents=True, exist_ok=True)
        what.path.write_bytes(what.content)
    except OSError as error:
        raise InstallError(f"cannot write {what.path}: {(error.strerror or '').lower()}") from error
    for command in what.enable:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            what.path.unlink(missing_ok=True)
            said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
            raise InstallError(
                f"`{' '.join(command)}` failed: {said[-1]}; run `openbus up` yourself"
            )


def remove(what: Plan) -> bool:
    """Stop the service and remove its file; False when it was not installed."""
    if not what.path.exists():
        return False
    for command in what.disable:
        if shutil.which(command[0]) is not None:
            subprocess.run(command, capture_output=True, check=False)
    what.path.unlink(missing_ok=True)
    return True


def _program() -> str:
    """The absolute path of the `openbus` command that runs now."""
    started = Path(sys.argv[0])
    if started.name == "openbus" and started.exists():
        return str(started.absolute())
    beside = Path(sys.executable).parent / "openbus"
    found = str(beside) if beside.exists() else shutil.which("openbus")
    if found is None:
        raise InstallError("cannot find the `openbus` command; install OpenBus with pip first")
    return found


def _quote(path: str) -> str:
    """A path as systemd takes it in ExecStart."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'
