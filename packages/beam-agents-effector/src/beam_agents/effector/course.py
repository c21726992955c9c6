"""The course of one delivery through the phases: what is repeated, and what holds it up."""

from __future__ import annotations

from contextlib import suppress

from beam_agents.effector.alarms import Alarms
from beam_agents.effector.attempt import Attempt
from beam_agents.effector.claims import Lease, Leases
from beam_agents.effector.dead_letters import DeadLetters
from beam_agents.effector.interruptions import Abandoned, DeadlinePassed, Withdrawn
from beam_agents.effector.partitions import Partitions
from beam_agents.effector.permits import Permits, ToolPermits
from beam_agents.effector.phases import Phases
from beam_agents.effector.ports import Clock, Delivery, RecordTooLarge
from beam_agents.effector.results import Results
from beam_agents.effector.screening import Screening
from beam_agents.effector.steps import NOW, Agreed, Step, Wait
from beam_agents.effector.verification import Refused
from beam_agents.effector.work import Work


class Course:
    """Walks deliveries through the phases.

    Args:
        phases: The phases.
        dead_letters: Take records that are no intents to act on.
        screening: Knows the tool of an intent.
        permits: Bound how many tools run.
        partitions: Told which deliveries run, and which wait.
        leases: Let go of claims that are done with.
        results: Build the results of attempts.
        alarms: Time the waits.
        clock: Time.
    """

    def __init__(
        self,
        *,
        phases: Phases,
        dead_letters: DeadLetters,
        screening: Screening,
        permits: ToolPermits,
        partitions: Partitions,
        leases: Leases,
        results: Results,
        alarms: Alarms,
        clock: Clock,
    ) -> None:
        self._phases = phases
        self._dead_letters = dead_letters
        self._screening = screening
        self._permits = permits
        self._partitions = partitions
        self._leases = leases
        self._results = results
        self._alarms = alarms
        self._clock = clock

    async def bury(self, delivery: Delivery, refused: Refused) -> None:
        """Put a record aside that drives nothing, and commit it: a partition never wedges."""
        await self._dead_letters.bury(delivery, refused.reason)
        self._phases.commit(delivery)

    async def run(self, work: Work) -> None:
        """Carry an intent to its end; one that is withdrawn or abandoned is left to the log."""
        work.read_arguments()
        try:
            agreed = await self._agree(work)
        except (Withdrawn, Abandoned):
            return
        try:
            await self._phases.publish(work, agreed)
        except RecordTooLarge:
            # It never will be published, so waiting for the topic would end this partition.
            await self._dead_letters.bury(work.delivery, "result_too_large")
        self._phases.commit(work.delivery)
        await self._outlive_remnant(work)

    async def _agree(self, work: Work) -> Agreed:
        """Go through phases 2 to 5, again after each wait, until there is one agreed result."""
        while True:
            work.check()
            step = await self._phases.refuse_expired(work) or await self._run(work)
            if isinstance(step, Agreed):
                return step
            await work.wait_for(self._alarms.resting(step.ms(work.waits)))
            work.waits += 1

    async def _run(self, work: Work) -> Step:
        """Try to run the intent; permits are held meanwhile, and never while it waits."""
        permits = self._permits.of(self._screening.tool_of(work))
        if not permits.take_now():
            try:
                await self._wait_for(permits, work)
            except DeadlinePassed:
                return NOW  # to be refused
        self._partitions.started(work.delivery)
        try:
            return await self._run_permitted(work)
        finally:
            self._partitions.stopped(work.delivery)
            permits.give_back()

    async def _wait_for(self, permits: Permits, work: Work) -> None:
        left_ms = work.expires_at_ms - self._clock.now_ms()
        with self._alarms.cutting_in(work, DeadlinePassed(), left_ms):
            await permits.take(work)

    async def _run_permitted(self, work: Work) -> Step:
        lease = await self._phases.claim(work)
        if not isinstance(lease, Lease):
            return lease
        attempt = Attempt(work, lease, self._results, self._clock)
        try:
            result = await self._phases.execute(attempt)
            if isinstance(result, Wait):
                return result
            return await self._phases.complete(attempt, result)
        finally:
            self._leases.let_go(lease)

    async def _outlive_remnant(self, work: Work) -> None:
        """Hold the key's lane while a tool goes on that was told to stop, for a while."""
        if work.remnant is not None and not work.remnant.done():
            with suppress(Withdrawn):
                await work.wait_for(self._alarms.reaching(work.remnant, work.remnant_ms))
