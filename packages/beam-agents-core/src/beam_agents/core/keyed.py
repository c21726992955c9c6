"""What `RunAgent` takes: envelopes keyed by bytes, as far as type hints can tell."""

from __future__ import annotations

from types import UnionType
from typing import Any, Union, get_args, get_origin

from apache_beam.pvalue import PCollection
from apache_beam.typehints.native_type_compatibility import convert_to_python_type

from beam_agents._protos import AgentEnvelope
from beam_agents.core.errors import PipelineError

Keyed = tuple[bytes, AgentEnvelope]


def require_keyed_envelopes(events: Any) -> None:
    """Refuse what cannot be a collection of keyed envelopes; what may be one passes.

    Raises:
        PipelineError: It is none; the message says how to make it one.
    """
    if hasattr(events, "envelopes"):
        raise PipelineError("a reader gives .envelopes and .errors: apply this to its .envelopes")
    if not isinstance(events, PCollection):
        raise PipelineError(f"this applies to one PCollection, not to {events!r:.200}")
    hint = convert_to_python_type(events.element_type)
    if not any(_may_be_keyed(each) for each in _alternatives(hint)):
        raise PipelineError(
            f"elements must be tuple[bytes, AgentEnvelope], not {_name(hint)}: the readers of "
            "beam_agents.io give such, and so does beam.Map(lambda e: (e.entity_key, e)) of "
            "envelopes; keys of another type are to be encoded, as by str.encode()"
        )


def _may_be_keyed(hint: Any) -> bool:
    if get_origin(hint) is not tuple:
        return _may_be(hint, tuple)
    parts = get_args(hint)
    return len(parts) == 2 and all(
        any(_may_be(each, kind) for each in _alternatives(part))
        for part, kind in zip(parts, (bytes, AgentEnvelope), strict=True)
    )


def _may_be(hint: Any, kind: type) -> bool:
    """Tell whether a value of that hint may be of this kind; a hint that says nothing may."""
    hint = get_origin(hint) or hint
    if hint is Any or not isinstance(hint, type):
        return True
    return issubclass(kind, hint) or issubclass(hint, kind)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
