"""Real agents from npm, one folder per version outside the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import msgspec

from evals.lab.errors import LabError

INSTALL_TIMEOUT = 900
"""Seconds; Codex is 300 MB unpacked."""


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """Where an agent comes from. `repair` is a script of the package that fetches or links its
    native binary: npm runs no such scripts where the user switched them off."""

    name: str
    executable: str
    repair: str | None = None


def install(program: str, package: Package, version: str, cache: Path) -> Path:
    """The folder with the agent's executable; installed first when the cache lacks it.

    Raises `LabError` when npm is missing, the version does not exist or cannot be had.
    """
    folder = cache / f"{program}-{version}"
    executables = folder / "node_modules" / ".bin"
    if (executables / package.executable).exists():
        return executables
    npm = shutil.which("npm")
    if npm is None:
        raise LabError("npm is not on the PATH; install Node.js 20 or later (apt install npm)")
    folder.mkdir(parents=True, exist_ok=True)
    # Without a package.json npm installs into the nearest folder above that has one.
    (folder / "package.json").write_text('{"private": true}\n')
    wanted = f"{package.name}@{version}"
    _run([npm, "install", "--no-audit", "--no-fund", "--loglevel=error", wanted], folder, wanted)
    if package.repair:
        script = folder / "node_modules" / package.name / package.repair
        if script.exists():
            _run(["node", str(script)], folder, wanted)
    if not (executables / package.executable).exists():
        raise LabError(f"{wanted} was installed but has no {package.executable}; remove {folder}")
    return executables


def _run(command: list[str], folder: Path, wanted: str) -> None:
    try:
        subprocess.run(
            command,
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT,
            env={**os.environ, "npm_config_update_notifier": "false"},
        )
    except subprocess.TimeoutExpired:
        raise LabError(f"{wanted} could not be installed: npm took longer than 15 min") from None
    except subprocess.CalledProcessError as error:
        lines = [line for line in str(error.stderr).splitlines() if line.strip()]
        reason = lines[0].strip() if lines else f"exit status {error.returncode}"
        raise LabError(f"{wanted} could not be installed: {reason}") from None
