"""The source ledger: what is committed is read back, and a change rewrites no more than what it changes."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema
from goodput.errors import LakeUnreadable
from goodput.plumbing.hours import HOUR_NS, hour_label
from goodput.plumbing.lake import Lake
from goodput.plumbing.source_ledger import (
    SourceEntry,
    change,
    ids,
    observed,
    partitions_of,
    quarantined_and_failed,
    read,
    refused_unread,
)

ENTRY = SourceEntry(
    source_id="s1",
    content_hash="c1",
    head_hash="h1",
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
    partitions={"serving_records": ["2026-11-20T09", "2026-11-20T10"], "quarantine": ["all"]},
    ingested_ns=2**62 + 5,
)
NOW_NS = 1_795_165_230 * 10**9  # half a minute past an hour
REFUSED = SourceEntry("s2", "", "", "b.bin", "/landing", "otlp", "refused", "no OTLP", 0)


def entries(lake: Lake) -> list[SourceEntry]:
    rows = read(lake).to_pylist()
    return [
        SourceEntry(**{**row, **{name: json.loads(row[name]) for name in ("ignored", "unknown_metrics", "partitions")}})
        for row in rows
    ]


def parts(lake: Lake) -> set[str]:
    return {Path(path).name for path in Lake(lake.root).catalog["source_ledger"].all_files()}


def numbered(number: int) -> SourceEntry:
    return replace(ENTRY, source_id=f"n{number}", path=f"{number:03}.jsonl")


def test_what_is_committed_is_read(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert entries(lake) == []
    change(lake, [REFUSED, ENTRY], ())
    assert entries(lake) == [ENTRY, REFUSED]  # by landing and path
    assert entries(Lake(tmp_path)) == [ENTRY, REFUSED]
    change(lake, [], ["s1", "s2"])
    assert entries(lake) == []


def test_the_order_of_entries_does_not_matter(tmp_path: Path) -> None:
    lakes = [Lake(tmp_path / "a"), Lake(tmp_path / "b")]
    third = replace(ENTRY, source_id="s0", path="z.jsonl")
    change(lakes[0], [ENTRY, REFUSED, third], ())
    change(lakes[1], [third, ENTRY, REFUSED], ())
    assert parts(lakes[0]) == parts(lakes[1])  # named by their bytes
    assert [entry.source_id for entry in entries(lakes[0])] == ["s1", "s2", "s0"]


def test_a_change_rewrites_only_the_parts_that_hold_what_it_removes(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    change(lake, [numbered(1), numbered(2)], ())
    first = parts(lake)
    change(lake, [numbered(3), numbered(4)], ())
    second = parts(lake) - first
    (replaced,) = change(lake, [numbered(5)], ["n3"])
    assert {replaced.name} == second
    assert first < parts(lake)
    assert len(parts(lake)) == 3  # the first, the second without n3, and n5
    assert sorted(entry.source_id for entry in entries(lake)) == ["n1", "n2", "n4", "n5"]


def test_a_part_of_which_nothing_remains_goes(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for number in range(100):  # one file that grows
        change(lake, [numbered(number)], [f"n{number - 1}"])
        assert len(parts(lake)) == 1
    assert entries(lake) == [numbered(99)]


def test_no_change_is_no_commit(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    change(lake, [], ["s1"])
    assert not any(tmp_path.iterdir())
    change(lake, [ENTRY], ())
    version = lake.catalog["source_ledger"].version
    assert change(lake, [], ["unheard of"]) == []
    assert lake.catalog["source_ledger"].version == version


def test_many_parts_become_one(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    change(lake, [numbered(0), numbered(100)], ())
    for number in range(1, 32):
        assert change(lake, [numbered(number)], ()) == []
    assert len(parts(lake)) == 32
    before = parts(lake)
    replaced = change(lake, [numbered(32)], ["n100"])
    assert {path.name for path in replaced} == before
    assert len(parts(lake)) == 1
    assert entries(lake) == [numbered(number) for number in range(33)]


def test_a_damaged_ledger_is_reported(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    change(lake, [ENTRY], ())
    (path,) = lake.catalog["source_ledger"].all_files()
    Path(path).write_bytes(b"PAR1 no more")
    with pytest.raises(LakeUnreadable, match=r"\.parquet: cannot be read"):
        read(lake)


def test_observed_telemetry_spans_all_sources_that_hold_any(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert observed(lake, NOW_NS) is None
    change(lake, [REFUSED], ())
    assert observed(lake, NOW_NS) is None
    early = replace(ENTRY, source_id="e", first_event_ns=5, last_event_ns=9)
    late = replace(ENTRY, source_id="l", first_event_ns=7, last_event_ns=20)
    change(lake, [late, early], ())
    assert observed(lake, NOW_NS) == (5, 20)


def test_nothing_is_observed_further_ahead_than_clocks_disagree(tmp_path: Path) -> None:
    """Records that ended 10 s, 1 s and (never seen to end) 2 s ago, 299 s from now, and in 40 days."""
    second, day = 10**9, 86400 * 10**9
    ended = [NOW_NS - 10 * second, NOW_NS - second, None, NOW_NS + 40 * day]
    started = [NOW_NS - 20 * second, NOW_NS - 20 * second, NOW_NS - 2 * second, NOW_NS + 39 * day]
    lake = _holding(tmp_path / "a", list(zip(started, ended, strict=True)))
    first, last = started[0], ended[3]
    assert observed(lake, NOW_NS) == (first, ended[1])
    assert observed(lake, NOW_NS + 40 * day - 301 * second) == (first, ended[1])
    assert observed(lake, NOW_NS + 40 * day - 300 * second) == (first, last)  # as a lake that is made then has it
    margin = _holding(tmp_path / "b", [(started[0], ended[0]), (NOW_NS, NOW_NS + 299 * second), (started[3], ended[3])])
    assert observed(margin, NOW_NS) == (first, NOW_NS + 299 * second)


def test_where_most_records_lie_ahead_the_clock_of_this_machine_is_wrong(tmp_path: Path) -> None:
    day = 86400 * 10**9
    ahead = [(NOW_NS + n * day, NOW_NS + n * day + 1) for n in (1, 2)]
    assert observed(_holding(tmp_path / "a", [(NOW_NS - 2, NOW_NS - 1), *ahead]), NOW_NS) == (NOW_NS - 2, ahead[1][1])
    few = [(NOW_NS - 2, NOW_NS - 1)] * 2
    assert observed(_holding(tmp_path / "b", [*few, *ahead]), NOW_NS) == (NOW_NS - 2, NOW_NS - 1)


def _holding(root: Path, records: Sequence[tuple[int, int | None]]) -> Lake:
    """A lake with one source of these records (start, end)."""
    lake = Lake(root)
    rows = [{"started_ns": start, "ended_ns": end} for start, end in records]
    for hour in {(end or start) // HOUR_NS for start, end in records}:
        inside = [row for row in rows if (row["ended_ns"] or row["started_ns"] or 0) // HOUR_NS == hour]
        table = pa.Table.from_pylist(inside, schema=arrow_schema("serving_records"))
        part = lake.write_part("serving_records", hour_label(hour), table, "s1")
        lake.catalog["serving_records"].replace({hour_label(hour): (part,)})
    last_ns = max(end or start for start, end in records)
    change(lake, [replace(ENTRY, first_event_ns=min(start for start, _ in records), last_event_ns=last_ns)], ())
    return lake


def test_rows_in_quarantine_and_the_sources_that_failed(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert quarantined_and_failed(lake, 0.5) == (0, [])
    change(lake, [ENTRY, replace(ENTRY, source_id="s4", path="z.jsonl", rows_quarantined=0)], ())
    assert quarantined_and_failed(lake, 0.4) == (2, [])  # 2 of 5: not more than that share
    change(lake, [REFUSED, replace(ENTRY, source_id="s3", path="y.jsonl", rows_read=80, rows_quarantined=40)], ())
    failed = [("b.bin", "refused, no OTLP"), ("y.jsonl", "40 of 80 rows in quarantine")]
    assert quarantined_and_failed(lake, 0.4) == (42, failed)


def test_sources_that_were_not_read_to_their_end_failed(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    tail = replace(ENTRY, source_id="s5", path="tail.gz", reason="breaks off", unread_bytes=0, rows_quarantined=0)
    change(lake, [tail, replace(tail, source_id="s6", path="cut.pb", reason="no message", unread_bytes=70)], ())
    assert quarantined_and_failed(lake, 0.5) == (0, [("cut.pb", "up to 70 bytes not read, no message")])


def test_sources_that_were_read_and_those_that_were_refused_before(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert (ids(lake), refused_unread(lake)) == (set(), set())
    refused_when_read = replace(REFUSED, source_id="s3", content_hash="c3")
    change(lake, [ENTRY, refused_when_read], ())
    assert (ids(lake), refused_unread(lake)) == ({"s1", "s3"}, set())
    change(lake, [REFUSED], ())
    assert (ids(lake), refused_unread(lake)) == ({"s1", "s3"}, {"s2"})


def test_where_the_rows_of_some_sources_lie(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    other = replace(ENTRY, source_id="s3", partitions={"serving_records": ["2026-11-20T10"]})
    change(lake, [ENTRY, REFUSED, other, replace(ENTRY, source_id="s4")], ())
    assert partitions_of(lake, ["s1", "s2", "s3"]) == {
        "serving_records": {"2026-11-20T09": {"s1"}, "2026-11-20T10": {"s1", "s3"}},
        "quarantine": {"all": {"s1"}},
    }
