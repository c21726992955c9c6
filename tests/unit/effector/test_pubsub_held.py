from __future__ import annotations

import pytest

from beam_agents.effector.backends.pubsub_held import HeldMessages


@pytest.fixture
def held() -> HeldMessages:
    """Three messages of a key, one of another, one of none."""
    held = HeldMessages()
    for message_id, key in [("a0", "a"), ("a1", "a"), ("b0", "b"), ("a2", "a"), ("n0", "")]:
        held.receive(message_id, f"ack-{message_id}", key)
    return held


def _acknowledgeable(held: HeldMessages) -> list[str]:
    return [each.message_id for each in held.acknowledgeable()]


def test_offsets_grow(held: HeldMessages) -> None:
    assert held.receive("b1", "ack-b1", "b") == 5


def test_a_message_waits_for_those_before_it_under_its_key(held: HeldMessages) -> None:
    for offset in (1, 3):
        held.finish(offset, held.epoch)
    assert _acknowledgeable(held) == []

    held.finish(0, held.epoch)

    assert _acknowledgeable(held) == ["a0", "a1", "a2"]


def test_messages_of_other_keys_and_of_none_do_not_wait(held: HeldMessages) -> None:
    held.finish(4, held.epoch)
    held.finish(2, held.epoch)

    assert _acknowledgeable(held) == ["n0", "b0"]


def test_a_message_is_held_until_it_is_acknowledged(held: HeldMessages) -> None:
    held.finish(0, held.epoch)
    assert "ack-a0" in held.ack_ids

    held.acknowledged(held.acknowledgeable())

    assert held.ack_ids == ["ack-a1", "ack-b0", "ack-a2", "ack-n0"]
    assert _acknowledgeable(held) == []


def test_a_message_that_comes_again_is_held_once_under_its_new_ack_id(held: HeldMessages) -> None:
    held.finish(0, held.epoch)

    assert held.receive("a0", "new-ack", "a") is None

    assert len(held) == 5
    assert [each.ack_id for each in held.acknowledgeable()] == ["new-ack"]


def test_a_message_that_was_acknowledged_may_come_anew(held: HeldMessages) -> None:
    held.finish(0, held.epoch)
    held.acknowledged(held.acknowledgeable())

    assert held.receive("a0", "new-ack", "a") == 5


def test_what_is_lost_cannot_be_finished(held: HeldMessages) -> None:
    held.finish(0, held.epoch)
    epoch = held.epoch

    lost = held.lose()

    assert lost == ["ack-a0", "ack-a1", "ack-b0", "ack-a2", "ack-n0"]
    assert held.receive("a0", "new-ack", "a") == 0
    held.finish(0, epoch)
    assert len(held) == 1
    assert _acknowledgeable(held) == []


def test_finishing_twice_is_finishing_once(held: HeldMessages) -> None:
    held.finish(0, held.epoch)
    held.finish(0, held.epoch)

    assert _acknowledgeable(held) == ["a0"]
