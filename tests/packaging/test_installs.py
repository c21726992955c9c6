"""The import rule: an effector host has no Beam, and importing the effector never loads it."""

from __future__ import annotations

import json

import pytest

from tests.packaging.conftest import Environment

# Without pip and setuptools, which an environment of uv does not have.
MAX_SITE_PACKAGES_BYTES = 60_000_000

LOADED = "import json, sys; print(json.dumps([m for m in sys.modules if m.startswith({!r})]))"


def modules_loaded(environment: Environment, code: str, prefix: str) -> list[str]:
    loaded: list[str] = json.loads(environment.run(f"{code}; {LOADED.format(prefix)}"))
    return loaded


HELP = (
    "import runpy, sys, io, contextlib; sys.argv = ['beam-agents-effector', '--help']\n"
    "with contextlib.redirect_stdout(io.StringIO()) as shown:\n"
    "    try: runpy.run_module('beam_agents.effector', run_name='__main__')\n"
    "    except SystemExit as stopped: assert not stopped.code, stopped.code\n"
    "assert '--registry' in shown.getvalue()\n"
    "pass"
)


def test_an_effector_host_has_neither_beam_nor_core(effector_only: Environment) -> None:
    found = effector_only.run(
        "from importlib.util import find_spec as f; import beam_agents;"
        "print([m for m in ('apache_beam', 'beam_agents.core', 'beam_agents.io') if f(m)])"
    )

    assert found.strip() == "[]"


def test_an_effector_host_imports_tools_and_effector(effector_only: Environment) -> None:
    effector_only.run("import beam_agents.effector; from beam_agents.tools import tool")


def test_a_pipeline_host_has_no_effector(core_only: Environment) -> None:
    found = core_only.run(
        "from importlib.util import find_spec; from beam_agents import AgentConfig, RunAgent;"
        "from beam_agents.tools import tool; print(find_spec('beam_agents.effector'))"
    )

    assert found.strip() == "None"


def test_the_front_door_alone_does_not_load_beam(everything: Environment) -> None:
    assert modules_loaded(everything, "import beam_agents", "apache_beam") == []


def test_importing_the_effector_beside_core_does_not_load_beam(everything: Environment) -> None:
    assert modules_loaded(everything, "import beam_agents.effector", "apache_beam") == []


def test_help_beside_core_loads_neither_beam_nor_core(everything: Environment) -> None:
    assert modules_loaded(everything, HELP, "apache_beam") == []
    assert modules_loaded(everything, HELP, "beam_agents.core") == []


def test_the_command_is_installed(effector_only: Environment) -> None:
    command = str(effector_only.path / "bin" / "beam-agents-effector")

    assert "--intents-from" in effector_only.command(command, "--help")
    assert effector_only.command(command, "--version").strip().endswith("0.1.0")


def test_an_effector_host_stays_small(effector_only: Environment) -> None:
    files = [path for path in effector_only.site_packages.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files if "__pycache__" not in path.parts)

    assert size < MAX_SITE_PACKAGES_BYTES


@pytest.mark.timeout(240)
def test_an_editable_install_works_beside_wheels(mixed: tuple[str, Environment]) -> None:
    _, environment = mixed

    environment.run(
        "from beam_agents import AgentConfig, RunAgent; from beam_agents.tools import tool;"
        "import beam_agents.effector, beam_agents.embedded, beam_agents.io"
    )
