"""Reads the files that topics cannot give: what tools saw, and which workers were hurt."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from beam_agents.effector.auditing.evidence import Evidence
from beam_agents.effector.errors import OperatorError

_BATCH = 1_000


class Invocation(BaseModel):
    """A line of a ledger: a call of a tool, as the tool saw it.

    Attributes:
        intent_id: Of the intent, as `IntentInfo` gives it.
        attempt: Likewise.
        at_ms: When the tool was entered, in unix milliseconds.
        worker: Who called it; needed to explain repeats by faults.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    intent_id: str
    attempt: int
    at_ms: int
    worker: str = ""


class Fault(BaseModel):
    """A line of a fault log: a worker that was killed, stopped or cut off.

    Attributes:
        worker: As in the ledger.
        from_ms: When it began, in unix milliseconds.
        to_ms: When it ended; for a killed worker, the same.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    worker: str
    from_ms: int
    to_ms: int


_Line = TypeVar("_Line", Invocation, Fault)


def add_ledger(path: Path, evidence: Evidence) -> None:
    """Read a ledger, whose lines are in the order in which tools were entered.

    Raises:
        OperatorError: The file cannot be read, or a line is none of a ledger.
    """
    lines = _lines(path, Invocation)
    while batch := list(islice(lines, _BATCH)):
        evidence.add(
            "invocations",
            [
                (
                    None,
                    f"{path.name}:{number}",
                    each.intent_id,
                    each.attempt,
                    each.at_ms,
                    each.worker,
                )
                for number, each in batch
            ],
        )


def add_faults(path: Path, evidence: Evidence) -> None:
    """Read a fault log; raises as `add_ledger` does."""
    evidence.add(
        "faults", [(each.worker, each.from_ms, each.to_ms) for _, each in _lines(path, Fault)]
    )


def _lines(path: Path, model: type[_Line]) -> Iterator[tuple[int, _Line]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, model.model_validate_json(line)
    except OSError as error:
        raise OperatorError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise OperatorError(f"{str(path)!r} is not UTF-8 text") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise OperatorError(
            f"{str(path)!r}, line {number}: {where or 'the line'}: {first['msg']}"
        ) from None
