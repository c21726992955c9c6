"""What the engine gives back: a closed union of values, in the order they arose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from beam_agents._protos import ActivationErrorRecord, ActivationTrace, Completion, ToolIntent
from beam_agents.core.metrics import Metric


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes for `.output`."""

    value: bytes


Emission: TypeAlias = (
    Output | Completion | ToolIntent | ActivationErrorRecord | ActivationTrace | Metric
)
