"""What SQL of a model cannot do: write, read files, last, or fill a context. How it is told to mend itself."""

import dataclasses
import json
import resource
import time
from pathlib import Path

import pytest
from mcp_types import CallToolResult

from goodput.mcp_server.apart import MEMORY_BYTES, STARTS_S
from mcp_lake import LIMITS, Ask, asker

ENDLESS = "select count(*) from range(100000000000) as a, range(10) as b where a.range % 7 = b.range"


def limited(config: Path, **limits: float) -> Ask:
    return asker(config, dataclasses.replace(LIMITS, **limits))


def text(answered: CallToolResult) -> str:
    return answered.content[0].text  # type: ignore[union-attr]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("copy (select 1) to '{lake}/joined/x.csv'", "COPY"),
        ("copy goodput to '/tmp/goodput-x.csv'", "COPY"),
        ("attach '{lake}/other.duckdb'", "ATTACH"),
        ("create table t as select 1", "CREATE"),
        ("create temp view t as select 1", "CREATE"),
        ("insert into stored.goodput select * from stored.goodput", "INSERT"),
        ("drop table stored.goodput", "DROP"),
        ("set variable goodput_lake = '/etc'", "VARIABLE_SET"),
        ("set lock_configuration = false", "SET"),
        ("pragma database_list", "PRAGMA"),
        ("call enable_logging()", "CALL"),
        ("install httpfs", "LOAD"),
        ("export database '{lake}/out'", "EXPORT"),
        ("explain analyze copy (select 1) to '{lake}/joined/x.csv'", "EXPLAIN"),
        ("checkpoint", "CALL"),
        ("use stored", "SET"),
    ],
)
def test_what_is_no_question_is_refused_and_changes_nothing(config: Path, ask: Ask, sql: str, kind: str) -> None:
    lake = config.parent / "lake"
    before = contents(lake)
    failed = ask("query", sql=sql.format(lake=lake))
    assert failed.is_error
    assert "is refused. One SELECT" in text(failed), (kind, text(failed))
    assert contents(lake) == before


@pytest.mark.parametrize(
    "sql",
    [
        "from read_csv('/etc/passwd')",
        "from read_text('/etc/passwd')",
        "from '/etc/passwd'",
        "from '{lake}/lake.json'",
        "from read_text('{lake}/lake.json')",
        "from read_text('{lake}/joined/../lake.json')",
        "from glob('/etc/*')",
        "from glob('{lake}/*')",
        "from read_parquet('http://127.0.0.1/x.parquet')",
        "from query('from read_text(''/etc/passwd'')')",
        "from enable_logging(storage = 'file', storage_path = '{lake}/joined/logs')",
        "select content from read_text('/proc/self/environ')",
    ],
)
def test_no_file_is_read_and_nothing_is_unlocked(config: Path, ask: Ask, sql: str) -> None:
    lake = config.parent / "lake"
    failed = ask("query", sql=sql.format(lake=lake))
    assert failed.is_error
    assert "configuration" in text(failed) or "does not exist" in text(failed)
    assert "root:" not in text(failed)
    assert not (lake / "joined/logs").exists()


def test_views_over_the_lakes_parts_are_answered_all_the_same(ask: Ask) -> None:
    for relation in ("requests", "attempts", "serving_records", "deliveries"):
        assert not ask("query", sql=f"select count(*) from {relation}").is_error, relation


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("", "There is no SQL in this question. One SELECT"),
        ("-- nothing", "There is no SQL in this question. One SELECT"),
        ("select 1; select 2", "These are 2 statements. One SELECT"),
        ("selec 1", 'syntax error at or near "selec"'),
        ("select 1 as at group", "syntax error"),
        ("from request", "Did you mean requests?"),
        ("select offred from goodput", "Did you mean offered"),
        ("select g.offred from goodput as g", "Did you mean offered"),
        ("select window_start, sum(offered) from goodput", "must appear in the GROUP BY clause"),
        ("select cast('a' as int)", "Could not convert"),
        ("select 1 / 'x'", "Could not convert"),
    ],
)
def test_sql_that_fails_is_told_how_to_be_right(ask: Ask, sql: str, expected: str) -> None:
    failed = ask("query", sql=sql)
    assert failed.is_error
    assert expected in text(failed)
    assert "Tool `tables` lists the relations" in text(failed)


