"""Intent ids, against the vectors that deployments agree on."""

from __future__ import annotations

from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_agents.intents.identity import INTENT_NAMESPACE, intent_id_for, is_intent_id

SEQS = st.integers(0, 2**63 - 1)
STEPS = st.integers(0, 2**32 - 1)
POSITIONS = st.tuples(st.binary(max_size=64), SEQS, STEPS, st.text(max_size=16))


@pytest.mark.parametrize(
    ("position", "intent_id"),
    [
        ((b"acct-1", 0, 0), "a5ed04a4-d090-54a1-abf3-9aff777ad8eb"),
        ((b"", 0, 0), "30db89a2-7585-5735-849e-0be871f4c11d"),
        ((b"\x00\xff|", 1, 2), "dc641c13-e6c4-5618-a3ab-749cf866b562"),
    ],
)
def test_the_id_of_a_position(position: tuple[bytes, int, int], intent_id: str) -> None:
    assert intent_id_for(*position) == intent_id


@given(POSITIONS)
def test_an_id_is_a_version_5_uuid_in_canonical_text(
    position: tuple[bytes, int, int, str],
) -> None:
    key, seq, step, namespace = position

    intent_id = intent_id_for(key, seq, step, namespace=namespace)

    assert str(UUID(intent_id)) == intent_id
    assert UUID(intent_id).version == 5


@given(POSITIONS, POSITIONS)
def test_another_position_has_another_id(
    one: tuple[bytes, int, int, str], other: tuple[bytes, int, int, str]
) -> None:
    (key, seq, step, namespace), (key2, seq2, step2, namespace2) = one, other

    same_id = intent_id_for(key, seq, step, namespace=namespace) == intent_id_for(
        key2, seq2, step2, namespace=namespace2
    )

    assert same_id == (one == other)


@given(POSITIONS)
def test_an_id_is_what_the_standard_library_makes_of_the_position(
    position: tuple[bytes, int, int, str],
) -> None:
    key, seq, step, namespace = position
    parent = uuid5(INTENT_NAMESPACE, namespace) if namespace else INTENT_NAMESPACE

    intent_id = intent_id_for(key, seq, step, namespace=namespace)

    assert intent_id == str(uuid5(parent, f"{key.hex()}|{seq}|{step}"))


@given(POSITIONS)
def test_every_id_that_is_minted_may_be_read(position: tuple[bytes, int, int, str]) -> None:
    key, seq, step, namespace = position

    assert is_intent_id(intent_id_for(key, seq, step, namespace=namespace))


@pytest.mark.parametrize(
    ("text", "is_id"),
    [
        ("order-17/refund", True),
        ("i" * 256, True),
        ("i" * 257, False),
        ("", False),
        ("a b", False),
        ("a\n", False),
        ("a\x00", False),
        ("é", False),
    ],
)
def test_an_id_is_short_and_printable(text: str, is_id: bool) -> None:
    assert is_intent_id(text) is is_id
