"""`goodput sources`: every row of every file accounted for, and what is wrong with which."""

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from goodput.contracts import arrow_schema, contract
from goodput.steps import ingest_sources, publish_database
from published import run_at

Run = Callable[..., Any]


def test_the_ledger_adds_up_and_says_where_it_does_not(goodput: Run) -> None:
    lines = [line.rstrip() for line in goodput("sources").stdout.splitlines()]
    # 12 = 11 + 0 + 1 + 0, 40 = 36 + 2 + 0 + 2; 5 is not 3 + 1. Totals: 12+5+5+0+3+40 = 65 and so on.
    assert lines == [
        "file              reader  read  kept  duplicate  quarantined  ignored  R         remarks",
        "─" * 116,
        "bench.csv         bench     12    11          0            1        0  ok",
        "labels.jsonl      judge      5     5          0            0        0  ok",
        "lost.jsonl        otlp       5     3          1            0        0  BROKEN",
        "notes.zst         otlp       0     0          0            0        0  ok        "
        "refused: unpacks to more than 1 GiB",
        "spans-copy.jsonl  otlp       3     1          2            0        0  ok        unfinished tail of 12 bytes",
        "spans.jsonl       otlp      40    36          2            0        2  ok        not_a_request: 2",
        "",
        "6 files                     65    56          5            1        2  1 BROKEN",
    ]


def test_problems_are_the_files_with_one_and_the_quarantined_rows(goodput: Run) -> None:
    lines = [line.rstrip() for line in goodput("sources", "--problems").stdout.splitlines()]
    files = [line.split()[0] for line in lines[2:6]]
    assert files == ["bench.csv", "lost.jsonl", "notes.zst", "spans-copy.jsonl"]
    assert lines[-5:] == [
        "Quarantined rows: 1",
        "",
        "file:line    rule                 reason                           row as received",
        "─" * 91,
        "bench.csv:4  ttft_s_out_of_range  ttft_s breaks ttft_s >= 0: -0.5  1795165200,-0.5,\\x1b[31m",
    ]


def test_files_are_chosen_by_path_and_reader(goodput: Run) -> None:
    def listed(*given: str) -> list[str]:
        return [line.split()[0] for line in goodput("sources", *given).stdout.splitlines()[2:] if " " in line][:-1]

    assert listed("--match", "*.jsonl") == ["labels.jsonl", "lost.jsonl", "spans-copy.jsonl", "spans.jsonl"]
    assert listed("--match", "spans*", "--reader", "otlp") == ["spans-copy.jsonl", "spans.jsonl"]
    assert listed("--reader", "otlp", "--problems")[:3] == ["lost.jsonl", "notes.zst", "spans-copy.jsonl"]
    assert json.loads(goodput("sources", "--match", "b*", "--format", "json").stdout)[0]["path"] == "bench.csv"
    assert goodput("sources", "--reader", "oltp").stdout.splitlines() == [
        "No source file matches. Readers are: bench, judge, otlp."
    ]


def test_readers_have_the_sums_of_their_files(goodput: Run) -> None:
    lines = [line.split() for line in goodput("sources", "--by", "reader").stdout.splitlines()]
    assert lines[0] == ["reader", *["files", "read", "kept", "duplicate", "quarantined", "ignored", "R", "refused"]]
    assert lines[2] == ["bench", *["1", "12", "11", "0", "1", "0", "ok", "0"]]
    assert lines[4] == ["otlp", *["4", "48", "40", "5", "0", "2", "1", "BROKEN", "1"]]  # 5 + 0 + 3 + 40, 3 + 0 + 1 + 36
    assert lines[6] == ["all", *["6", "65", "56", "5", "1", "2", "1", "BROKEN", "1"]]


def test_folders_too(goodput: Run) -> None:
    assert goodput("sources", "--by", "folder").stdout.splitlines()[2].split()[:3] == [".", "6", "65"]


def test_problems_exit_with_1_where_a_file_failed(goodput: Run, tmp_path: Path) -> None:
    assert goodput("sources").returncode == 0
    ended = goodput("sources", "--problems")
    assert ended.returncode == 1
    named = [line.strip() for line in ended.stderr.splitlines()[1:4]]
    assert named == [
        "bench.csv: 1 of 12 rows in quarantine",
        "lost.jsonl: its rows are not accounted for",
        "notes.zst: refused, unpacks to more than 1 GiB",
    ]
    (tmp_path / "goodput.toml").write_text("[limits]\nquarantined_ratio = 0.1\n")
    assert "bench.csv" not in goodput("sources", "--problems").stderr


