"""The front doors load what is asked for, and nothing before."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import beam_agents.intents
import beam_agents.tools

HEAVY = {"pydantic", "google.protobuf", "cryptography", "docstring_parser", "apache_beam"}


def heavy_modules_after(program: str) -> set[str]:
    printed = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return HEAVY & set(printed.split())


@pytest.mark.parametrize(
    ("program", "heavy"),
    [
        ("import beam_agents.tools, beam_agents.intents", set()),
        ("import beam_agents.intents.topics", set()),
        ("import beam_agents.tools.canonical_json", set()),
        ("from beam_agents.tools import canonical_json, parse_json", set()),
        ("import beam_agents.intents.fingerprint", {"google.protobuf"}),
        ("from beam_agents.tools import tool", {"pydantic"}),
    ],
)
def test_an_import_loads_no_more_than_it_needs(program: str, heavy: set[str]) -> None:
    assert heavy_modules_after(program) == heavy


@pytest.mark.parametrize("package", [beam_agents.tools, beam_agents.intents])
def test_every_promised_name_is_there(package: object) -> None:
    names: list[str] = package.__all__  # type: ignore[attr-defined]

    assert all(getattr(package, name) is not None for name in names)
    assert set(names) <= set(dir(package))


SPELLINGS = [
    "from beam_agents.tools import canonical_json",
    "from beam_agents.tools.canonical_json import canonical_json",
    "import beam_agents.tools; canonical_json = beam_agents.tools.canonical_json",
    "import beam_agents.tools.canonical_json as canonical_json",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("before", ["", SPELLINGS[0], SPELLINGS[1]])
def test_canonical_json_can_be_called_however_it_is_imported(spelling: str, before: str) -> None:
    program = f"{before}\n{spelling}\nprint(canonical_json({{'b': 1, 'a': [2]}}).decode())"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert done.stdout == b'{"a":[2],"b":1}\n'


def modules_of(package: ModuleType) -> set[str]:
    return {module.name for module in pkgutil.iter_modules(package.__path__)}


@pytest.mark.parametrize("package", [beam_agents.tools, beam_agents.intents])
def test_no_other_promised_name_is_also_a_module(package: ModuleType) -> None:
    assert modules_of(package) & set(package.__all__) <= {"canonical_json"}


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        beam_agents.tools.nothing  # type: ignore[attr-defined]  # noqa: B018
