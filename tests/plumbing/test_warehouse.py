"""The database that users open: every relation there and described, from an empty lake as from a full one."""

import errno
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from goodput.errors import LakeUnwritable
from goodput.plumbing import warehouse
from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.lake import Lake, write_parquet
from goodput.plumbing.ledger import LedgerEntry, write_ledger
from goodput.plumbing.parameters import PARAMETERS
from goodput.plumbing.warehouse import publish

GATE_SCHEMA = PARAMETERS["workloads"].schema
NO_GATES = GATE_SCHEMA.empty_table()
ALARMS = ("alarms", "alarm_events", "alarm_series", "alarm_power")
RELATIONS = {
    **dict.fromkeys(ALARMS, "BASE TABLE"),
    "accepted_units": "VIEW",
    "attempts": "VIEW",
    "binding_gate": "VIEW",
    **dict.fromkeys(("cache_by_replica", "disruptions", "disruption_cost", "disruption_frequency"), "BASE TABLE"),
    "cost_ledger": "VIEW",
    "cost_records": "BASE TABLE",
    "coverage": "BASE TABLE",
    "deliveries": "VIEW",
    "frontier": "BASE TABLE",
    "gate_failures": "BASE TABLE",
    "goodput": "BASE TABLE",
    "ops_events": "BASE TABLE",
    "quality_labels": "VIEW",
    "quarantine": "BASE TABLE",
    "replica_samples": "VIEW",
    "replica_windows": "BASE TABLE",
    "requests": "VIEW",
    "restatements": "BASE TABLE",
    "serving_records": "VIEW",
    "sessions": "VIEW",
    "sources": "BASE TABLE",
    "token_prices": "BASE TABLE",
    "waste": "BASE TABLE",
    "workloads": "BASE TABLE",
}
FILES = ["goodput.duckdb", "lake.json", "notified"]  # of a lake in which nothing but the database was made
UNITS = {
    ("attempts", "ttft_s"): "s",
    ("attempts", "started_at"): "UTC",
    ("attempts", "arrived_ns"): "ns",
    ("attempts", "reported_cost_usd"): "USD",
    ("requests", "output_tokens"): "tokens",
    ("goodput", "goodput_rps"): "requests/s",
    ("goodput", "output_tps"): "output tokens/s",
    ("goodput", "goodput_ratio"): "0..1",
    ("goodput", "window_s"): "s",
    ("sources", "size_bytes"): "bytes",
    ("cost_records", "amount_usd"): "USD",
    ("token_prices", "input_token_usd"): "USD",
}
START_NS = 1_795_165_200_000_000_000  # 2026-11-20T09:00:00Z
HOUR = "hour=2026-11-20T09"
RECORD = {
    "record_id": "r1",
    "line": 1,
    "position": 0,
    "dialect": "genai",
    "layer": "client",
    "started_ns": START_NS,
    "outcome": "ok",
}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path / "lake")
    made.open()
    return made


def ask(lake: Lake, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(lake.database), read_only=True) as connection:
        return connection.sql(sql).fetchall()


def add(lake: Lake, layer: str, table: str, cell: str, name: str, *rows: dict[str, Any]) -> None:
    write_parquet(lake.part(layer, table, cell, name), pa.Table.from_pylist(list(rows), schema=arrow_schema(table)))


def entry(source_id: str, **given: Any) -> LedgerEntry:
    return LedgerEntry(source_id, "c", f"{source_id}.jsonl", "/landing", "otlp", "read", None, 10, **given)


def test_an_empty_lake_gives_every_relation_with_no_rows(lake: Lake) -> None:
    rows = publish(lake, [], NO_GATES)
    assert set(rows) == {name for name, kind in RELATIONS.items() if kind == "BASE TABLE"} - {"workloads"}
    assert set(rows.values()) == {0}
    found = ask(lake, "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'main'")
    assert dict(found) == RELATIONS
    for relation in RELATIONS:
        assert ask(lake, f"SELECT count(*) FROM {relation}") == [(0,)]


