"""The parts of the demo that can be wrong without anybody noticing: its reader and its books."""

from __future__ import annotations

from pathlib import Path

import pytest

from chargebacks import BadLine, Chargeback, read_chargebacks
from ledger import Ledger

GOOD = '{"event_id": "e1", "account": "a", "charge_id": "c1", "amount_cents": 1, "at_ms": 5}'


def read(tmp_path: Path, *lines: str) -> list[Chargeback | BadLine]:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(lines))
    return list(read_chargebacks(path))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "Invalid JSON"),
        (GOOD.replace("1,", '"1",'), "amount_cents"),
        (GOOD.replace('"a"', '""'), "account"),
        (GOOD.replace('"event_id": "e1", ', ""), "event_id"),
        ("\x00", "Invalid JSON"),
    ],
)
def test_a_bad_line_is_named_by_its_number_and_skipped(
    tmp_path: Path, line: str, reason: str
) -> None:
    first, second = read(tmp_path, line, GOOD)

    assert isinstance(first, BadLine)
    assert first.number == 1
    assert reason in first.reason
    assert isinstance(second, Chargeback)


def test_a_repeated_event_names_the_line_it_repeats(tmp_path: Path) -> None:
    _, _, repeat = read(tmp_path, GOOD, GOOD.replace("e1", "e2"), GOOD)

    assert repeat == BadLine(3, "event 'e1' was already on line 1")


def test_the_sample_has_a_thousand_usable_events() -> None:
    sample = Path(__file__).parents[2] / "docs/examples/chargebacks/events.jsonl"

    assert sum(isinstance(e, Chargeback) for e in read_chargebacks(sample)) == 1000


def test_the_ledger_counts_every_call_and_moves_money_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")

    for _ in range(3):
        ledger.receive("key", "ch_1", 500)
        ledger.move_money("key")

    totals = ledger.totals()
    assert (totals.refunds, totals.invocations, totals.duplicates_refused) == (1, 3, 2)
    assert ledger.refunds() == {("ch_1", 500): 1}


def test_a_call_that_died_before_the_money_moved_is_no_duplicate(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")

    ledger.receive("key", "ch_1", 500)
    ledger.receive("key", "ch_1", 500)
    ledger.move_money("key")

    totals = ledger.totals()
    assert (totals.refunds, totals.invocations, totals.duplicates_refused) == (1, 2, 0)
