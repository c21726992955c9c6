"""What an intent is, apart from who asks for it and who performs it.

Names load on first use: a program that only prints its help pays for none.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from beam_agents.intents.building import build_intent as build_intent
    from beam_agents.intents.decisions import DecisionError as DecisionError
    from beam_agents.intents.decisions import build_decision as build_decision
    from beam_agents.intents.identity import intent_id_for as intent_id_for
    from beam_agents.intents.keyring import Keyring as Keyring
    from beam_agents.intents.keyring import KeyringError as KeyringError
    from beam_agents.intents.outcome import EffectError as EffectError
    from beam_agents.intents.outcome import Outcome as Outcome
    from beam_agents.intents.outcome import Status as Status
    from beam_agents.intents.signing import Signer as Signer
    from beam_agents.intents.signing import verify as verify
else:
    from beam_agents._front_door import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "DecisionError": "beam_agents.intents.decisions",
            "EffectError": "beam_agents.intents.outcome",
            "Keyring": "beam_agents.intents.keyring",
            "KeyringError": "beam_agents.intents.keyring",
            "Outcome": "beam_agents.intents.outcome",
            "Signer": "beam_agents.intents.signing",
            "Status": "beam_agents.intents.outcome",
            "build_decision": "beam_agents.intents.decisions",
            "build_intent": "beam_agents.intents.building",
            "intent_id_for": "beam_agents.intents.identity",
            "verify": "beam_agents.intents.signing",
        },
    )


__all__ = [
    "DecisionError",
    "EffectError",
    "Keyring",
    "KeyringError",
    "Outcome",
    "Signer",
    "Status",
    "build_decision",
    "build_intent",
    "intent_id_for",
    "verify",
]