def test_every_relation_and_every_column_is_described(lake: Lake) -> None:
    publish(lake, [], NO_GATES)
    relations = [
        *ask(lake, "SELECT table_name, comment FROM duckdb_tables()"),
        *ask(lake, "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal"),
    ]
    described = dict(relations)
    assert described.keys() == RELATIONS.keys()
    assert all(described.values())
    columns = ask(lake, "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal")
    assert {relation for relation, _, _ in columns} == RELATIONS.keys()
    assert [(relation, column) for relation, column, comment in columns if not comment] == []
    comments = {(relation, column): comment for relation, column, comment in columns}
    for place, unit in UNITS.items():
        assert comments[place].endswith(f" [{unit}]"), place
    assert not comments["requests", "attempts"].endswith("]")
    assert comments["requests", "verdict"].startswith("The first that applies: failed, over_budget, slow")


def test_types_are_those_of_the_contracts(lake: Lake) -> None:
    publish(lake, [], NO_GATES)
    columns = ask(lake, "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal")
    types = {(relation, column): data_type for relation, column, data_type in columns}
    assert types["attempts", "record_ids"] == "VARCHAR[]"
    assert types["requests", "ended_at"] == "TIMESTAMP WITH TIME ZONE"
    assert types["goodput", "window_s"] == "INTEGER"
    assert types["serving_records", "ttft_s"] == "DOUBLE"
    assert types["workloads", "bound"] == "DOUBLE"


def test_gates_are_rows(lake: Lake) -> None:
    gates = pa.Table.from_pylist([{"workload": "qa", "gate": "ttft", "bound": 1.0}], schema=GATE_SCHEMA)
    publish(lake, [], gates)
    assert ask(lake, "SELECT workload, gate, bound FROM workloads") == [("qa", "ttft", 1.0)]


def test_accepted_units_are_called_what_the_workload_calls_them(lake: Lake) -> None:
    window = {"window_start": datetime(2026, 11, 20, 9, tzinfo=UTC), "window_s": 3600, "slice": "workload"}
    counted = {"workload": "night", "offered": 90, "accepted": 72, "goodput_rps": 0.02}
    add(lake, "measured", "goodput", HOUR, "part", {**window, **counted})
    gates = [
        {"workload": "night", "gate": gate, "unit": "request", "unit_label": "item"} for gate in ("deadline", "retries")
    ]
    publish(lake, [], pa.Table.from_pylist(gates, schema=GATE_SCHEMA))
    told = ask(lake, "SELECT unit, unit_label, offered, accepted, accepted_per_hour FROM accepted_units")
    assert told == [("request", "item", 90, 72, 72.0)]


def test_replicas_for_a_stated_peak(lake: Lake) -> None:
    known = {"slice": "route", "knee_rps": 1.5, "recommended_replicas": 4, "windows": 1, "arrivals": 600}
    rows = [{**known, "route": "chat", "load_bin": n} for n in range(2)]
    blind = {**known, "route": "search", "load_bin": 0, "recommended_replicas": None}
    add(lake, "measured", "frontier", "all", "part", *rows, blind)
    publish(lake, [], NO_GATES)
    asked = "SELECT route, recommended_replicas FROM replicas_for({}) ORDER BY route"
    # 30 / 1.5 = 20 replicas, times the headroom; a whole number is not rounded up
    assert ask(lake, asked.format("30, headroom := 1.3")) == [("chat", 26), ("search", None)]
    assert ask(lake, asked.format("31")) == [("chat", 25), ("search", None)]
    for nonsense in ("-1", "0", "30, headroom := 0.3", "NULL"):
        with pytest.raises(duckdb.Error, match="headroom a factor from 1 on"):
            ask(lake, asked.format(nonsense))


def test_a_reader_of_the_old_database_is_not_disturbed(lake: Lake) -> None:
    gates = [pa.Table.from_pylist([{"workload": name}], schema=GATE_SCHEMA) for name in ("old", "new")]
    publish(lake, [], gates[0])
    with duckdb.connect(str(lake.database), read_only=True) as reader:
        pending = reader.sql("SELECT workload FROM workloads")
        publish(lake, [], gates[1])
        assert pending.fetchall() == [("old",)]
        assert reader.sql("SELECT workload FROM workloads").fetchall() == [("old",)]
        assert reader.sql("SELECT count(*) FROM goodput").fetchall() == [(0,)]
    assert ask(lake, "SELECT workload FROM workloads") == [("new",)]