def test_a_missing_column_is_answered_with_every_column_of_what_is_read(ask: Ask) -> None:
    columns = {row["column"] for row in json.loads(text(ask("tables", relation="waste")))["columns"]}
    failed = text(ask("query", sql='select dollars from "waste" join goodput using (window_start)'))
    (line,) = [line for line in failed.splitlines() if line.startswith("Columns of waste: ")]
    assert set(line.removeprefix("Columns of waste: ").rstrip(".").split(", ")) == columns
    assert "Columns of goodput: " in failed
    assert "Columns of requests: " not in failed


def test_a_question_that_lasts_is_stopped_and_the_next_one_answered(config: Path) -> None:
    ask = limited(config, seconds=1.0)
    begun = time.monotonic()
    failed = ask("query", sql=ENDLESS)
    assert time.monotonic() - begun < 10
    assert failed.is_error
    assert "stopped after 1 s" in text(failed)
    assert json.loads(text(ask("query", sql="select 1 as n")))["rows"] == [[1]]


def peak_bytes(whose: int) -> int:
    return resource.getrusage(whose).ru_maxrss * 1024


@pytest.mark.parametrize(
    "sql", ["select repeat('x', 1000000000)", "select list(r) from range(60000000) t(r)", "from range(40000000)"]
)
def test_no_question_takes_more_than_its_time_and_memory(config: Path, sql: str) -> None:
    ask = limited(config, seconds=3.0)
    here, of_children = peak_bytes(resource.RUSAGE_SELF), peak_bytes(resource.RUSAGE_CHILDREN)  # of other tests
    begun = time.monotonic()
    answered = text(ask("query", sql=sql))
    assert time.monotonic() - begun < 3 + STARTS_S + 5
    assert any(said in answered for said in ("stopped", "Out of Memory", "are left out", "only the first"))
    assert peak_bytes(resource.RUSAGE_CHILDREN) < max(of_children + 1, MEMORY_BYTES + 500 * 2**20)
    assert peak_bytes(resource.RUSAGE_SELF) - here < 300 * 2**20, "nothing of it is in the server"


def test_more_rows_than_allowed_are_cut_and_it_is_said(config: Path) -> None:
    ask = limited(config, rows=3)
    cut = json.loads(text(ask("query", sql="from range(4)")))
    assert cut["rows"] == [[0], [1], [2]]
    assert "only the first 3 rows are here" in cut["cut"]
    assert json.loads(text(ask("query", sql="from range(3)")))["cut"] is None


@pytest.mark.parametrize("size", [1000, 5000, 50_000])
def test_a_long_answer_is_cut_to_its_bytes_and_it_is_said(config: Path, size: int) -> None:
    answered = text(limited(config, bytes=size)("query", sql="select range, repeat('é', 200) from range(200)"))
    assert size / 2 < len(answered.encode()) <= size
    cut = json.loads(answered)
    left = 200 - len(cut["rows"])
    assert [row[0] for row in cut["rows"]] == list(range(200 - left))
    assert cut["cut"] == (f"Too long: {left} of 200 rows are left out." if left else None)


def test_both_cuts_are_said(config: Path) -> None:
    answered = text(limited(config, rows=10, bytes=1000)("query", sql="select repeat('x', 200) from range(11)"))
    assert "only the first 10 rows" in json.loads(answered)["cut"]
    assert "of 10 rows are left out" in json.loads(answered)["cut"]


def test_one_value_that_is_too_long_is_said(config: Path) -> None:
    cut = json.loads(text(limited(config, bytes=2000)("query", sql="select repeat('x', 1000000)")))
    assert (cut["rows"], cut["cut"]) == ([], "Too long: 1 of 1 rows are left out.")


def test_what_cannot_be_cut_is_an_error(config: Path) -> None:
    failed = limited(config, bytes=1000)("explain", key="slow")
    assert failed.is_error
    assert "and may have 1,000" in text(failed)


def test_values_that_json_lacks(ask: Ask) -> None:
    sql = """select 'nan'::double, 'inf'::double, 0.10::decimal(5, 2), null, [1.5, null],
        timestamptz '2026-11-20 09:00Z', date '2026-11-20', {'k': 'v'}, 2::hugeint ** 70"""
    (row,) = json.loads(text(ask("query", sql=sql)))["rows"]
    assert row[:8] == [None, None, 0.1, None, [1.5, None], "2026-11-20T09:00:00Z", "2026-11-20", {"k": "v"}]
