"""What does an effector host pay for not having Beam?

Builds the wheels, installs the effector with its Kafka and Redis extras into an
environment of its own, and the pipeline's distribution into another; then weighs
each environment's site-packages (without bytecode, pip and setuptools) and takes
the CPU time of the effector's `--help` and of the bare import of Beam.

Run it by `make bench-footprint`; exits 1 where a gate is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
RUNS = 5
GATES = {"effector site-packages, MB": 60.0, "effector --help, CPU s": 0.5}


def uv(*argv: str) -> None:
    binary = os.environ.get("UV") or shutil.which("uv") or str(ROOT / ".uv/bin/uv")
    subprocess.run([binary, *argv, "--quiet"], check=True, cwd=ROOT)


def install(folder: Path, wheels: Path, requirement: str) -> Path:
    uv("venv", str(folder), "--python", sys.executable)
    python = str(folder / "bin/python")
    uv("pip", "install", "--python", python, "--find-links", str(wheels), requirement)
    return folder


def site_packages_mb(environment: Path) -> float:
    (site,) = (environment / "lib").glob("python*/site-packages")
    files = (p for p in site.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return sum(path.stat().st_size for path in files) / 1e6


def cpu_s(*argv: str) -> float:
    """The least CPU time of several runs; the first one, which writes bytecode, is left out."""
    spent = []
    for _ in range(RUNS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent[1:])


def measure() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as scratch:
        wheels = Path(scratch, "wheels")
        uv("build", "--all-packages", "--wheel", "--out-dir", str(wheels))
        effector = install(Path(scratch, "e"), wheels, "beam-agents-effector[kafka,redis]")
        core = install(Path(scratch, "c"), wheels, "beam-agents-core")
        return {
            "effector site-packages, MB": site_packages_mb(effector),
            "effector --help, CPU s": cpu_s(str(effector / "bin/beam-agents-effector"), "--help"),
            "core site-packages, MB": site_packages_mb(core),
            "import apache_beam, CPU s": cpu_s(
                str(core / "bin/python"), "-c", "import apache_beam"
            ),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    args = parser.parse_args()
    figures = measure()
    table = Table("what", "measured", "gate")
    for name, value in figures.items():
        table.add_row(name, f"{value:.2f}", f"under {GATES[name]:g}" if name in GATES else "")
    Console().print(table)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")
    sys.exit(any(figures[name] >= gate for name, gate in GATES.items()))


if __name__ == "__main__":
    main()
