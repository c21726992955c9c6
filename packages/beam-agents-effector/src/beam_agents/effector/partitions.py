"""Bounds what a partition may hold in memory, by pausing and resuming it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from beam_agents.effector.offsets import ContiguousPrefix
from beam_agents.effector.ports import Delivery


class _Partition:
    """What is held of one partition under one assignment."""

    __slots__ = ("epoch", "paused", "prefix", "waiting")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.waiting = 0
        self.prefix = ContiguousPrefix()
        self.paused = False


class Partitions:
    """Counts the records of each partition that wait, and those that cannot be committed yet.

    A partition is paused when either count reaches its bound, and handed out again
    when both are down to half of it, so that it does not flutter.

    Args:
        pause: Stops a partition.
        resume: Hands it out again.
        max_waiting: Bounds the records that wait for their turn.
        max_uncommitted: Bounds the span from the oldest unfinished record to the newest.
    """

    def __init__(
        self,
        pause: Callable[[str], None],
        resume: Callable[[str], None],
        *,
        max_waiting: int,
        max_uncommitted: int,
    ) -> None:
        self._pause = pause
        self._resume = resume
        self._max_waiting = max_waiting
        self._max_uncommitted = max_uncommitted
        self._partitions: dict[str, _Partition] = {}

    def arrived(self, delivery: Delivery) -> None:
        """Count a delivery in; it waits."""
        partition = self._partitions.get(delivery.partition)
        if partition is None or partition.epoch != delivery.epoch:
            partition = self._partitions[delivery.partition] = _Partition(delivery.epoch)
        partition.waiting += 1
        partition.prefix.hand_out(delivery.offset)
        self._judge(delivery.partition, partition)

    def started(self, delivery: Delivery) -> None:
        """Its tool may run: it does not wait any more."""
        partition = self._current(delivery)
        if partition is not None:
            partition.waiting -= 1
            if partition.paused:
                self._judge(delivery.partition, partition)

    def stopped(self, delivery: Delivery) -> None:
        """It does not run any more: it waits, again or still."""
        partition = self._current(delivery)
        if partition is not None:
            partition.waiting += 1
            if not partition.paused:
                self._judge(delivery.partition, partition)

    def finished(self, delivery: Delivery) -> None:
        """Count a waiting delivery out."""
        partition = self._current(delivery)
        if partition is not None:
            partition.waiting -= 1
            partition.prefix.done(delivery.offset)
            if partition.paused:
                self._judge(delivery.partition, partition)

    def lost(self, names: Collection[str]) -> None:
        """Forget partitions that belong to another worker now."""
        for name in names:
            self._partitions.pop(name, None)

    def _current(self, delivery: Delivery) -> _Partition | None:
        partition = self._partitions.get(delivery.partition)
        return partition if partition and partition.epoch == delivery.epoch else None

    def _judge(self, name: str, partition: _Partition) -> None:
        waiting, span = partition.waiting, partition.prefix.span
        if not partition.paused:
            if waiting >= self._max_waiting or span >= self._max_uncommitted:
                partition.paused = True
                self._pause(name)
        elif waiting <= self._max_waiting // 2 and span <= self._max_uncommitted // 2:
            partition.paused = False
            self._resume(name)
