"""The sqlite store answers as the reference does, whatever happens to them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings

from tests.contract.store_benches import MemoryBench, SqliteBench
from tests.contract.store_differential import Step, agree, step_sequences


@settings(max_examples=200)
@given(steps=step_sequences)
def test_sqlite_answers_as_the_reference_does(steps: list[Step]) -> None:
    async def compare(path: Path) -> None:
        subject = SqliteBench(path)
        try:
            await agree(MemoryBench(), subject, steps)
        finally:
            await subject.aclose()

    with TemporaryDirectory() as folder:
        asyncio.run(compare(Path(folder) / "dedup.db"))
