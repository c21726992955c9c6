"""Remembered answers are bounded by their bytes."""

from __future__ import annotations

from beam_agents.model.memo import AnswerMemo


def test_an_answer_is_kept_for_its_place() -> None:
    memo = AnswerMemo()

    memo.put("a", b"1")

    assert memo.get("a") == b"1"
    assert memo.get("b") is None


def test_the_least_recently_used_goes_first() -> None:
    memo = AnswerMemo(max_bytes=2_000)
    for place in ("a", "b", "c"):
        memo.put(place, b"x" * 300)

    memo.get("a")
    memo.put("d", b"x" * 300)

    assert memo.get("b") is None
    assert memo.get("a") is not None


def test_an_answer_larger_than_everything_is_not_kept() -> None:
    memo = AnswerMemo(max_bytes=1_000)

    memo.put("a", b"x" * 1_000)

    assert memo.get("a") is None
