"""What every `Browser` must do: show all that there is, and leave no trace of having looked."""

from __future__ import annotations

from abc import ABC, abstractmethod

from beam_agents.effector.ports import Browser, Delivery
from beam_agents.effector.testing.log_bench import LogBench, LoggedRecord, Member, numbered, values


class BrowserContract(ABC):
    """The contract of `Browser`; give it a `log_bench`, and a browser of the bench's topic."""

    @abstractmethod
    def browser(self, log_bench: LogBench) -> Browser:
        """Make a browser of the bench's topic, not yet open."""

    async def test_records_are_shown_whole(self, log_bench: LogBench) -> None:
        headers = (("beam-agents-type", b"ToolIntent"), ("x", b"\x00\xff"), ("x", b""))
        record = LoggedRecord(b"\x00\xff", b"\x00value\xff", headers)
        await log_bench.append(record)

        [shown] = await _look_through(self.browser(log_bench))

        assert LoggedRecord(shown.key, shown.value, shown.headers) == record
        assert shown.timestamp_ms > 0

    async def test_records_are_shown_in_order_with_their_places(self, log_bench: LogBench) -> None:
        await log_bench.append(*numbered(1_200))

        shown = await _look_through(self.browser(log_bench))

        assert values(shown) == list(range(1_200))
        assert [each.offset for each in shown] == sorted(each.offset for each in shown)

    async def test_an_empty_topic_ends_at_once(self, log_bench: LogBench) -> None:
        assert await _look_through(self.browser(log_bench)) == []

    async def test_what_comes_later_is_not_waited_for(self, log_bench: LogBench) -> None:
        await log_bench.append(*numbered(3))
        browser = self.browser(log_bench)
        await browser.open()
        await log_bench.append(*numbered(2, start=3))

        shown = [each async for each in browser.records()]

        assert browser.extent == 3
        assert values(shown) == [0, 1, 2]
        await browser.aclose()

    async def test_a_group_misses_nothing_for_it(self, log_bench: LogBench) -> None:
        await log_bench.append(*numbered(3))
        await _look_through(self.browser(log_bench))

        member = await Member.join(log_bench.source())

        assert values(await member.fetch(3)) == [0, 1, 2]
        await member.source.aclose()

    async def test_a_browser_that_was_never_opened_can_be_closed(self, log_bench: LogBench) -> None:
        await self.browser(log_bench).aclose()


async def _look_through(browser: Browser) -> list[Delivery]:
    await browser.open()
    try:
        return [each async for each in browser.records()]
    finally:
        await browser.aclose()
