"""Descriptions in the three styles that people write."""

from __future__ import annotations

import pytest

from beam_agents.tools.docstring import Description

GOOGLE = """Give money back.

Once.

Args:
    charge: The charge
        in question.
    *rest: More.

Returns:
    The refund.
"""

NUMPY = """Give money back.

Once.

Parameters
----------
charge : str
    The charge
    in question.
*rest : str
    More.

Returns
-------
str
    The refund.
"""

SPHINX = """Give money back.

Once.

:param charge: The charge
    in question.
:param rest: More.
:returns: The refund.
"""


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_the_sections_of_a_docstring_are_taken_apart(docstring: str) -> None:
    described = Description.of(docstring)

    assert described.text == "Give money back.\n\nOnce."
    assert described.parameters == {"charge": "The charge in question.", "rest": "More."}


def test_a_short_description_stands_alone() -> None:
    assert Description.of("""Look up.

    Args:
        at: Where.
    """) == Description("Look up.", {"at": "Where."})


@pytest.mark.parametrize("docstring", [None, ""])
def test_no_docstring_describes_nothing(docstring: str | None) -> None:
    assert Description.of(docstring) == Description()


GOOGLE_AT_ONCE = """Args:
        charge: The charge
            in question.
        rest: More.

    Returns:
        The refund.
    """
ONLY_ARGUMENTS = """Args:
        charge: The charge
            in question.
        rest: More."""


@pytest.mark.parametrize("docstring", [GOOGLE_AT_ONCE, ONLY_ARGUMENTS])
def test_a_docstring_may_begin_with_its_arguments(docstring: str) -> None:
    described = Description.of(docstring)

    assert described.text == ""
    assert described.parameters == {"charge": "The charge in question.", "rest": "More."}
