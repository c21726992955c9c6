from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from beam_agents.io.errors import StateFileError
from beam_agents.io.state_file import Checkpoint, StateFile

HOLD = """
import sys
from beam_agents.io.state_file import StateFile
state = StateFile(sys.argv[1])
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "loop.sqlite"


@pytest.fixture
def state(path: Path) -> Iterator[StateFile]:
    with closing(StateFile(path)) as state:
        yield state


def test_a_new_file_begins_at_nothing(state: StateFile) -> None:
    assert state.last == Checkpoint({}, None)
    assert state.keys() == []
    assert state.load("", b"k") is None


def test_a_checkpoint_survives(path: Path) -> None:
    with closing(StateFile(path)) as state:
        state.save("refunds", {b"\x00k": b"\xffcell"})
        state.checkpoint(Checkpoint({"events": 3, "results": 1}, 500))
    with closing(StateFile(path)) as state:
        assert state.last == Checkpoint({"events": 3, "results": 1}, 500)
        assert state.keys() == [("refunds", b"\x00k")]
        assert state.load("refunds", b"\x00k") == b"\xffcell"
        assert state.load("other", b"\x00k") is None


def test_what_was_not_checkpointed_is_forgotten(path: Path) -> None:
    with closing(StateFile(path)) as state:
        state.save("", {b"k": b"first"})
        state.checkpoint(Checkpoint({"events": 1}, 500))
        state.save("", {b"k": b"second"})
    with closing(StateFile(path)) as state:
        assert state.load("", b"k") == b"first"


def test_a_staged_cell_is_not_what_a_retried_bundle_begins_with(state: StateFile) -> None:
    state.save("", {b"k": b"of an attempt that failed"})
    assert state.load("", b"k") is None


def test_a_checkpoint_writes_all_or_nothing(path: Path) -> None:
    with closing(StateFile(path)) as state:
        state.save("", {b"a": b"cell", b"b": None})  # type: ignore[dict-item]
        with pytest.raises(sqlite3.IntegrityError):
            state.checkpoint(Checkpoint({"events": 1}, 500))
    with closing(StateFile(path)) as state:
        assert state.keys() == []
        assert state.last == Checkpoint({}, None)


def test_nothing_is_written_where_nothing_changed(state: StateFile, path: Path) -> None:
    state.checkpoint(Checkpoint({"events": 1}, 500))
    with closing(sqlite3.connect(path)) as other:
        before = other.execute("PRAGMA data_version").fetchone()
        state.checkpoint(Checkpoint({"events": 1}, 600))
        assert other.execute("PRAGMA data_version").fetchone() == before
        state.checkpoint(Checkpoint({"events": 2}, 600))
        assert other.execute("PRAGMA data_version").fetchone() != before


def test_a_second_loop_on_the_file_is_refused(state: StateFile, path: Path) -> None:
    with pytest.raises(StateFileError, match="another loop is running"):
        StateFile(path)


def test_another_process_on_the_file_is_refused_until_it_is_killed(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"ready\n"
            with pytest.raises(StateFileError, match="another loop is running"):
                StateFile(path)
        finally:
            other.kill()
            other.wait()
    StateFile(path).close()


def test_the_file_stays_readable_for_others(state: StateFile, path: Path) -> None:
    state.checkpoint(Checkpoint({"events": 1}, 500))
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT * FROM loop_positions").fetchall() == [("events", 1)]


def test_a_newer_schema_is_refused(path: Path) -> None:
    StateFile(path).close()
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE loop_meta SET value = 99 WHERE name = 'schema_version'")
    with pytest.raises(StateFileError, match=r"schema version 99.*upgrade"):
        StateFile(path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateFileError, match="missing"):
        StateFile(tmp_path / "missing" / "loop.sqlite")
