"""States that an earlier release wrote are read, and go on as if this one had written them."""

from __future__ import annotations

from collections import Counter

import pytest

from beam_agents._protos.state_pb2 import KeyState
from beam_agents.core.state import SCHEMA_VERSION, decode, encode
from beam_agents.core.testing import AgentHarness
from tests.unit.core.agents import KEY
from tests.unit.core.golden_states import CONFIG, GOLDEN, STATES, Golden, refunds

VERSIONS = sorted(int(folder.name.removeprefix("v")) for folder in GOLDEN.iterdir())
CASES = [pytest.param(state, v, id=f"{state}-v{v}") for v in VERSIONS for state in STATES]


def cell_of(state: Golden, version: int) -> bytes:
    return bytes.fromhex(state.file(version).read_text())


def emitted(harness: AgentHarness) -> Counter[bytes]:
    messages = [*harness.intents, *harness.errors, *harness.completions]
    return Counter([*harness.outputs, *(each.SerializeToString() for each in messages)])


def test_every_version_that_can_be_written_is_kept() -> None:
    assert SCHEMA_VERSION in VERSIONS


@pytest.mark.parametrize(("state", "version"), CASES)
def test_a_kept_state_is_read_whole(state: Golden, version: int) -> None:
    read = decode(cell_of(state, version))

    assert isinstance(read, KeyState)
    assert decode(encode(read)) == read


@pytest.mark.parametrize(("state", "version"), CASES)
def test_a_kept_state_goes_on_as_if_it_were_new(state: Golden, version: int) -> None:
    lived = state.after_its_life()
    intents, before = tuple(lived.intents), emitted(lived)
    upgraded = AgentHarness(refunds, CONFIG)
    upgraded.set_cell(KEY, cell_of(state, version))
    upgraded.advance_to(lived.now_ms)

    state.goes_on(lived, intents)
    state.goes_on(upgraded, intents)

    assert emitted(upgraded) == emitted(lived) - before
