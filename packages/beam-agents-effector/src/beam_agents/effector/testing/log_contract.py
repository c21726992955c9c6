"""The contracts of `Source`, `Sink` and `Browser`: test classes for each adapter to subclass.

A log's own test file is a bench and the subclasses::

    @pytest.fixture
    async def log_bench() -> AsyncIterator[LogBench]:
        yield MyLogBench(...)

    class TestMySource(SourceContract): ...

    class TestMySink(SinkContract): ...

    class TestMyBrowser(BrowserContract):
        def browser(self, log_bench: LogBench) -> Browser: ...

It needs pytest with pytest-asyncio in auto mode.
"""

from beam_agents.effector.testing.browser_contract import BrowserContract
from beam_agents.effector.testing.log_bench import LogBench, LoggedRecord, Member
from beam_agents.effector.testing.sink_contract import SinkContract
from beam_agents.effector.testing.source_contract import SourceContract

__all__ = [
    "BrowserContract",
    "LogBench",
    "LoggedRecord",
    "Member",
    "SinkContract",
    "SourceContract",
]
