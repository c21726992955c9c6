"""What only the service says of a table that cannot be used: the emulator never does."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import (
    FailedPrecondition,
    GoogleAPICallError,
    NotFound,
    PermissionDenied,
    ServiceUnavailable,
)
from google.auth.exceptions import DefaultCredentialsError
from google.cloud.bigtable.data import TableAsync

from beam_agents.effector.backends import bigtable_table
from beam_agents.effector.backends.bigtable_table import BigtableTable, TableName
from beam_agents.effector.errors import OperatorError
from beam_agents.effector.ports import StoreUnavailable

NAME = TableName("project", "instance", "table", "any-cluster")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGTABLE_EMULATOR_HOST", "127.0.0.1:1")


@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        (
            FailedPrecondition("Single-row transactions are not allowed by this app profile"),
            r"the app profile 'any-cluster' .* refuses single-row transactions .*: name one with",
        ),
        (NotFound("Requested column family not found"), "no column family 'd'"),
        (NotFound("Table not found: family-business"), "'project/instance/table' does not exist"),
        (PermissionDenied("missing bigtable.tables.mutateRows"), "does not let us use the table"),
    ],
)
async def test_a_refusal_says_what_to_mend(
    monkeypatch: pytest.MonkeyPatch, refusal: GoogleAPICallError, says: str
) -> None:
    _answer_with(monkeypatch, refusal)

    with pytest.raises(OperatorError, match=says):
        await BigtableTable(NAME, 1_000).open()


async def test_missing_credentials_are_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def client(project: str) -> None:
        raise DefaultCredentialsError("Your default credentials were not found.")

    monkeypatch.setattr(bigtable_table, "_client", client)

    with pytest.raises(OperatorError, match="default credentials were not found"):
        await BigtableTable(NAME, 1_000).open()


async def test_silence_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    _answer_with(monkeypatch, ServiceUnavailable("connection reset"))

    with pytest.raises(StoreUnavailable, match=r"project/instance/table: .*connection reset"):
        await BigtableTable(NAME, 1_000).open()


def _answer_with(monkeypatch: pytest.MonkeyPatch, error: GoogleAPICallError) -> None:
    async def refuse(*_: object, **__: object) -> bool:
        raise error

    monkeypatch.setattr(TableAsync, "check_and_mutate_row", refuse)
