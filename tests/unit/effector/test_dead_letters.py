from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_agents.effector.dead_letters import DeadLetter

names = st.text(max_size=20) | st.sampled_from(["beam-agents-type", "beam-agents-dead-letter-key"])


@given(
    key=st.none() | st.binary(max_size=20),
    value=st.none() | st.binary(max_size=20),
    headers=st.lists(st.tuples(names, st.binary(max_size=10)), max_size=4).map(tuple),
    offset=st.integers(0, 2**63 - 1),
)
def test_a_letter_is_read_back_as_it_was_written(
    key: bytes | None,
    value: bytes | None,
    headers: tuple[tuple[str, bytes], ...],
    offset: int,
) -> None:
    letter = DeadLetter(key, value, "undecodable", headers, "intents/3", offset)
    carried = letter.as_headers()
    assert DeadLetter.read(key or b"", value or b"", carried) == letter
    assert carried[0] == ("beam-agents-type", b"DeadLetter")


def test_a_record_that_carries_no_letter_is_not_read_as_one() -> None:
    with pytest.raises(KeyError):
        DeadLetter.read(b"", b"", ())
