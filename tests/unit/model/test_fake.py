"""The fake model follows its rules in order."""

from __future__ import annotations

import pytest

from beam_agents.model.fake import FakeLLM, match_any, match_contains, raise_error, respond_with


async def test_the_first_rule_that_matches_answers() -> None:
    model = FakeLLM(
        [(match_contains("refund"), respond_with("yes")), (match_any(), respond_with(b"no"))]
    )

    assert await model.complete(b"please refund me") == b"yes"
    assert await model.complete(b"hello") == b"no"


async def test_requests_are_kept_in_order() -> None:
    model = FakeLLM([(match_any(), respond_with(b""))])

    for request in (b"1", b"2"):
        await model.complete(request)

    assert model.requests == [b"1", b"2"]


async def test_a_rule_may_raise() -> None:
    model = FakeLLM([(match_any(), raise_error(TimeoutError("slow")))])

    with pytest.raises(TimeoutError, match="slow"):
        await model.complete(b"hello")


async def test_a_request_without_a_rule_is_an_error_that_shows_it() -> None:
    with pytest.raises(LookupError, match="hello"):
        await FakeLLM([]).complete(b"hello")
