"""Several real processes on one file, and SIGKILL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from beam_agents.embedded import EmbeddedBus

PATIENCE_S = 60.0

CONSUME = """
import sys, time
from beam_agents.embedded import EmbeddedBus
bus = EmbeddedBus(sys.argv[1])
consumer = bus.consumer("workers", "work", lease_ms=1_000)
while True:
    for record in consumer.poll(1, timeout_ms=100):
        bus.publish("done", key=sys.argv[2].encode(), value=record.value)
        consumer.commit(record.offset + 1)
"""

PUBLISH = """
import sys
from beam_agents.embedded import EmbeddedBus, NewRecord
bus = EmbeddedBus(sys.argv[1])
for n in range(int(sys.argv[3])):
    value = b"%d" % n
    bus.publish_all("a", [NewRecord(sys.argv[2].encode(), value), NewRecord(b"twin", value)])
"""


@contextmanager
def process(program: str, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(command) as child:
        try:
            yield child
        finally:
            child.kill()


def until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up, "nothing happened"
        time.sleep(0.005)


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[EmbeddedBus]:
    with EmbeddedBus(tmp_path / "bus.sqlite") as bus:
        yield bus


def test_a_standby_process_takes_over_from_a_killed_one(bus: EmbeddedBus) -> None:
    def done(value: bytes) -> bool:
        return any(record.value == value for record in bus.records("done"))

    bus.publish("work", key=b"k", value=b"0")
    with process(CONSUME, bus.path, "first") as first:
        until(lambda: done(b"0"))
        with process(CONSUME, bus.path, "second"):
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            bus.publish("work", key=b"k", value=b"1")
            until(lambda: done(b"1"))
    values = [record.value for record in bus.records("done")]
    assert values.index(b"1") > values.index(b"0")
    # Killed between publishing and committing, the first leaves its record to the second.
    assert set(values) == {b"0", b"1"}


def test_processes_that_make_the_file_together_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite"
    with process(PUBLISH, path, "one", 30) as one, process(PUBLISH, path, "two", 30) as two:
        assert one.wait() == two.wait() == 0
    with EmbeddedBus(path) as bus:
        records = bus.records("a")
    assert [record.offset for record in records] == list(range(120))
    for name in (b"one", b"two"):
        assert [r.value for r in records if r.key == name] == [b"%d" % n for n in range(30)]


def test_a_killed_publisher_leaves_whole_batches(bus: EmbeddedBus) -> None:
    with process(PUBLISH, bus.path, "main", 1_000_000) as publisher:
        until(lambda: bus.end_offset("a") > 20)
        os.kill(publisher.pid, signal.SIGKILL)
        publisher.wait()
    records = bus.records("a")
    assert len(records) % 2 == 0
    for main, twin in zip(records[::2], records[1::2], strict=True):
        assert (main.key, twin.key, main.value) == (b"main", b"twin", twin.value)
    assert bus.publish("a", key=b"k", value=b"next") == len(records)
