"""Programs in Go, built once into the cache."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from compose.local.places import cache_folder
from compose.local.programs import need, run


def program(package: str, version: str) -> Path:
    """The program that a main package builds; another version is another file."""
    name = package.rpartition("/")[2]
    target = cache_folder() / f"{name}-{version}"
    if target.exists():
        return target
    need("go", "Go (package golang)")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{name}-") as unfinished:
        folder = Path(unfinished)
        # Its modules weigh fifteen times what it does: they go when it is built.
        modules = {"GOPATH": str(folder), "GOFLAGS": "-mod=mod -modcacherw"}
        run(["go", "install", f"{package}@{version}"], env={**os.environ, **modules})
        shutil.move(folder / "bin" / name, target)
    return target
