"""Jars from Maven Central, downloaded once into the cache."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from compose.local.places import cache_folder
from compose.local.programs import need, run

COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def jars(name: str, pom: str) -> Path:
    """The folder with all runtime dependencies of a pom; another pom is another folder."""
    target = cache_folder() / f"{name}-{hashlib.sha256(pom.encode()).hexdigest()[:12]}"
    if target.exists():
        return target
    need("mvn", "Maven (package maven)")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{name}-") as unfinished:
        folder = Path(unfinished)
        (folder / "pom.xml").write_text(pom)
        output = ["-DoutputDirectory=lib", "-DincludeScope=runtime"]
        run(["mvn", "-B", "-q", COPY, *output], folder=folder)
        # Renamed when whole, so that an interrupted download is never taken for a finished one.
        (folder / "lib").rename(target)
    return target
