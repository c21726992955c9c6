"""The front doors load what is asked for, and nothing before."""

from __future__ import annotations

import subprocess
import sys

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


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        beam_agents.tools.nothing  # type: ignore[attr-defined]  # noqa: B018
