"""What core raises: to an agent function, or where a pipeline is built."""

from __future__ import annotations

from beam_agents._protos import ToolResult


class AgentError(Exception):
    """Root of everything that `beam_agents.core` raises."""


class PipelineError(AgentError, ValueError):
    """The pipeline is built wrongly; the message names what to change."""


class AgentConfigError(PipelineError):
    """A value of `AgentConfig` is out of its range."""


class ContextError(AgentError):
    """The agent asked its context for what this activation does not have."""


class ApprovalDenied(AgentError):
    """A person said no.

    Attributes:
        reason: Theirs, possibly empty.
        approver: Who decided, as the approval surface named them.
    """

    def __init__(self, reason: str, approver: str) -> None:
        super().__init__(reason, approver)
        self.reason = reason
        self.approver = approver

    def __str__(self) -> str:
        return f"denied by {self.approver!r}: {self.reason}"


class ApprovalNotGiven(AgentError):
    """Nobody decided, or the decision does not say on which arguments.

    Attributes:
        status: The `ToolResult.Status` that answered the request instead, or
            `STATUS_UNSPECIFIED` where a decision came without its digest.
    """

    def __init__(self, status: ToolResult.Status, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message

    def __str__(self) -> str:
        return f"{ToolResult.Status.Name(self.status)}: {self.message}"
