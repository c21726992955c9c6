"""The step before the state: what of a bundle crosses the shuffle together."""

from __future__ import annotations

from typing import Any

import pytest
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from beam_agents._protos import AgentEnvelope
from beam_agents.core import gathering
from beam_agents.core.gathering import MALFORMED, GatherEnvelopes


def begun() -> GatherEnvelopes:
    step = GatherEnvelopes("shop")
    step.start_bundle()
    return step


def give(step: GatherEnvelopes, element: Any, at_ms: int = 0) -> list[Any]:
    cause = WindowedValue(element, Timestamp(micros=at_ms * 1000), (GlobalWindow(),))
    return list(step.process(element, cause) or ())


def event(key: bytes, payload: bytes) -> tuple[bytes, AgentEnvelope]:
    return key, AgentEnvelope(entity_key=key, external_event=payload)


def payloads(passed_on: WindowedValue) -> tuple[bytes, list[bytes]]:
    key, batch = passed_on.value
    return key, [envelope.external_event for envelope in batch.envelopes]


def test_a_bundle_s_envelopes_of_a_key_are_passed_on_together_and_in_order() -> None:
    step = begun()
    for key, payload in [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")]:
        assert give(step, event(key, payload)) == []

    assert [payloads(each) for each in step.finish_bundle()] == [
        (b"a", [b"1", b"3"]),
        (b"b", [b"2"]),
    ]


def test_each_keeps_its_time_and_none_is_passed_by() -> None:
    step = begun()
    for at_ms in (7, 5, 9):
        give(step, event(b"a", b"e"), at_ms)

    [passed_on] = step.finish_bundle()

    assert list(passed_on.value[1].timestamps_us) == [7_000, 5_000, 9_000]
    assert passed_on.timestamp == Timestamp(micros=5_000)


@pytest.mark.parametrize(("limit", "value"), [("_MOST_ENVELOPES", 3), ("_MOST_BYTES", 300)])
def test_a_large_bundle_is_passed_on_in_parts(
    limit: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, limit, value)
    step = begun()

    given = [give(step, event(b"a", b"x" * 100)) for _ in range(4)]

    assert [len(each) for each in given] == [0, 0, 1, 0]
    assert len(payloads(given[2][0])[1]) == 3
    assert [len(payloads(each)[1]) for each in step.finish_bundle()] == [1]


def test_a_bundle_that_is_repeated_begins_with_nothing() -> None:
    step = begun()
    give(step, event(b"a", b"of the attempt that failed"))

    step.start_bundle()

    assert list(step.finish_bundle()) == []


@pytest.mark.parametrize(
    ("element", "told"),
    [
        (("a", AgentEnvelope()), "the key must be bytes, not str"),
        ((b"a", b"bytes"), "must be (bytes, AgentEnvelope)"),
        (AgentEnvelope(), "must be (bytes, AgentEnvelope)"),
    ],
)
def test_what_is_no_keyed_envelope_is_reported_and_stops_nothing(element: Any, told: str) -> None:
    step = begun()

    [reported] = give(step, element)

    assert isinstance(reported, TaggedOutput)
    assert reported.tag == MALFORMED
    assert told in reported.value.detail
    assert reported.value.namespace == "shop"
    give(step, event(b"a", b"1"))
    assert len(list(step.finish_bundle())) == 1
