"""The whole loop of an agent as one transform: nothing that it needs can be forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import PCollection

from beam_agents._protos import (
    ActivationErrorRecord,
    ActivationTrace,
    AgentEnvelope,
    Completion,
    ToolIntent,
)
from beam_agents.core.agent import Agent
from beam_agents.core.config import AgentConfig
from beam_agents.core.keyed import require_keyed_envelopes
from beam_agents.core.transform import RunAgent
from beam_agents.io.address import Credentials
from beam_agents.io.envelopes import Envelopes
from beam_agents.io.read import ReadDecisions, ReadResults
from beam_agents.io.write import WriteErrors, WriteIntents

if TYPE_CHECKING:
    from beam_agents.intents.signing import Signer


class LoopOutputs(NamedTuple):
    """What comes out of a loop.

    Attributes:
        output: What agents completed with, as bytes.
        completions: The same with key, seq and time.
        intents: What was written to the intents topic.
        errors: Of the agent, and of the topics that the loop reads.
        traces: Of the agent, with `AgentConfig(traces=True)`.
    """

    output: PCollection[bytes]
    completions: PCollection[Completion]
    intents: PCollection[ToolIntent]
    errors: PCollection[ActivationErrorRecord]
    traces: PCollection[ActivationTrace]


class AgentLoop(beam.PTransform[Any, LoopOutputs]):
    """Runs an agent on events, sends its intents, and brings the answers back to it.

    Applied to `tuple[bytes, AgentEnvelope]`, such as `ReadEvents(…).envelopes`.

    Args:
        agent: The agent function.
        config: Its settings.
        results_from: The topic on which effectors answer.
        intents_to: The topic from which effectors take intents.
        decisions_from: The topic of approvals, if people decide.
        errors_to: Where to write error records; they are on `.errors` in any case.
        signer: Signs the intents.
        kafka: How to log in to Kafka, for all topics that are there.
    """

    def __init__(
        self,
        agent: Agent,
        config: AgentConfig | None = None,
        *,
        results_from: str,
        intents_to: str,
        decisions_from: str | None = None,
        errors_to: str | None = None,
        signer: Signer | None = None,
        kafka: Credentials | None = None,
    ) -> None:
        super().__init__()
        self._agent = RunAgent(agent, config=config)
        self._read_results = ReadResults(results_from, kafka=kafka)
        self._read_decisions = decisions_from and ReadDecisions(decisions_from, kafka=kafka)
        self._write_intents = WriteIntents(intents_to, signer, kafka=kafka)
        self._write_errors = errors_to and WriteErrors(errors_to, kafka=kafka)

    def expand(self, events: PCollection[tuple[bytes, AgentEnvelope]]) -> LoopOutputs:
        """Close the loop."""
        require_keyed_envelopes(events)
        answers = self._answers(events.pipeline)
        keyed = (events, *(each.envelopes for each in answers)) | "Join" >> beam.Flatten()
        agent = keyed | "Agent" >> self._agent
        errors = (agent.errors, *(each.errors for each in answers)) | "Errors" >> beam.Flatten()
        _ = agent.intents | "WriteIntents" >> self._write_intents
        if self._write_errors:
            _ = errors | "WriteErrors" >> self._write_errors
        return LoopOutputs(agent.output, agent.completions, agent.intents, errors, agent.traces)

    def _answers(self, pipeline: beam.Pipeline) -> list[Envelopes]:
        answers = [pipeline | "Results" >> self._read_results]
        if self._read_decisions:
            answers.append(pipeline | "Decisions" >> self._read_decisions)
        return answers
