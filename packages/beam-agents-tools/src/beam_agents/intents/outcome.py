"""The two enums of the wire that programs speak about, under names of their own.

They are the generated ones: members are plain integers, and `Status.Name(value)`
gives a member's name.
"""

from __future__ import annotations

from beam_agents._protos import ToolResult

# How an intent ended: OK, ERROR, EXPIRED or REJECTED.
Status = ToolResult.Status
# Whether the effect happened: NOT_APPLIED, APPLIED or UNKNOWN.
Outcome = ToolResult.Outcome
