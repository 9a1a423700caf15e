"""The ledger as a file: what is written is read back, in an order that does not depend on the writer."""

from dataclasses import replace
from pathlib import Path

import pytest

from goodput.errors import LakeUnreadable
from goodput.plumbing.lake import Lake
from goodput.plumbing.ledger import LedgerEntry, observed, read_ledger, write_ledger

ENTRY = LedgerEntry(
    source_id="s1",
    content_hash="c1",
    path="a.jsonl",
    landing="/landing",
    reader="otlp",
    status="read",
    reason=None,
    size_bytes=10,
    rows_read=5,
    rows_duplicate=1,
    rows_quarantined=2,
    ignored={"span_is_no_request": 1, "metric_not_read": 7},
    torn_tail_bytes=3,
    first_event_ns=2**62 + 1,  # not exact as a double
    last_event_ns=2**62 + 3,
    ingested_ns=2**62 + 5,
)
REFUSED = LedgerEntry("s2", "", "b.bin", "/landing", "otlp", "refused", "no OTLP", 0)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert read_ledger(lake) == {}
    write_ledger(lake, [REFUSED, ENTRY])
    assert read_ledger(lake) == {"s1": ENTRY, "s2": REFUSED}
    write_ledger(lake, [])
    assert read_ledger(lake) == {}


def test_the_order_of_entries_does_not_matter(tmp_path: Path) -> None:
    lakes = [Lake(tmp_path / "a"), Lake(tmp_path / "b")]
    third = replace(ENTRY, source_id="s0", path="z.jsonl")
    write_ledger(lakes[0], [ENTRY, REFUSED, third])
    write_ledger(lakes[1], [third, ENTRY, REFUSED])
    assert lakes[0].ledger.read_bytes() == lakes[1].ledger.read_bytes()
    assert list(read_ledger(lakes[0])) == ["s1", "s2", "s0"]  # by landing and path


def test_a_damaged_ledger_is_told(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.ledger.write_bytes(b"PAR1 no more")
    with pytest.raises(LakeUnreadable, match=r"ledger\.parquet: cannot be read"):
        read_ledger(lake)


def test_observed_telemetry_spans_all_sources_that_hold_any(tmp_path: Path) -> None:
    early = replace(ENTRY, first_event_ns=5, last_event_ns=9)
    late = replace(ENTRY, first_event_ns=7, last_event_ns=20)
    assert observed([late, REFUSED, early]) == (5, 20)
    assert observed([REFUSED]) is None
    assert observed([]) is None
