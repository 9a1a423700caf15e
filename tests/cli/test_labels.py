"""`goodput labels plan`: what it refuses, prints and writes."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from cli.judged_plans import Group, database, fleet, gated

Run = Callable[..., Any]


def lake_of(folder: Path, *gates: dict[str, Any], labelled: float = 0.1) -> Path:
    """A lake with 1,200 requests of workload w000 that need a label; only w000 has requests."""
    made = fleet(1, 1, [Group(100, 0.9, "r", range(12))], labelled)
    folder.mkdir()
    with database(made.rows(), gates) as connection:
        connection.execute(f"ATTACH '{folder / 'goodput.duckdb'}' AS lake")
        for name in ("requests", "workloads", "quality_labels"):
            connection.execute(f"CREATE TABLE lake.{name} AS FROM memory.main.{name}")
    return folder


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return lake_of(tmp_path / "lake", gated("w000"), {"workload": "chat", "gate": "ttft", "bound": 1.0})


def test_without_a_file_nothing_is_written(goodput: Run, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    shown = goodput("labels", "plan", "--width", "0.05")
    assert shown.returncode == 0, shown.stderr
    assert sorted(tmp_path.rglob("*")) == before
    first, second, *_ = shown.stdout.splitlines()
    assert first.startswith("plan-")
    assert first.endswith("seed 0, what ended from 2026-11-20T00:00:00Z to 2026-11-21T00:00:00Z:")
    assert second.endswith(" to judge of 1200 that need a label, for a width of 0.05")
    assert "No keys were written: -o keys.csv writes them." in shown.stdout
    assert (
        'the others are a sample only if requests were drawn at random, as sampling = "random" states' in shown.stdout
    )
    assert "within 14 days of the request's end" in shown.stdout


def test_the_plan_and_its_keys_are_written_for_machines(goodput: Run, tmp_path: Path) -> None:
    asked = ("labels", "plan", "--width", "0.05", "--workload", "w000")
    shown = goodput(*asked, "--format", "json", "-o", str(tmp_path / "keys.csv"))
    assert shown.returncode == 0, shown.stderr
    (total,) = (row for row in json.loads(shown.stdout) if row["route"] is None)
    with (tmp_path / "keys.csv").open() as file:
        keys = list(csv.DictReader(file))
    assert len(keys) == total["to_draw"] > 0
    assert [*keys[0]] == ["plan_id", "request_key", "workload", "route", "part_start", "session_id", "weight"]
    goodput(*asked, "-o", str(tmp_path / "keys.parquet"))
    drawn = duckdb.sql(f"FROM read_parquet('{tmp_path / 'keys.parquet'}')").to_arrow_table()
    assert drawn["request_key"].to_pylist() == [row["request_key"] for row in keys]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (("--width", "0"), "--width 0: the width of a ratio's interval lies between 0 and 1"),
        (("--width", "2"), "--width 2: "),
        (("--width", "nan"), "--width NaN: "),
        (
            ("--width", "0.1", "--workload", "w00"),
            "workload w00: there is none with a quality gate. Right would be: w000.",
        ),
        (
            ("--width", "0.1", "--workload", "chat"),
            "workload chat has no quality gate: [workloads.chat.quality] sets one.",
        ),
        (
            ("--width", "0.1", "--since", "2026-11-22"),
            "is not after --since 2026-11-22T00:00:00Z: nothing lies between.",
        ),
        (("--width", "0.1", "--until", "2026-11-19"), "no request ended that needs a label."),
        (("--width", "0.1", "-o", "keys.txt"), "-o keys.txt: keys are written as .csv, .json or .parquet."),
    ],
)
def test_what_cannot_be_planned_is_refused(goodput: Run, tmp_path: Path, given: tuple[str, ...], reason: str) -> None:
    ended = goodput("labels", "plan", *given)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert reason in ended.stderr
    assert not (tmp_path / "keys.txt").exists()


def test_without_a_quality_gate_there_is_nothing_to_plan(goodput: Run, tmp_path: Path) -> None:
    other = lake_of(tmp_path / "other", {"workload": "w000", "gate": "ttft", "bound": 1.0})
    ended = goodput("labels", "plan", "--width", "0.1", "--lake", str(other), ask=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("No workload has a quality gate")


def test_the_database_of_an_older_version_is_named_as_such(goodput: Run, lake: Path) -> None:
    with duckdb.connect(lake / "goodput.duckdb") as connection:
        connection.execute("ALTER TABLE quality_labels DROP COLUMN plan_id")
    ended = goodput("labels", "plan", "--width", "0.1")
    assert ended.returncode == 2
    assert "published by an older version of Goodput: `goodput run` publishes it anew" in ended.stderr


def test_narrow_intervals_need_no_label(goodput: Run) -> None:
    shown = goodput("labels", "plan", "--width", "0.9").stdout
    assert "\n0 to judge of 1200 that need a label" in shown
    assert "Nothing is to be judged: the intervals are as narrow as that." in shown
