"""The in-memory log keeps the contracts of `Source` and `Sink`."""

from __future__ import annotations

import pytest

from beam_agents.effector.backends.memory_log import MemorySink, MemorySource, MemoryTopic
from beam_agents.effector.testing.log_contract import (
    LogBench,
    LoggedRecord,
    Member,
    SinkContract,
    SourceContract,
)


class MemoryLogBench(LogBench):
    patience_s = 0.05

    def __init__(self) -> None:
        self.topic = MemoryTopic("intents")

    def source(self) -> MemorySource:
        return self.topic.source()

    def sink(self) -> MemorySink:
        return self.topic.sink()

    async def append(self, *records: LoggedRecord) -> None:
        for record in records:
            self.topic.append(key=record.key, value=record.value, headers=record.headers)

    async def records(self) -> list[LoggedRecord]:
        [records] = self.topic.partitions
        return [LoggedRecord(record.key, record.value, record.headers) for record in records]

    async def take_away(self, member: Member) -> None:
        assert isinstance(member.source, MemorySource)
        member.source.give_up({0})
        await member.told.wait()
        member.source.take({0})


@pytest.fixture
def log_bench() -> MemoryLogBench:
    return MemoryLogBench()


class TestMemorySource(SourceContract):
    pass


class TestMemorySink(SinkContract):
    pass
