"""Hours joined from their own parts and their neighbours': which are joined together must not matter.

See docs/semantics.md#time-and-restatement.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goodput.join.nodes import JOIN
from goodput.plumbing.assembly import assemble
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import HOUR_NS, hour_label
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Context
from goodput.settings.model import Settings
from lakes import by_hour, observe, put_sources
from random_requests import random_cases, random_settings
from river import START_NS, START_S, Row, key, label, one_workload, record

TABLES = ("attempts", "requests", "quality_labels")
FIRST = START_S // 3600
Tables = dict[str, list[Row]]


def landed(lake: Lake, records: Iterable[Row], labels: Iterable[Row], observed_h: int, chosen: Settings) -> Context:
    """The conformed parts of these rows, a part of each source, with telemetry observed for `observed_h` hours."""
    hours: dict[str, list[Row]] = {}
    for row in records:
        hours.setdefault(hour_label((row["ended_ns"] or row["started_ns"]) // HOUR_NS), []).append(row)
    put_sources(lake, "serving_records", hours)
    put_sources(lake, "label_records", by_hour(labels, "labelled_ns"))
    observe(lake, START_NS, START_NS + observed_h * HOUR_NS)
    return Context(lake, chosen)


def joined(context: Context, batches: Sequence[Sequence[int]]) -> Tables:
    """Rows of each table of the hours (counted from START_S) of all batches, joined batch by batch."""
    parts = {}
    for batch in batches:
        partitions = {hour_label(FIRST + hour): fingerprint(batch) for hour in batch}
        made = JOIN.compute(assemble(context, JOIN, partitions))
        parts |= {(table, hour): part for table in TABLES for hour, part in made[table].items()}
    hours = sorted({hour for _, hour in parts})
    return {
        table: [row for hour in hours for row in pq.ParquetFile(parts[table, hour].path).read().to_pylist()]
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
        context = landed(Lake(Path(folder)), records, labels, 3, chosen)
        together = joined(context, [range(4)])
        apart = joined(context, [sorted(order[:cut]), sorted(order[cut:])])
    assert together == apart
    # and every request is in exactly one hour
    keys = [row["request_key"] for row in together["requests"]]
    assert sorted(keys) == sorted(case.request_key for case in cases)


def test_a_request_lies_in_the_hour_of_its_end_with_its_attempts_and_labels(tmp_path: Path) -> None:
    records = [record("a", 3500, 3590, request_key="K", outcome="error"), record("b", 3598, 3600, request_key="K")]
    context = landed(Lake(tmp_path), records, [label("span", key("a"))], 2, one_workload(quality={}))
    parts = {hour: joined(context, [[hour]]) for hour in (0, 1)}
    assert parts[0] == {table: [] for table in TABLES}
    assert {table: len(rows) for table, rows in parts[1].items()} == {"attempts": 2, "requests": 1, "quality_labels": 1}
    assert parts[1]["requests"][0]["verdict"] == "accepted"


@pytest.mark.parametrize("at", [-1800.0, 6 * 3600.0, 40 * 3600.0])
def test_labels_within_their_lateness_are_found(tmp_path: Path, at: float) -> None:
    labels = [label("span", key("a"), at=at)]
    context = landed(Lake(tmp_path), [record("a")], labels, 50, one_workload(quality={}, label_lateness_s=41 * 3600.0))
    assert joined(context, [[0]])["requests"][0]["verdict"] == "accepted"
