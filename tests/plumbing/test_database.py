"""The database that users open: every relation there and described, brought up to what changed and no further."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from full_disk import largest_file
from goodput.ask.database import refused
from goodput.contracts import arrow_schema, stored_tables
from goodput.errors import LakeUnwritable
from goodput.plumbing import database, source_ledger
from goodput.plumbing.database import publish
from goodput.plumbing.lake import Lake
from goodput.plumbing.parameters import PARAMETERS
from goodput.plumbing.source_ledger import SourceEntry
from goodput.plumbing.sql_files import compute, connect
from lakes import put

GATE_SCHEMA = PARAMETERS["workloads"].schema
NO_GATES = GATE_SCHEMA.empty_table()
ALARMS = ("alarms", "alarm_events", "alarm_series", "alarm_power")
MEASURED = (  # inside the database, which answers them wherever it is
    *ALARMS,
    *("blocked_partitions", "cache_by_replica", "cache_effect", "cost_records", "coverage", "disruption_cost"),
    "disruption_frequency",
    *("disruptions", "frontier", "gate_failures", "goodput", "latest_window", "ops_events", "quality"),
    "reconciliation",
    *("replica_histograms", "replica_names", "replica_windows", "restatements", "token_prices", "warnings", "waste"),
    "watermark",
)
OF_RECORDS = (
    "attempts",
    "cost_ledger",
    "quality_labels",
    "quarantine",
    "replica_samples",
    "requests",
    "serving_records",
)
OF_RECORDS += ("unused_cost_lines",)
DERIVED = ("accepted_units", "binding_gate", "deliveries", "sessions", "sources", "unjoined_labels", "unknown_metrics")
RELATIONS = {*MEASURED, *OF_RECORDS, *DERIVED, "workloads", "settings", "pruned"}
FILES = [
    "goodput.duckdb",
    "lake.json",
    "notified",
    "published.json",
    "published_head.json",
]  # of a lake in which nothing but the database was made
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
HOUR, NEXT_HOUR, DAY = "2026-11-20T09", "2026-11-20T10", "2026-11-20"
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


def entry(source_id: str, **given: Any) -> SourceEntry:
    return SourceEntry(source_id, "c", "h", f"{source_id}.jsonl", "/landing", "otlp", "read", None, 10, **given)


def window(hour: int = 9, accepted: int = 0, **given: Any) -> dict[str, Any]:
    start = datetime(2026, 11, 20, hour, tzinfo=UTC)
    return {"window_start": start, "window_s": 3600, "slice": "overall", "accepted": accepted, **given}


def test_an_empty_lake_gives_every_relation_with_no_rows(lake: Lake) -> None:
    published = publish(lake, NO_GATES)
    assert published.rows == dict.fromkeys(sorted(MEASURED), 0)
    assert published.changed
    found = ask(lake, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'")
    assert {name for (name,) in found} == RELATIONS
    for relation in RELATIONS:
        assert ask(lake, f"SELECT count(*) FROM {relation}") == [(0,)]


def test_every_relation_and_every_column_is_described(lake: Lake) -> None:
    publish(lake, NO_GATES)
    relations = [
        *ask(lake, "SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = 'main'"),
        *ask(lake, "SELECT view_name, comment FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"),
    ]
    described = dict(relations)
    assert described.keys() == RELATIONS
    assert all(described.values())
    columns = ask(
        lake,
        "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE schema_name = 'main' AND NOT internal",
    )
    assert {relation for relation, _, _ in columns} == RELATIONS
    assert [(relation, column) for relation, column, comment in columns if not comment] == []
    comments = {(relation, column): comment for relation, column, comment in columns}
    for place, unit in UNITS.items():
        assert comments[place].endswith(f" [{unit}]"), place
    assert not comments["requests", "attempts"].endswith("]")
    assert comments["requests", "verdict"].startswith("The first that applies: failed, ungated, over_budget, slow")


def test_comments_stay_where_views_are_written_anew(lake: Lake) -> None:
    asked = (
        "SELECT table_name, column_name, comment FROM duckdb_columns() "
        "WHERE schema_name = 'main' AND NOT internal ORDER BY ALL"
    )
    publish(lake, NO_GATES)
    before = ask(lake, asked)
    put(lake, "requests", HOUR, [{"request_key": "r"}])
    put(lake, "waste", HOUR, [window(bucket="accepted", usd=1.0)])
    assert publish(lake, NO_GATES).changed
    assert ask(lake, asked) == before
    names = [name for name, *_ in ask(lake, "DESCRIBE requests")]
    assert names == arrow_schema("requests").names


def test_types_are_those_of_the_contracts(lake: Lake) -> None:
    publish(lake, NO_GATES)
    columns = ask(lake, "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE schema_name = 'main'")
    types = {(relation, column): data_type for relation, column, data_type in columns}
    assert types["attempts", "record_ids"] == "VARCHAR[]"
    assert types["requests", "ended_at"] == "TIMESTAMP WITH TIME ZONE"
    assert types["goodput", "window_s"] == "INTEGER"
    assert types["serving_records", "ttft_s"] == "DOUBLE"
    assert types["workloads", "bound"] == "DOUBLE"


def test_gates_are_rows(lake: Lake) -> None:
    gates = pa.Table.from_pylist([{"workload": "qa", "gate": "ttft", "bound": 1.0}], schema=GATE_SCHEMA)
    publish(lake, gates)
    assert ask(lake, "SELECT workload, gate, bound FROM workloads") == [("qa", "ttft", 1.0)]


def test_accepted_units_are_called_what_the_workload_calls_them(lake: Lake) -> None:
    counted = {"workload": "night", "offered": 90, "goodput_rps": 0.02}
    put(lake, "goodput", HOUR, [window(accepted=72, **{**counted, "slice": "workload"})])
    gates = [
        {"workload": "night", "gate": gate, "unit": "request", "unit_label": "item"} for gate in ("deadline", "retries")
    ]
    publish(lake, pa.Table.from_pylist(gates, schema=GATE_SCHEMA))
    told = ask(lake, "SELECT unit, unit_label, offered, accepted, accepted_per_hour FROM accepted_units")
    assert told == [("request", "item", 90, 72, 72.0)]


def test_replicas_for_a_stated_peak(lake: Lake) -> None:
    known = {"slice": "route", "knee_rps": 1.5, "recommended_replicas": 4, "windows": 1, "arrivals": 600}
    rows = [{**known, "route": "chat", "load_bin": n} for n in range(2)]
    blind = {**known, "route": "search", "load_bin": 0, "no_recommendation": "replicas_unknown"}
    put(lake, "frontier", "all", [*rows, blind])
    publish(lake, NO_GATES)
    asked = "SELECT route, recommended_replicas FROM replicas_for({}) ORDER BY route"
    # 30 / 1.5 = 20 replicas, times the headroom; a whole number is not rounded up
    assert ask(lake, asked.format("30, headroom := 1.3")) == [("chat", 26), ("search", None)]
    assert ask(lake, asked.format("31")) == [("chat", 25), ("search", None)]
    for nonsense in ("-1", "0", "30, headroom := 0.3", "NULL"):
        with pytest.raises(duckdb.Error, match="headroom a factor from 1 on"):
            ask(lake, asked.format(nonsense))


def test_replicas_for_a_peak_of_each_pool(lake: Lake) -> None:
    known = {"slice": "pool", "load_bin": 0, "windows": 1, "arrivals": 600}
    pools = [
        known | {"pool": "chat", "knee_rps": 1.5},
        known | {"pool": "it's", "knee_rps": 0.25},
        known | {"pool": "lost", "no_recommendation": "no_knee"},
    ]
    put(lake, "frontier", "all", [*pools, known | {"slice": "route", "route": "a", "knee_rps": 9.0}])
    publish(lake, NO_GATES)
    asked = "SELECT pool, recommended_replicas, no_recommendation FROM ours.replicas_for(peaks := {}, headroom := 1)"
    with duckdb.connect() as connection:  # a database of the user's own, beside which ours is attached
        connection.execute(f"ATTACH '{lake.database}' AS ours (READ_ONLY)")
        connection.execute("CREATE TABLE wanted AS FROM (VALUES ('it''s', 3), ('chat', 30)) AS w (pool, rps)")

        def found(peaks: str) -> list[tuple[object, ...]]:
            return connection.sql(f"{asked.format(peaks)} ORDER BY pool").fetchall()

        assert found("MAP {'chat': 30.5, 'lost': 1}") == [("chat", 21, None), ("lost", None, "no_knee")]
        assert found("(SELECT map(list(pool), list(rps)) FROM wanted)") == [("chat", 20, None), ("it's", 12, None)]
        with pytest.raises(duckdb.Error, match="no pool chatt in frontier; its pools are chat, it's, lost"):
            found("MAP {'chatt': 30}")
        with pytest.raises(duckdb.Error, match="a peak is above 0"):
            found("MAP {'chat': 0}")


def test_a_reader_of_the_old_database_is_not_disturbed(lake: Lake) -> None:
    gates = [pa.Table.from_pylist([{"workload": name}], schema=GATE_SCHEMA) for name in ("old", "new")]
    put(lake, "goodput", HOUR, [window(accepted=1)])
    publish(lake, gates[0])
    with duckdb.connect(str(lake.database), read_only=True) as reader:
        pending = reader.sql("SELECT workload FROM workloads")
        put(lake, "goodput", HOUR, [window(accepted=2)])
        publish(lake, gates[1])
        assert pending.fetchall() == [("old",)]
        assert reader.sql("SELECT workload FROM workloads").fetchall() == [("old",)]
        assert reader.sql("SELECT accepted FROM goodput").fetchall() == [(1,)]
    assert ask(lake, "SELECT workload FROM workloads") == [("new",)]
    assert ask(lake, "SELECT accepted FROM goodput") == [(2,)]


def test_records_are_read_where_an_open_reader_expects_them(lake: Lake) -> None:
    put(lake, "requests", HOUR, [{"request_key": "old"}])
    publish(lake, NO_GATES)
    with duckdb.connect(str(lake.database), read_only=True) as reader:
        put(lake, "requests", HOUR, [{"request_key": "new"}])
        publish(lake, NO_GATES)
        assert reader.sql("SELECT request_key FROM requests").fetchall() == [("old",)]
    assert ask(lake, "SELECT request_key FROM requests") == [("new",)]


def test_parts_that_no_commit_lists_are_left_out(lake: Lake) -> None:
    bad = {"path": "p", "line": 2, "position": 0, "rule": "r", "reason": "why"}
    put(lake, "serving_records", HOUR, [{**RECORD, "record_id": "s1", "source_id": "s1"}])
    put(lake, "quarantine", "all", [{**bad, "source_id": "s1"}])
    for table, partition, row in (
        ("serving_records", HOUR, {**RECORD, "record_id": "s2", "source_id": "s2"}),
        ("quarantine", "all", {**bad, "source_id": "s2"}),
    ):
        lake.write_part(table, partition, pa.Table.from_pylist([row], schema=arrow_schema(table)), "0" * 32)
    publish(lake, NO_GATES)
    assert ask(lake, "SELECT record_id FROM serving_records") == [("s1",)]
    assert ask(lake, "SELECT source_id FROM quarantine") == [("s1",)]


def test_quarantine_is_shown_by_file_and_place(lake: Lake) -> None:
    bad = {"rule": "ttft_s_out_of_range", "reason": "ttft_s breaks ttft_s >= 0: -1"}
    rows = [
        {**bad, "source_id": "s1", "path": "b.jsonl", "line": 2, "position": 1, "table_name": "serving_records"},
        {**bad, "source_id": "s1", "path": "b.jsonl", "line": 10, "position": 0},
        {**bad, "source_id": "s2", "path": "a.jsonl", "line": 3, "position": 0},
    ]
    parts = [
        lake.write_part("quarantine", "all", pa.Table.from_pylist(some, schema=arrow_schema("quarantine")), inputs)
        for some, inputs in ((rows[:2], "0" * 32), (rows[2:], "1" * 32))
    ]
    lake.catalog["quarantine"].change(parts)
    publish(lake, NO_GATES)
    shown = "SELECT path, line, position, table_name, rule FROM quarantine ORDER BY path, line, position"
    assert ask(lake, shown) == [
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

    put(lake, "restatements", DAY, [restated(9, 2, 7), restated(9, 1, 5)])
    put(lake, "restatements", "2026-11-21", [restated(3, 1, 6)])
    assert publish(lake, NO_GATES).rows["restatements"] == 3
    assert ask(lake, "SELECT revision, accepted_before, accepted_after FROM restatements") == [
        (1, 1, 6),
        (1, 1, 5),
        (2, 1, 7),
    ]


def test_sources_add_up_what_became_of_their_rows(lake: Lake) -> None:
    # s1: 10 rows read; of 6 records 1 is a duplicate of another source's, 1 row was twice in the file itself.
    ignored = {"span_is_no_request": 1, "metric_not_read": 1}
    first = entry("s1", rows_read=10, rows_duplicate=1, rows_quarantined=1, ignored=ignored, first_event_ns=START_NS)
    refused = SourceEntry("s2", "", "", "bad.bin", "/landing", "otlp", "refused", "no OTLP", 5)
    source_ledger.change(lake, [first, refused, entry("s3", rows_read=2), entry("s4", rows_read=5)], ())
    hours = [
        {"source_id": "s1", "epoch_hour": 1, "records": 4, "duplicates": 0},
        {"source_id": "s1", "epoch_hour": 2, "records": 2, "duplicates": 1},
    ]
    put(lake, "source_rows", HOUR, hours[:1])
    put(lake, "source_rows", NEXT_HOUR, hours[1:])
    put(lake, "label_rows", HOUR, [{"source_id": "s3", "epoch_hour": 1, "records": 2, "duplicates": 0}])
    put(lake, "sample_rows", HOUR, [{"source_id": "s4", "epoch_hour": 1, "records": 3, "duplicates": 1}])
    put(lake, "record_rows", "all", [{"source_id": "s4", "records": 2, "duplicates": 0}])
    publish(lake, NO_GATES)
    found = ask(
        lake,
        "SELECT source_id, status, reason, rows_read, rows_kept, rows_duplicate, rows_quarantined, rows_ignored "
        "FROM sources ORDER BY source_id",
    )
    assert found == [
        ("s1", "read", None, 10, 5, 2, 1, 2),
        ("s2", "refused", "no OTLP", 0, 0, 0, 0, 0),
        ("s3", "read", None, 2, 2, 0, 0, 0),
        ("s4", "read", None, 5, 4, 1, 0, 0),
    ]
    assert ask(lake, "SELECT epoch_us(first_event_at) FROM sources WHERE source_id = 's1'") == [(START_NS // 1000,)]
    assert ask(lake, "SELECT ignored FROM sources WHERE source_id = 's1'") == [
        ('{"metric_not_read": 1, "span_is_no_request": 1}',)
    ]


def test_the_same_label_in_two_files_is_kept_in_one(lake: Lake) -> None:
    label = {"dialect": "d", "line": 1, "position": 0, "label_id": "l", "record_id": "l", "evaluator": "e"}
    rows = [{**label, "source_id": source, "labelled_ns": START_NS} for source in ("s1", "s2")]
    with connect() as connection:
        connection.register("label_records", pa.Table.from_pylist(rows, schema=arrow_schema("label_records")))
        compute(connection, "label_rows")
        put(lake, "label_rows", HOUR, connection.sql("FROM label_rows").to_arrow_table())
    source_ledger.change(lake, [entry("s1", rows_read=1), entry("s2", rows_read=1)], ())
    publish(lake, NO_GATES)
    found = ask(lake, "SELECT source_id, rows_kept, rows_duplicate FROM sources ORDER BY source_id")
    assert found == [("s1", 1, 0), ("s2", 0, 1)]


@pytest.mark.parametrize(
    ("gates", "more_bytes"),
    [
        pytest.param(0, -400_000, id="the old one is copied"),
        pytest.param(200_000, 1_000_000, id="tables are written"),
        pytest.param(1000, 100, id="the log becomes the database"),
    ],
)
def test_a_full_disk_keeps_the_old_database_and_leaves_nothing_torn(lake: Lake, gates: int, more_bytes: int) -> None:
    publish(lake, NO_GATES)
    names = pa.array([f"w{n * 7919}" for n in range(gates)], pa.string())
    bounds = pa.nulls(len(names), pa.float64())
    many = pa.table([bounds if name == "bound" else names for name in GATE_SCHEMA.names], schema=GATE_SCHEMA)
    put(lake, "goodput", HOUR, [window(accepted=1)])
    before = lake.database.read_bytes()
    folders = sorted(path.name for path in lake.root.iterdir())
    room_bytes = len(before) + more_bytes
    with largest_file(room_bytes), pytest.raises(LakeUnwritable, match=r"goodput\.duckdb: cannot write: "):
        publish(lake, many)
    assert lake.database.read_bytes() == before
    assert sorted(path.name for path in lake.root.iterdir()) == folders
    assert publish(lake, many).changed
    assert ask(lake, "SELECT count(*) FROM workloads") == [(gates,)]


@pytest.mark.parametrize("room_bytes", [50_000, 240_000], ids=["the log is written", "the log becomes the database"])
def test_a_disk_too_full_for_a_first_database_leaves_none(lake: Lake, room_bytes: int) -> None:
    with largest_file(room_bytes), pytest.raises(LakeUnwritable, match=r"goodput\.duckdb: cannot write: "):
        publish(lake, NO_GATES)
    assert sorted(path.name for path in lake.root.iterdir()) == ["lake.json", "notified"]


def test_a_build_that_fails_keeps_the_old_database(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(lake, NO_GATES)
    before = lake.database.read_bytes()

    def denied(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(database, "_update", denied)
    gates = pa.Table.from_pylist([{"workload": "qa"}], schema=GATE_SCHEMA)
    with pytest.raises(LakeUnwritable, match="Permission denied"):
        publish(lake, gates)
    assert lake.database.read_bytes() == before
    assert sorted(path.name for path in lake.root.iterdir()) == FILES


def test_what_a_killed_run_left_behind_does_no_harm(lake: Lake) -> None:
    (lake.root / ".goodput.duckdb.tmp").write_bytes(b"half a database")
    (lake.root / ".goodput.duckdb.tmp.wal").write_bytes(b"half a log")
    publish(lake, NO_GATES)
    assert ask(lake, "SELECT count(*) FROM goodput") == [(0,)]
    assert sorted(path.name for path in lake.root.iterdir()) == FILES


FOREIGN = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
for line in sys.stdin:
    connection.execute(line)
    print("done", flush=True)
"""


