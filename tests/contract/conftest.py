"""The suites ship in the effector; pytest is to explain their asserts as well."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("beam_agents.effector.testing")
