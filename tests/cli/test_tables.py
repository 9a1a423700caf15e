"""`goodput tables`: what can be asked, in the database's own words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from goodput.ask.relations import unit_and_meaning
from goodput.cli.tables import tables
from goodput.plumbing.database import publish
from goodput.plumbing.lake import Lake
from goodput.plumbing.parameters import PARAMETERS

Run = Callable[..., Any]


def test_relations_are_listed_with_kind_rows_and_meaning(goodput: Run) -> None:
    lines = [line.split(maxsplit=3) for line in goodput("tables").stdout.splitlines()[2:]]
    assert [(name, kind, count) for name, kind, count, _ in lines] == [
        ("attempts", "view", "-"),
        ("cost_ledger", "view", "-"),
        ("goodput", "table", "2"),
        ("ops_events", "table", "0"),
        ("pruned", "table", "0"),
        ("quality_labels", "view", "-"),
        ("quarantine", "table", "1"),
        ("requests", "view", "-"),
        ("restatements", "table", "0"),
        ("serving_records", "view", "-"),
        ("sources", "table", "6"),
        ("workloads", "table", "7"),
    ]
    assert lines[0][3].startswith("One try at one replica.")


def test_lines_that_nobody_folds_end_where_their_text_ends(goodput: Run) -> None:
    lines = goodput("tables").stdout.splitlines()
    assert max(map(len, lines)) > 80
    assert not [line for line in lines if line != line.rstrip()]


def test_columns_of_a_relation_have_type_unit_and_meaning(goodput: Run) -> None:
    lines = [line.rstrip() for line in goodput("tables", "Requests").stdout.splitlines()]
    assert lines[0].startswith("What the user asked once")
    listed = {line.split()[0]: line for line in lines[4:]}
    assert listed["ttft_s"].split(maxsplit=3) == [
        "ttft_s",
        "DOUBLE",
        "s",
        "First token delivered less arrival of the first attempt",
    ]
    assert listed["arrived_at"].split()[1:3] == ["TIMESTAMPTZ", "UTC"]
    assert listed["verdict"].split()[1:3] == ["VARCHAR", "-"]


def test_functions_are_listed_with_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(Lake(tmp_path), PARAMETERS["workloads"].schema.empty_table())
    tables(None, lake=tmp_path)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("replicas_for ")]
    assert line.split(maxsplit=3)[:3] == ["replicas_for", "function", "-"]
    assert "Replicas that each pool and route needs" in line
    tables("replicas_for", lake=tmp_path)
    listed = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert ["recommended_replicas", "BIGINT"] in listed


def test_an_unknown_relation_is_answered_with_near_names(goodput: Run) -> None:
    failed = goodput("tables", "request")
    assert failed.returncode == 2
    assert failed.stderr.splitlines() == [
        "no table or view is called 'request'.",
        "Did you mean requests?",
        "`goodput tables` lists them all.",
    ]


def test_a_comment_is_taken_apart() -> None:
    assert unit_and_meaning("Waiting [in a queue] [s]") == ("s", "Waiting [in a queue]")
    assert unit_and_meaning("A word") == (None, "A word")
    assert unit_and_meaning(None) == (None, None)


@pytest.fixture
def moved_lake(tmp_path: Path) -> Path:
    """A lake moved to another folder: `requests` over Parquet, `goodput` over a table of schema `stored`."""
    first, moved = tmp_path / "first", tmp_path / "moved"
    first.mkdir()
    with duckdb.connect(first / "goodput.duckdb") as connection:
        connection.execute(f"COPY (SELECT 'r' AS request_key) TO '{first}/requests.parquet'")
        path = f"coalesce(getvariable('goodput_lake'), '{first}') || '/requests.parquet'"
        connection.execute(f"CREATE VIEW requests AS FROM read_parquet({path})")
        connection.execute("CREATE SCHEMA stored")
        connection.execute("CREATE TABLE stored.goodput AS SELECT range AS accepted FROM range(3)")
        connection.execute("CREATE TABLE stored.internal AS SELECT 1 AS hidden")
        connection.execute("CREATE VIEW goodput AS SELECT accepted FROM stored.goodput WHERE accepted > 0")
        connection.execute("COMMENT ON COLUMN goodput.accepted IS 'Accepted requests'")
    first.rename(moved)
    return moved


def test_only_what_is_published_is_listed_with_rows_where_they_are_inside(goodput: Run, moved_lake: Path) -> None:
    lines = goodput("tables", "--lake", str(moved_lake), ask=False).stdout.splitlines()[2:]
    assert [line.split()[:3] for line in lines] == [["goodput", "table", "2"], ["requests", "view", "-"]]
    described = goodput("tables", "goodput", "--lake", str(moved_lake), ask=False).stdout.splitlines()[2:]
    assert [line.split(maxsplit=3) for line in described] == [["accepted", "BIGINT", "-", "Accepted requests"]]
    assert goodput("tables", "internal", "--lake", str(moved_lake), ask=False).returncode == 2


def test_a_moved_lake_answers(goodput: Run, moved_lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(moved_lake.parent)
    for lake in (str(moved_lake), "moved"):
        answer = goodput("query", "from requests", "--lake", lake, "--format", "csv", ask=False)
        assert answer.stdout == "request_key\nr\n"
