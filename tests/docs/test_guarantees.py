"""Every guarantee names the tests that show it, and each of those tests exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/guarantees.md").read_text()
SECTION = re.compile(r"^## (G\d+)\b.*?\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
TEST = re.compile(r"`([\w/-]+\.py)::([\w:]+)`")
SECTIONS = dict(SECTION.findall(PAGE))
NAMED = sorted(set(TEST.findall(PAGE)))


def names_in(path: Path) -> set[str]:
    """The tests of a file, those of a class as `Class::test`."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        found.add(getattr(node, "name", ""))
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{getattr(each, 'name', '')}" for each in node.body}
    return found


def test_every_guarantee_is_there() -> None:
    assert list(SECTIONS) == [f"G{number}" for number in range(1, 15)]


@pytest.mark.parametrize("guarantee", SECTIONS)
def test_a_guarantee_names_its_tests(guarantee: str) -> None:
    assert TEST.search(SECTIONS[guarantee])


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_named_test_exists(file: str, name: str) -> None:
    assert name.rpartition("::")[2].startswith("test_")
    assert name in names_in(ROOT / file)
