"""What each wheel carries: one front door, typed, with its licence."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

DISTRIBUTIONS = ("beam_agents_tools", "beam_agents_core", "beam_agents_effector")


def contents(wheels: Path, distribution: str) -> list[str]:
    (wheel,) = wheels.glob(f"{distribution}-*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_only_core_ships_the_front_door(wheels: Path) -> None:
    doors = [d for d in DISTRIBUTIONS if "beam_agents/__init__.py" in contents(wheels, d)]

    assert doors == ["beam_agents_core"]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_no_wheel_ships_the_editors_stub(wheels: Path, distribution: str) -> None:
    assert "beam_agents/__init__.pyi" not in contents(wheels, distribution)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_every_subpackage_is_marked_as_typed(wheels: Path, distribution: str) -> None:
    names = contents(wheels, distribution)
    packages = {n.split("/")[1] for n in names if n.startswith("beam_agents/") and n.count("/") > 1}

    assert packages
    assert {p for p in packages if f"beam_agents/{p}/py.typed" not in names} == set()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_every_wheel_carries_its_licence_and_no_tests(wheels: Path, distribution: str) -> None:
    names = contents(wheels, distribution)

    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "beam_agents/tests"))]


def test_no_file_is_shipped_twice(wheels: Path) -> None:
    shipped = [n for d in DISTRIBUTIONS for n in contents(wheels, d) if ".dist-info/" not in n]

    assert len(shipped) == len(set(shipped))
