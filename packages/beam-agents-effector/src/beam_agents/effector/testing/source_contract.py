"""What every `Source` must do: order, acknowledgement in any order, rebalances, pauses."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from beam_agents.effector.ports import Delivery, Source
from beam_agents.effector.testing.log_bench import LogBench, LoggedRecord, Member, numbered, values


class SourceContract:
    """The contract of `Source`; give it a `log_bench`."""

    async def test_records_arrive_as_they_were_written(self, log_bench: LogBench) -> None:
        written = [
            LoggedRecord(b"\x00\xff", b"\x00value\xff", (("a", b"\x00\xff"), ("a", b"again"))),
            LoggedRecord(b"", b"", (("empty", b""),)),
            LoggedRecord(None, b"without a key"),
            LoggedRecord(b"without a value", None),
        ]
        await log_bench.append(*written)
        member = await Member.join(log_bench.source())

        fetched = await member.fetch(4)

        assert [_record(delivery) for delivery in fetched] == written
        assert all(delivery.timestamp_ms > 0 for delivery in fetched)
        await member.source.aclose()

    async def test_records_arrive_in_order_and_once(self, log_bench: LogBench) -> None:
        await log_bench.append(*numbered(1_200))
        member = await Member.join(log_bench.source())

        fetched = await member.fetch(1_200)

        assert values(fetched) == list(range(1_200))
        assert sorted({delivery.offset for delivery in fetched}) == [
            delivery.offset for delivery in fetched
        ]
        assert len({(delivery.partition, delivery.epoch) for delivery in fetched}) == 1
        await member.source.aclose()

    async def test_a_fetch_waits_for_a_record(self, log_bench: LogBench) -> None:
        member = await Member.join(log_bench.source())
        waiting = asyncio.ensure_future(member.fetch(1))

        await log_bench.append(*numbered(1))

        assert values(await waiting) == [0]
        await member.source.aclose()

    async def test_a_cancelled_fetch_loses_nothing(self, log_bench: LogBench) -> None:
        member = await Member.join(log_bench.source())
        await log_bench.append(*numbered(1))
        fetched = await member.fetch(1)
        for number in range(1, 20):
            fetch = asyncio.ensure_future(member.source.fetch())
            await log_bench.append(*numbered(1, start=number))
            await asyncio.sleep(0)
            fetch.cancel()
            with suppress(asyncio.CancelledError):
                fetched += await fetch

        fetched += await member.fetch(20 - len(fetched))

        assert values(fetched) == list(range(20))
        await member.source.aclose()

    async def test_a_successor_starts_behind_what_was_committed(self, log_bench: LogBench) -> None:
        await log_bench.append(*numbered(5))
        first = await Member.join(log_bench.source())
        fetched = await first.fetch(5)
        await first.finish(fetched[:3])
        await first.source.aclose()

        second = await Member.join(log_bench.source())

        assert values(await second.fetch(2)) == [3, 4]
        await second.source.aclose()

    async def test_nothing_is_committed_past_an_unfinished_record(
        self, log_bench: LogBench
    ) -> None:
        await log_bench.append(*numbered(5))
        first = await Member.join(log_bench.source())
        fetched = await first.fetch(5)
        await first.finish([fetched[4], fetched[0], fetched[2], fetched[3]])
        await first.source.aclose()

        second = await Member.join(log_bench.source())

        assert values(await second.fetch(4)) == [1, 2, 3, 4]
        await second.source.aclose()

    async def test_closing_commits_what_is_done(self, log_bench: LogBench) -> None:
        await log_bench.append(*numbered(2))
        first = await Member.join(log_bench.source())
        fetched = await first.fetch(2)
        first.source.done(fetched[0])
        await first.source.aclose()

        second = await Member.join(log_bench.source())

        assert values(await second.fetch(1)) == [1]
        await second.source.aclose()

    async def test_a_paused_partition_is_not_handed_out(self, log_bench: LogBench) -> None:
        await log_bench.append(*numbered(1))
        member = await Member.join(log_bench.source())
        [delivery] = await member.fetch(1)
        member.source.pause(delivery.partition)
        await log_bench.append(*numbered(2, start=1))
        fetch = asyncio.ensure_future(member.fetch(2))

        done, _ = await asyncio.wait({fetch}, timeout=log_bench.patience_s)
        assert not done

        member.source.resume(delivery.partition)
        assert values(await fetch) == [1, 2]
        await member.source.aclose()

    async def test_a_paused_partition_still_commits(self, log_bench: LogBench) -> None:
        await log_bench.append(*numbered(2))
        first = await Member.join(log_bench.source())
        fetched = await first.fetch(2)
        first.source.pause(fetched[0].partition)
        await first.finish(fetched[:1])
        await first.source.aclose()

        second = await Member.join(log_bench.source())

        assert values(await second.fetch(1)) == [1]
        await second.source.aclose()

    async def test_a_partition_that_is_taken_away_is_told(self, log_bench: LogBench) -> None:
        await log_bench.append(*numbered(1))
        member = await Member.join(log_bench.source())
        [delivery] = await member.fetch(1)

        await log_bench.take_away(member)

        assert set(member.lost) == {delivery.partition}
        await member.source.aclose()

    async def test_what_was_done_for_a_lost_partition_commits_nothing(
        self, log_bench: LogBench
    ) -> None:
        await log_bench.append(*numbered(2))
        first = await Member.join(log_bench.source())
        fetched = await first.fetch(2)
        await log_bench.take_away(first)
        await first.finish(fetched)
        await first.source.aclose()

        second = await Member.join(log_bench.source())

        assert values(await second.fetch(2)) == [0, 1]
        await second.source.aclose()

    async def test_a_partition_that_comes_back_is_read_again_under_another_epoch(
        self, log_bench: LogBench
    ) -> None:
        await log_bench.append(*numbered(1))
        member = await Member.join(log_bench.source())
        [before] = await member.fetch(1)
        member.source.pause(before.partition)
        await log_bench.take_away(member)

        [again] = await member.fetch(1)

        assert (again.partition, again.offset) == (before.partition, before.offset)
        assert again.epoch != before.epoch
        await member.source.aclose()

    async def test_a_partition_that_is_not_ours_can_be_paused_and_resumed(
        self, log_bench: LogBench
    ) -> None:
        member = await Member.join(log_bench.source())

        member.source.pause("elsewhere/0")
        member.source.resume("elsewhere/0")

        await log_bench.append(*numbered(1))
        assert values(await member.fetch(1)) == [0]
        await member.source.aclose()

    async def test_the_lag_counts_from_the_first_unfinished_record(
        self, log_bench: LogBench
    ) -> None:
        await log_bench.append(*numbered(5))
        member = await Member.join(log_bench.source())
        fetched = await member.fetch(5)
        await member.finish([fetched[0], fetched[3]])

        assert await member.source.lag() == log_bench.lag(fetched[0], 4)
        await member.source.aclose()

    async def test_nothing_lags_once_all_is_finished(self, log_bench: LogBench) -> None:
        await log_bench.append(*numbered(2))
        member = await Member.join(log_bench.source())
        fetched = await member.fetch(2)
        await member.finish(fetched)

        assert await member.source.lag() == log_bench.lag(fetched[0], 0)
        await member.source.aclose()

    async def test_the_lag_of_a_paused_partition_grows(self, log_bench: LogBench) -> None:
        await log_bench.append(*numbered(1))
        member = await Member.join(log_bench.source())
        fetched = await member.fetch(1)
        await member.finish(fetched)
        member.source.pause(fetched[0].partition)
        await log_bench.append(*numbered(3, start=1))

        assert await member.source.lag() == log_bench.lag(fetched[0], 3)
        await member.source.aclose()

    async def test_an_open_source_is_healthy(self, log_bench: LogBench) -> None:
        member = await Member.join(log_bench.source())

        await member.source.check()

        await member.source.aclose()

    async def test_a_source_that_was_never_opened_can_be_closed(self, log_bench: LogBench) -> None:
        source: Source = log_bench.source()

        await source.aclose()


def _record(delivery: Delivery) -> LoggedRecord:
    return LoggedRecord(delivery.key, delivery.value, delivery.headers)
