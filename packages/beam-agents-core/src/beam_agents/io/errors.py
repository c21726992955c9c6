"""What core's reading and writing raises."""

from __future__ import annotations

from beam_agents.core.errors import AgentError


class StateFileError(AgentError):
    """The live loop's state file cannot be used; the message says why."""


class TopicUnavailable(AgentError, ConnectionError):
    """A topic cannot be read or written; the message says why in one line."""


class NotRedrivable(AgentError, ValueError):
    """An error record holds nothing that can be tried again; the message says what to do."""
