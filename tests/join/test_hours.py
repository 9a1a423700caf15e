"""Hours joined from their own parts and their neighbours': which are joined together must not matter.

See docs/semantics.md#time-and-restatement.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goodput.join.nodes import JOIN, JUDGED_HOURS, REPLICA_NAMES
from goodput.plumbing.assembly import assemble
from goodput.plumbing.catalog import ALL
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import HOUR_NS, hour_label
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Context
from goodput.plumbing.plan import execute
from goodput.settings.model import Settings
from lakes import by_hour, observe, put_sources, rows_in
from random_requests import random_cases, random_settings
from river import START_NS, START_S, Row, key, label, one_workload, record

HOUR = 3600.0
AT = 10 * HOUR  # of what is joined alone, and with an hour that its emitters showed more in
GATEWAY = {"layer": "gateway", "covers_tries": True, "dialect": "g"}
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
    context = Context(lake, chosen)
    of_hours = REPLICA_NAMES.compute(assemble(context, REPLICA_NAMES, {hour: fingerprint(hour) for hour in hours}))
    for table, parts in of_hours.items():
        lake.catalog[table].replace({hour: (part,) for hour, part in parts.items()})
    return context


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


def test_lateness_is_counted_to_the_second_and_not_in_whole_hours(tmp_path: Path) -> None:
    """A label that lies two hours after its request's, and comes within an hour and a half."""
    records, labels = [record("a", 3400, 3500)], [label("span", key("a"), at=3500 + 5300)]
    context = landed(Lake(tmp_path), records, labels, 4, one_workload(quality={}, label_lateness_s=5400.0))
    assert joined(context, [[0]])["requests"][0]["verdict"] == "accepted"
    made = JUDGED_HOURS.compute(assemble(context, JUDGED_HOURS, {ALL: fingerprint(0)}))
    found = [row["epoch_hour"] for row in rows_in(made["judged_hours"].values())]
    assert found == [FIRST]


def twice(at: float, number: int, **given: Any) -> list[Row]:
    """One call of which a framework and an SDK each wrote a span, in traces of their own."""
    outer, inner = (f"{2 * number + more:032x}" for more in (0, 1))
    return [
        record("o", at, at + 3, trace=outer, instrumentation="framework", **given),
        record("i", at + 0.05, at + 2.95, trace=inner, instrumentation="sdk", **given),
    ]


SHOWN = {
    "streams": (
        [record("a", 0, 1, trace="1" * 32, instrumentation="sdk", streamed=True)],
        [record("b", AT, AT + 1, trace="2" * 32, instrumentation="sdk")],
        lambda attempts: [row["streamed"] for row in attempts] == [False],
    ),
    "another system": (
        [record("x", 0, 1, trace="1" * 32, dialect="other")],
        [
            record("a", AT, AT + 3, trace="2" * 32, **GATEWAY),
            record("b", AT + 1, AT + 2, trace="2" * 32, layer="engine", dialect="g"),
        ],
        lambda attempts: len(attempts) == 1,
    ),
    "the same calls": (
        [row for number in range(3) for row in twice(10.0 * number, number + 1, response_id=f"r{number}")],
        twice(AT, 9),
        lambda attempts: len(attempts) == 1,
    ),
}


@pytest.mark.parametrize("fact", SHOWN)
@pytest.mark.parametrize("before_h", [10, 2, 1, -1, -2])
def test_what_emitters_show_counts_in_that_hour_and_those_beside_it(tmp_path: Path, fact: str, before_h: int) -> None:
    shown, later, is_known = SHOWN[fact]
    moved_ns = round((AT - before_h * HOUR) * 1e9)
    times = ("started_ns", "ended_ns")
    shown = [row | {name: row[name] + moved_ns for name in times} for row in shown]
    context = landed(Lake(tmp_path), [*shown, *later], [], 14, Settings())
    hours = sorted({10, 10 - before_h})
    alone, together = (joined(context, batches) for batches in ([[10]], [hours]))
    mine = {row["record_id"] for row in later}
    own = [row for row in together["attempts"] if row["attempt_id"] in mine]
    assert own == alone["attempts"]
    assert is_known(own) == (abs(before_h) == 1)


# --- what is linked beyond the hours that an hour is made from

A, B, PARENT = "a" * 16, "b" * 16, "c" * 16
_AGAIN = {"trace": "2" * 32}
LINKED_AFAR = {
    "a response id that another answer has": (
        [record(A, 0, 1, trace="1" * 32, response_id="r"), record(B, AT, AT + 1, response_id="r", **_AGAIN)],
        [label("response", "r", at=5)],
    ),
    "a copy with another time": (
        [record(A, 0, 1, trace="1" * 32), record(A, AT, AT + 1, trace="1" * 32)],
        [label("span", key(A), at=5)],
    ),
    "a request key": (
        [record(A, 0, 1, trace="1" * 32, request_key="K"), record(B, AT, AT + 1, request_key="K", **_AGAIN)],
        [],
    ),
    "a trace": (
        [record(A, 0, 1, trace="1" * 32, parent=PARENT), record(B, AT, AT + 1, trace="1" * 32, parent=PARENT)],
        [],
    ),
    "a chain of hours": (
        [record(f"{n:016x}", HOUR * n, HOUR * n + 1, trace=f"{n:032x}", request_key="K") for n in range(6)],
        [label("request", "K", at=5)],
    ),
}


@pytest.mark.parametrize("linked", LINKED_AFAR)
def test_what_is_linked_afar_is_the_same_whichever_hours_are_computed_together(tmp_path: Path, linked: str) -> None:
    records, labels = LINKED_AFAR[linked]
    others = [record(f"{n + 100:016x}", HOUR * n + 60, HOUR * n + 61, trace=f"{n + 100:032x}") for n in range(12)]
    found = {}
    for name, groups in {
        "at once": [range(13)],
        "apart": [[n] for n in range(13)],
        "both": [[0, 10], range(13)],
    }.items():
        context = landed(Lake(tmp_path / name), [*records, *others], labels, 14, one_workload(quality={}))
        for group in groups:
            assert not execute(JOIN, context, among=[hour_label(FIRST + n) for n in group], force=True).blocked
        found[name] = {
            table: [
                row
                for file in context.lake.catalog[table].all_files()
                for row in pq.ParquetFile(file).read().to_pylist()
            ]
            for table in TABLES
        }
    assert found["at once"] == found["apart"] == found["both"]
    assert len(found["at once"]["requests"]) >= 12


def test_hours_that_nothing_links_afar_are_computed_together(tmp_path: Path) -> None:
    records = [record(f"{n + 100:016x}", HOUR * n + 60, HOUR * n + 61, trace=f"{n:032x}") for n in range(12)]
    beside = [
        record(f"{n + 200:016x}", HOUR * n, HOUR * n + 1, trace=f"{n + 50:032x}", request_key="K") for n in (3, 4)
    ]
    context = landed(Lake(tmp_path), [*records, *beside], [], 14, one_workload())
    batch = assemble(context, JOIN, {hour_label(FIRST + n): fingerprint(n) for n in range(12)})
    assert JOIN.alone(batch) == []
    far = [record(f"{n + 200:016x}", HOUR * n, HOUR * n + 1, trace=f"{n + 50:032x}", request_key="K") for n in (3, 5)]
    context = landed(Lake(tmp_path / "far"), [*records, *far], [], 14, one_workload())
    batch = assemble(context, JOIN, {hour_label(FIRST + n): fingerprint(n) for n in range(12)})
    assert JOIN.alone(batch) == [hour_label(FIRST + n) for n in (3, 5)]