def test_parts_of_sources_that_are_not_known_are_left_out(lake: Lake) -> None:
    for source in ("s1", "s2"):
        row = {**RECORD, "record_id": source, "source_id": source}
        add(lake, "conformed", "serving_records", HOUR, source, row)
        bad = {"source_id": source, "path": "p", "line": 2, "position": 0, "rule": "r", "reason": "why"}
        add(lake, "conformed", "quarantine", "all", source, bad)
    publish(lake, ["s1"], NO_GATES)
    assert ask(lake, "SELECT record_id FROM serving_records") == [("s1",)]
    assert ask(lake, "SELECT source_id FROM quarantine") == [("s1",)]


def test_quarantine_is_shown_by_file_and_place(lake: Lake) -> None:
    bad = {"rule": "ttft_s_out_of_range", "reason": "ttft_s breaks ttft_s >= 0: -1"}
    add(
        *(lake, "conformed", "quarantine", "all", "s1"),
        {**bad, "source_id": "s1", "path": "b.jsonl", "line": 2, "position": 1, "table_name": "serving_records"},
        {**bad, "source_id": "s1", "path": "b.jsonl", "line": 10, "position": 0},
    )
    add(
        *(lake, "conformed", "quarantine", "all", "s2"),
        {**bad, "source_id": "s2", "path": "a.jsonl", "line": 3, "position": 0},
    )
    assert publish(lake, ["s1", "s2"], NO_GATES)["quarantine"] == 3
    assert ask(lake, "SELECT path, line, position, table_name, rule FROM quarantine") == [
        ("a.jsonl", 3, 0, None, "ttft_s_out_of_range"),
        ("b.jsonl", 2, 1, "serving_records", "ttft_s_out_of_range"),
        ("b.jsonl", 10, 0, None, "ttft_s_out_of_range"),
    ]


def test_restatements_are_shown_in_the_order_in_which_they_were_made(lake: Lake) -> None:
    def restated(hour: int, revision: int, after: int) -> dict[str, Any]:
        return {
            "window_start": datetime(2026, 11, 20, hour, tzinfo=UTC),
            "window_s": 3600,
            "slice": "overall",
            "revision": revision,
            "restated_at": datetime(2026, 11, 21, revision, tzinfo=UTC),
            "accepted_before": 1,
            "accepted_after": after,
        }

    add(lake, "measured", "restatements", "day=2026-11-20", "part", restated(9, 2, 7), restated(9, 1, 5))
    add(lake, "measured", "restatements", "day=2026-11-21", "part", restated(3, 1, 6))
    assert publish(lake, [], NO_GATES)["restatements"] == 3
    assert ask(lake, "SELECT revision, accepted_before, accepted_after FROM restatements") == [
        (1, 1, 6),
        (1, 1, 5),
        (2, 1, 7),
    ]


