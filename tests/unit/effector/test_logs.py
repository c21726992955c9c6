from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from beam_agents.effector.logs import configure_logs, intent_fields, key_digest

LOG = logging.getLogger("beam_agents.effector.test")


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    root = logging.root
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    logging.getLogger("aiokafka").setLevel(logging.NOTSET)


def test_a_json_line_has_the_fields_as_members() -> None:
    stream = io.StringIO()
    configure_logs("json", "info", stream=stream)

    LOG.info("claimed", extra=intent_fields("a5ed04a4", b"acct-1", attempt=2, phase="claim"))

    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "INFO",
        "logger": "beam_agents.effector.test",
        "message": "claimed",
        "intent_id": "a5ed04a4",
        "key_digest": key_digest(b"acct-1"),
        "attempt": 2,
        "phase": "claim",
    }


def test_a_text_line_ends_with_the_fields() -> None:
    stream = io.StringIO()
    configure_logs("text", "info", stream=stream)

    LOG.info("claimed", extra=intent_fields("a5ed04a4", b"acct-1"))

    assert stream.getvalue().endswith(
        f" INFO    claimed intent_id=a5ed04a4 key_digest={key_digest(b'acct-1')}\n"
    )


def test_a_traceback_comes_after_the_fields() -> None:
    stream = io.StringIO()
    configure_logs("text", "info", stream=stream)

    try:
        raise ValueError("broken")
    except ValueError:
        LOG.exception("failed", extra={"intent_id": "a5ed04a4"})

    lines = stream.getvalue().splitlines()
    assert lines[0].endswith("ERROR   failed intent_id=a5ed04a4")
    assert lines[-1] == "ValueError: broken"


@pytest.mark.parametrize("form", ["text", "json"])
def test_credentials_of_a_uri_are_masked_wherever_they_appear(form: str) -> None:
    stream = io.StringIO()
    configure_logs("json" if form == "json" else "text", "info", stream=stream)

    LOG.info("cannot reach redis://alice:s3cret@redis", extra={"dedup": "redis://b:s3cret@r"})

    assert "s3cret" not in stream.getvalue()
    assert "redis://***@redis" in stream.getvalue()


def test_what_is_below_the_level_is_not_written() -> None:
    stream = io.StringIO()
    configure_logs("text", "warning", stream=stream)

    LOG.info("quiet")
    LOG.warning("loud")

    assert stream.getvalue().count("\n") == 1


def test_a_key_is_named_by_a_digest_that_does_not_give_it_away() -> None:
    assert key_digest(b"acct-1") == key_digest(b"acct-1") != key_digest(b"acct-2")
    assert "acct" not in key_digest(b"acct-1")
