"""The contracts of `Source` and `Sink`, as test classes that every log's adapter subclasses.

A log's own test file is a bench and two subclasses::

    @pytest.fixture
    async def log_bench() -> AsyncIterator[LogBench]:
        yield MyLogBench(...)

    class TestMySource(SourceContract): ...

    class TestMySink(SinkContract): ...

It needs pytest with pytest-asyncio in auto mode.
"""

from beam_agents.effector.testing.log_bench import LogBench, LoggedRecord, Member
from beam_agents.effector.testing.sink_contract import SinkContract
from beam_agents.effector.testing.source_contract import SourceContract

__all__ = ["LogBench", "LoggedRecord", "Member", "SinkContract", "SourceContract"]
