"""Tools of a program's own module, or of a notebook, travel to workers with their types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_PROGRAM = '''
from __future__ import annotations

from apache_beam.internal import pickler
from pydantic import BaseModel

from beam_agents.tools import IntentInfo, Unknown, tool


class Money(BaseModel):
    cents: int


def find(money: Money, *, intent: IntentInfo) -> Unknown:
    return Unknown()


@tool(side_effect=True, on_crash="reconcile", reconcile=find)
def pay(money: Money, *, intent: IntentInfo) -> None:
    """Pay."""


arrived = pickler.roundtrip(pay)
assert arrived is not pay
assert arrived.takes_intent
assert arrived.schema_digest == pay.schema_digest
assert arrived.parse_arguments('{"money": {"cents": 5}}')["money"].cents == 5
'''


def test_a_tool_of_the_main_module_keeps_its_types_where_annotations_are_text(
    tmp_path: Path,
) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)

    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
