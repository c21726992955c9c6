"""The story that the tests of a whole loop on Kafka judge: events in, charges made, outputs out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from beam_agents._protos import ActivationErrorRecord, Completion, ToolIntent
from tests.integration import kafka_topics
from tests.integration.charges import LEDGER_VARIABLE, Call, Ledger
from tests.integration.effectors import LOG_LINES, ROOT, Effectors
from tests.integration.kafka_topics import TopicReader

KEYS = 40
TOPICS = ("events", "intents", "results", "completions", "errors")


@dataclass(frozen=True)
class Evidence:
    """What the story left behind.

    Attributes:
        events: The cents of every event that was to be charged, by its id.
        intents: The intents topic, repeats and all.
        completions: The completions topic, repeats and all.
        errors: The errors topic.
        calls: Every call that the ledger received.
        charges: What the ledger charged, in cents by intent id.
    """

    events: dict[str, int]
    intents: list[ToolIntent]
    completions: list[Completion]
    errors: list[ActivationErrorRecord]
    calls: list[Call]
    charges: dict[str, int]

    def events_completed(self) -> dict[str, set[tuple[bytes, int]]]:
        """Which activations completed each event."""
        found: dict[str, set[tuple[bytes, int]]] = {}
        for each in self.completions:
            event = json.loads(each.output)["id"]
            found.setdefault(event, set()).add((each.entity_key, each.seq))
        return found


class Charging:
    """One run of the loop: topics, a group and a namespace of its own, and two effectors."""

    def __init__(self, *, hosts: str, redis_url: str, folder: Path, run: str) -> None:
        self.hosts = hosts
        self.run = run
        self.folder = folder
        self.ledger = Ledger(folder / "ledger.sqlite")
        self.events: dict[str, int] = {}
        self.pipelines = 0
        self._readers = {
            name: TopicReader(hosts, self.topic(name))
            for name in ("intents", "completions", "errors")
        }
        settings = {
            "EFFECTOR_REGISTRY": "tests.integration.charges:TOOLS",
            "EFFECTOR_INTENTS_FROM": f"kafka://{hosts}/{run}-intents?session_timeout_ms=6000",
            "EFFECTOR_RESULTS_TO": f"kafka://{hosts}/{run}-results",
            "EFFECTOR_DEDUP": redis_url,
            "EFFECTOR_CONSUMER_GROUP": f"{run}-effectors",
            # A call that is held ends with its process, never by the clock.
            "EFFECTOR_TOOL_TIMEOUT_MS": "300000",
            LEDGER_VARIABLE: str(self.ledger.path),
        }
        self.effectors = Effectors(settings, logs=folder)

    @asynccontextmanager
    async def begun(self) -> AsyncIterator[None]:
        """Make the topics, and run two effectors."""
        await kafka_topics.create_topics(self.hosts, *map(self.topic, TOPICS))
        async with AsyncExitStack() as stack:
            for reader in self._readers.values():
                await stack.enter_async_context(reader)
            stack.enter_context(self.effectors)
            self.effectors.start()
            self.effectors.start()
            yield

    async def publish(self, rounds: int) -> None:
        """Append one event of every account, so many times."""
        for _ in range(rounds):
            await self._send([self._event(key) for key in range(KEYS)])

    async def publish_in_a_hurry(self) -> None:
        """Append one event whose charge will never end."""
        event = {"id": "hurry", "account": "account-hurry", "cents": 1, "hurry": True}
        await self._send([event])

    async def until_completed(self, count: int) -> None:
        """Wait until so many events are completed."""

        async def completed() -> bool:
            values = await self._values("completions")
            return len({Completion.FromString(value).output for value in values}) >= count

        await self.effectors.until(f"{count} events are completed", completed)

    async def until_an_error(self) -> None:
        """Wait until there is an error record."""

        async def there_is_one() -> bool:
            return bool(await self._values("errors"))

        await self.effectors.until("there is an error record", there_is_one)

    @contextmanager
    def pipeline(self, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a pipeline process; it is killed at the end, if it still runs."""
        self.pipelines += 1
        path = self.folder / f"pipeline-{self.pipelines}.log"
        program = [sys.executable, "-m", "tests.integration.charging_pipeline"]
        arguments = ["--hosts", self.hosts, "--run", self.run, *options]
        with path.open("wb") as log:
            process = subprocess.Popen(
                [*program, *arguments], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT
            )
        try:
            yield process
            assert process.returncode is not None or process.poll() is None, "it ended by itself"
        except BaseException:
            lines = path.read_text(errors="replace").splitlines()[-LOG_LINES:]
            sys.stderr.write("\n".join([f"--- {path.name}", *lines, ""]))
            raise
        finally:
            process.kill()
            process.wait()

    async def evidence(self) -> Evidence:
        """Read all topics to their ends."""
        return Evidence(
            events=self.events,
            intents=[ToolIntent.FromString(value) for value in await self._values("intents")],
            completions=[
                Completion.FromString(value) for value in await self._values("completions")
            ],
            errors=[
                ActivationErrorRecord.FromString(value) for value in await self._values("errors")
            ],
            calls=self.ledger.calls(),
            charges=self.ledger.charges(),
        )

    async def unread(self) -> int:
        """How many events the pipeline's group has not been told of."""
        return await kafka_topics.uncommitted(self.hosts, self.run, self.topic("events"))

    def topic(self, name: str) -> str:
        return f"{self.run}-{name}"

    def _event(self, key: int) -> dict[str, object]:
        number = len(self.events)
        self.events[f"event-{number}"] = number
        return {
            "id": f"event-{number}",
            "account": f"account-{key}",
            "cents": number,
            "hurry": False,
        }

    async def _send(self, events: Sequence[dict[str, object]]) -> None:
        records = [(str(each["account"]).encode(), json.dumps(each).encode()) for each in events]
        await kafka_topics.publish(self.hosts, self.topic("events"), records)

    async def _values(self, name: str) -> list[bytes]:
        return [record.value for record in await self._readers[name].read_to_the_end()]
