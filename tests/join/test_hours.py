"""Hours joined from their own parts and their neighbours': which are joined together must not matter (semantics 9)."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from goodput.join.compute import join_hours
from goodput.join.staleness import JoinInputs
from goodput.plumbing.ledger import LedgerEntry
from hypothesis import given, settings
from hypothesis import strategies as st

from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.hours import HOUR_NS, hour_label
from goodput.plumbing.lake import Lake, write_parquet
from goodput.settings.model import Settings
from random_requests import random_cases, random_settings
from river import START_NS, START_S, Row, key, label, one_workload, record

TABLES = ("attempts", "requests", "quality_labels")
FIRST = START_S // 3600
Tables = dict[str, list[Row]]


def landed(lake: Lake, records: Iterable[Row], labels: Iterable[Row], observed_h: int, chosen: Settings) -> JoinInputs:
    """The conformed parts of these rows, one source each, as if telemetry was observed for `observed_h` hours."""
    for table, rows in (("serving_records", records), ("label_records", labels)):
        parts: dict[tuple[int, str], list[Row]] = {}
        for row in rows:
            when = row["labelled_ns"] if table == "label_records" else row["ended_ns"] or row["started_ns"]
            parts.setdefault((when // HOUR_NS, row["source_id"]), []).append(row)
        for (hour, source_id), part in parts.items():
            path = lake.part("conformed", table, f"hour={hour_label(hour)}", source_id)
            write_parquet(path, pa.Table.from_pylist(part, schema=arrow_schema(table)))
    ledger = {
        name: LedgerEntry(
            name,
            name,
            name,
            "landing",
            "test",
            "read",
            None,
            1,
            first_event_ns=START_NS,
            last_event_ns=START_NS + observed_h * HOUR_NS,
        )
        for name in ("s1", "s2", "l1")
    }
    return JoinInputs(lake, chosen, ledger)


def joined(inputs: JoinInputs, batches: Sequence[Sequence[int]]) -> Tables:
    """Rows of each table after joining hours (counted from START_S) batch by batch."""
    for batch in batches:
        join_hours(inputs, [hour_label(FIRST + hour) for hour in batch])
    hours = sorted(hour for batch in batches for hour in batch)
    return {
        table: [
            row
            for hour in hours
            for row in pq.read_table(
                inputs.lake.part("candidate", table, f"hour={hour_label(FIRST + hour)}")
            ).to_pylist()
        ]
        for table in TABLES
    }


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 2**32), st.permutations(range(4)), st.integers(1, 3))
def test_hours_joined_apart_are_hours_joined_together(seed: int, order: list[int], cut: int) -> None:
    chance = Random(seed)
    chosen = random_settings(chance)
    cases = random_cases(chance, 60, 2 * 3600)
    records = [row | {"source_id": chance.choice(["s1", "s2"])} for case in cases for row in case.records]
    labels = [row for case in cases for row in case.labels]
    with TemporaryDirectory() as folder:
        inputs = landed(Lake(Path(folder)), records, labels, 3, chosen)
        together = joined(inputs, [range(4)])
        apart = joined(inputs, [sorted(order[:cut]), sorted(order[cut:])])
    assert together == apart
    # and every request is in exactly one hour
    keys = [row["request_key"] for row in together["requests"]]
    assert sorted(keys) == sorted(case.request_key for case in cases)


def test_a_request_lies_in_the_hour_of_its_end_with_its_attempts_and_labels(tmp_path: Path) -> None:
    records = [record("a", 3500, 3590, request_key="K", outcome="error"), record("b", 3598, 3600, request_key="K")]
    inputs = landed(Lake(tmp_path), records, [label("span", key("a"))], 2, one_workload(quality={}))
    parts = {hour: joined(inputs, [[hour]]) for hour in (0, 1)}
    assert parts[0] == {table: [] for table in TABLES}
    assert {table: len(rows) for table, rows in parts[1].items()} == {"attempts": 2, "requests": 1, "quality_labels": 1}
    assert parts[1]["requests"][0]["verdict"] == "accepted"


@pytest.mark.parametrize("at", [-1800.0, 6 * 3600.0, 40 * 3600.0])
def test_labels_within_their_lateness_are_found(tmp_path: Path, at: float) -> None:
    labels = [label("span", key("a"), at=at)]
    inputs = landed(Lake(tmp_path), [record("a")], labels, 50, one_workload(quality={}, label_lateness_s=41 * 3600.0))
    assert joined(inputs, [[0]])["requests"][0]["verdict"] == "accepted"
