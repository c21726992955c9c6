"""Live pipelines in processes of their own, killed where it hurts."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from beam_agents._protos import AgentEnvelope
from beam_agents.core import key_states
from beam_agents.core.errors import PipelineError
from beam_agents.intents.fingerprint import fingerprint
from beam_agents.intents.topics import type_header
from beam_agents.io import LocalLoopRunner, ReadEnvelopes, StateFileError, WriteRecords
from beam_agents.io.state_file import StateFile
from tests.unit.io.live_refunds import Refunds, kill


@pytest.fixture
def refunds(tmp_path: Path) -> Iterator[Refunds]:
    refunds = Refunds(tmp_path)
    with closing(refunds.bus):
        yield refunds


def test_events_become_intents_and_results_become_outputs(refunds: Refunds) -> None:
    refunds.publish(b"acct-1", b"e-0")
    with refunds.pipeline():
        refunds.until(lambda: len(refunds.completions()) == 1)
        refunds.publish(b"acct-1", b"e-1")
        refunds.until(lambda: len(refunds.completions()) == 2)
    first, second = refunds.completions()
    assert (first.entity_key, first.seq, first.output) == (b"acct-1", 0, b"e-0 refunded")
    assert (second.entity_key, second.seq, second.output) == (b"acct-1", 1, b"e-1 refunded")
    assert refunds.errors() == []


def test_a_persons_decision_resumes(refunds: Refunds) -> None:
    refunds.publish(b"acct-1", b"ask-0")
    with refunds.pipeline():
        refunds.until(lambda: len(refunds.intents()) == 1)
        (request,) = refunds.intents()
        decision = AgentEnvelope(
            entity_key=b"acct-1",
            approval=AgentEnvelope.Approval(
                intent_id=request.intent_id,
                approved=True,
                approver="ada",
                namespace=request.namespace,
            ),
        )
        for message in (request, decision):  # both may be on one topic
            refunds.bus.publish(
                "decisions",
                key=b"acct-1",
                value=message.SerializeToString(),
                headers=(type_header(type(message)),),
            )
        refunds.until(lambda: len(refunds.completions()) == 1)
    assert refunds.completions()[0].output == b"ask-0 ada"


def test_what_cannot_be_read_is_reported_and_the_loop_goes_on(refunds: Refunds) -> None:
    refunds.bus.publish("events", key=None, value=b"of nobody")
    refunds.bus.publish("results", key=b"acct-1", value=b"\xff")
    refunds.publish(b"acct-1", b"e-0")
    with refunds.pipeline():
        refunds.until(lambda: len(refunds.completions()) == 1 and len(refunds.errors()) == 2)
    details = sorted(error.detail for error in refunds.errors())
    assert {error.reason for error in refunds.errors()} == {"undecodable"}
    assert details[0].startswith("record 0 of topic 'events': ")
    assert details[1].startswith("record 0 of topic 'results': ")


def test_a_suspension_times_out_on_quiet_topics(refunds: Refunds) -> None:
    with refunds.pipeline():
        refunds.publish(b"acct-1", b"quiet-0")
        refunds.until(lambda: len(refunds.errors()) == 1, answering=False)
    (error,) = refunds.errors()
    assert (error.reason, error.entity_key, error.seq) == ("suspension_timeout", b"acct-1", 0)
    assert refunds.completions() == []


def test_a_restarted_pipeline_still_times_out_what_was_suspended(refunds: Refunds) -> None:
    refunds.publish(b"acct-1", b"quiet-0")
    with refunds.pipeline() as process:
        refunds.until(lambda: refunds.saved_position("events") == 1, answering=False)
        kill(process)
    with refunds.pipeline():
        refunds.until(lambda: len(refunds.errors()) >= 1, answering=False)
    assert {error.reason for error in refunds.errors()} == {"suspension_timeout"}
    assert len(refunds.intents()) == 1


def test_a_pipeline_killed_before_its_checkpoint_asks_again_under_the_same_id(
    refunds: Refunds,
) -> None:
    refunds.publish(b"acct-1", b"e-0")
    with refunds.pipeline() as process:
        refunds.until(lambda: len(refunds.intents()) == 1, answering=False)
        kill(process)
    refunds.state_path.unlink()  # as if no checkpoint had ever been reached
    with refunds.pipeline():
        refunds.until(lambda: len(refunds.intents()) == 2, answering=False)
    first, second = refunds.intents()
    assert second.intent_id == first.intent_id
    assert fingerprint(second) == fingerprint(first)


def test_an_answer_that_came_while_the_pipeline_was_down_resumes(refunds: Refunds) -> None:
    refunds.publish(b"acct-1", b"e-0")
    with refunds.pipeline() as process:
        refunds.until(lambda: len(refunds.intents()) == 1, answering=False)
        kill(process)
    refunds.answer()
    with refunds.pipeline():
        refunds.until(lambda: len(refunds.completions()) >= 1)
    assert refunds.activations_by_event() == {b"e-0": {(b"acct-1", 0)}}


def test_killed_again_and_again_the_pipeline_loses_and_invents_nothing(refunds: Refunds) -> None:
    refunds.batch_size = 4
    events = [(b"acct-%d" % (n % 5), b"e-%d" % n) for n in range(60)]
    for key, value in events:
        refunds.publish(key, value)
    # Killed as soon as another few intents, or another few outputs, are out: in the
    # middle of a round, before its checkpoint, after it, while it suspends or resumes.
    for step in range(1, 7):
        with refunds.pipeline() as process:
            refunds.until(
                lambda step=step: (  # type: ignore[misc]
                    len(refunds.intents()) > step * 7 or len(refunds.completions()) > step * 8
                )
            )
            kill(process)
    with refunds.pipeline():
        refunds.until(lambda: len(refunds.activations_by_event()) == len(events))

    requests = defaultdict(set)
    for intent in refunds.intents():
        requests[intent.intent_id].add((intent.args_json, fingerprint(intent)))
    assert all(len(variants) == 1 for variants in requests.values())
    assert len(requests) == len(events)

    activations = refunds.activations_by_event()
    assert all(len(of_event) == 1 for of_event in activations.values())
    seqs = defaultdict(list)
    for ((key, seq),) in activations.values():
        seqs[key].append(seq)
    assert all(sorted(of_key) == list(range(12)) for of_key in seqs.values())
    assert refunds.errors() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_pipeline_after_a_checkpoint(
    refunds: Refunds, number: signal.Signals
) -> None:
    refunds.publish(b"acct-1", b"e-0")
    with refunds.pipeline() as process:
        refunds.until(lambda: len(refunds.intents()) == 1, answering=False)
        assert process.pid is not None
        os.kill(process.pid, number)
        process.join()
        assert process.exitcode == 0
    with closing(StateFile(refunds.state_path)) as state:
        assert state.keys() == [("refunds", b"acct-1")]
    assert refunds.saved_position("events") == 1


def live_pipeline(folder: Path) -> beam.Pipeline:
    pipeline = beam.Pipeline(
        runner=LocalLoopRunner(state=folder / "loop.sqlite"), options=PipelineOptions([])
    )
    _ = pipeline | ReadEnvelopes(f"sqlite:///{folder}/bus.sqlite?topic=events")
    return pipeline


def test_a_cancelled_pipeline_leaves_room_for_another(tmp_path: Path) -> None:
    for _ in range(2):
        running = live_pipeline(tmp_path).run()
        assert running.state == "RUNNING"
        assert running.wait_until_finish(duration=1) == "RUNNING"
        assert running.cancel() == "CANCELLED"
        assert running.wait_until_finish() == "CANCELLED"
    assert key_states.installed() is None


def test_a_second_loop_in_the_process_is_refused(tmp_path: Path) -> None:
    running = live_pipeline(tmp_path).run()
    with pytest.raises(PipelineError, match="another live loop runs in this process"):
        live_pipeline(tmp_path).run()
    running.cancel()


def test_a_second_loop_on_the_state_file_is_refused(tmp_path: Path) -> None:
    with (
        closing(StateFile(tmp_path / "loop.sqlite")),
        pytest.raises(StateFileError, match="another loop is running"),
    ):
        live_pipeline(tmp_path).run()
    assert key_states.installed() is None


def test_a_pipeline_without_a_live_source_is_refused(tmp_path: Path) -> None:
    pipeline = beam.Pipeline(
        runner=LocalLoopRunner(state=tmp_path / "loop.sqlite"), options=PipelineOptions([])
    )
    _ = pipeline | beam.Create([1])
    with pytest.raises(PipelineError, match="nothing is read live"):
        pipeline.run()


def test_a_topic_that_cannot_be_written_is_found_out_at_the_start(tmp_path: Path) -> None:
    pipeline = live_pipeline(tmp_path)
    _ = pipeline | beam.Create([b""]) | WriteRecords(f"sqlite:///{tmp_path}/no/bus.sqlite?topic=a")
    with pytest.raises(Exception, match="no/bus"):
        pipeline.run()
    assert key_states.installed() is None
    StateFile(tmp_path / "loop.sqlite").close()


def fail(element: object) -> None:
    raise ValueError("this step fails")


def test_a_step_that_fails_ends_the_pipeline_with_its_error(tmp_path: Path) -> None:
    refunds = Refunds(tmp_path)
    refunds.publish(b"k", b"not an envelope: \xff")
    refunds.bus.close()
    pipeline = beam.Pipeline(
        runner=LocalLoopRunner(state=tmp_path / "loop.sqlite"), options=PipelineOptions([])
    )
    read = pipeline | ReadEnvelopes(f"sqlite:///{tmp_path}/bus.sqlite?topic=events")
    _ = read.errors | beam.Map(fail)
    running = pipeline.run()
    with pytest.raises(ValueError, match="this step fails"):
        running.wait_until_finish()
    assert running.state == "FAILED"
    with closing(StateFile(tmp_path / "loop.sqlite")) as state:
        assert all(offset == 0 for offset in state.last.positions.values())