@pytest.fixture
def foreign(lake: Lake) -> Iterator[Callable[[str], None]]:
    """Another program that has the published database open to write, as clients do by default: it runs statements."""
    publish(lake, NO_GATES)
    command = [sys.executable, "-c", FOREIGN, str(lake.database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        sent, heard = process.stdin, process.stdout

        def does(statement: str) -> None:
            if statement == KILL:
                process.kill()
                process.wait()
            else:
                print(statement, file=sent, flush=True)
                assert heard.readline() == "done\n"

        yield does
        process.kill()


KILL = "kill"
VIEW, OTHER_VIEW = "create view mine as select 1", "create view more as select 1"
MORE_GATES = pa.Table.from_pylist([{"workload": "qa"}], schema=GATE_SCHEMA)


@pytest.mark.parametrize("gates", [NO_GATES, MORE_GATES], ids=["nothing new", "something new"])
def test_what_a_killed_program_wrote_beside_the_database_is_dropped(
    lake: Lake, foreign: Callable[[str], None], gates: pa.Table
) -> None:
    foreign(VIEW)
    foreign(KILL)
    assert ask(lake, "FROM mine") == [(1,)], "its log is of the database that it lies beside"
    publish(lake, gates)
    assert sorted(path.name for path in lake.root.iterdir()) == FILES
    assert ask(lake, "SELECT workload FROM workloads") == [(row["workload"],) for row in gates.to_pylist()]
    assert ask(lake, "SELECT * FROM duckdb_views() WHERE view_name = 'mine'") == []


@pytest.mark.parametrize("before", [VIEW, "from goodput"], ids=["it wrote", "it only read"])
@pytest.mark.parametrize("then", [[OTHER_VIEW], ["checkpoint"], ["checkpoint", OTHER_VIEW]], ids=" ".join)
def test_a_program_that_goes_on_writing_shuts_nobody_out_for_longer_than_a_run(
    lake: Lake, foreign: Callable[[str], None], before: str, then: list[str]
) -> None:
    """It writes to the database that it had open, and may leave the log of that one beside the new."""
    foreign(before)
    publish(lake, MORE_GATES)
    assert ask(lake, "SELECT workload FROM workloads") == [("qa",)]
    for statement in then:
        foreign(statement)
    publish(lake, MORE_GATES)
    assert ask(lake, "SELECT workload FROM workloads") == [("qa",)]
    foreign(KILL)
    assert not publish(lake, MORE_GATES).changed
    assert sorted(path.name for path in lake.root.iterdir()) == FILES
    assert ask(lake, "SELECT count(*) FROM duckdb_views() WHERE view_name IN ('mine', 'more')") == [(0,)]


@pytest.mark.parametrize("gates", [NO_GATES, MORE_GATES], ids=["nothing new", "something new"])
def test_rows_that_a_program_changed_in_the_database_are_published_anew(lake: Lake, gates: pa.Table) -> None:
    put(lake, "goodput", HOUR, [window(accepted=7)])
    publish(lake, NO_GATES)
    with duckdb.connect(str(lake.database)) as connection:  # closed, it has no log any more
        connection.execute("UPDATE stored.goodput SET accepted = 1000")
    assert ask(lake, "SELECT accepted FROM goodput") == [(1000,)]
    assert publish(lake, gates).changed
    assert ask(lake, "SELECT accepted FROM goodput") == [(7,)]
    assert not publish(lake, gates).changed


def test_no_moment_has_the_log_of_another_database_beside_the_new_one(
    lake: Lake, foreign: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader on either side of the rename, or after a kill there, opens what it finds."""
    foreign(VIEW)
    rename, seen = Path.replace, []

    def look(temporary: Path, target: Path) -> Path:
        if target != lake.database:
            return rename(temporary, target)
        foreign(KILL)  # until then its lock, not its log, keeps readers out
        seen.append(ask(lake, "SELECT count(*) FROM workloads"))
        renamed = rename(temporary, target)
        seen.append(ask(lake, "SELECT count(*) FROM workloads"))
        return renamed

    monkeypatch.setattr(Path, "replace", look)
    publish(lake, MORE_GATES)
    assert seen == [[(0,)], [(1,)]]


KILLED = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from goodput.plumbing import database
from goodput.plumbing.lake import Lake
from goodput.plumbing.parameters import PARAMETERS

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

step = sys.argv[2]
if step == "renamed":
    Path.replace = killed
else:
    setattr(database, step, killed)
gates = pa.Table.from_pylist([{"workload": "new"}], schema=PARAMETERS["workloads"].schema)
database.publish(Lake(Path(sys.argv[1])), gates)
"""


@pytest.mark.parametrize("step", ["_update", "_remember", "_write_out", "renamed"])
def test_a_publish_that_is_killed_leaves_the_old_database(lake: Lake, step: str) -> None:
    put(lake, "goodput", HOUR, [window(accepted=1)])
    publish(lake, NO_GATES)
    put(lake, "goodput", HOUR, [window(accepted=2)])
    before = lake.database.read_bytes()
    environment = {**os.environ, "PYTHONPATH": str(Path(database.__file__).parents[2])}
    command = [sys.executable, "-c", KILLED, str(lake.root), step]
    assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    assert lake.database.read_bytes() == before
    assert ask(lake, "SELECT accepted FROM goodput") == [(1,)]
    assert publish(lake, NO_GATES).changed
    assert ask(lake, "SELECT accepted FROM goodput") == [(2,)]
    assert ask(lake, "SELECT workload FROM workloads") == []
    assert not list(lake.root.glob(".goodput.duckdb*"))


def test_paths_with_quotes_and_spaces_are_no_danger(tmp_path: Path) -> None:
    lake = Lake(tmp_path / 'it\'s a "lake"; --[1]*/env=prod')
    lake.open()
    put(lake, "serving_records", HOUR, [{**RECORD, "source_id": "s'1"}])
    put(lake, "goodput", HOUR, [window(accepted=3)])
    publish(lake, NO_GATES)
    assert ask(lake, "SELECT record_id, source_id FROM serving_records") == [("r1", "s'1")]
    assert ask(lake, "SELECT accepted FROM goodput") == [(3,)]


@pytest.mark.parametrize("partition", [HOUR, DAY])
def test_what_the_folders_of_parts_are_called_is_no_column(lake: Lake, partition: str) -> None:
    restated = window(revision=1, restated_at=datetime(2026, 11, 21, tzinfo=UTC))
    del restated["accepted"]
    put(lake, "restatements", partition, [restated])
    put(lake, "requests", HOUR, [{"request_key": "r"}])
    assert publish(lake, NO_GATES).rows["restatements"] == 1
    for relation in ("restatements", "requests"):
        columns = [name for (name, *_) in ask(lake, f"DESCRIBE {relation}")]
        assert columns == arrow_schema(relation).names


def identity(path: Path) -> tuple[int, int]:
    """What a rename and a write change of a file."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def test_with_nothing_new_the_database_is_left_alone(lake: Lake) -> None:
    put(lake, "goodput", HOUR, [window(accepted=1)])
    put(lake, "requests", HOUR, [{"request_key": "r"}])
    gates = pa.Table.from_pylist([{"workload": "qa", "gate": "ttft", "bound": 1.0}], schema=GATE_SCHEMA)
    first = publish(lake, gates)
    before = identity(lake.database)
    again = publish(Lake(lake.root), gates)
    assert identity(lake.database) == before
    assert (first.changed, again.changed) == (True, False)
    assert again.rows == first.rows
    put(lake, "goodput", HOUR, [window(accepted=1)], inputs="f" * 32)  # made from something else, to the same rows
    assert not publish(lake, gates).changed
    assert identity(lake.database) == before


def test_the_same_rows_of_other_inputs_are_compared_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    put(lake, "goodput", HOUR, [window(accepted=1)])
    publish(lake, NO_GATES)
    put(lake, "goodput", HOUR, [window(accepted=1)], inputs="f" * 32)
    assert not publish(lake, NO_GATES).changed
    compared: list[Lake] = []
    monkeypatch.setattr(database, "published_digests", lambda lake: compared.append(lake) or {})
    assert not publish(Lake(lake.root), NO_GATES).changed
    assert not compared
    put(lake, "goodput", HOUR, [window(accepted=2)], inputs="e" * 32)
    assert publish(lake, NO_GATES).changed
    assert compared


def test_no_parts_are_listed_of_tables_that_have_not_changed_since(lake: Lake) -> None:
    put(lake, "goodput", HOUR, [window(accepted=1)])
    put(lake, "requests", HOUR, [{"request_key": "r"}])
    publish(lake, NO_GATES)
    put(lake, "goodput", HOUR, [window(accepted=2)])
    found = Lake(lake.root)
    assert publish(found, NO_GATES).changed
    assert {name for name in stored_tables() if "parts" in vars(found.catalog[name])} == {"goodput"}
    assert ask(lake, "SELECT accepted FROM goodput") == [(2,)]
    assert ask(lake, "SELECT request_key FROM requests") == [("r",)]


def test_views_open_the_parts_of_some_hours_alone_where_a_reader_asks_for_these(lake: Lake) -> None:
    for hour in ("09", "10", "11"):
        put(lake, "requests", f"2026-11-20T{hour}", [{"request_key": f"at {hour}"}])
    publish(lake, NO_GATES)
    with duckdb.connect(str(lake.database), read_only=True) as connection:
        every = connection.sql("SELECT request_key FROM requests ORDER BY 1").fetchall()
        connection.execute("SET VARIABLE goodput_hours = ['2026-11-20T11']")
        some = connection.sql("SELECT request_key FROM requests ORDER BY 1").fetchall()
    assert every == [("at 09",), ("at 10",), ("at 11",)]
    assert some == [("at 09",), ("at 11",)]  # a view cannot be without a file, so the first is always there


def test_only_partitions_that_changed_are_written(lake: Lake) -> None:
    for hour in (9, 10, 11):
        put(lake, "goodput", f"2026-11-20T{hour:02}", [window(hour, accepted=hour)])
    publish(lake, NO_GATES)
    before = identity(lake.database)
    put(lake, "goodput", NEXT_HOUR, [window(10, accepted=100)])
    for path in lake.catalog["goodput"].files([HOUR, "2026-11-20T11"]):
        Path(path).unlink()  # who does not read them does not miss them
    published = publish(lake, NO_GATES)
    assert (published.changed, published.rows["goodput"]) == (True, 3)
    assert identity(lake.database) != before
    assert sorted(ask(lake, "SELECT window_start, accepted FROM goodput")) == [
        (datetime(2026, 11, 20, hour, tzinfo=UTC), count) for hour, count in ((9, 9), (10, 100), (11, 11))
    ]


def test_partitions_that_are_gone_are_published_no_longer(lake: Lake) -> None:
    for hour in (9, 10):
        put(lake, "goodput", f"2026-11-20T{hour:02}", [window(hour, accepted=hour)])
    put(lake, "requests", HOUR, [{"request_key": "r"}])
    publish(lake, NO_GATES)
    lake.catalog["goodput"].replace({HOUR: ()})
    lake.catalog["requests"].replace({HOUR: ()})
    assert publish(lake, NO_GATES).rows["goodput"] == 1
    assert ask(lake, "SELECT accepted FROM goodput") == [(10,)]
    assert ask(lake, "SELECT count(*) FROM requests") == [(0,)]
    assert not publish(lake, NO_GATES).changed
    put(lake, "goodput", HOUR, [window(9, accepted=9)])  # and comes again as it was
    publish(lake, NO_GATES)
    assert sorted(ask(lake, "SELECT accepted FROM goodput")) == [(9,), (10,)]


def test_a_database_brought_up_to_date_says_what_a_new_one_says(lake: Lake, tmp_path: Path) -> None:
    steps: Sequence[tuple[str, str, list[dict[str, Any]]]] = [
        ("goodput", HOUR, [window(accepted=1)]),
        ("requests", HOUR, [{"request_key": "a", "session_id": "s"}, {"request_key": "b"}]),
        ("waste", HOUR, [window(bucket="accepted", usd=2.5)]),
        ("cost_ledger", HOUR, [{"request_key": "a", "usd": 2.5}]),
        ("goodput", DAY, [window(0, accepted=4, window_s=86400)]),
        ("requests", NEXT_HOUR, [{"request_key": "c"}]),
        ("quality_labels", HOUR, [{"label_id": "l"}]),
        ("session_labels", "all", [{"label_id": "m"}]),
        ("goodput", HOUR, [window(accepted=2), window(accepted=3, window_s=300)]),
        ("cost_ledger", HOUR, [{"request_key": "b", "usd": 1.5}]),
    ]
    anew = Lake(tmp_path / "anew")
    anew.open()
    for table, partition, rows in steps:
        columns = arrow_schema(table).names
        known = [{name: value for name, value in row.items() if name in columns} for row in rows]
        put(lake, table, partition, known)
        assert publish(lake, NO_GATES).changed
        put(anew, table, partition, known)
    publish(anew, NO_GATES)
    for relation in RELATIONS:
        everything = f"FROM {relation} ORDER BY ALL"
        assert ask(lake, everything) == ask(anew, everything), relation
    assert ask(lake, "SELECT request_key, cost_usd FROM requests ORDER BY ALL") == [
        ("a", None),
        ("b", 1.5),
        ("c", None),
    ]


def test_requests_cost_what_their_attempts_cost_once_any_of_it_is_known(lake: Lake) -> None:
    put(lake, "requests", HOUR, [{"request_key": key} for key in ("a", "b")])
    put(lake, "cost_ledger", HOUR, [{"request_key": "a", "usd": usd} for usd in (0.1, 0.2)])
    put(lake, "waste", HOUR, [window(bucket="accepted")])
    publish(lake, NO_GATES)
    costs = "SELECT request_key, cost_usd FROM requests ORDER BY ALL"
    assert ask(lake, costs) == [("a", None), ("b", None)]
    put(lake, "waste", HOUR, [window(bucket="accepted", usd=0.3)])
    publish(lake, NO_GATES)
    assert ask(lake, costs) == [("a", 0.3), ("b", None)]


def test_requests_that_are_asked_for_no_cost_read_no_ledger(lake: Lake) -> None:
    put(lake, "requests", HOUR, [{"request_key": key, "verdict": "slow"} for key in ("a", "b")])
    put(
        lake,
        "cost_ledger",
        HOUR,
        [{"request_key": key, "usd": usd} for key, usd in (("a", 0.1), (None, 9.0), ("b", None))],
    )
    put(lake, "waste", HOUR, [window(bucket="accepted", usd=0.3)])
    publish(lake, NO_GATES)
    assert ask(lake, "SELECT request_key, cost_usd FROM requests ORDER BY ALL") == [("a", 0.1), ("b", None)]
    for query in ("count(*) FROM requests", "verdict, count(*) FROM requests WHERE verdict = 'slow' GROUP BY ALL"):
        ((_, plan),) = ask(lake, f"EXPLAIN SELECT {query}")
        assert "JOIN" not in plan.upper()
    ((_, plan),) = ask(lake, "EXPLAIN SELECT sum(cost_usd) FROM requests")
    assert "JOIN" in plan.upper()


def test_a_change_of_a_contract_makes_the_database_anew(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    put(lake, "goodput", HOUR, [window(accepted=1)])
    publish(lake, NO_GATES)
    changed = {name: f"{text} once more" for name, text in database._WORKLOAD_COLUMNS.items()}
    monkeypatch.setattr(database, "DERIVED", database.DERIVED[1:])
    monkeypatch.setattr(database, "_WORKLOAD_COLUMNS", changed)
    assert publish(lake, NO_GATES).changed
    assert ask(lake, "SELECT accepted FROM goodput") == [(1,)]
    names = [name for (name,) in ask(lake, "SELECT view_name FROM duckdb_views() WHERE schema_name = 'main'")]
    assert "sources" not in names
    assert "sessions" in names


def test_a_damaged_database_is_made_anew(lake: Lake) -> None:
    put(lake, "goodput", HOUR, [window(accepted=1)])
    publish(lake, NO_GATES)
    lake.database.write_bytes(b"no database")
    assert publish(lake, NO_GATES).changed
    assert ask(lake, "SELECT accepted FROM goodput") == [(1,)]


def test_a_lake_that_was_moved_answers_where_it_is_now(lake: Lake, tmp_path: Path) -> None:
    put(lake, "requests", HOUR, [{"request_key": "r"}])
    put(lake, "goodput", HOUR, [window(accepted=1)])
    publish(lake, NO_GATES)
    here = tmp_path / "it's/elsewhere"
    here.parent.mkdir()
    lake.root.rename(here)
    with duckdb.connect(str(here / "goodput.duckdb"), read_only=True) as connection:
        assert connection.sql("SELECT accepted FROM goodput").fetchall() == [(1,)]
        with pytest.raises(duckdb.Error, match=r"lake/joined/requests/period=2026-11-20T09/"):
            connection.sql("FROM requests").fetchall()
        connection.execute("SET VARIABLE goodput_lake = $here", {"here": str(here)})
        assert connection.sql("SELECT request_key FROM requests").fetchall() == [("r",)]
        assert connection.sql("SELECT count(*) FROM deliveries").fetchall() == [(0,)]
        for relation in RELATIONS:
            connection.sql(f"FROM {relation}").fetchall()


def test_a_moved_lake_is_published_from_where_it_is(lake: Lake, tmp_path: Path) -> None:
    put(lake, "requests", HOUR, [{"request_key": "r"}])
    publish(lake, NO_GATES)
    moved = Lake(lake.root.rename(tmp_path / "elsewhere"))
    assert publish(moved, NO_GATES).changed
    assert ask(moved, "SELECT request_key FROM requests") == [("r",)]


def test_a_copied_database_answers_what_was_measured_alone(lake: Lake, tmp_path: Path) -> None:
    put(lake, "requests", HOUR, [{"request_key": "r", "session_id": "s"}])
    put(lake, "goodput", HOUR, [window(accepted=1)])
    source_ledger.change(lake, [entry("s1", rows_read=4)], ())
    publish(lake, NO_GATES)
    copy = tmp_path / "copy.duckdb"
    shutil.copyfile(lake.database, copy)
    shutil.rmtree(lake.root)
    with duckdb.connect(str(copy), read_only=True) as connection:
        for relation in (*MEASURED, "sources", "accepted_units", "binding_gate", "workloads"):
            connection.sql(f"FROM {relation}").fetchall()
        assert connection.sql("SELECT accepted FROM goodput").fetchall() == [(1,)]
        assert connection.sql("SELECT source_id, rows_read FROM sources").fetchall() == [("s1", 4)]
        with pytest.raises(duckdb.Error) as found:
            connection.sql("FROM requests").fetchall()
    assert "as a copied goodput.duckdb has only what was measured" in str(refused(found.value))
