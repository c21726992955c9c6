"""Whether an answer is signed by whom the configuration trusts."""

from __future__ import annotations

from dataclasses import dataclass

from beam_agents._protos import ToolResult
from beam_agents.core.config import KeyringReference
from beam_agents.core.continuation import Answer


@dataclass(frozen=True, slots=True)
class Authenticity:
    """Verifies answers. Without keys for a kind, its topic is a trust boundary.

    Attributes:
        result_keys: For `ToolResult`s, or None to trust their topic.
        approval_keys: For `Approval`s.
    """

    result_keys: KeyringReference | None
    approval_keys: KeyringReference | None

    def problem_of(self, answer: Answer) -> str:
        """Say why an answer cannot be trusted, or nothing."""
        keys = self.result_keys if isinstance(answer, ToolResult) else self.approval_keys
        if keys is None:
            return ""
        raise NotImplementedError
