"""Agents in Apache Beam pipelines whose effects happen once, outside the pipeline.

The names below load on first use: an effector that shares an environment with
this package imports `beam_agents` too, and must not pay for Beam.
"""

from typing import TYPE_CHECKING

__path__ = __import__("pkgutil").extend_path(__path__, __name__)

if TYPE_CHECKING:
    from beam_agents.core.agent import Complete as Complete
    from beam_agents.core.agent import Suspend as Suspend
    from beam_agents.core.config import AgentConfig as AgentConfig
    from beam_agents.core.context import ActivationContext as ActivationContext
    from beam_agents.core.errors import ApprovalDenied as ApprovalDenied
    from beam_agents.core.errors import ApprovalNotGiven as ApprovalNotGiven
    from beam_agents.core.transform import RunAgent as RunAgent
    from beam_agents.intents.outcome import EffectError as EffectError
else:
    from beam_agents._front_door import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "ActivationContext": "beam_agents.core.context",
            "AgentConfig": "beam_agents.core.config",
            "ApprovalDenied": "beam_agents.core.errors",
            "ApprovalNotGiven": "beam_agents.core.errors",
            "Complete": "beam_agents.core.agent",
            "EffectError": "beam_agents.intents.outcome",
            "RunAgent": "beam_agents.core.transform",
            "Suspend": "beam_agents.core.agent",
        },
    )


__all__ = [
    "ActivationContext",
    "AgentConfig",
    "ApprovalDenied",
    "ApprovalNotGiven",
    "Complete",
    "EffectError",
    "RunAgent",
    "Suspend",
]
