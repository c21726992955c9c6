"""Writers to topics: one batch a bundle, each record with its type; a failure fails the bundle."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import apache_beam as beam
from apache_beam.pvalue import PCollection
from google.protobuf.message import Message

from beam_agents._protos import ActivationErrorRecord, AgentEnvelope, Completion, ToolIntent
from beam_agents.intents.topics import type_header
from beam_agents.io.address import Credentials, TopicAddress
from beam_agents.io.records import OutboundRecord
from beam_agents.io.schemes import check_writer, open_writer

if TYPE_CHECKING:
    from beam_agents.intents.signing import Signer


class WriteRecords(beam.PTransform[Any, None]):
    """Writes `OutboundRecord`s.

    Args:
        uri: The topic, such as `kafka://broker:9092/outputs` or
            `sqlite:///bus.db?topic=outputs`.
        kafka: How to log in to Kafka.
    """

    def __init__(self, uri: str, *, kafka: Credentials | None = None) -> None:
        super().__init__()
        self._address = TopicAddress(check_writer(uri), kafka)

    def expand(self, records: PCollection[OutboundRecord]) -> None:
        """Write what comes."""
        _ = records | "Publish" >> beam.ParDo(Publish(self._address))


class IntentsToRecords(beam.PTransform[Any, Any]):
    """`ToolIntent`s as records, signed if there is a signer; for those who use other IO."""

    def __init__(self, signer: Signer | None = None) -> None:
        super().__init__()
        self._signer = signer

    def expand(self, intents: PCollection[ToolIntent]) -> PCollection[OutboundRecord]:
        """Sign and serialize."""
        records: PCollection[OutboundRecord] = intents | "ToRecords" >> beam.ParDo(
            _IntentToRecord(self._signer)
        ).with_output_types(OutboundRecord)
        return records


class WriteIntents(beam.PTransform[Any, None]):
    """Writes `ToolIntent`s for the effector, keyed by entity.

    Args:
        uri: The topic, such as `sqlite:///bus.db?topic=intents`.
        signer: Signs each intent; without it they go unsigned.
        kafka: How to log in to Kafka.
    """

    def __init__(
        self, uri: str, signer: Signer | None = None, *, kafka: Credentials | None = None
    ) -> None:
        super().__init__()
        self._write = WriteRecords(uri, kafka=kafka)
        self._signer = signer

    def expand(self, intents: PCollection[ToolIntent]) -> None:
        """Sign and write."""
        _ = intents | "Intents" >> IntentsToRecords(self._signer) | "Write" >> self._write


class _WriteKeyed(beam.PTransform[Any, None]):
    def __init__(
        self, uri: str, kafka: Credentials | None, to_record: Callable[[Any], OutboundRecord]
    ) -> None:
        super().__init__()
        self._write = WriteRecords(uri, kafka=kafka)
        self._to_record = to_record

    def expand(self, messages: PCollection[Any]) -> None:
        """Serialize and write."""
        records = messages | "ToRecords" >> beam.Map(self._to_record).with_output_types(
            OutboundRecord
        )
        _ = records | "Write" >> self._write


class WriteErrors(_WriteKeyed):
    """Writes `ActivationErrorRecord`s, keyed by entity.

    Args:
        uri: The topic, such as `sqlite:///bus.db?topic=errors`.
        kafka: How to log in to Kafka.
    """

    def __init__(self, uri: str, *, kafka: Credentials | None = None) -> None:
        super().__init__(uri, kafka, error_to_record)


class WriteCompletions(_WriteKeyed):
    """Writes `Completion`s, keyed by entity.

    Args:
        uri: The topic, such as `sqlite:///bus.db?topic=completions`.
        kafka: How to log in to Kafka.
    """

    def __init__(self, uri: str, *, kafka: Credentials | None = None) -> None:
        super().__init__(uri, kafka, completion_to_record)


class WriteEnvelopes(_WriteKeyed):
    """Writes keyed envelopes, for `ReadEnvelopes`: events of another source, and redrives.

    Args:
        uri: The topic, such as `sqlite:///bus.db?topic=envelopes`.
        kafka: How to log in to Kafka.
    """

    def __init__(self, uri: str, *, kafka: Credentials | None = None) -> None:
        super().__init__(uri, kafka, envelope_to_record)


def error_to_record(error: ActivationErrorRecord) -> OutboundRecord:
    """Serialize an error record."""
    return _to_record(error.entity_key, error)


def completion_to_record(completion: Completion) -> OutboundRecord:
    """Serialize a completion."""
    return _to_record(completion.entity_key, completion)


def envelope_to_record(keyed: tuple[bytes, AgentEnvelope]) -> OutboundRecord:
    """Serialize a keyed envelope; whoever reads it says when it was received."""
    key, envelope = keyed
    written = AgentEnvelope()
    written.CopyFrom(envelope)
    written.ClearField("received_at_ms")
    return _to_record(key, written)


def intent_to_record(intent: ToolIntent, signer: Signer | None = None) -> OutboundRecord:
    """Serialize an intent, signed if there is a signer. The intent itself is left as it is."""
    if signer is not None:
        signed = ToolIntent()
        signed.CopyFrom(intent)
        signer.sign(signed)
        intent = signed
    return _to_record(intent.entity_key, intent)


def _to_record(key: bytes, message: Message) -> OutboundRecord:
    return OutboundRecord(key, message.SerializeToString(), (type_header(type(message)),))


class _IntentToRecord(beam.DoFn):
    def __init__(self, signer: Signer | None) -> None:
        self._signer = signer

    def process(self, intent: ToolIntent) -> list[OutboundRecord]:
        """Serialize one."""
        return [intent_to_record(intent, self._signer)]


class Publish(beam.DoFn):
    """Collects a bundle's records, and publishes them at its end.

    Args:
        address: The topic.
    """

    def __init__(self, address: TopicAddress) -> None:
        self.address = address
        self._records: list[OutboundRecord] = []

    def setup(self) -> None:
        """Connect before the first record: what is wrong is found out at the start."""
        self._writer = open_writer(self.address)

    def start_bundle(self) -> None:
        """Begin anew: a failed attempt must leave nothing behind."""
        self._records = []

    def process(self, record: OutboundRecord) -> None:
        """Collect."""
        self._records.append(record)

    def finish_bundle(self) -> None:
        """Publish; the bundle succeeds only if this does."""
        if self._records:
            self._writer.write(self._records)
