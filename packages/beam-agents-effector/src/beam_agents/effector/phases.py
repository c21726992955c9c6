"""The seven phases of an intent, in their order, each with the reason for its place.

    verify → refuse-expired → claim → execute → complete → publish → commit

A worker may die between any two lines. What keeps that from losing an effect, or
from performing one twice, is the order of the phases and nothing else; each
"Crash" below says what a death before and after a phase's one deed means.
`course.py` walks an intent through them.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from beam_agents.effector.attempt import Attempt
from beam_agents.effector.claiming import Claiming
from beam_agents.effector.claims import STORE_SILENT, Lease
from beam_agents.effector.commits import Commits
from beam_agents.effector.completion import Completion
from beam_agents.effector.execution import Execution
from beam_agents.effector.interruptions import ClaimOver, NotYetKnown, Withdrawn
from beam_agents.effector.phase import Phase
from beam_agents.effector.ports import Delivery
from beam_agents.effector.publishing import ResultsTopic
from beam_agents.effector.refusals import Refusals
from beam_agents.effector.steps import ROLLOUT, SILENCE, Agreed, Step, Wait
from beam_agents.effector.verification import Refused, Verification
from beam_agents.effector.work import Work

__all__ = ["Phase", "Phases"]


class Phases:
    """The phases; `watched_phases.py` lets a probe look on."""

    def __init__(
        self,
        *,
        verification: Verification,
        refusals: Refusals,
        claiming: Claiming,
        execution: Execution,
        completion: Completion,
        topic: ResultsTopic,
        commits: Commits,
    ) -> None:
        self._verification = verification
        self._refusals = refusals
        self._claiming = claiming
        self._execution = execution
        self._completion = completion
        self._topic = topic
        self._commits = commits

    # --- 1. verify --------------------------------------------------------------------------
    #
    # First, because a message that nobody vouches for must drive nothing at all: no
    # claim, no tool, not even an EXPIRED. It asks neither store nor topic.
    #
    # Crash: nothing has happened; the uncommitted record is delivered again.

    def verify(self, delivery: Delivery) -> Work | Refused:
        """Read the intent in a record, or say why the record drives nothing."""
        intent = self._verification.read(delivery)
        if isinstance(intent, Refused):
            return intent
        return Work(delivery, intent)

    # --- 2. refuse-expired ------------------------------------------------------------------
    #
    # Before the claim, because the decision needs no store: an outage cannot make a
    # deadline fail open. Only the answer asks the store, once: a result that is agreed
    # already, or a worker that runs the tool right now, goes before a refusal.
    #
    # Crash: before the answer is recorded, the redelivery is as expired as this one.
    # After, the redelivery finds the record and publishes the same bytes.

    async def refuse_expired(self, work: Work) -> Step | None:
        """Answer an intent that must not be started, too late or too far ahead; None if it may."""
        refusal = self._refusals.judge(work)
        return None if refusal is None else await self._refusals.record(work, refusal)

    # --- 3. claim ---------------------------------------------------------------------------
    #
    # Before the tool, so that of all workers that have this intent one runs it. A busy
    # claim is waited out and never skipped: a skipped intent would be committed past.
    #
    # Crash: before, nothing has happened. After, the claim outlives us until its lease
    # ends; nothing ran under it, and the next owner's higher attempt number fences off
    # whatever of ours is still on its way.

    def claim(self, work: Work) -> Coroutine[Any, Any, Lease | Step]:
        """Ask for the right to run the intent; the answer may be that it has ended."""
        return self._claiming.ask(work)

    # --- 4. execute -------------------------------------------------------------------------
    #
    # The only phase that touches the outside world, and the only one whose repetition
    # can be noticed there.
    #
    # Crash: before the tool is called, the intent is claimed again and runs for the
    # first time. After, nobody can know whether the effect landed: the claim is left to
    # its lease, never handed back, and the next owner calls the tool again with the same
    # intent id, unless its `on_crash` says otherwise. No effect is lost; a tool that
    # keys on the id has it once.

    async def execute(self, attempt: Attempt) -> bytes | Wait:
        """Run the tool under the claim, and return the result that it came to.

        Raises:
            Withdrawn: Nothing was called, and the claim is handed back.
            Abandoned: The service ends while the tool runs.
        """
        try:
            return await self._execution.run(attempt)
        except Withdrawn:
            await self._claiming.release(attempt.lease)
            raise
        except NotYetKnown:
            await self._claiming.release(attempt.lease)
            return attempt.work.again(ROLLOUT)
        except ClaimOver:
            return attempt.work.again(Wait())
        except STORE_SILENT:  # nothing was called: the same claim effort goes on
            return SILENCE

    # --- 5. complete ------------------------------------------------------------------------
    #
    # Before publishing, so that what anybody ever sees is what the store will hand to
    # every later delivery. Fenced by the claim: who lost it publishes the winner's result.
    #
    # Crash: before the result is stored, the tool is called again (see execute). After,
    # never again: the redelivery publishes the stored bytes.

    def complete(self, attempt: Attempt, result: bytes) -> Coroutine[Any, Any, Step]:
        """Make the result the agreed one, or learn which one is."""
        return self._completion.agree(attempt, result)

    # --- 6. publish -------------------------------------------------------------------------
    #
    # After the result is durable and before the offset moves, for as long as it takes:
    # what is stored must be seen.
    #
    # Crash: before, the redelivery finds the stored result and publishes it. After, it
    # publishes the same bytes once more, and readers drop the repeat.

    async def publish(self, work: Work, agreed: Agreed) -> None:
        """Publish the agreed result, unless it is out already or there is none to publish."""
        if agreed.result and agreed.result != work.premature:
            await self._topic.publish(work.entity_key, agreed.result)

    # --- 7. commit --------------------------------------------------------------------------
    #
    # Last, and only the contiguous prefix: a committed offset promises that all before
    # it has an agreed, published result, or lies with the dead letters.
    #
    # Crash: before, the record is delivered again and finds the store's answer. After,
    # nobody needs to look at it any more.

    def commit(self, delivery: Delivery) -> None:
        """Hand the delivery back as finished; the next batch makes it durable."""
        self._commits.finish(delivery)
