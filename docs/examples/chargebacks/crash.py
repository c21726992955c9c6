"""Kills the effector that works, in the middle of a refund, and sees who goes on."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

from processes import Process, wait_for
from world import World


@dataclass(frozen=True)
class Crash:
    """What the kill did.

    Attributes:
        pid: Of the effector that was killed.
        in_flight: Intents whose refund it had begun and not answered.
        recovery_ms: From the kill to the next call by the other effector.
    """

    pid: int
    in_flight: int
    recovery_ms: int


def kill_the_working_effector(world: World) -> Crash:
    """SIGKILL the effector whose call came last, while refunds of its own are unfinished."""
    worker, in_flight = wait_for(lambda: _stop_inside_a_refund(world), world.supervisor)
    worker.kill()
    killed_at_ms = time.time_ns() // 1_000_000
    recovered_at_ms = wait_for(
        lambda: world.ledger.first_call_after(killed_at_ms, not_by=worker.pid), world.supervisor
    )
    return Crash(worker.pid, in_flight, recovered_at_ms - killed_at_ms)


def _stop_inside_a_refund(world: World) -> tuple[Process, int] | None:
    """Stop the worker, so that what it has begun can be counted while nothing moves.

    Where it has begun nothing it goes on at once, to be stopped again a little later.
    """
    pid = world.ledger.last_worker()
    if pid is None:
        return None
    worker = world.supervisor.by_pid(pid)
    worker.signal(signal.SIGSTOP)
    in_flight = world.ledger.keys_invoked_by(pid) - world.answered()
    if in_flight:
        return worker, len(in_flight)
    worker.signal(signal.SIGCONT)
    return None
