"""What an intent is, apart from who asks for it and who performs it."""

from beam_agents.intents.identity import intent_id_for
from beam_agents.intents.outcome import Outcome, Status

__all__ = ["Outcome", "Status", "intent_id_for"]
