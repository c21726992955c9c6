"""The schema and its digest: the same in each process, whatever its hash seed and its -O."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Annotated, Any

from pydantic import Field

from beam_agents.tools import tool

PROGRAM = '''
import enum, json
from dataclasses import dataclass
from pydantic import BaseModel
from beam_agents.tools import ToolRegistry, tool

class Color(enum.Enum):
    """A color."""

    RED = "red"
    BLUE = "blue"
    GREEN = "green"

@dataclass(frozen=True)
class Inner:
    """What is inside."""

    tags: frozenset[str] = frozenset({"a", "b", "c"})

class Outer(BaseModel):
    """Has sets inside of its defaults."""

    colors: frozenset[Color] = frozenset(Color)
    listed: list[set[str]] = [{"x", "y", "z"}]
    named: dict[str, frozenset[str]] = {"k": frozenset({"x", "y", "z"})}
    nested: frozenset[frozenset[str]] = frozenset({frozenset({"x", "y"}), frozenset({"z"})})
    inner: Inner = Inner()

@tool
def f(
    outer: Outer = Outer(),
    inner: Inner = Inner(),
    tags: frozenset[str] = frozenset({"a", "b", "c"}),
    listed: list[set[str]] = [{"x", "y", "z"}],
) -> None:
    """Do.

    Args:
        outer: What is outside.
    """

print(json.dumps([f.schema, f.schema_digest.hex(), ToolRegistry(f).manifest()]))
'''


def printed(*options: str, seed: str = "1") -> Any:
    ran = subprocess.run(
        [sys.executable, *options, "-c", PROGRAM],
        env={"PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
    )
    return json.loads(ran.stdout)


def test_sets_inside_of_defaults_come_in_one_order() -> None:
    first, *others = [printed(seed=seed) for seed in ("1", "3", "4")]

    assert others == [first, first]
    outer = first[0]["$defs"]["Outer"]["properties"]
    assert outer["colors"]["default"] == ["blue", "green", "red"]
    assert outer["listed"]["default"] == [["x", "y", "z"]]
    assert outer["nested"]["default"] == [["x", "y"], ["z"]]


def test_a_process_without_docstrings_has_the_digest_of_one_with_them() -> None:
    schema, *digests = printed()
    bare, *of_bare = printed("-OO")

    assert schema != bare
    assert digests == of_bare


def test_what_only_explains_is_not_in_the_digest() -> None:
    @tool
    def plain(description: int, title: str) -> None: ...

    @tool
    def explained(
        description: Annotated[int, Field(title="D", description="Of it.", examples=[1])],
        title: str,
    ) -> None:
        """Do.

        Args:
            title: The title.
        """

    @tool
    def other(description: int) -> None: ...

    assert plain.schema != explained.schema
    assert plain.schema_digest == explained.schema_digest
    assert plain.schema_digest != other.schema_digest


def test_a_default_is_in_the_digest() -> None:
    @tool
    def one(x: int = 1) -> None: ...

    @tool
    def two(x: int = 2) -> None: ...

    assert one.schema_digest != two.schema_digest
