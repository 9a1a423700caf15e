"""A lake of an older version of the same format, without columns that contracts have now: no hour of it is blocked."""

import json
import shutil
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import Schema
from polars.testing import assert_frame_equal

from goodput.conform.ingest import ingest
from goodput.contracts import arrow_schema, contract, stored_tables
from goodput.errors import LakeTooNew
from goodput.plumbing.catalog import PARTITION, Part, Table
from goodput.plumbing.lake import Lake
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from plumbing.test_plan import EVENING, MORNING, SETTINGS, judge, land
from published import ask, copied, run_at, table

COMPUTED = ("joined", "measured")
OTHERWISE_MADE = "0" * 32  # from what a part of an older version's computation was made
PUBLISHED = ("serving_records", "attempts", "requests", "goodput", "waste", "coverage", "quality_labels", "sources")
OF_RUNS = ("landing", "ingested_at", "computed_at")


def unused(home: Table) -> set[str]:
    """Columns of a table of which this lake has no value, as before there was such a column; of a computed one any."""
    agreed = contract(home.name)
    free = {one.name for one in agreed.columns if not one.required and one.name not in agreed.primary_key}
    if home.layer in COMPUTED:
        return {min(free)} if free else set()
    rows = [pq.ParquetFile(part.path).read() for parts in home.parts.values() for part in parts]
    return {name for name in free if all(part.column(name).null_count == part.num_rows for part in rows)}


def make_older(lake: Lake) -> set[str]:
    """Write a lake as a version would have that knows fewer columns and computes otherwise; the columns."""
    gone = set()
    for name in stored_tables():
        home = lake.catalog[name]
        if home.version >= 0 and (columns := unused(home)):
            write_without(lake, home, columns)
            gone |= {f"{name}.{column}" for column in columns}
    (lake.root / "plan.json").unlink()  # it remembers another version's SQL and contracts
    return gone


def write_without(lake: Lake, home: Table, columns: set[str]) -> None:
    kept: list[tuple[Part, pa.Table]] = [
        (part, pq.ParquetFile(part.path).read().drop_columns([*columns]))
        for parts in home.parts.values()
        for part in parts
    ]
    shutil.rmtree(home.root)
    (lake.root / "pinned.json").unlink(missing_ok=True)  # of the log that went
    lake.refresh()
    older = lake.catalog[home.name]
    fields = [field for field in arrow_schema(home.name) if field.name not in columns]
    older.__dict__["_schema"] = Schema.from_arrow(pa.schema([*fields, pa.field(PARTITION, pa.string())]))
    inputs = OTHERWISE_MADE if home.layer in COMPUTED else None
    older.change([lake.write_part(home.name, part.partition, rows, inputs or part.inputs) for part, rows in kept])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two hours of requests, one of them judged, with alarms."""
    folder = tmp_path_factory.mktemp("whole")
    land(folder, "first", *((f"{hour}/{n}", hour) for hour in (MORNING, EVENING) for n in (1, 2)))
    judge(folder, "first", EVENING, f"{MORNING}/1")
    config = folder / "goodput.toml"
    config.write_text(SETTINGS.replace("enabled = false", "enabled = true"))
    run_at(config)
    return config


@pytest.fixture
def project(whole: Path, tmp_path: Path) -> Path:
    """A copy of it to be changed."""
    return copied(whole, tmp_path / "now")


def test_hours_of_an_older_version_are_read_and_measured_again(project: Path, tmp_path: Path) -> None:
    """And rows that come later lie beside theirs, in parts that are merged."""
    before = tmp_path / "before"
    shutil.copytree(project.parent, before)
    gone = make_older(Lake(before / "lake"))
    assert gone >= {"serving_records.queue_s", "label_records.plan_id", "source_ledger.reason"}, sorted(gone)
    assert len({name.partition(".")[0] for name in gone}) > 20
    configs = project, before / project.name
    ran = run(Workspace(configs[1]))
    assert ran.ingested.unchanged == 2
    assert {part for outcome in ran.outcomes for part in outcome.computed} >= {MORNING, EVENING}
    for config in configs:
        at = Workspace(config)
        for n in range(9):
            land(config.parent, f"later-{n}", (f"{EVENING}/{n + 3}", EVENING))
            with at.lake.lock():
                ingest(at)  # a part for each
        run(Workspace(config))
    now, then = (Workspace(config) for config in configs)
    for name in PUBLISHED:
        found, expected = ({column: rows[column] for column in rows.columns if column not in OF_RUNS}
                           for rows in (table(then, name), table(now, name)))  # fmt: skip
        assert_frame_equal(pl.DataFrame(found), pl.DataFrame(expected))
    assert ask(then, "SELECT count(*) FROM blocked_partitions").item() == 0


def test_a_column_that_came_restates_nothing(project: Path) -> None:
    lake = Workspace(project).lake
    before = table(Workspace(project), "goodput")
    write_without(lake, lake.catalog["goodput"], {"retry_ratio", "p95_ttft_s"})
    (lake.root / "plan.json").unlink()
    assert_frame_equal(table(run_at(project), "goodput"), before)  # when it was computed, and the revision, as well
    assert ask(Workspace(project), "SELECT count(*) FROM restatements").item() == 0


def test_a_lake_with_columns_of_a_newer_version_is_refused(project: Path) -> None:
    marker = project.parent / "lake/lake.json"
    noted = json.loads(marker.read_text())
    noted["columns"]["serving_records"].append("from_the_future")
    marker.write_text(json.dumps(noted))
    with pytest.raises(LakeTooNew) as caught:
        run(Workspace(project))
    assert str(caught.value) == (
        f"{project.parent}/lake: this lake has columns that this version of Goodput does not know, such as "
        "serving_records.from_the_future.\n"
        "Upgrade Goodput, or name another lake with `lake` in goodput.toml or --lake."
    )


def test_a_table_of_a_newer_version_is_refused(project: Path) -> None:
    marker = project.parent / "lake/lake.json"
    noted = json.loads(marker.read_text())
    marker.write_text(json.dumps(noted | {"columns": noted["columns"] | {"new_records": ["id"]}}))
    with pytest.raises(LakeTooNew, match=r"new_records\.id"):
        run(Workspace(project))
