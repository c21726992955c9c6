from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_agents.effector.offsets import ContiguousOffsets, ContiguousPrefix, Position


def handed_out(*offsets: int) -> tuple[ContiguousOffsets, int]:
    tracked = ContiguousOffsets()
    epoch = tracked.assign("intents/0")
    for offset in offsets:
        tracked.hand_out("intents/0", offset)
    return tracked, epoch


def test_nothing_can_be_committed_before_the_first_record_is_done() -> None:
    tracked, epoch = handed_out(0, 1)
    tracked.done("intents/0", 1, epoch)
    assert tracked.committable() == []


def test_a_slow_record_holds_back_the_faster_ones_behind_it() -> None:
    tracked, epoch = handed_out(0, 1, 2)
    tracked.done("intents/0", 1, epoch)
    tracked.done("intents/0", 2, epoch)
    tracked.done("intents/0", 0, epoch)
    assert tracked.committable() == [Position("intents/0", 3, epoch)]


def test_gaps_between_offsets_are_stepped_over() -> None:
    tracked, epoch = handed_out(5, 9)
    tracked.done("intents/0", 5, epoch)
    assert tracked.committable() == [Position("intents/0", 6, epoch)]
    tracked.done("intents/0", 9, epoch)
    assert tracked.committable() == [Position("intents/0", 10, epoch)]


def test_a_confirmed_position_is_not_committed_again() -> None:
    tracked, epoch = handed_out(0)
    tracked.done("intents/0", 0, epoch)
    tracked.committed(tracked.committable())
    assert tracked.committable() == []


def test_progress_made_while_a_commit_was_under_way_is_committed_by_the_next() -> None:
    tracked, epoch = handed_out(0, 1)
    tracked.done("intents/0", 0, epoch)
    on_its_way = tracked.committable()
    tracked.done("intents/0", 1, epoch)
    tracked.committed(on_its_way)
    assert tracked.committable() == [Position("intents/0", 2, epoch)]


def test_a_record_of_an_ended_assignment_moves_nothing() -> None:
    tracked, old = handed_out(0, 1)
    tracked.revoke("intents/0")
    assert not tracked.done("intents/0", 0, old)
    new = tracked.assign("intents/0")
    tracked.hand_out("intents/0", 0)
    assert not tracked.done("intents/0", 0, old)
    assert tracked.done("intents/0", 0, new)
    assert tracked.committable() == [Position("intents/0", 1, new)]


def test_a_confirmation_that_comes_after_a_rebalance_is_ignored() -> None:
    tracked, old = handed_out(0)
    tracked.done("intents/0", 0, old)
    on_its_way = tracked.committable()
    new = tracked.assign("intents/0")
    tracked.hand_out("intents/0", 0)
    tracked.done("intents/0", 0, new)
    tracked.committed(on_its_way)
    assert tracked.committable() == [Position("intents/0", 1, new)]


def test_a_record_cannot_be_handed_out_of_a_partition_that_is_not_assigned() -> None:
    with pytest.raises(KeyError):
        ContiguousOffsets().hand_out("intents/0", 0)


@given(st.permutations(range(20)), st.integers(0, 20))
def test_the_prefix_ends_before_the_first_unfinished_record(order: list[int], n: int) -> None:
    prefix = ContiguousPrefix()
    for offset in range(20):
        prefix.hand_out(offset)
    for offset in order[:n]:
        prefix.done(offset)
    unfinished = min(order[n:], default=20)
    assert (prefix.next_offset or 0) == unfinished
    assert prefix.span == 20 - unfinished
