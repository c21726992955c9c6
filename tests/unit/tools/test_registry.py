"""Registries: names, places, lifespans, and finding one by its path."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from beam_agents.tools import RegistryError, Tool, ToolRegistry, tool
from beam_agents.tools.errors import (
    DuplicateToolError,
    RegistryAttributeError,
    RegistryImportError,
    RegistryPathError,
    RegistryTypeError,
    UnknownToolError,
)


@tool
def look(at: str) -> str:
    return at


@tool(name="payments.refund", side_effect=True, on_crash="fail", timeout_ms=9)
def refund(amount: int) -> None: ...


def test_a_registry_holds_tools_by_name_in_order() -> None:
    registry = ToolRegistry(refund, look)

    assert list(registry) == [refund, look]
    assert len(registry) == 2
    assert registry["look"] is look
    assert "payments.refund" in registry
    assert refund in registry
    assert "refund" not in registry


def test_an_unknown_name_says_what_there_is() -> None:
    with pytest.raises(UnknownToolError, match=r"no tool 'payments.refnd'; did you mean 'paymen"):
        ToolRegistry(refund, look)["payments.refnd"]


def test_a_missing_tool_is_a_key_error() -> None:
    with pytest.raises(KeyError, match=r"no tool 'x'; it has \['look'\]"):
        ToolRegistry(look)["x"]


def test_the_decorator_of_a_registry_registers() -> None:
    registry = ToolRegistry()

    @registry.tool
    def one(x: int) -> int:
        return x

    @registry.tool(name="second", side_effect=True)
    def two(x: int) -> int:
        return x

    assert [each.name for each in registry] == ["one", "second"]
    assert one(1) == 1


# --- B16: duplicate names --------------------------------------------------------------------


def another_look() -> Tool:
    @tool(name="look")
    def again(at: str) -> str:
        return at

    return again


def test_b16_a_second_tool_of_one_name_is_an_error_with_both_places() -> None:
    with pytest.raises(
        DuplicateToolError, match=r"'look': one at .*registry\.py:\d+, one at .*registry\.py:\d+;"
    ) as error:
        ToolRegistry(look, another_look())

    assert isinstance(error.value, RegistryError)


def test_b16_merging_registries_keeps_the_rule() -> None:
    with pytest.raises(DuplicateToolError):
        ToolRegistry(*ToolRegistry(look), *ToolRegistry(another_look()))


def test_b16_the_same_tool_twice_is_one_tool() -> None:
    assert len(ToolRegistry(look, look)) == 1


def test_what_is_no_tool_cannot_be_registered() -> None:
    with pytest.raises(RegistryError, match="decorate it with @tool first"):
        ToolRegistry(print)  # type: ignore[arg-type]


# --- lifespan --------------------------------------------------------------------------------


class Pool:
    def __init__(self) -> None:
        self.events: list[str] = []

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        self.events.append("entered")
        try:
            yield
        finally:
            self.events.append("left")


async def test_a_lifespan_is_made_by_a_function() -> None:
    pool = Pool()
    registry = ToolRegistry(look, lifespan=pool.open)

    async with registry.lifespan():
        assert pool.events == ["entered"]
    async with registry.lifespan():
        pass

    assert pool.events == ["entered", "left"] * 2


async def test_a_lifespan_can_be_the_context_manager_itself() -> None:
    pool = Pool()
    registry = ToolRegistry(lifespan=pool.open())

    for _ in range(2):  # as an effector does that runs again in one process
        async with registry.lifespan():
            pass

    assert pool.events == ["entered", "left"] * 2


class Reentrant:
    entered = 0

    async def __aenter__(self) -> None:
        self.entered += 1

    async def __aexit__(self, *exception: object) -> None: ...


async def test_a_lifespan_can_be_an_object_that_is_entered_again() -> None:
    lifespan = Reentrant()
    registry = ToolRegistry(lifespan=lifespan)

    for _ in range(2):
        async with registry.lifespan():
            pass

    assert lifespan.entered == 2


async def test_no_lifespan_is_an_empty_one() -> None:
    async with ToolRegistry(look).lifespan():
        pass


# --- manifest --------------------------------------------------------------------------------


def test_the_manifest_describes_tools_in_json() -> None:
    manifest = ToolRegistry(refund, look).manifest()

    assert list(manifest) == ["look", "payments.refund"]
    assert json.loads(json.dumps(manifest))["payments.refund"] == {
        "schema_digest": refund.schema_digest.hex(),
        "side_effect": True,
        "strict": True,
        "timeout_ms": 9,
        "max_concurrency": None,
        "on_crash": "fail",
        "requires_approval": False,
    }


def test_the_manifest_does_not_depend_on_the_order() -> None:
    assert json.dumps(ToolRegistry(refund, look).manifest()) == json.dumps(
        ToolRegistry(look, refund).manifest()
    )


def test_a_registry_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(ToolRegistry(refund, look)))  # noqa: S301

    assert list(copy) == [refund, look]
    assert copy.tool(name="new")(lambda: None) in copy


# --- load ------------------------------------------------------------------------------------


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_registry_is_found_by_its_path(app: Path) -> None:
    (app / "shop_tools.py").write_text(
        "from beam_agents.tools import ToolRegistry\n"
        "TOOLS = ToolRegistry()\n"
        "class All:\n    tools = TOOLS\n"
    )

    assert ToolRegistry.load("shop_tools:TOOLS") is ToolRegistry.load("shop_tools:All.tools")


@pytest.mark.parametrize("path", ["", "shop_tools", "shop_tools:", ":TOOLS", "shop_tools.TOOLS"])
def test_a_path_of_another_form_is_told(path: str) -> None:
    with pytest.raises(RegistryPathError, match="not of the form module:attribute"):
        ToolRegistry.load(path)


def test_a_module_that_is_not_there_is_told() -> None:
    with pytest.raises(RegistryImportError, match="module 'no_such_shop' cannot be imported\n"):
        ToolRegistry.load("no_such_shop:TOOLS")


def test_a_module_that_exits_is_told(app: Path) -> None:
    (app / "shop_tools.py").write_text("raise SystemExit(3)\n")

    with pytest.raises(RegistryImportError, match="SystemExit: 3"):
        ToolRegistry.load("shop_tools:TOOLS")


def test_a_module_that_fails_is_told_with_its_own_frames_only(app: Path) -> None:
    (app / "shop_tools.py").write_text("import shop_prices\n")
    (app / "shop_prices.py").write_text("def read():\n    raise OSError('no prices')\n\nread()\n")

    with pytest.raises(RegistryImportError) as error:
        ToolRegistry.load("shop_tools:TOOLS")

    told = str(error.value)
    assert [line.strip() for line in told.splitlines() if line.strip().startswith("File")] == [
        f'File "{app}/shop_tools.py", line 1, in <module>',
        f'File "{app}/shop_prices.py", line 4, in <module>',
        f'File "{app}/shop_prices.py", line 2, in read',
    ]
    assert told.endswith("OSError: no prices")


def test_a_missing_attribute_is_told_with_what_there_is(app: Path) -> None:
    (app / "shop_tools.py").write_text(
        "from beam_agents.tools import ToolRegistry\nTOOLS = ToolRegistry()\n"
    )

    with pytest.raises(RegistryAttributeError, match="no attribute 'TOOL'; it has TOOLS"):
        ToolRegistry.load("shop_tools:TOOL")


def test_an_attribute_of_another_type_is_told(app: Path) -> None:
    (app / "shop_tools.py").write_text("TOOLS = []\n")

    with pytest.raises(RegistryTypeError, match="'shop_tools:TOOLS' is a list, not a ToolRegist"):
        ToolRegistry.load("shop_tools:TOOLS")


def test_an_attribute_that_cannot_be_read_is_told(app: Path) -> None:
    (app / "shop_tools.py").write_text("def __getattr__(name):\n    raise OSError('no prices')\n")

    with pytest.raises(RegistryAttributeError, match="OSError: no prices"):
        ToolRegistry.load("shop_tools:TOOLS")
