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
from beam_agents.core.transform import RunAgent
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
    ) -> None:
        super().__init__()
        self._agent = RunAgent(agent, config=config)
        self._read_results = ReadResults(results_from)
        self._read_decisions = None if decisions_from is None else ReadDecisions(decisions_from)
        self._write_intents = WriteIntents(intents_to, signer)
        self._write_errors = None if errors_to is None else WriteErrors(errors_to)

    def expand(self, events: PCollection[tuple[bytes, AgentEnvelope]]) -> LoopOutputs:
        """Close the loop."""
        answers = self._answers(events.pipeline)
        keyed = (events, *(each.envelopes for each in answers)) | "Join" >> beam.Flatten()
        agent = keyed | "Agent" >> self._agent
        errors = (agent.errors, *(each.errors for each in answers)) | "Errors" >> beam.Flatten()
        _ = agent.intents | "WriteIntents" >> self._write_intents
        if self._write_errors is not None:
            _ = errors | "WriteErrors" >> self._write_errors
        return LoopOutputs(agent.output, agent.completions, agent.intents, errors, agent.traces)

    def _answers(self, pipeline: beam.Pipeline) -> list[Envelopes]:
        answers = [pipeline | "Results" >> self._read_results]
        if self._read_decisions is not None:
            answers.append(pipeline | "Decisions" >> self._read_decisions)
        return answers
