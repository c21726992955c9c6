"""`RunAgent` as a transform: what it refuses, what it gives, and how a bundle is carried."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.metrics.metric import MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_stream
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import FixedWindows, TimestampedValue

from beam_agents._protos import AgentEnvelope, ToolIntent
from beam_agents._protos.state_pb2 import KeyState
from beam_agents.core import key_states
from beam_agents.core.agent import Complete, intent_id_for
from beam_agents.core.config import AgentConfig
from beam_agents.core.context import ActivationContext
from beam_agents.core.errors import PipelineError
from beam_agents.core.state import decode, encode
from beam_agents.core.transform import RunAgent
from beam_agents.intents.fingerprint import trace_id_for
from beam_agents.io import AgentLoop
from beam_agents.io.envelopes import EnvelopesToEnvelopes
from tests.unit.core.agents import KEY, echo, pay
from tests.unit.core.envelopes import answer, event, intents_of

BUNDLE_BASED = "BundleBasedDirectRunner"
FN_API = "FnApiRunner"


def keyed(envelope: AgentEnvelope) -> tuple[bytes, AgentEnvelope]:
    return envelope.entity_key, envelope


def source(pipeline: beam.Pipeline, *envelopes: AgentEnvelope) -> Any:
    return pipeline | beam.Create(list(envelopes)) | "Key" >> beam.Map(keyed)


# --- what it refuses ------------------------------------------------------------------------------


def test_windows_other_than_global_are_refused() -> None:
    windowed = source(beam.Pipeline(), event(KEY, b"e", 1)) | beam.WindowInto(FixedWindows(60))

    with pytest.raises(PipelineError, match="GlobalWindows"):
        windowed | RunAgent(echo)


def test_an_agent_that_cannot_be_pickled_is_refused_by_name() -> None:
    client = (reply for reply in [b""])

    async def uses_a_client(ctx: ActivationContext) -> Complete:
        return Complete(next(client))

    with pytest.raises(PipelineError, match="provider_factory"):
        RunAgent(uses_a_client)


class Refunds:
    """An agent with settings of its own."""

    async def __call__(self, ctx: ActivationContext) -> Complete:
        return Complete(ctx.event)

    async def refund(self, ctx: ActivationContext) -> Complete:
        return Complete(ctx.event)


class SyncRefunds:
    def __call__(self, ctx: ActivationContext) -> Complete:
        return Complete(ctx.event)


def sync_refund(ctx: ActivationContext) -> Complete:
    return Complete(ctx.event)


async def streamed_refund(ctx: ActivationContext) -> AsyncIterator[Complete]:
    yield Complete(ctx.event)


def yielded_refund(ctx: ActivationContext) -> Iterator[Complete]:
    yield Complete(ctx.event)


@functools.wraps(echo)
def wrapped_echo(*args: Any) -> Any:
    return echo(*args)


def another_echo(ctx: ActivationContext) -> Awaitable[Complete]:
    return echo(ctx)


@pytest.mark.parametrize(
    ("agent", "problem"),
    [
        ("refund", r"async function, not 'refund'"),
        (Refunds, r"async function, not the class 'Refunds'"),
        (sync_refund, r"'sync_refund' is not async: define it by `async def`"),
        (SyncRefunds(), r"'SyncRefunds.__call__' is not async"),
        (functools.partial(sync_refund), r"'sync_refund' is not async"),
        (lambda ctx: Complete(), r"is not async"),
        (streamed_refund, r"'streamed_refund' has a `yield`"),
        (yielded_refund, r"'yielded_refund' has a `yield`"),
    ],
)
def test_what_cannot_be_an_agent_is_refused(agent: Any, problem: str) -> None:
    with pytest.raises(PipelineError, match=problem):
        RunAgent(agent)


@pytest.mark.parametrize(
    "agent",
    [Refunds(), Refunds().refund, functools.partial(echo), wrapped_echo, another_echo],
    ids=["object", "method", "partial", "wrapper", "awaitable"],
)
def test_whatever_gives_an_awaitable_is_an_agent(agent: Any) -> None:
    RunAgent(agent)


def test_a_config_that_is_none_is_refused() -> None:
    with pytest.raises(PipelineError, match="config must be an AgentConfig, not 'billing'"):
        RunAgent(echo, "billing")  # type: ignore[arg-type]


def test_two_agents_of_one_namespace_are_refused() -> None:
    events = source(beam.Pipeline(), event(KEY, b"e", 1))
    events | "First" >> RunAgent(echo)

    with pytest.raises(PipelineError, match=r"'First'.*AgentConfig\(namespace="):
        events | "Second" >> RunAgent(echo)


def test_agents_of_different_namespaces_share_a_pipeline() -> None:
    events = source(beam.Pipeline(), event(KEY, b"e", 1))

    events | "First" >> RunAgent(echo, AgentConfig(namespace="a"))
    events | "Second" >> RunAgent(echo, AgentConfig(namespace="b"))


ENVELOPE = event(KEY, b"e", 1)


@pytest.mark.parametrize(
    ("elements", "problem"),
    [
        ([(KEY.decode(), ENVELOPE)], r"not tuple\[str, .*AgentEnvelope\].*str\.encode"),
        ([ENVELOPE], r"not AgentEnvelope.*beam\.Map\(lambda e: \(e\.entity_key, e\)\)"),
        ([(KEY, b"e")], r"not tuple\[bytes, bytes\]"),
        ([(KEY, ENVELOPE, 1)], r"tuple\[bytes, AgentEnvelope\], not tuple"),
        ([b"e"], r"not bytes"),
        ([b"e", "e"], r"not typing.Union\[bytes, str\]|not bytes \| str"),
    ],
)
def test_elements_whose_hint_is_of_something_else_are_refused(
    elements: list[Any], problem: str
) -> None:
    events = beam.Pipeline() | beam.Create(elements)

    with pytest.raises(PipelineError, match=problem):
        events | RunAgent(echo)


def anything(element: Any) -> Any:
    return element


@pytest.mark.parametrize(
    "events",
    [
        beam.Create([(KEY, ENVELOPE)]),
        beam.Create([]),
        beam.Create([ENVELOPE]) | beam.Map(lambda e: (e.entity_key, e)),
        beam.Create([ENVELOPE]) | beam.Map(anything).with_output_types(Any),
        beam.Create([(KEY, ENVELOPE), (KEY.decode(), ENVELOPE)]),
    ],
    ids=["keyed", "empty", "inferred", "any", "mixed"],
)
def test_elements_whose_hint_says_no_such_thing_are_taken(events: Any) -> None:
    beam.Pipeline() | events | RunAgent(echo)


def test_a_reader_in_place_of_its_envelopes_is_refused() -> None:
    read = beam.Pipeline() | beam.Create([b""]) | EnvelopesToEnvelopes()

    with pytest.raises(PipelineError, match=r"apply this to its \.envelopes"):
        read | RunAgent(echo)
    with pytest.raises(PipelineError, match=r"apply this to its \.envelopes"):
        read | AgentLoop(
            echo,
            results_from="sqlite:///bus.db?topic=results",
            intents_to="sqlite:///bus.db?topic=intents",
        )


def test_several_collections_at_once_are_refused() -> None:
    events = beam.Pipeline() | beam.Create([(KEY, ENVELOPE)])

    with pytest.raises(PipelineError, match="one PCollection"):
        (events, events) | RunAgent(echo)


def test_keys_that_turn_out_to_be_no_bytes_are_reported() -> None:
    with beam.Pipeline(FN_API) as pipeline:
        ran = (
            pipeline
            | beam.Create([("text", event(KEY, b"e", 1)), "nothing", (KEY, event(KEY, b"e", 1))])
            | RunAgent(echo)
        )
        reasons = ran.errors | beam.Map(lambda error: error.reason)
        assert_that(reasons, equal_to(["malformed", "malformed"]), label="errors")
        assert_that(ran.output, equal_to([b"e"]), label="output")


# --- how a bundle is carried ----------------------------------------------------------------------


def test_metrics_are_counted_under_their_names() -> None:
    pipeline = beam.Pipeline(FN_API)
    source(pipeline, event(b"a", b"e", 1), event(b"b", b"e", 1)) | RunAgent(echo)

    result = pipeline.run()
    result.wait_until_finish()

    counters = result.metrics().query(MetricsFilter().with_namespace("beam_agents"))["counters"]
    assert {each.key.metric.name: each.committed for each in counters} == {
        "activations": 2,
        "completions": 2,
    }


def test_outputs_carry_the_time_of_their_element() -> None:
    with beam.Pipeline(FN_API) as pipeline:
        ran = (
            pipeline
            | beam.Create([TimestampedValue(event(KEY, b"e", 1), 42)])
            | beam.Map(lambda timed: timed)
            | "Key" >> beam.Map(keyed)
            | RunAgent(echo)
        )
        times = ran.output | beam.Map(lambda _, at=beam.DoFn.TimestampParam: float(at))
        assert_that(times, equal_to([42.0]))


def test_a_large_bundle_runs_in_parts_and_in_order() -> None:
    async def counts(ctx: ActivationContext) -> Complete:
        count = int(ctx.memory or b"0") + 1
        ordered = ctx.event == b"%d" % ctx.seq
        return Complete(b"last" if count == 1_250 and ordered else None, memory=b"%d" % count)

    events = [event(key, b"%d" % index, index) for index in range(1_250) for key in (b"a", b"b")]

    with beam.Pipeline(FN_API) as pipeline:
        ran = source(pipeline, *events) | RunAgent(counts)
        assert_that(ran.output, equal_to([b"last", b"last"]))


class Backup:
    """A `KeyStateBackup` in memory, whose first saves may fail."""

    def __init__(self, failures: int = 0) -> None:
        self.cells: dict[tuple[str, bytes], bytes] = {}
        self.failures = failures
        self.saves = 0

    def load(self, namespace: str, key: bytes) -> bytes | None:
        return self.cells.get((namespace, key))

    def save(self, namespace: str, cells: Mapping[bytes, bytes]) -> None:
        self.saves += 1
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the disk is full")
        self.cells |= {(namespace, key): cell for key, cell in cells.items()}

    def state(self, key: bytes) -> KeyState:
        state = decode(self.cells["", key])
        assert isinstance(state, KeyState)
        return state


@pytest.fixture
def backup() -> Iterator[Backup]:
    backup = Backup()
    key_states.install(backup)
    yield backup
    key_states.install(None)


def run_stream(stream: test_stream.TestStream, expected: list[tuple[str, bytes]]) -> None:
    """Run a stream through `pay` on the direct runner, and check what leaves."""
    with beam.Pipeline(BUNDLE_BASED, PipelineOptions([], streaming=True)) as pipeline:
        ran = pipeline | stream | "Key" >> beam.Map(keyed) | RunAgent(pay)
        left = (
            ran.output | "Outputs" >> beam.Map(lambda value: ("output", value)),
            ran.intents | "Intents" >> beam.Map(lambda m: ("intent", m.SerializeToString())),
            ran.errors | "Failures" >> beam.Map(lambda m: ("error", m.reason.encode())),
        ) | beam.Flatten()
        assert_that(left, equal_to(expected))


def stream_of(*envelopes: AgentEnvelope) -> test_stream.TestStream:
    stream = test_stream.TestStream()
    stream.advance_watermark_to(0)
    for envelope in envelopes:
        stream.add_elements([TimestampedValue(envelope, envelope.event_time_ms / 1000)])
    return stream


BEGIN = event(KEY, b"e", 1_000)
PAYMENT: ToolIntent = intents_of(pay, BEGIN)[0]


def test_a_bundle_that_fails_at_its_end_is_repeated_byte_for_byte(backup: Backup) -> None:
    backup.failures = 2

    run_stream(
        stream_of(BEGIN, answer(PAYMENT, b"1", 2_000)).advance_watermark_to_infinity(),
        [("intent", PAYMENT.SerializeToString()), ("output", b"e: OK 1")],
    )

    assert backup.failures == 0


def test_a_key_continues_from_the_state_that_was_saved(backup: Backup) -> None:
    backup.cells["", KEY] = encode(KeyState(next_seq=7))
    eighth = ToolIntent()
    eighth.CopyFrom(PAYMENT)
    eighth.seq = 7
    eighth.intent_id = intent_id_for(KEY, 7, 0)
    eighth.trace_id = trace_id_for(
        namespace="", entity_key=KEY, seq=7, origin_digest=eighth.origin_digest
    )

    run_stream(
        stream_of(BEGIN).advance_watermark_to_infinity(), [("intent", eighth.SerializeToString())]
    )

    assert backup.state(KEY).next_seq == 8


def test_a_restored_suspension_is_armed_again_by_a_retry_that_retries_nothing(
    backup: Backup,
) -> None:
    suspended = KeyState(next_seq=1, armed_ms=31_000)
    suspended.continuation.deadline_ms = 31_000
    suspended.continuation.intents.add(awaited=True)
    backup.cells["", KEY] = encode(suspended)
    touch = AgentEnvelope(entity_key=KEY, event_time_ms=2_000)
    touch.retry.seq = -1

    run_stream(
        stream_of(touch)
        .advance_watermark_to(30)
        .advance_watermark_to(60)
        .advance_watermark_to_infinity(),
        [("error", b"suspension_timeout")],
    )


def test_a_newer_state_is_reported_and_left_as_it_was(backup: Backup) -> None:
    newer = b"\x02from a release to come"
    backup.cells["", KEY] = newer

    run_stream(
        stream_of(BEGIN, answer(PAYMENT, b"1", 2_000))
        .advance_watermark_to(60)
        .advance_watermark_to_infinity(),
        [("error", b"state_version"), ("error", b"state_version")],
    )

    assert backup.cells == {("", KEY): newer}
    assert backup.saves == 0
