"""How an intent ended, as programs speak about it: the two enums of the wire, and the error.

The enums are the generated ones: members are plain integers, and `Status.Name(value)`
gives a member's name.
"""

from __future__ import annotations

from beam_agents._protos import ToolResult
from beam_agents.tools.errors import ToolError

# How an intent ended: OK, ERROR, EXPIRED or REJECTED.
Status = ToolResult.Status
# Whether the effect happened: NOT_APPLIED, APPLIED or UNKNOWN.
Outcome = ToolResult.Outcome


class EffectError(ToolError):
    """The effect has no value: its answer is not OK. Raised where an agent asks for the value.

    Attributes:
        status: A `Status`.
        outcome: An `Outcome`: whether the effect happened.
        message: The effector's words.
    """

    def __init__(self, status: Status, outcome: Outcome, message: str) -> None:
        super().__init__(status, outcome, message)
        self.status = status
        self.outcome = outcome
        self.message = message

    def __str__(self) -> str:
        status = Status.Name(self.status)
        outcome = Outcome.Name(self.outcome)
        return f"{status}, outcome {outcome}: {self.message}"
