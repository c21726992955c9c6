from __future__ import annotations

import os
from pathlib import Path

import pytest

from beam_agents.effector.schemes import store_mistake, topic_mistake
from beam_agents.effector.sqlite_paths import path_mistake, shared_file


def test_a_new_file_in_a_folder_that_is_there_is_fine(tmp_path: Path) -> None:
    assert path_mistake(str(tmp_path / "new.db")) is None


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "missing"

    mistake = f"there is no folder {str(folder)!r}: make it, or name another"

    assert path_mistake(str(folder / "dedup.db")) == mistake
    assert store_mistake(f"sqlite:///{folder}/d.db") == f"'sqlite:///{folder}/d.db': {mistake}"
    assert str(topic_mistake(f"sqlite:///{folder}/b.db?topic=t")).endswith(mistake)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert path_mistake(str(tmp_path)) == f"{str(tmp_path)!r} is a folder: name a file in it"


def test_a_file_that_may_not_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "dedup.db"
    file.touch()
    monkeypatch.setattr(os, "access", lambda path, mode: path != file)

    assert path_mistake(str(file)) == (
        f"{str(file)!r} may not be read and written by the user of this process"
    )


def test_a_database_in_memory_is_no_place_for_what_others_must_see() -> None:
    assert "name a file" in str(path_mistake(":memory:"))
    assert store_mistake("sqlite:///:memory:") is not None
    assert topic_mistake("sqlite:///:memory:?topic=intents") is not None


@pytest.mark.parametrize(
    ("store", "topic", "shared"),
    [
        ("sqlite:///a.db", "sqlite:///a.db?topic=t", True),
        ("sqlite:///a.db", "sqlite:///./x/../a.db?topic=t", True),
        ("sqlite:///a.db", "sqlite:///b.db?topic=t", False),
        ("redis://a.db", "sqlite:///a.db?topic=t", False),
        ("sqlite:///a.db", "kafka://host:9092/t", False),
    ],
)
def test_a_store_that_shares_a_file_with_a_topic_is_found(
    store: str, topic: str, shared: bool
) -> None:
    assert (shared_file(store, [topic]) is not None) is shared
