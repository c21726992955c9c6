"""What the engine gives back: a closed union of values, in the order they arose."""

from __future__ import annotations

from typing import TypeAlias

from beam_agents._protos import ActivationErrorRecord, ActivationTrace, Completion, ToolIntent
from beam_agents.core.metrics import Metric

# What leaves the pipeline's step. Bare bytes are for `.output`; the rest have tags.
Outgoing: TypeAlias = bytes | Completion | ToolIntent | ActivationErrorRecord | ActivationTrace
Emission: TypeAlias = Outgoing | Metric
