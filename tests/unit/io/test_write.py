from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to

from beam_agents._protos import ActivationErrorRecord, AgentEnvelope, Completion, ToolIntent
from beam_agents.embedded import EmbeddedBus
from beam_agents.intents.keyring import Keyring
from beam_agents.intents.signing import Signer, Verified, verify
from beam_agents.intents.topics import UriError, type_header
from beam_agents.io.records import OutboundRecord
from beam_agents.io.write import (
    IntentsToRecords,
    WriteCompletions,
    WriteEnvelopes,
    WriteErrors,
    WriteIntents,
    WriteRecords,
    intent_to_record,
)

INTENT = ToolIntent(intent_id="i", entity_key=b"k", tool_name="refund", args_json="{}")
KEYS = "k1=AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[EmbeddedBus]:
    with EmbeddedBus(tmp_path / "bus.sqlite") as bus:
        yield bus


def write(elements: list[Any], transform: Any) -> None:
    with beam.Pipeline(runner="BundleBasedDirectRunner", options=PipelineOptions([])) as p:
        _ = p | beam.Create(elements) | transform


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (WriteIntents, INTENT),
        (WriteErrors, ActivationErrorRecord(entity_key=b"k", reason="late")),
        (WriteCompletions, Completion(entity_key=b"k", seq=3, output=b"done")),
    ],
)
def test_messages_are_keyed_by_entity_and_say_their_type(
    bus: EmbeddedBus, transform: type[Any], message: Any
) -> None:
    write([message], transform(f"sqlite:///{bus.path}?topic=out"))
    (record,) = bus.records("out")
    assert (record.key, record.value) == (b"k", message.SerializeToString())
    assert record.headers == (type_header(type(message)),)


def test_envelopes_are_written_to_be_read_again(bus: EmbeddedBus) -> None:
    envelope = AgentEnvelope(entity_key=b"k", external_event=b"e", received_at_ms=5)
    write([(b"k", envelope)], WriteEnvelopes(f"sqlite:///{bus.path}?topic=out"))
    (record,) = bus.records("out")
    assert (record.key, record.headers) == (b"k", (type_header(AgentEnvelope),))
    assert AgentEnvelope.FromString(record.value or b"") == AgentEnvelope(
        entity_key=b"k", external_event=b"e"
    )


def test_a_bundle_is_published_at_once_and_in_order(bus: EmbeddedBus) -> None:
    values = [OutboundRecord(b"k", b"%d" % n) for n in range(50)]
    write(values, WriteRecords(f"sqlite:///{bus.path}?topic=out"))
    records = bus.records("out")
    assert [record.value for record in records] == [each.value for each in values]
    assert len({record.timestamp_ms for record in records}) == 1


def test_intents_are_signed(bus: EmbeddedBus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYS", KEYS)
    keyring = Keyring.load("env:KEYS")
    write([INTENT], WriteIntents(f"sqlite:///{bus.path}?topic=out", Signer(keyring, "k1")))
    (record,) = bus.records("out")
    assert isinstance(verify(ToolIntent.FromString(record.value or b""), keyring), Verified)


def test_signing_leaves_the_intent_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYS", KEYS)
    intent = ToolIntent()
    intent.CopyFrom(INTENT)
    record = intent_to_record(intent, Signer(Keyring.load("env:KEYS"), "k1"))
    assert intent == INTENT
    assert record.value != INTENT.SerializeToString()


def test_intents_become_records_for_other_io() -> None:
    with beam.Pipeline(runner="BundleBasedDirectRunner", options=PipelineOptions([])) as p:
        records = p | beam.Create([INTENT]) | IntentsToRecords()
        assert_that(records, equal_to([intent_to_record(INTENT)]))


def test_a_write_that_fails_fails_the_bundle(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/missing/bus.sqlite?topic=out"
    with pytest.raises(Exception, match="missing"):
        write([INTENT], WriteIntents(uri))


def test_a_topic_that_cannot_be_written_is_refused_where_the_pipeline_is_built() -> None:
    with pytest.raises(UriError, match="supported are sqlite://"):
        WriteIntents("memory://intents")
