"""The digests of the wire, against the vectors that deployments agree on."""

from __future__ import annotations

from typing import Any

import pytest

from beam_agents._protos import ToolIntent
from beam_agents.intents.fingerprint import fingerprint, grant_digest, origin_digest, trace_id_for

ORIGIN = bytes.fromhex("b4e2709940d54966898da5fc184510d5")


def refund(**changes: Any) -> ToolIntent:
    fields: dict[str, Any] = {
        "entity_key": b"acct-1",
        "tool_name": "payments.refund",
        "args_json": '{"amount":4200}',
        "origin_digest": ORIGIN,
    }
    return ToolIntent(**(fields | changes))


def test_the_origin_of_an_event_without_an_id() -> None:
    assert origin_digest(b"chargeback", event_time_ms=1000) == ORIGIN


def test_the_origin_of_an_event_with_an_id() -> None:
    digest = origin_digest(b"chargeback", event_time_ms=1000, event_id="evt-7")

    assert digest.hex() == "2baa39bbee708a0c907a55ae9bae5684"


def test_an_event_id_stands_for_the_event_time() -> None:
    first = origin_digest(b"chargeback", event_time_ms=1000, event_id="evt-7")

    assert origin_digest(b"chargeback", event_time_ms=2000, event_id="evt-7") == first


def test_the_fingerprint_of_a_refund() -> None:
    assert (
        fingerprint(refund()).hex()
        == "a698847e45c0a4a6f0492c83e8278933a4c8d925bd14247d43eb92266d04a588"
    )


def test_the_fingerprint_without_an_origin() -> None:
    assert (
        fingerprint(refund(origin_digest=b"")).hex()
        == "33c7b4a9efcff61e8ed89ff5edd7aadd66362246a36a2a6c889777b53c1cdc96"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"namespace": "shop"},
        {"entity_key": b"acct-2"},
        {"seq": 1},
        {"step_index": 1},
        {"kind": ToolIntent.APPROVAL},
        {"tool_name": "payments.charge"},
        {"args_json": '{"amount":4201}'},
        {"origin_digest": b"\0" * 16},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_is_asked_for_changes_the_fingerprint(change: dict[str, Any]) -> None:
    assert fingerprint(refund(**change)) != fingerprint(refund())


@pytest.mark.parametrize(
    "change",
    [
        {"kind": ToolIntent.TOOL},
        {"args_json": '{ "amount": 4200.0 }'},
        {"created_at_ms": 9, "expires_at_ms": 99},
        {"summary": "Refund 42.00", "may_overlap": True, "schema_digest": b"\1" * 32},
    ],
    ids=lambda change: next(iter(change)),
)
def test_times_spelling_and_remarks_do_not_change_the_fingerprint(change: dict[str, Any]) -> None:
    assert fingerprint(refund(**change)) == fingerprint(refund())


def test_arguments_that_do_not_parse_are_taken_as_they_are() -> None:
    broken, other = refund(args_json='{"amount":'), refund(args_json='{"amount" :')

    assert fingerprint(broken) != fingerprint(other)


def test_the_digest_of_a_grant() -> None:
    digest = grant_digest(
        namespace="",
        entity_key=b"acct-1",
        tool_name="payments.refund",
        args_json='{"amount": 4200}',
    )

    assert digest.hex() == "7f6bd6580e553de5de6ca1d32b5a063449521be7e6032a99f8dacbb081ff2228"


def test_the_trace_id_of_an_activation() -> None:
    trace_id = trace_id_for(namespace="", entity_key=b"acct-1", seq=0, origin_digest=ORIGIN)

    assert trace_id.hex() == "bc3e231b05901a4b1b04facd6a774ace"
