"""The story that the integration test judges: one effector killed in a call, one stopped in one."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from aiokafka import ConsumerRecord

from beam_agents._protos import ToolIntent, ToolResult
from beam_agents.intents import build_intent
from tests.integration import kafka_topics
from tests.integration.charges import LEDGER_VARIABLE, Call, Ledger
from tests.integration.effectors import Effector, Effectors
from tests.integration.kafka_topics import TopicReader

KEYS = 200
ROUNDS = 5
# Which calls are held in the tool until the story goes on: of which key, in which round.
HELD_FOR_THE_KILL = (7, 1)
HELD_FOR_THE_STOP = (8, 3)


@dataclass(frozen=True)
class Evidence:
    """What the story left behind.

    Attributes:
        intents: All that were asked, by id.
        records: The results topic, read to its end.
        calls: Every call that the ledger received, in order.
        charges: What the ledger charged, in cents by intent id.
        killed: The pid of the effector that was killed, and the intent that it was in.
        stopped_in: The intent that the stopped effector was in.
        exit_codes: Of the stopped effectors.
        uncommitted: How many intents the group has not committed.
    """

    intents: dict[str, ToolIntent]
    records: list[ConsumerRecord]
    calls: list[Call]
    charges: dict[str, int]
    killed: tuple[int, str]
    stopped_in: str
    exit_codes: list[int]
    uncommitted: int


class Takeover:
    """One run of the story, on topics, a group and a namespace of its own."""

    def __init__(self, *, hosts: str, redis_url: str, folder: Path, run: str) -> None:
        self.hosts = hosts
        self.group = run
        self.intents_topic = f"{run}-intents"
        self.results_topic = f"{run}-results"
        self.ledger = Ledger(folder / "ledger.sqlite")
        self.rounds = [[self._intent(key, seq) for key in range(KEYS)] for seq in range(ROUNDS)]
        settings = {
            "EFFECTOR_REGISTRY": "tests.integration.charges:TOOLS",
            "EFFECTOR_INTENTS_FROM": f"kafka://{hosts}/{self.intents_topic}",
            "EFFECTOR_RESULTS_TO": f"kafka://{hosts}/{self.results_topic}",
            "EFFECTOR_DEDUP": redis_url,
            "EFFECTOR_CONSUMER_GROUP": run,
            "EFFECTOR_LEASE_MS": "6000",
            # Longer than any wait here: a held call ends by its gate, never by the clock.
            "EFFECTOR_TOOL_TIMEOUT_MS": "300000",
            LEDGER_VARIABLE: str(self.ledger.path),
        }
        self.effectors = Effectors(settings, logs=folder)

    async def play(self) -> Evidence:
        await kafka_topics.create_topics(self.hosts, self.intents_topic, self.results_topic)
        with self.effectors:
            await self._two_effectors_share_the_partitions()
            await self._send(*self.rounds[0:3])
            killed = await self._kill_one_in_a_call()
            await self._send(self.rounds[3])
            stopped_code = await self._stop_the_other_in_a_call()
            await self._send(self.rounds[4])
            async with TopicReader(self.hosts, self.results_topic) as results:
                await self._all_are_answered(results)
                [successor] = self.effectors.running
                successor_code = await self.effectors.stop(successor)
                records = await results.read_to_the_end()
        return Evidence(
            intents={intent.intent_id: intent for each in self.rounds for intent in each},
            records=records,
            calls=self.ledger.calls(),
            charges=self.ledger.charges(),
            killed=(killed.pid, self._id_of(HELD_FOR_THE_KILL)),
            stopped_in=self._id_of(HELD_FOR_THE_STOP),
            exit_codes=[stopped_code, successor_code],
            uncommitted=await kafka_topics.uncommitted(self.hosts, self.group, self.intents_topic),
        )

    async def _two_effectors_share_the_partitions(self) -> None:
        self.effectors.start()
        self.effectors.start()

        async def shared() -> bool:
            return await kafka_topics.members_with_partitions(self.hosts, self.group) == 2

        await self.effectors.until("both effectors have partitions", shared)

    async def _kill_one_in_a_call(self) -> Effector:
        held = self._id_of(HELD_FOR_THE_KILL)
        victim = await self._effector_inside(held)
        victim.kill()
        self.ledger.open_gate(held)
        await self.effectors.until(
            "another effector made the killed call", lambda: held in self.ledger.charges()
        )
        return victim

    async def _stop_the_other_in_a_call(self) -> int:
        held = self._id_of(HELD_FOR_THE_STOP)
        survivor = await self._effector_inside(held)
        survivor.ask_to_stop()
        self.effectors.start()
        self.ledger.open_gate(held)
        return await self.effectors.stop(survivor)

    async def _effector_inside(self, intent_id: str) -> Effector:
        await self.effectors.until(
            f"an effector is in the call of {intent_id}",
            lambda: bool(self.ledger.calls_of(intent_id)),
        )
        return self.effectors.by_pid(self.ledger.calls_of(intent_id)[-1].pid)

    async def _all_are_answered(self, results: TopicReader) -> None:
        async def answered() -> bool:
            records = await results.read_to_the_end()
            ids = {ToolResult.FromString(record.value).intent_id for record in records}
            return len(ids) >= KEYS * ROUNDS

        await self.effectors.until("every intent has a result", answered)

    async def _send(self, *rounds: Iterable[ToolIntent]) -> None:
        stream = [intent for each in rounds for intent in each]
        records = [(intent.entity_key, intent.SerializeToString()) for intent in stream]
        await kafka_topics.publish(self.hosts, self.intents_topic, records)

    def _id_of(self, position: tuple[int, int]) -> str:
        key, seq = position
        return self.rounds[seq][key].intent_id

    def _intent(self, key: int, seq: int) -> ToolIntent:
        return build_intent(
            "payments.charge",
            {
                "amount": 100 * key + seq,
                "held": (key, seq) in (HELD_FOR_THE_KILL, HELD_FOR_THE_STOP),
            },
            entity_key=f"account-{key}".encode(),
            seq=seq,
            namespace=self.group,
            created_at_ms=time.time_ns() // 1_000_000,
        )