def test_sources_add_up_what_became_of_their_rows(lake: Lake) -> None:
    # s1: 10 rows read; of 6 records 1 is a duplicate of another source's, 1 row was twice in the file itself.
    ignored = {"span_is_no_request": 1, "metric_not_read": 1}
    first = entry("s1", rows_read=10, rows_duplicate=1, rows_quarantined=1, ignored=ignored, first_event_ns=START_NS)
    refused = LedgerEntry("s2", "", "bad.bin", "/landing", "otlp", "refused", "no OTLP", 5)
    labels = entry("s3", rows_read=2)
    write_ledger(lake, [first, refused, labels])
    source_rows = pa.Table.from_pylist(
        [
            {"source_id": "s1", "epoch_hour": 1, "records": 4, "duplicates": 0},
            {"source_id": "s1", "epoch_hour": 2, "records": 2, "duplicates": 1},
        ],
        schema=warehouse.SOURCE_ROWS,
    )
    write_parquet(lake.part("joined", "source_rows", HOUR), source_rows)
    label = {
        "dialect": "d",
        "source_id": "s3",
        "line": 1,
        "subject_kind": "trace",
        "subject_id": "t",
        "evaluator": "e",
        "labelled_ns": START_NS,
        "withdrawn": False,
    }
    judged = [{**label, "record_id": f"l{n}", "label_id": f"l{n}", "position": n} for n in range(2)]
    add(lake, "conformed", "label_records", HOUR, "s3", *judged)
    assert publish(lake, ["s1", "s2", "s3"], NO_GATES)["sources"] == 3
    found = ask(
        lake,
        "SELECT source_id, status, reason, rows_read, rows_kept, rows_duplicate, rows_quarantined, rows_ignored "
        "FROM sources ORDER BY source_id",
    )
    assert found == [
        ("s1", "read", None, 10, 5, 2, 1, 2),
        ("s2", "refused", "no OTLP", 0, 0, 0, 0, 0),
        ("s3", "read", None, 2, 2, 0, 0, 0),
    ]
    assert ask(lake, "SELECT epoch_us(first_event_at) FROM sources WHERE source_id = 's1'") == [(START_NS // 1000,)]
    assert ask(lake, "SELECT ignored FROM sources WHERE source_id = 's1'") == [
        ('{"metric_not_read": 1, "span_is_no_request": 1}',)
    ]


def test_the_same_label_in_two_files_is_kept_in_one(lake: Lake) -> None:
    label = {"dialect": "d", "line": 1, "position": 0, "label_id": "l", "record_id": "l", "evaluator": "e"}
    for source in ("s1", "s2"):
        add(lake, "conformed", "label_records", HOUR, source, {**label, "source_id": source})
    write_ledger(lake, [entry("s1", rows_read=1), entry("s2", rows_read=1)])
    publish(lake, ["s1", "s2"], NO_GATES)
    found = ask(lake, "SELECT source_id, rows_kept, rows_duplicate FROM sources ORDER BY source_id")
    assert found == [("s1", 1, 0), ("s2", 0, 1)]


@contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    """A disk with no room for a file larger than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize(
    ("gates", "room_bytes"),
    [
        pytest.param(200_000, 1_000_000, id="tables are written"),
        pytest.param(0, 50_000, id="the log is written"),
        pytest.param(0, 240_000, id="the log becomes the database"),
    ],
)
def test_a_full_disk_keeps_the_old_database_and_leaves_nothing_torn(lake: Lake, gates: int, room_bytes: int) -> None:
    publish(lake, [], NO_GATES)
    names = pa.array([f"w{n * 7919}" for n in range(gates)], pa.string())
    many = pa.table([names, names, pa.nulls(len(names), pa.float64()), names, names], schema=GATE_SCHEMA)
    before = lake.database.read_bytes()
    with largest_file(room_bytes), pytest.raises(LakeUnwritable, match=r"goodput\.duckdb: cannot write: "):
        publish(lake, [], many)
    assert lake.database.read_bytes() == before
    assert sorted(path.name for path in lake.root.iterdir()) == FILES


def test_a_build_that_fails_keeps_the_old_database(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(lake, [], NO_GATES)
    before = lake.database.read_bytes()

    def denied(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(warehouse, "_fill", denied)
    with pytest.raises(LakeUnwritable, match="Permission denied"):
        publish(lake, [], NO_GATES)
    assert lake.database.read_bytes() == before
    assert sorted(path.name for path in lake.root.iterdir()) == FILES


def test_what_a_killed_run_left_behind_does_no_harm(lake: Lake) -> None:
    (lake.root / ".goodput.duckdb.tmp").write_bytes(b"half a database")
    (lake.root / ".goodput.duckdb.tmp.wal").write_bytes(b"half a log")
    publish(lake, [], NO_GATES)
    assert ask(lake, "SELECT count(*) FROM goodput") == [(0,)]
    assert sorted(path.name for path in lake.root.iterdir()) == FILES


def test_paths_with_quotes_and_spaces_are_no_danger(tmp_path: Path) -> None:
    lake = Lake(tmp_path / 'it\'s a "lake"; --[1]*/env=prod')
    lake.open()
    add(lake, "conformed", "serving_records", HOUR, "s'1", {**RECORD, "source_id": "s'1"})
    publish(lake, ["s'1"], NO_GATES)
    assert ask(lake, "SELECT record_id, source_id FROM serving_records") == [("r1", "s'1")]


@pytest.mark.parametrize("cell", ["hour=2026-11-20T09", "day=2026-11-20"])
def test_what_the_folders_of_parts_are_called_is_no_column(lake: Lake, cell: str) -> None:
    restated = {
        "window_start": datetime(2026, 11, 20, 9, tzinfo=UTC),
        "window_s": 3600,
        "slice": "overall",
        "revision": 1,
        "restated_at": datetime(2026, 11, 21, tzinfo=UTC),
    }
    add(lake, "measured", "restatements", cell, "part", restated)
    assert publish(lake, [], NO_GATES)["restatements"] == 1
    columns = [name for (name, *_) in ask(lake, "DESCRIBE restatements")]
    assert columns == arrow_schema("restatements").names
