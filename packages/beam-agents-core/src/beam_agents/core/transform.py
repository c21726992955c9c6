"""`RunAgent`: the engine as a transform, with everything checked that can be before it runs."""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import apache_beam as beam
from apache_beam.internal import pickler
from apache_beam.pvalue import PCollection
from apache_beam.transforms.window import GlobalWindows

from beam_agents._protos import (
    ActivationErrorRecord,
    ActivationTrace,
    Completion,
    ToolIntent,
)
from beam_agents.core.agent import Agent
from beam_agents.core.agent_kind import problem_of
from beam_agents.core.config import AgentConfig
from beam_agents.core.dofn import COMPLETIONS, ERRORS, INTENTS, OUTPUT, TRACES, RunAgentDoFn
from beam_agents.core.errors import PipelineError
from beam_agents.core.gathering import MALFORMED, Gathered, GatherEnvelopes
from beam_agents.core.keyed import Keyed, require_keyed_envelopes

# Two agents of one namespace would mint the same intent ids for a key.
_namespaces: WeakKeyDictionary[beam.Pipeline, dict[str, str]] = WeakKeyDictionary()


class AgentOutputs(NamedTuple):
    """What a `RunAgent` gives.

    Attributes:
        output: The bytes of each `Complete(output=…)`.
        intents: Every `ToolIntent`: write them to the intents topic, or nothing happens.
        errors: What went wrong, as `ActivationErrorRecord`s.
        completions: A `Completion` for each activation that ended by `Complete`.
        traces: An `ActivationTrace` for each run, with `AgentConfig(traces=True)`.
    """

    output: PCollection[bytes]
    intents: PCollection[ToolIntent]
    errors: PCollection[ActivationErrorRecord]
    completions: PCollection[Completion]
    traces: PCollection[ActivationTrace]


class RunAgent(beam.PTransform[PCollection[Keyed], AgentOutputs]):
    """Runs an agent over keyed envelopes: `keyed | RunAgent(agent, config=…)`.

    Args:
        agent: `async (ctx: ActivationContext) -> Complete | Suspend`.
        config: Its settings.

    Raises:
        PipelineError: The agent is no async function, or cannot be pickled; when
            applied: the input is windowed or no keyed envelopes, or the namespace is
            taken.
    """

    def __init__(self, agent: Agent, config: AgentConfig | None = None) -> None:
        super().__init__()
        if problem := problem_of(agent):
            raise PipelineError(problem)
        if config is not None and not isinstance(config, AgentConfig):
            raise PipelineError(f"config must be an AgentConfig, not {config!r:.200}")
        self._config = config if config is not None else AgentConfig()
        self._dofn = RunAgentDoFn(agent, self._config, token=uuid.uuid4().hex)
        _require_picklable(self._dofn)

    def expand(self, pcoll: PCollection[Keyed]) -> AgentOutputs:
        """Build the step that gathers envelopes by key, and the one that runs the agent."""
        require_keyed_envelopes(pcoll)
        _require_global_window(pcoll)
        self._take_namespace(pcoll.pipeline)
        # A typed step of our own: without it the key's coder would be guessed.
        gathered, malformed = pcoll | "Gather" >> beam.ParDo(
            GatherEnvelopes(self._config.namespace)
        ).with_output_types(Gathered, errors=ActivationErrorRecord).with_outputs(
            MALFORMED, main="gathered"
        )
        ran = gathered | "Run" >> beam.ParDo(self._dofn).with_output_types(
            bytes,
            intents=ToolIntent,
            errors=ActivationErrorRecord,
            completions=Completion,
            traces=ActivationTrace,
        ).with_outputs(INTENTS, ERRORS, COMPLETIONS, TRACES, main=OUTPUT)
        errors = (malformed, ran.errors) | "Errors" >> beam.Flatten()
        return AgentOutputs(ran.output, ran.intents, errors, ran.completions, ran.traces)

    def _take_namespace(self, pipeline: beam.Pipeline) -> None:
        taken = _namespaces.setdefault(pipeline, {})
        namespace, label = self._config.namespace, self.label
        if namespace in taken:
            raise PipelineError(
                f"RunAgent {label!r} has the namespace {namespace!r} of {taken[namespace]!r}: "
                "give each agent its own by AgentConfig(namespace=…)"
            )
        taken[namespace] = label


def _require_picklable(dofn: RunAgentDoFn) -> None:
    try:
        pickler.dumps(dofn)
    except Exception as error:
        raise PipelineError(
            f"the agent or its config cannot be pickled ({type(error).__name__}: {error}): "
            "make clients in provider_factory or inside the function, not around it"
        ) from error


def _require_global_window(pcoll: PCollection[Any]) -> None:
    windowing = pcoll.windowing.windowfn
    if not isinstance(windowing, GlobalWindows):
        raise PipelineError(
            f"RunAgent needs the global window, not {windowing!r}: intent ids would collide "
            "across windows; apply WindowInto(GlobalWindows()) before it"
        )
