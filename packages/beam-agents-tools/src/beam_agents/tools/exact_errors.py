"""What is wrong with a value that pydantic would have taken."""

from __future__ import annotations

from pydantic_core import PydanticCustomError

_SPELLING = "beam_agents_spelling"
_EQUAL_MEMBERS = "beam_agents_equal_members"

# Types of errors that do not repeat the value.
EXACT_ERRORS = frozenset({_SPELLING, _EQUAL_MEMBERS})


def wrong_spelling(example: str) -> PydanticCustomError:
    """Return what to raise for a string that has a meaning, but is not its one spelling."""
    return PydanticCustomError(
        _SPELLING, "Input should be spelled as in '{example}'", {"example": example}
    )


def equal_members() -> PydanticCustomError:
    """Return what to raise for an array that would lose members as a set."""
    return PydanticCustomError(_EQUAL_MEMBERS, "has equal members, and is a set")
