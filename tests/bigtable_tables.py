"""Tables on a Bigtable emulator, made and emptied for a test."""

from __future__ import annotations

from datetime import timedelta

import grpc
from google.cloud.bigtable_admin_v2 import BaseBigtableTableAdminClient
from google.cloud.bigtable_admin_v2.services.bigtable_table_admin.transports import (
    BigtableTableAdminGrpcTransport,
)

from beam_agents.effector.backends.bigtable_table import TableName

PROJECT, INSTANCE = "beam-agents", "dedup"
PARENT = f"projects/{PROJECT}/instances/{INSTANCE}"


class Tables:
    """The tables of one emulator."""

    def __init__(self, emulator: str) -> None:
        channel = grpc.insecure_channel(emulator)
        self._admin = BaseBigtableTableAdminClient(
            transport=BigtableTableAdminGrpcTransport(channel=channel)
        )

    def create(self, table: str, *, family: str = "d") -> TableName:
        """Make a table as the documentation says."""
        rules = [{"max_num_versions": 1}, {"max_age": timedelta(hours=25)}]
        families = {family: {"gc_rule": {"union": {"rules": rules}}}}
        request = {"parent": PARENT, "table_id": table, "table": {"column_families": families}}
        self._admin.create_table(request)
        return TableName(PROJECT, INSTANCE, table)

    def drop_rows(self, table: TableName, prefix: str) -> None:
        """Lose the rows whose keys begin so."""
        path = f"{PARENT}/tables/{table.table}"
        self._admin.drop_row_range({"name": path, "row_key_prefix": prefix.encode()})
