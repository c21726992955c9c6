"""What an intent is, apart from who asks for it and who performs it."""

from beam_agents.intents.identity import intent_id_for

__all__ = ["intent_id_for"]
