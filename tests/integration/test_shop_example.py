"""The shop of docs/examples, run as its readers would run it, on a real Kafka and a real Redis."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from tests.integration import kafka_topics
from tests.integration.effectors import LOG_LINES, ROOT, Effectors

pytestmark = pytest.mark.timeout(500)

SHOP = ROOT / "docs/examples/shop"
TOPICS = (
    "orders",
    "intents",
    "results",
    "approvals",
    "errors",
    "retries-shipping",
    "retries-thanking",
)
# Of this run alone: the store of claims remembers the customers of every other.
ANN, BOB = (f"{name}-{uuid4().hex}" for name in ("ann", "bob"))
SMALL = {"id": "o-1", "customer": ANN, "cents": 4_200, "at_ms": 1_790_000_000_000}
BIG = {"id": "o-2", "customer": BOB, "cents": 90_000, "at_ms": 1_790_000_000_000}
OLD = [
    {"id": "old-1", "customer": ANN, "cents": 100, "at_ms": 1_500_000_000_000},
    {"id": "old-2", "customer": ANN, "cents": 100, "at_ms": 1_500_000_000_001},
]


@dataclass
class Shop:
    """The shop's programs, and what can be seen of them from outside."""

    hosts: str
    run: str
    folder: Path
    redis_url: str
    approvers: str = field(
        default_factory=lambda: f"ann={base64.b64encode(os.urandom(32)).decode()}"
    )

    def __post_init__(self) -> None:
        self.topics = f"kafka://{self.hosts}/{self.run}-"
        self.environment = {
            "PYTHONPATH": str(SHOP),
            "SHOP_EFFECTS": str(self.folder / "effects.sqlite"),
            "EFFECTOR_REGISTRY": "shop_tools:TOOLS",
            "EFFECTOR_INTENTS_FROM": f"{self.topics}intents",
            "EFFECTOR_RESULTS_TO": f"{self.topics}results",
            "EFFECTOR_APPROVALS_TO": f"{self.topics}approvals",
            "EFFECTOR_APPROVAL_KEYS": "env:APPROVERS",
            "EFFECTOR_DEDUP": self.redis_url,
            "EFFECTOR_CONSUMER_GROUP": f"{self.run}-effectors",
            "APPROVERS": self.approvers,
        }
        self.effectors = Effectors(self.environment, logs=self.folder)

    @contextmanager
    def pipeline(self, **environment: str) -> Iterator[None]:
        log = self.folder / f"pipeline-{uuid4().hex}.log"
        arguments = ["--topics", self.topics, "--files", str(self.folder / "out")]
        with log.open("wb") as file:
            process = subprocess.Popen(
                [
                    sys.executable,
                    str(SHOP / "shop_pipeline.py"),
                    *arguments,
                    f"--state={self.folder / 'state.sqlite'}",
                ],
                env={**os.environ, **self.environment, **environment},
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self._pipeline = process
        try:
            yield
        except BaseException:
            lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
            sys.stderr.write("\n".join([f"--- {log.name}", *lines, ""]))
            raise
        finally:
            process.kill()
            process.wait()

    async def call(self, *command: str) -> str:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        output, complaints = await process.communicate()
        assert process.returncode == 0, complaints.decode()
        return output.decode()

    async def publish(self, *orders: Mapping[str, object]) -> None:
        records = [(str(each["customer"]).encode(), json.dumps(each).encode()) for each in orders]
        await kafka_topics.publish(self.hosts, f"{self.run}-orders", records)

    async def until(self, what: str, met: Callable[[], bool]) -> None:
        def met_by_a_pipeline_that_runs() -> bool:
            assert self._pipeline.poll() is None, "the pipeline ended by itself"
            return met()

        await self.effectors.until(what, met_by_a_pipeline_that_runs)

    def effects(self) -> list[str]:
        path = self.environment["SHOP_EFFECTS"]
        if not os.path.exists(path):
            return []
        with closing(sqlite3.connect(path, timeout=30)) as db:
            return sorted(what for (what,) in db.execute("SELECT what FROM effects"))

    def shipped(self) -> dict[str, dict[str, object]]:
        """What the files of completions say, by order."""
        lines = [
            json.loads(line)
            for file in (self.folder / "out").glob("*.jsonl")
            for line in file.read_text().splitlines()
        ]
        return {line["output"]["order"]: line for line in lines}

    async def ask(self) -> str:
        """Wait for a request for approval; return its id."""
        found: list[str] = []

        async def there_is_one() -> bool:
            listed = await self.call("-m", "beam_agents.effector", "approvals", "ls")
            found.extend(re.findall(r"request +(\S+)", listed))
            return bool(found)

        await self.effectors.until("a person is asked", there_is_one)
        return found[0]


@pytest.fixture
def shop(kafka_hosts: str, redis_url: str, tmp_path: Path) -> Shop:
    (tmp_path / "out").mkdir()
    return Shop(kafka_hosts, f"shop-{uuid4().hex}", tmp_path, redis_url)


async def test_the_shop_ships_thanks_asks_backfills_and_redrives(shop: Shop) -> None:
    await kafka_topics.create_topics(shop.hosts, *(f"{shop.run}-{name}" for name in TOPICS))
    with shop.effectors:
        shop.effectors.start()
        await shop.publish(SMALL, BIG)

        with shop.pipeline(SHOP_BAD_RELEASE="1"):
            await shop.until("the small order is shipped", lambda: "o-1" in shop.shipped())
            request = await shop.ask()
            assert "o-2" not in shop.shipped()
            sign = ("--approval-keys", "env:APPROVERS", "--sign-with", "ann", "--yes")
            await shop.call("-m", "beam_agents.effector", "approvals", "approve", request, *sign)
            await shop.until("the big order is shipped", lambda: "o-2" in shop.shipped())
            assert shop.effects() == ["shipped o-1", "shipped o-2"]

        with shop.pipeline():
            redriven = await shop.call(str(SHOP / "shop_redrive.py"), "--topics", shop.topics)
            assert sorted(redriven.splitlines()) == [
                f"tried again: thanking {ANN}: agent_failed",
                f"tried again: thanking {BOB}: agent_failed",
            ]
            await shop.until("both are thanked", lambda: len(shop.effects()) == 4)

            old = shop.folder / "old.jsonl"
            old.write_text("".join(json.dumps(each) + "\n" for each in [*OLD, SMALL]))
            backfill = ("--topics", shop.topics, "--files", str(old))
            await shop.call(str(SHOP / "shop_backfill.py"), *backfill)
            await shop.until("the old orders are shipped", lambda: len(shop.shipped()) == 4)
            await shop.until("the old orders are thanked for", lambda: len(shop.effects()) == 8)

    assert shop.effects() == [
        "1 points for old-1",
        "1 points for old-2",
        "42 points for o-1",
        "900 points for o-2",
        "shipped o-1",
        "shipped o-2",
        "shipped old-1",
        "shipped old-2",
    ]
    assert shop.shipped()["o-2"]["output"] == {
        "order": "o-2",
        "cents": 90_000,
        "parcel": "parcel-o-2",
    }
