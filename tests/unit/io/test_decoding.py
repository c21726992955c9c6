from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from beam_agents._protos import AgentEnvelope, ToolIntent, ToolResult
from beam_agents.io.decoding import (
    EventFields,
    Skipped,
    Undecodable,
    decision_of,
    envelope_of,
    error_record,
    result_of,
)
from beam_agents.io.records import InboundRecord

RESULT = ToolResult(intent_id="i", entity_key=b"acct-1", status=ToolResult.OK, completed_at_ms=700)
EVENT = AgentEnvelope(entity_key=b"acct-1", event_time_ms=500, external_event=b"chargeback")
APPROVAL = AgentEnvelope(
    entity_key=b"acct-1", approval=AgentEnvelope.Approval(intent_id="i", approved=True)
)


def record(
    value: bytes | None, *, key: bytes | None = b"acct-1", declared: str | None = None
) -> InboundRecord:
    headers = () if declared is None else (("beam-agents-type", declared.encode()),)
    return InboundRecord(
        key=key,
        value=value,
        headers=headers,
        timestamp_ms=800,
        received_at_ms=900,
        topic="t",
        offset=7,
    )


def test_a_result_becomes_an_envelope_at_the_time_of_its_completion() -> None:
    decoded = result_of(record(RESULT.SerializeToString(), declared="ToolResult"))
    assert decoded == (
        b"acct-1",
        AgentEnvelope(
            entity_key=b"acct-1", event_time_ms=700, received_at_ms=900, tool_result=RESULT
        ),
    )


def test_an_envelope_is_stamped_with_the_time_of_its_reading() -> None:
    stale = AgentEnvelope(received_at_ms=1)
    stale.MergeFrom(EVENT)
    decoded = envelope_of(record(stale.SerializeToString(), declared="AgentEnvelope"))
    assert not isinstance(decoded, Skipped)
    assert decoded[1].received_at_ms == 900
    assert decoded[1].event_time_ms == 500


def test_the_records_key_is_the_elements_key() -> None:
    decoded = envelope_of(record(EVENT.SerializeToString(), key=b"acct-2"))
    assert not isinstance(decoded, Skipped)
    assert decoded[0] == b"acct-2"  # RunAgent refuses an envelope under another's key


def test_a_record_without_a_key_goes_by_its_message() -> None:
    decoded = result_of(record(RESULT.SerializeToString(), key=None))
    assert not isinstance(decoded, Skipped)
    assert decoded[0] == b"acct-1"


def test_a_record_without_a_declared_type_is_accepted() -> None:
    assert result_of(record(RESULT.SerializeToString())) != Skipped()


def test_bytes_are_accepted_from_other_io() -> None:
    decoded = result_of(RESULT.SerializeToString())
    assert not isinstance(decoded, Skipped)
    assert decoded[0] == b"acct-1"
    assert decoded[1].received_at_ms > 0


@pytest.mark.parametrize("decode", [envelope_of, decision_of, result_of])
@pytest.mark.parametrize(
    ("value", "declared", "complaint"),
    [
        (b"\xff\xff", None, "not "),
        (None, None, "no value"),
        (b"", "Completion", "declared as 'Completion'"),
        (b"", "", "declared as ''"),
    ],
)
def test_what_is_not_expected_is_refused(
    decode: Callable[[InboundRecord], object],
    value: bytes | None,
    declared: str | None,
    complaint: str,
) -> None:
    with pytest.raises(Undecodable, match=complaint):
        decode(record(value, declared=declared))


def test_an_intent_is_no_result_although_it_parses_as_one() -> None:
    intent = ToolIntent(intent_id="i", tool_name="t").SerializeToString()
    with pytest.raises(Undecodable, match="ToolIntent"):
        result_of(record(intent, declared="ToolIntent"))


def test_a_decision_is_read() -> None:
    decoded = decision_of(record(APPROVAL.SerializeToString(), declared="AgentEnvelope"))
    assert not isinstance(decoded, Skipped)
    assert decoded[1].approval.approved


def test_a_request_on_the_decisions_topic_is_skipped() -> None:
    assert decision_of(record(b"whatever", declared="ToolIntent")) == Skipped()


def test_an_event_takes_its_fields_from_the_record() -> None:
    fields = EventFields(key=lambda r: r.key)
    assert fields(record(b"chargeback")) == (
        b"acct-1",
        AgentEnvelope(
            entity_key=b"acct-1",
            event_time_ms=800,
            received_at_ms=900,
            external_event=b"chargeback",
        ),
    )


def test_an_event_takes_its_fields_from_the_users_functions() -> None:
    def field(name: str) -> Callable[[InboundRecord], Any]:
        return lambda r: json.loads(r.value or b"")[name]

    fields = EventFields(
        key=lambda r: field("account")(r).encode(),
        event_time_ms=field("at"),
        event_id=field("id"),
        payload=lambda r: field("text")(r).encode(),
    )
    value = json.dumps({"account": "a", "at": 5, "id": "e-1", "text": "hello"}).encode()
    assert fields(record(value)) == (
        b"a",
        AgentEnvelope(
            entity_key=b"a",
            event_time_ms=5,
            received_at_ms=900,
            external_event=b"hello",
            event_id="e-1",
        ),
    )


def test_an_event_may_be_any_element_of_other_io() -> None:
    fields = EventFields(key=lambda e: e["k"], payload=lambda e: e["v"])
    decoded = fields({"k": b"a", "v": b"hello"})
    assert not isinstance(decoded, Skipped)
    assert decoded[1].external_event == b"hello"
    assert decoded[1].event_time_ms == decoded[1].received_at_ms > 0


@pytest.mark.parametrize(
    "fields",
    [
        EventFields(key=lambda r: json.loads(r.value)["account"]),
        EventFields(key=lambda r: None),
        EventFields(key=lambda r: "text"),  # type: ignore[arg-type,return-value]
        EventFields(key=lambda r: r.key, event_time_ms=lambda r: "now"),  # type: ignore[arg-type,return-value]
        EventFields(key=lambda r: r.key, event_time_ms=lambda r: 2**63),
        EventFields(key=lambda r: r.key, payload=lambda r: None),  # type: ignore[arg-type,return-value]
    ],
)
def test_an_event_whose_fields_cannot_be_had_is_refused(fields: EventFields) -> None:
    with pytest.raises(Undecodable):
        fields(record(b"not json"))


def test_an_event_without_a_value_is_refused() -> None:
    with pytest.raises(Undecodable, match="bytes"):
        EventFields(key=lambda r: r.key)(record(None))


def test_an_error_names_the_record_that_stays_in_the_topic() -> None:
    error = error_record(record(b"\xff"), Undecodable("not ToolResult"))
    assert error.reason == "undecodable"
    assert error.detail == "record 7 of topic 't': not ToolResult"
    assert error.entity_key == b"acct-1"
    assert error.event_time_ms == 800
