"""Built wheels, and environments to install them into."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = ("beam-agents-tools", "beam-agents-core", "beam-agents-effector")


@dataclass(frozen=True)
class Environment:
    """A virtual environment of its own, with nothing in it but what was installed."""

    path: Path

    @property
    def python(self) -> Path:
        return self.path / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        return next((self.path / "lib").glob("python*/site-packages"))

    def install(self, wheels: Path, *requirements: str) -> None:
        """Install requirements, taking our own distributions from `wheels` only."""
        command = ["pip", "install", "--python", str(self.python), "--find-links", str(wheels)]
        _uv(*command, *requirements)

    def run(self, code: str) -> str:
        return self.command(str(self.python), "-c", code)

    def command(self, *argv: str) -> str:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("EFFECTOR_", "PYTHON"))}
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, cwd=self.path, env=clean
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def _uv(*argv: str) -> None:
    uv = os.environ.get("UV") or shutil.which("uv") or str(ROOT / ".uv/bin/uv")
    done = subprocess.run(
        [uv, *argv, "--quiet"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All three distributions as wheels, built from sdists as a release is."""
    target = tmp_path_factory.mktemp("wheels")
    _uv("build", "--all-packages", "--out-dir", str(target), "--python", sys.executable)
    return target


def _environment(path: Path) -> Environment:
    _uv("venv", str(path), "--python", sys.executable)
    return Environment(path)


@pytest.fixture(scope="session")
def effector_only(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An effector host: the effector with its Kafka and Redis extras, and nothing else."""
    environment = _environment(tmp_path_factory.mktemp("effector") / "venv")
    environment.install(wheels, "beam-agents-effector[kafka,redis]")
    return environment


@pytest.fixture(scope="session")
def core_only(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A pipeline host."""
    environment = _environment(tmp_path_factory.mktemp("core") / "venv")
    environment.install(wheels, "beam-agents-core")
    return environment


@pytest.fixture(scope="session")
def everything(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A developer's machine: all three beside each other."""
    environment = _environment(tmp_path_factory.mktemp("everything") / "venv")
    environment.install(wheels, "beam-agents-core", "beam-agents-effector[kafka,redis]")
    return environment


@pytest.fixture(params=DISTRIBUTIONS)
def mixed(request: pytest.FixtureRequest, wheels: Path, tmp_path: Path) -> tuple[str, Environment]:
    """All three, one of them editable and the others from wheels."""
    editable = str(request.param)
    environment = _environment(tmp_path / "venv")
    others = [name for name in DISTRIBUTIONS if name != editable]
    source = ROOT / "packages" / editable
    _uv("pip", "install", "--python", str(environment.python), "--no-deps", "-e", str(source))
    environment.install(wheels, *others, f"{editable}==0.1.0")
    return editable, environment
