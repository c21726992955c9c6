"""The phases as a probe sees them: told of each when it begins, and when its deed is done."""

from __future__ import annotations

from typing import Any

from beam_agents.effector.attempt import Attempt
from beam_agents.effector.claims import Lease
from beam_agents.effector.phases import Phase, Phases
from beam_agents.effector.ports import Delivery
from beam_agents.effector.probe import Probe
from beam_agents.effector.steps import Agreed, Step, Wait
from beam_agents.effector.verification import Refused
from beam_agents.effector.work import Work


class WatchedPhases(Phases):
    """Adds nothing but the telling, so a worker that nobody looks at does without.

    The last phase is told of by `Commits`, which knows when it is durable.

    Args:
        probe: Looks on.
        parts: As `Phases` takes them.
    """

    def __init__(self, probe: Probe, **parts: Any) -> None:
        super().__init__(**parts)
        self._probe = probe

    def verify(self, delivery: Delivery) -> Work | Refused:
        """See `Phases.verify`."""
        self._probe.enter(Phase.VERIFY, delivery)
        verified = super().verify(delivery)
        self._probe.leave(Phase.VERIFY, delivery)
        return verified

    async def refuse_expired(self, work: Work) -> Step | None:
        """See `Phases.refuse_expired`."""
        self._probe.enter(Phase.REFUSE_EXPIRED, work.delivery)
        step = await super().refuse_expired(work)
        self._probe.leave(Phase.REFUSE_EXPIRED, work.delivery)
        return step

    async def claim(self, work: Work) -> Lease | Step:
        """See `Phases.claim`."""
        self._probe.enter(Phase.CLAIM, work.delivery)
        held = await super().claim(work)
        self._probe.leave(Phase.CLAIM, work.delivery)
        return held

    async def execute(self, attempt: Attempt) -> bytes | Wait:
        """See `Phases.execute`."""
        self._probe.enter(Phase.EXECUTE, attempt.work.delivery)
        result = await super().execute(attempt)
        if not isinstance(result, Wait):  # else nothing was called
            self._probe.leave(Phase.EXECUTE, attempt.work.delivery)
        return result

    async def complete(self, attempt: Attempt, result: bytes) -> Step:
        """See `Phases.complete`."""
        self._probe.enter(Phase.COMPLETE, attempt.work.delivery)
        step = await super().complete(attempt, result)
        self._probe.leave(Phase.COMPLETE, attempt.work.delivery)
        return step

    async def publish(self, work: Work, agreed: Agreed) -> None:
        """See `Phases.publish`."""
        self._probe.enter(Phase.PUBLISH, work.delivery)
        if not agreed.stored:
            self._probe.unstored(agreed.result)
        await super().publish(work, agreed)
        self._probe.leave(Phase.PUBLISH, work.delivery)
