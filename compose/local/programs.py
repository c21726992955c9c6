"""Programs that are not ours: found on PATH, run to their end, their words in the error."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from compose.local.server import Unusable


def need(program: str, package: str) -> None:
    """Raise `Unusable` unless the program is on PATH; say which package has it."""
    if shutil.which(program) is None:
        raise Unusable(f"no {program} on PATH; install {package}")


def run(
    command: list[str], *, folder: Path | None = None, env: Mapping[str, str] | None = None
) -> None:
    """Run a command quietly; raise `Unusable` with all that it said if it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Unusable(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}")
