"""The seven phases of an intent, in their order, each with the reason for its place.

    verify → refuse-expired → claim → execute → complete → publish → commit

A worker may die between any two lines of this file. What keeps that from losing
an effect, or performing it twice, is the order of the phases and nothing else:
each comment headed "Crash" says what a death just before and just after means.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from secrets import token_hex

from beam_agents.effector.alarms import Alarms
from beam_agents.effector.attempt import Attempt
from beam_agents.effector.claims import STORE_SILENT, Lease, Leases
from beam_agents.effector.commits import Commits
from beam_agents.effector.dead_letters import DeadLetters
from beam_agents.effector.execution import Execution
from beam_agents.effector.interruptions import (
    Abandoned,
    ClaimOver,
    DeadlinePassed,
    NotYetKnown,
    Withdrawn,
)
from beam_agents.effector.partitions import Partitions
from beam_agents.effector.permits import ToolPermits, give_all_back, take_all
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import (
    Busy,
    Claimed,
    ClaimLost,
    Clock,
    Completed,
    Conflict,
    DedupStore,
    Delivery,
    Expired,
    Stored,
    Superseded,
)
from beam_agents.effector.probe import Probe
from beam_agents.effector.publishing import ResultsTopic
from beam_agents.effector.refusals import Refusal, Refusals
from beam_agents.effector.results import Results
from beam_agents.effector.screening import Screening
from beam_agents.effector.steps import NOW, ROLLOUT, SILENCE, Agreed, Step, Wait, busy
from beam_agents.effector.verification import Refused, Verification
from beam_agents.effector.work import Work
from beam_agents.intents.fingerprint import fingerprint
from beam_agents.intents.outcome import Outcome

__all__ = ["Phase", "Phases"]

_log = logging.getLogger(__name__)


class Phases:
    """Carries intents from the log to a committed offset.

    The parts are the nouns of the other modules; this class only puts them in order.
    """

    def __init__(
        self,
        *,
        verification: Verification,
        dead_letters: DeadLetters,
        refusals: Refusals,
        screening: Screening,
        permits: ToolPermits,
        store: DedupStore,
        leases: Leases,
        execution: Execution,
        results: Results,
        topic: ResultsTopic,
        commits: Commits,
        partitions: Partitions,
        alarms: Alarms,
        clock: Clock,
        probe: Probe,
        lease_ms: int,
    ) -> None:
        self._verification = verification
        self._dead_letters = dead_letters
        self._refusals = refusals
        self._screening = screening
        self._permits = permits
        self._store = store
        self._leases = leases
        self._execution = execution
        self._results = results
        self._topic = topic
        self._commits = commits
        self._partitions = partitions
        self._alarms = alarms
        self._clock = clock
        self._probe = probe
        self._lease_ms = lease_ms
        self._worker = token_hex(8)
        self._efforts = 0

    async def run(self, work: Work) -> None:
        """Carry a verified intent to its end; return early, leaving it to the log, if withdrawn."""
        try:
            agreed = await self._agree(work)
        except (Withdrawn, Abandoned):
            return
        await self.publish(work, agreed)
        self.commit(work.delivery)
        await self._outlive_remnant(work)

    async def bury(self, delivery: Delivery, refused: Refused) -> None:
        """Put a record aside that is no intent to act on: no result of any status, but a commit."""
        await self._dead_letters.bury(delivery, refused.reason)
        self.commit(delivery)

    # --- 1. verify --------------------------------------------------------------------------
    #
    # First, because a message that nobody vouches for must drive nothing at all: no
    # claim, no tool, not even an EXPIRED. It touches neither store nor topic.
    #
    # Crash: nothing has happened; the uncommitted record is delivered again.

    def verify(self, delivery: Delivery) -> Work | Refused:
        """Read the intent in a record, or say why the record drives nothing."""
        self._probe.enter(Phase.VERIFY, delivery)
        intent = self._verification.read(delivery)
        self._probe.leave(Phase.VERIFY, delivery)
        if isinstance(intent, Refused):
            return intent
        return Work(delivery, intent, fingerprint(intent))

    # --- 2. refuse-expired ------------------------------------------------------------------
    #
    # Before the claim, because the decision needs no store: an outage cannot make a
    # deadline fail open. Only the *answer* asks the store once, for a result that is
    # already agreed, or a worker that runs the tool right now, goes before a refusal.
    #
    # Crash: before the answer is recorded, the redelivery is as expired as this one;
    # after it, the redelivery finds the record and publishes the same bytes.

    def refuse_expired(self, work: Work) -> Refusal | None:
        """Say whether the intent must not be started: too late, or too far ahead."""
        self._probe.enter(Phase.REFUSE_EXPIRED, work.delivery)
        refusal = self._refusals.judge(work.intent)
        if refusal is None:
            self._probe.leave(Phase.REFUSE_EXPIRED, work.delivery)
        return refusal

    async def _record_refusal(self, work: Work, refusal: Refusal) -> Step:
        step = await self._refusals.record(work, refusal)
        self._probe.leave(Phase.REFUSE_EXPIRED, work.delivery)
        return step

    # --- 3. claim ---------------------------------------------------------------------------
    #
    # Before the tool, so that of all workers with this intent one runs it. Each effort
    # has a token of its own; repeating a call whose answer was lost, under the same
    # token, finds the claim that the first call may have made.
    #
    # Crash: the claim outlives us until its lease ends. Nothing ran under it, and the
    # next owner's higher attempt number fences off whatever of us is still on its way.

    async def claim(self, work: Work) -> Lease | Step:
        """Ask for the right to run the intent."""
        self._probe.enter(Phase.CLAIM, work.delivery)
        intent = work.intent
        self._count_effort(work)
        try:
            answer = await self._store.claim(
                intent.intent_id,
                work.fingerprint,
                work.token,
                lease_ms=self._lease_ms,
                expires_at_ms=intent.expires_at_ms,
            )
        except STORE_SILENT as error:
            _log.warning("the claim of intent %s was not answered: %s", intent.intent_id, error)
            return SILENCE
        self._probe.leave(Phase.CLAIM, work.delivery)
        match answer:
            case Claimed():
                if self._leases.over(work.sent_ms):
                    return NOW  # the answer took a whole lease: ask again, counted anew
                return self._leases.hold(answer, sent_ms=work.sent_ms)
            case Completed(result):
                return Agreed(result)
            case Busy(retry_after_ms):
                # Waited out, never skipped: a skipped intent would be committed past.
                work.token = ""
                return busy(retry_after_ms)
            case Conflict():
                return Agreed(self._refusals.conflict(work))
            case Expired():
                return await self._refusals.record(work, Refusal.EXPIRED)

    def _count_effort(self, work: Work) -> None:
        """Begin a claim effort, or go on with the one whose call was not answered.

        The lease counts from the first call of an effort, since that one may be the
        one that was granted; once that would be over, it counts from this call.
        """
        now_ms = self._clock.monotonic_ms()
        if not work.token:
            self._efforts += 1
            work.token = f"{self._worker}-{self._efforts}"
            work.sent_ms = now_ms
        elif self._leases.over(work.sent_ms):
            work.sent_ms = now_ms

    # --- 4. execute -------------------------------------------------------------------------
    #
    # The only phase that touches the outside world, and the only one whose repetition
    # can be noticed there.
    #
    # Crash: before the tool is called, the intent is claimed again and runs for the
    # first time. After, nobody can know whether the effect landed: the claim is left to
    # expire, never handed back, and the next owner calls the tool again with the same
    # intent id, unless its `on_crash` says otherwise. Zero lost effects; once in effect
    # for a tool that keys on the id.

    async def execute(self, work: Work, lease: Lease) -> bytes | Wait:
        """Run the tool under the claim, and return the result that it came to."""
        self._probe.enter(Phase.EXECUTE, work.delivery)
        try:
            result = await self._execution.run(Attempt(work, lease, self._results, self._clock))
        except Withdrawn:
            await self._release(lease)
            raise
        except NotYetKnown:
            await self._release(lease)
            work.token = ""
            return ROLLOUT
        except ClaimOver:
            work.token = ""
            return Wait()
        except STORE_SILENT:  # before the tool was called: the effort goes on
            return SILENCE
        self._probe.leave(Phase.EXECUTE, work.delivery)
        return result

    async def _release(self, lease: Lease) -> None:
        """Hand a claim back whose tool was not called; where that fails, its lease ends."""
        with suppress(*STORE_SILENT):
            await self._store.release(lease.claim)

    # --- 5. complete ------------------------------------------------------------------------
    #
    # Before publishing, so that the result which anybody ever sees is the one that the
    # store will hand to every later delivery. Fenced by the claim: a worker that lost
    # it publishes the winner's result, not its own.
    #
    # Crash: before the result is stored, the tool is called again (see execute). After,
    # never again: a redelivery publishes the stored bytes.

    async def complete(self, work: Work, lease: Lease, result: bytes) -> Step:
        """Store the result, and return the agreed one."""
        self._probe.enter(Phase.COMPLETE, work.delivery)
        answer = await self._insist_on_completing(work, lease, result)
        self._probe.leave(Phase.COMPLETE, work.delivery)
        work.token = ""
        match answer:
            case Stored(agreed):
                return Agreed(agreed)
            case Superseded(winners):
                # Where another still runs, never repeat `complete`: it may be dead. Claim again.
                return busy(self._lease_ms) if winners is None else Agreed(winners)
            case Conflict():
                return Agreed(self._lost_record(work, lease))
            case ClaimLost():
                return await self._refusals.record(work, Refusal.EXPIRED)

    async def _insist_on_completing(
        self, work: Work, lease: Lease, result: bytes
    ) -> Stored | Superseded | Conflict | ClaimLost:
        """Ask until the store answers; the lease is renewed meanwhile, as far as it can be."""
        waits = 0
        while True:
            try:
                return await self._store.complete(
                    lease.claim,
                    work.fingerprint,
                    result,
                    expires_at_ms=work.intent.expires_at_ms,
                )
            except STORE_SILENT as error:
                _log.warning("the result of %s is not stored: %s", work.intent.intent_id, error)
            await self._alarms.resting(SILENCE.ms(waits))
            waits += 1

    def _lost_record(self, work: Work, lease: Lease) -> bytes:
        """Answer for a tool that ran under a claim which the store has forgotten."""
        _log.error(
            "intent %s ran, but its record now belongs to another request: "
            "the dedup store has lost acknowledged writes",
            work.intent.intent_id,
        )
        attempt = Attempt(work, lease, self._results, self._clock)
        return attempt.error(Outcome.UNKNOWN, "the dedup store lost the record of this intent")

    # --- 6. publish -------------------------------------------------------------------------
    #
    # After the result is durable and before the offset moves, and retried for as long as
    # it takes: what is stored must be seen.
    #
    # Crash: before, the redelivery finds the stored result and publishes it. After, it
    # publishes the same bytes a second time, which readers drop by intent id.

    async def publish(self, work: Work, agreed: Agreed) -> None:
        """Publish the agreed result, unless it is out already or there is none to publish."""
        self._probe.enter(Phase.PUBLISH, work.delivery)
        if agreed.result and agreed.result != work.premature:
            await self._topic.publish(work.intent.entity_key, agreed.result)
        self._probe.leave(Phase.PUBLISH, work.delivery)

    # --- 7. commit --------------------------------------------------------------------------
    #
    # Last, and only the contiguous prefix: a committed offset promises that everything
    # before it has an agreed, published result, or lies with the dead letters.
    #
    # Crash: before, the record is delivered again and ends in the store's answer. After,
    # nobody needs to look at it again.

    def commit(self, delivery: Delivery) -> None:
        """Hand the delivery back as finished; the next batch makes it durable."""
        self._commits.finish(delivery)

    # --- between the phases -----------------------------------------------------------------

    async def _agree(self, work: Work) -> Agreed:
        """Go through phases 2 to 5, again after each wait, until there is one agreed result."""
        while True:
            work.check()
            step = await self._go(work)
            if isinstance(step, Agreed):
                return step
            await work.wait_for(self._alarms.resting(step.ms(work.waits)))
            work.waits += 1

    async def _go(self, work: Work) -> Step:
        refusal = self.refuse_expired(work)
        if refusal is not None:
            return await self._record_refusal(work, refusal)
        permits = self._permits.of(self._screening.tool_of(work.intent))
        left_ms = work.intent.expires_at_ms - self._clock.now_ms()
        try:
            with self._alarms.cutting_in(work, DeadlinePassed(), left_ms):
                await take_all(work, permits)
        except DeadlinePassed:
            return NOW
        self._partitions.started(work.delivery)
        try:
            return await self._go_permitted(work)
        finally:
            self._partitions.stopped(work.delivery)
            give_all_back(permits)

    async def _go_permitted(self, work: Work) -> Step:
        lease = await self.claim(work)
        if not isinstance(lease, Lease):
            return lease
        try:
            result = await self.execute(work, lease)
            if isinstance(result, Wait):
                return result
            return await self.complete(work, lease, result)
        finally:
            self._leases.let_go(lease)

    async def _outlive_remnant(self, work: Work) -> None:
        """Hold the key's lane while a tool runs on that was told to stop, for a while."""
        if work.remnant is not None and not work.remnant.done():
            with suppress(Withdrawn):
                await work.wait_for(self._alarms.reaching(work.remnant, work.remnant_ms))
