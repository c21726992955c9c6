"""What `beam_agents.effector.testing` exports, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import beam_agents.effector.testing as kits

_WITHOUT_PYTEST = """
import sys
sys.modules["pytest"] = None  # importing it fails
from beam_agents.effector.testing import DeadLetter, EffectorHarness, Phase
"""


@pytest.mark.parametrize("name", kits.__all__)
def test_every_export_is_there(name: str) -> None:
    assert getattr(kits, name).__name__ == name
    assert name in dir(kits)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'NoSuchKit'"):
        kits.NoSuchKit  # type: ignore[attr-defined]  # noqa: B018


def test_the_harness_needs_no_pytest() -> None:
    subprocess.run([sys.executable, "-c", _WITHOUT_PYTEST], check=True)