def test_a_run_with_a_refused_file_publishes_and_exits_with_1(goodput: Run, tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    landing.mkdir()
    (landing / "a.csv").write_text("at\n1795165200\n")
    columns = '[sources.log]\nformat = "csv"\npath = "*.csv"\n[sources.log.columns]\n'
    at = 'started_at = { column = "at", unit = "epoch_s" }\n'
    (tmp_path / "goodput.toml").write_text(f"{columns}{at}")
    assert goodput("run", ask=False).returncode == 0
    (tmp_path / "goodput.toml").write_text(f'{columns}{at}input_tokens = "prompt_tokenz"\n')
    ended = goodput("run", ask=False)
    assert ended.returncode == 1
    assert "a.csv: refused, column 'prompt_tokenz' is not in it" in ended.stderr
    assert json.loads(goodput("query", "select count(*) as n from requests", "--format", "json", ask=False).stdout) == [
        {"n": 1}
    ]


def test_what_is_ingested_and_not_computed_yet_is_pending(goodput: Run, tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    landing.mkdir()
    (landing / "a.csv").write_text("at\n1795165200\n1795168800\n")  # two hours
    columns = '[sources.log]\nformat = "csv"\npath = "*.csv"\n[sources.log.columns]\n'
    at = 'started_at = { column = "at", unit = "epoch_s" }\n'
    (tmp_path / "goodput.toml").write_text(f"{columns}{at}")
    workspace = run_at(tmp_path / "goodput.toml")
    (landing / "b.csv").write_text("at\n1795165201\nnever\n1795165202\n1795172400\n")
    with workspace.lake.lock():  # as the job of Dagster does that has no hours
        ingest_sources(workspace)
        publish_database(workspace)
    ended = goodput("sources", ask=False)
    assert [line.split()[7] for line in ended.stdout.splitlines()[2:4]] == ["ok", "pending"]
    assert "BROKEN" not in ended.stdout
    run_at(tmp_path / "goodput.toml")
    ended = goodput("sources", ask=False)
    assert [line.split()[7] for line in ended.stdout.splitlines()[2:4]] == ["ok", "ok"]


def test_csv_and_json_hold_every_column_of_the_ledger(goodput: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(goodput("sources", "--format", "csv").stdout)))
    assert [row["identity_r"] for row in rows] == ["ok", "ok", "BROKEN", "ok", "ok", "ok"]
    assert rows[3]["reason"] == "unpacks to more than 1 GiB"
    assert rows[0]["ingested_at"] == "2026-11-20T10:00:00Z"
    problems = json.loads(goodput("sources", "--format", "json", "--problems").stdout)
    assert [row["path"] for row in problems] == ["bench.csv", "lost.jsonl", "notes.zst", "spans-copy.jsonl"]
    assert problems[0]["rows_quarantined"] == 1


def test_blocked_partitions_stand_below_the_ledger(goodput: Run, tmp_path: Path) -> None:
    lake = _lake_with_blocked(tmp_path, [("goodput", hour) for hour in ("2026-11-20T09", "2026-11-20T08")])
    for asked in (["sources"], ["sources", "--problems"]):
        lines = [line.rstrip() for line in goodput(*asked, "--lake", str(lake), ask=False).stdout.splitlines()]
        assert lines[1:] == [
            "Blocked partitions: 3",
            "",
            "table    partition      since                 reason",
            "─" * 77,
            "goodput  2026-11-20T08  2026-11-20T10:00:00Z  1 row breaks ttft_s >= 0",
            "goodput  2026-11-20T09  2026-11-20T10:00:00Z  1 row breaks ttft_s >= 0",
            "alarms   all            2026-11-20T10:00:00Z  waits for goodput 2026-11-20T08",
        ]


def test_a_broken_part_of_the_lake_hides_nothing_but_what_lies_in_it(goodput: Run, tmp_path: Path) -> None:
    """What is blocked by it stands below all the same."""
    lake = _lake_with_blocked(tmp_path, [("goodput", "2026-11-20T09")])
    part = tmp_path / "part.parquet"
    pq.write_table(pa.table({"evaluator": ["e"], "subject_kind": ["span"], "reason": ["none"]}), part)
    with duckdb.connect(lake / "goodput.duckdb") as connection:
        connection.execute(f"CREATE VIEW unjoined_labels AS FROM read_parquet('{part}')")
    part.write_bytes(part.read_bytes()[:20])
    said = goodput("sources", "--problems", "--lake", str(lake), ask=False)
    assert "Labels that judge no request: unknown, as Invalid Input Error:" in said.stdout.replace("\n", " ")
    assert "`goodput verify` looks at all parts." in said.stdout.replace("\n", " ")
    assert "Blocked partitions: 2" in said.stdout
    assert said.returncode == 1
    assert said.stderr.startswith("2 partition(s) blocked:")


def test_of_many_blocked_partitions_the_first_are_shown(goodput: Run, tmp_path: Path) -> None:
    lake = _lake_with_blocked(tmp_path, [("waste", f"2026-11-20T{hour:02}") for hour in range(24)])
    lines = goodput("sources", "--lake", str(lake), ask=False).stdout.splitlines()
    assert lines[1] == 'Blocked partitions: 25, the first 20; goodput query "from blocked_partitions" lists all'
    assert [line.split()[1] for line in lines[5:]] == [f"2026-11-20T{hour:02}" for hour in range(20)]


def test_without_a_blocked_partition_none_is_mentioned(goodput: Run, tmp_path: Path) -> None:
    lake = _lake_with_blocked(tmp_path, [])
    with duckdb.connect(lake / "goodput.duckdb") as connection:
        connection.execute("DELETE FROM blocked_partitions")
    assert goodput("sources", "--lake", str(lake), ask=False).stdout == "No source file has been read.\n"


def test_what_is_not_used_is_listed_once(goodput: Run, tmp_path: Path) -> None:
    """An unknown metric by its name; labels that judge nothing with the problems, counted by reason."""
    lake = _lake_with_blocked(tmp_path, [])
    unknown = [{"metric": "novel_seconds", "readings": 12, "sources": 3}]
    label = {"subject_kind": "span", "evaluator": "judge", "reason": "several_requests"}
    unjoined = [{**label, "label_id": name} for name in "ab"]
    with duckdb.connect(lake / "goodput.duckdb") as connection:
        connection.execute("DELETE FROM blocked_partitions")
        for name, found in (("unknown_metrics", unknown), ("unjoined_labels", unjoined)):
            connection.register("given", pa.Table.from_pylist(found, schema=arrow_schema(name)))
            connection.execute(f'CREATE TABLE "{name}" AS FROM given')
    metrics = ["Metrics that no dialect knows:", "metric         readings  sources", "novel_seconds        12        3"]
    labels = ["Labels that judge no request:", "judge      span   several_requests       2"]
    for asked, expected in ((["sources"], metrics), (["sources", "--problems"], [*metrics, *labels])):
        lines = [line.rstrip() for line in goodput(*asked, "--lake", str(lake), ask=False).stdout.splitlines()]
        assert set(expected) <= set(lines)
        assert ("Labels that judge no request:" in lines) == ("--problems" in asked)


def _lake_with_blocked(root: Path, failed: list[tuple[str, str]]) -> Path:
    """A lake without sources in which these partitions failed, and the alarms wait for one of them."""
    since = datetime(2026, 11, 20, 10, tzinfo=UTC)
    blocked = [
        ("alarms", "all", "waits for goodput 2026-11-20T08", "goodput 2026-11-20T08", "", since),
        *((*named, "1 row breaks ttft_s >= 0", None, "7f3a", since) for named in failed),
    ]
    columns = [column.name for column in contract("blocked_partitions").columns]
    tables: dict[str, list[dict[str, object]]] = {
        "sources": [],
        "quarantine": [],
        "blocked_partitions": [dict(zip(columns, row, strict=True)) for row in blocked],
    }
    with duckdb.connect(root / "goodput.duckdb") as connection:
        for name, found in tables.items():
            connection.register("given", pa.Table.from_pylist(found, schema=arrow_schema(name)))
            connection.execute(f'CREATE TABLE "{name}" AS FROM given')
    return root
