"""The effector's command, in a process that sends a signal to itself at a phase boundary.

    python -m tests.semantics.signalled

`SIGNAL_AT` names phase and signal, such as `claim SIGKILL`; without it there is none.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from typing import Any

from beam_agents.effector.cli import main
from beam_agents.effector.commands import run
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import Delivery
from beam_agents.effector.probe import Probe
from beam_agents.effector.service import EffectorService


class SignalsItself(Probe):
    """Sends one signal to this process when the first delivery reaches a phase."""

    def __init__(self, phase: Phase, number: int) -> None:
        self._phase = phase
        self._number = number
        self._sent = False

    def enter(self, phase: Phase, delivery: Delivery) -> None:
        if phase is self._phase and not self._sent:
            self._sent = True
            _let_writers_finish()
            os.kill(os.getpid(), self._number)


def _let_writers_finish() -> None:
    """Wait for the bus to be free: stopped in a write, this process would hold up all others."""
    with closing(sqlite3.connect("bus.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")


class Signalled(EffectorService):
    def __init__(self, **ports: Any) -> None:
        at = os.environ.get("SIGNAL_AT")
        if at is not None:
            phase, name = at.split()
            ports["probe"] = SignalsItself(Phase(phase), signal.Signals[name])
        super().__init__(**ports)


if __name__ == "__main__":
    vars(run)["EffectorService"] = Signalled
    main()
