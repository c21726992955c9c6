"""What every `Sink` must do: keep the whole record, and the order of a key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from beam_agents.effector.ports import Sink
from beam_agents.effector.testing.log_bench import LogBench, LoggedRecord


class SinkContract:
    """The contract of `Sink`; give it a `log_bench`."""

    async def test_a_published_record_can_be_read_whole(self, log_bench: LogBench) -> None:
        headers = (("beam-agents-type", b"ToolResult"), ("x", b"\x00\xff"), ("x", b""))
        async with _open(log_bench) as sink:
            await sink.publish(key=b"\x00\xff", value=b"\x00value\xff", headers=headers)

            assert await log_bench.records() == [
                LoggedRecord(b"\x00\xff", b"\x00value\xff", headers)
            ]

    async def test_an_empty_key_and_value_stay_what_they_are(self, log_bench: LogBench) -> None:
        async with _open(log_bench) as sink:
            await sink.publish(key=b"", value=b"")

            assert await log_bench.records() == [LoggedRecord(b"", b"")]

    async def test_records_stay_in_the_order_in_which_they_were_published(
        self, log_bench: LogBench
    ) -> None:
        numbers = [str(number).encode() for number in range(200)]
        async with _open(log_bench) as sink:
            await asyncio.gather(*(sink.publish(key=b"acct-1", value=value) for value in numbers))

            assert [record.value for record in await log_bench.records()] == numbers

    async def test_a_cancelled_publish_does_not_disturb_the_next(self, log_bench: LogBench) -> None:
        async with _open(log_bench) as sink:
            publish = asyncio.ensure_future(sink.publish(key=b"acct-1", value=b"first"))
            await asyncio.sleep(0)
            publish.cancel()
            await sink.publish(key=b"acct-1", value=b"second")

            assert (await log_bench.records())[-1] == LoggedRecord(b"acct-1", b"second")

    async def test_closing_finishes_what_was_published(self, log_bench: LogBench) -> None:
        sink = log_bench.sink()
        await sink.open()
        publish = asyncio.ensure_future(sink.publish(key=b"acct-1", value=b"last"))
        await asyncio.sleep(0)

        await sink.aclose()

        await publish
        assert await log_bench.records() == [LoggedRecord(b"acct-1", b"last")]

    async def test_an_open_sink_is_healthy(self, log_bench: LogBench) -> None:
        async with _open(log_bench) as sink:
            await sink.check()

    async def test_a_sink_that_was_never_opened_can_be_closed(self, log_bench: LogBench) -> None:
        await log_bench.sink().aclose()


@asynccontextmanager
async def _open(log_bench: LogBench) -> AsyncIterator[Sink]:
    sink = log_bench.sink()
    await sink.open()
    try:
        yield sink
    finally:
        await sink.aclose()
