"""The plan: what is due, what a broken partition blocks, and where a recomputation stops.

Three hours of requests, hours apart, on one replica with a rate; requests live up to an hour, so that an hour of
records is joined into its own hour and into the next. Expectations follow from what each table reads
(docs/semantics.md#time-and-restatement).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import duckdb
import polars as pl
import pytest

from goodput.conform.ingest import ingest
from goodput.errors import PartitionsBlocked
from goodput.join.nodes import JOIN, JUDGED_HOURS
from goodput.measure.nodes import QUALITY, REPLICAS
from goodput.nodes import NODES
from goodput.plumbing import compute, graph, settled, shapes, sql_files
from goodput.plumbing.catalog import Part
from goodput.plumbing.hours import HOUR_FORMAT
from goodput.plumbing.node import Batch, Context
from goodput.plumbing.plan import due, execute
from goodput.plumbing.workspace import Workspace
from goodput.project_files import project_folder
from goodput.run import Ran, run
from published import RESTATED, ask, copied, table

DAY_S = 1_795_132_800  # 2026-11-20T00:00:00Z
MORNING, NOON, EVENING = "2026-11-20T04", "2026-11-20T12", "2026-11-20T20"
DAY = "2026-11-20"
SETTINGS = """
landing = ["landing"]
lake = "lake"
windows_s = [3600, 86400]
[alarms]
enabled = false
[workloads.chat]
ttft_s = 1.0
[workloads.chat.quality]
evaluators = ["judge"]
min_score = 0.5
[rates.only]
usd_per_gpu_hour = 3.6
[sources.rows]
format = "csv"
path = "requests-*.csv"
constants = { outcome = "ok", replica = "r", pool = "p", model = "m" }
[sources.rows.columns]
attempt_id = "id"
started_at = { column = "start", unit = "epoch_s" }
ended_at = { column = "end", unit = "epoch_s" }
ttft_s = { column = "ttft", unit = "s" }
output_tokens = "out"
[sources.labels]
format = "csv"
path = "labels-*.csv"
table = "quality_labels"
constants = { evaluator = "judge", score = 0.9 }
[sources.labels.columns]
request_key = "id"
labelled_at = { column = "at", unit = "epoch_s" }
"""
BY_HOUR = """
SELECT strftime(window_start, '%Y-%m-%dT%H'), offered FROM goodput
WHERE slice = 'overall' AND window_s = 3600 AND offered > 0 ORDER BY 1
"""
BLOCKED = "SELECT table_name, partition, reason, blocked_by FROM blocked_partitions ORDER BY ALL"


def land(folder: Path, name: str, *rows: tuple[str, str]) -> None:
    """A log of requests of ten seconds: id and hour."""
    lines = ["id,start,end,ttft,out"]
    for key, hour in rows:
        start_s = DAY_S + int(hour[-2:]) * 3600 + 600
        lines.append(f"{key},{start_s},{start_s + 10},0.5,50")
    (folder / "landing").mkdir(parents=True, exist_ok=True)
    (folder / "landing" / f"requests-{name}.csv").write_text("\n".join(lines) + "\n")


def judge(folder: Path, name: str, hour: str, *keys: str) -> None:
    """A file of good labels of requests, given in an hour."""
    at_s = DAY_S + int(hour[-2:]) * 3600
    (folder / "landing" / f"labels-{name}.csv").write_text(
        "\n".join(["id,at", *(f"{key},{at_s}" for key in keys)]) + "\n"
    )


def make(folder: Path) -> Path:
    """A settings file beside a landing zone with two requests in each of three hours."""
    land(folder, "first", *((f"{hour}/{n}", hour) for hour in (MORNING, NOON, EVENING) for n in (1, 2)))
    (folder / "goodput.toml").write_text(SETTINGS)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """The same after its first run, and what that did."""
    folder = make(tmp_path_factory.mktemp("first"))
    return folder, ran(folder)


@pytest.fixture
def made(first: tuple[Path, Ran], tmp_path: Path) -> Path:
    """A copy of it to be changed."""
    return copied(first[0] / "goodput.toml", tmp_path / "made").parent


class Sql:
    """A copy of sql/ in its place, to be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def change(self, name: str, change: Callable[[str], str]) -> None:
        """Change the text of a relation."""
        (path,) = self.folder.rglob(f"{name}.sql")
        path.write_text(change(path.read_text()))
        forget()

    def mend(self) -> None:
        """Put the project's own files back."""
        shutil.copytree(project_folder("sql"), self.folder, dirs_exist_ok=True)
        forget()


def forget() -> None:
    of_graph = (graph.relation, graph._macros, graph._is_scalar)
    for cached in (sql_files.sql_file, sql_files.sql_names, sql_files._paths, *of_graph, shapes.version):
        cached.cache_clear()


@pytest.fixture
def sql(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sql]:
    copied = Sql(tmp_path_factory.mktemp("project") / "sql")
    copied.mend()
    for module in (sql_files, settled):
        monkeypatch.setattr(module, "project_folder", lambda name: copied.folder if name == "sql" else _own(name))
    forget()
    yield copied
    forget()


def _own(name: str) -> Path:
    return project_folder(name)


def ran(project: Path) -> Ran:
    return run(Workspace(project / "goodput.toml"))


def computed(done: Ran) -> dict[str, list[str]]:
    """Partitions that a run computed, by node; nodes without are left out."""
    return {outcome.node.name: sorted(outcome.computed) for outcome in done.outcomes if outcome.computed}


def due_everywhere(workspace: Workspace) -> dict[str, list[str]]:
    """What is due of each node as the lake is; nodes with nothing due are left out."""
    context = Context(workspace.lake, workspace.settings)
    found = {node.name: list(due(node, context)) for node in NODES}
    return {name: partitions for name, partitions in found.items() if partitions}


def published_equals(left: Workspace, right: Workspace) -> None:
    for name in ("requests", "attempts", "cost_ledger", "waste", "goodput", "coverage", "replica_windows"):
        without = RESTATED if name == "goodput" else ()
        assert table(left, name, without).equals(table(right, name, without)), name


def anew(project: Path, folder: Path) -> Workspace:
    """A lake of the same sources made at once."""
    shutil.copytree(project / "landing", folder / "landing")
    (folder / "goodput.toml").write_text((project / "goodput.toml").read_text())
    workspace = Workspace(folder / "goodput.toml")
    run(workspace)
    return workspace


def failing_in(hour: str) -> Callable[[str], str]:
    """SQL that breaks down wherever an hour is asked for."""
    asked = f"bool_or(epoch_hour = {DAY_S // 3600 + int(hour[-2:])})"
    checked = f"(SELECT if({asked}, error('no such hour'), true) FROM target_hours)"
    return lambda text: f"SELECT * FROM ({text}) WHERE {checked}"


def test_a_computation_that_fails_blocks_its_partition_and_what_reads_it(
    project: Path, sql: Sql, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sql.change("cost_ledger", failing_in(NOON))
    with pytest.raises(PartitionsBlocked) as stopped:
        ran(project)
    workspace = Workspace(project / "goodput.toml")
    blocked = ask(workspace, BLOCKED).rows()
    assert [(name, partition, by) for name, partition, _, by in blocked] == [
        ("billed_buckets", NOON, f"cost_ledger {NOON}"),
        ("cost_ledger", NOON, None),
        ("gate_failures", DAY, f"goodput {DAY}"),
        ("gate_failures", NOON, f"goodput {NOON}"),
        ("goodput", DAY, f"waste {DAY}"),
        ("goodput", NOON, f"waste {NOON}"),
        ("id_hours", DAY, f"cost_ledger {NOON}"),
        ("load_windows", DAY, f"goodput {DAY}"),
        ("load_windows", NOON, f"goodput {NOON}"),
        ("paid_time", NOON, f"cost_ledger {NOON}"),
        ("waste", DAY, f"cost_ledger {NOON}"),
        ("waste", NOON, f"cost_ledger {NOON}"),
    ]
    assert "no such hour" in blocked[1][2]
    assert f"cost_ledger {NOON}" in str(stopped.value)
    assert sorted((item.table, item.partition) for item in stopped.value.blocked) == [row[:2] for row in blocked]
    # all else is there: the other hours with their money, and what does not hang on money
    assert ask(workspace, BY_HOUR).rows() == [(MORNING, 2), (EVENING, 2)]
    assert ask(workspace, "SELECT count(*) FROM requests").item() == 6
    hours = "SELECT DISTINCT strftime(window_start, '%Y-%m-%dT%H') FROM {} ORDER BY ALL"
    assert ask(workspace, hours.format("cost_ledger")).rows() == [(MORNING,), (EVENING,)]
    assert ask(workspace, hours.format("coverage")).rows() == [(MORNING,), (NOON,), (EVENING,)]
    assert ask(workspace, hours.format("replica_windows WHERE window_s = 3600")).height == 3

    sql.mend()
    done = computed(ran(project))
    assert done["windows"] == [DAY, NOON]
    assert "join" not in done
    assert ask(workspace, BLOCKED).height == 0
    assert ask(workspace, BY_HOUR).rows() == [(MORNING, 2), (NOON, 2), (EVENING, 2)]
    published_equals(workspace, anew(project, tmp_path_factory.mktemp("anew")))


def test_a_panic_in_rust_blocks_its_partition_alone_although_it_is_no_exception(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table = compute.write_table

    def panics(connection: duckdb.DuckDBPyConnection, batch: Batch, table: str) -> dict[str, Part]:
        if table == "requests" and NOON in batch.partitions:
            raise pl.exceptions.PanicException("index out of bounds")
        return write_table(connection, batch, table)

    monkeypatch.setattr(compute, "write_table", panics)
    with pytest.raises(PartitionsBlocked, match="PanicException: index out of bounds"):
        ran(project)
    workspace = Workspace(project / "goodput.toml")
    assert ask(workspace, BY_HOUR).rows() == [(MORNING, 2), (EVENING, 2)]


def test_a_broken_contract_blocks_the_partition_for_all_tables_made_with_it(
    project: Path, sql: Sql, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Requests that ended at noon count their attempts wrong: their attempts are not published either."""
    noon = DAY_S // 3600 + int(NOON[-2:])
    wrong = f"if(epoch_us(ended_at) // 3600000000 = {noon}, -1, attempts)::INTEGER AS attempts"
    sql.change("requests", lambda text: f"SELECT * REPLACE ({wrong}) FROM ({text})")
    with pytest.raises(PartitionsBlocked):
        ran(project)
    workspace = Workspace(project / "goodput.toml")
    blocked = {(name, partition): (reason, by) for name, partition, reason, by in ask(workspace, BLOCKED).rows()}
    assert "attempts" in blocked["requests", NOON][0]
    assert blocked["requests", NOON][1] is None
    # what reads any table of the join of that hour: an attempt may lie in the hour after it ended
    assert {partition for name, partition in blocked if name == "coverage"} >= {NOON}
    assert {partition for name, partition in blocked if name == "goodput"} >= {NOON, DAY}
    assert ask(workspace, BY_HOUR).rows() == [(MORNING, 2), (EVENING, 2)]
    for name in ("requests", "attempts"):
        assert ask(workspace, f"SELECT count(*) FROM {name}").item() == 4
    with pytest.raises(PartitionsBlocked):  # an audit's verdict stands while its inputs do: nothing is tried again
        assert not computed(ran(project))
    assert {row[:2] for row in ask(workspace, BLOCKED).rows()} == blocked.keys()

    sql.mend()
    ran(project)
    assert ask(workspace, BLOCKED).height == 0
    published_equals(workspace, anew(project, tmp_path_factory.mktemp("anew")))


JOINED = ("attempts", "requests", "session_hours", "quality_labels")


def test_an_unreadable_part_blocks_what_is_due_and_reads_it(
    made: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    workspace = Workspace(made / "goodput.toml")
    (part,) = workspace.lake.catalog["serving_records"].parts[NOON]
    whole = part.path.read_bytes()
    part.path.write_bytes(whole[: len(whole) // 2])
    landed = made / "landing/requests-first.csv"
    archived = landed.rename(made / landed.name)  # it cannot be made again from what it was read from
    land(made, "late", ("late/1", NOON), ("late/2", EVENING))
    with pytest.raises(PartitionsBlocked) as stopped:
        ran(made)
    after = "2026-11-20T13"  # a request with records of noon may end in it
    causes = [item for item in stopped.value.blocked if item.blocked_by is None]
    assert [(item.table, item.partition) for item in causes] == [("replica_names", NOON), ("warnings", "all")]
    assert all("serving_records" in item.reason for item in causes)
    # the day has gained requests in the evening and waits for those of noon
    waiting = {(item.table, item.partition) for item in stopped.value.blocked} - {
        ("replica_names", NOON),
        ("emitter_facts", NOON),
        ("warnings", "all"),
    }
    assert waiting == {
        *((name, hour) for name in JOINED for hour in (NOON, after)),
        *(
            (name, DAY)
            for name in (
                *QUALITY.tables,
                "goodput",
                "gate_failures",
                "id_hours",
                "load_windows",
                "waste",
                *REPLICAS.tables,
            )
        ),
    }
    with pytest.raises(duckdb.Error, match="serving_records"):
        ask(workspace, "FROM serving_records")
    # noon stays as it was published, the evening is as it is now
    assert ask(workspace, BY_HOUR).rows() == [(MORNING, 2), (NOON, 2), (EVENING, 3)]

    part.path.write_bytes(whole)
    archived.rename(landed)
    assert computed(ran(made))["join"] == [NOON, after]
    assert ask(workspace, BLOCKED).height == 0
    assert ask(workspace, BY_HOUR).rows() == [(MORNING, 2), (NOON, 3), (EVENING, 3)]
    published_equals(workspace, anew(made, tmp_path_factory.mktemp("anew")))


def test_a_recomputation_with_equal_rows_stops_there(first: tuple[Path, Ran], made: Path, sql: Sql) -> None:
    workspace = Workspace(made / "goodput.toml")
    before = {name: table(workspace, name) for name in ("requests", "goodput", "cost_ledger")}
    sql.change("requests", lambda text: f"SELECT * FROM ({text})")
    again = ran(made)
    assert computed(again) == {"join": computed(first[1])["join"]}
    assert {name: table(workspace, name) for name in before}.keys() == before.keys()
    assert all(table(workspace, name).equals(rows) for name, rows in before.items())
    assert due_everywhere(Workspace(made / "goodput.toml")) == {}


def test_a_comment_changes_nothing(made: Path, sql: Sql) -> None:
    for name in ("attempts", "goodput", "waste", "macros"):
        sql.change(name, lambda text: f"-- a comment\n{text}\n-- and another\n")
    assert due_everywhere(Workspace(made / "goodput.toml")) == {}
    assert computed(ran(made)) == {}


@pytest.mark.parametrize(
    ("changed", "nodes"),
    [
        pytest.param("coverage", {"coverage"}, id="a table"),
        pytest.param("waste", {"waste"}, id="a table that others read"),
        pytest.param("pool_windows", {"disruptions", "disruption_cost"}, id="a relation of two nodes"),
        pytest.param("source_exports", {"cost_records", "warnings"}, id="a relation that warnings read too"),
    ],
)
def test_an_expression_makes_due_what_is_computed_with_it(made: Path, sql: Sql, changed: str, nodes: set[str]) -> None:
    sql.change(changed, lambda text: f"SELECT * FROM ({text}) WHERE 1 + 1 = 2")
    workspace = Workspace(made / "goodput.toml")
    found = due_everywhere(workspace)
    made = {node.name: sorted(workspace.lake.catalog[node.tables[0]].parts) for node in NODES if node.name in nodes}
    assert found == {name: partitions for name, partitions in made.items() if partitions}


def test_a_macro_makes_due_what_calls_it(made: Path, sql: Sql) -> None:
    """Nothing but the samples' and the frontier's SQL is free of macros; latency buckets are those of windows alone."""
    sql.change("macros", lambda text: text.replace("ln(1.01))::INTEGER", "ln(1.02))::INTEGER"))
    calling = {
        node.name for node in NODES if any("latency_bucket" in graph.relation(name).macros for name in node.relations)
    }
    assert calling == {"windows"}
    assert due_everywhere(Workspace(made / "goodput.toml")).keys() == calling


QUIET_RUN = """
import sys
from pathlib import Path
from goodput.plumbing.workspace import Workspace
from goodput.run import run
run(Workspace(Path(sys.argv[1])))
print([name for name in ("dagster", "great_expectations") if name in sys.modules])
"""


def files_of(lake: Path) -> dict[str, tuple[int, int]]:
    """When each file was written, and its size; the lock is held by every run."""
    found = {path: path.stat() for path in lake.rglob("*") if path.is_file() and path.name != ".lock"}
    return {str(path): (stat.st_mtime_ns, stat.st_size) for path, stat in found.items()}


def test_a_run_with_nothing_new_imports_and_writes_nothing(project: Path) -> None:
    os.utime(project / "landing/requests-first.csv", (1, 1))  # what has just been written is looked at once more
    ran(project)
    before = files_of(project / "lake")
    said = subprocess.run(
        [sys.executable, "-c", QUIET_RUN, str(project / "goodput.toml")], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"
    assert files_of(project / "lake") == before


def test_a_late_label_makes_due_the_hours_of_what_it_judges(made: Path) -> None:
    workspace = Workspace(made / "goodput.toml")
    context = Context(workspace.lake, workspace.settings)
    judge(made, "late", EVENING, f"{NOON}/1", "nobody's")
    with workspace.lake.lock():
        ingest(workspace)
        execute(JUDGED_HOURS, context)
        # its records are of noon: the request may end in the hour after
        assert list(due(JOIN, context)) == [NOON, "2026-11-20T13"]
    done = computed(ran(made))
    assert done["windows"] == [DAY, "2026-11-20T11", NOON]  # what arrives in an hour may end in the next
    verdicts = "SELECT verdict, count(*) FROM requests GROUP BY ALL ORDER BY ALL"
    assert ask(workspace, verdicts).rows() == [("accepted", 1), ("unlabelled", 5)]


def test_a_label_is_joined_once_what_it_judges_can_be_looked_up_again(made: Path, sql: Sql) -> None:
    judge(made, "late", EVENING, f"{NOON}/1")
    sql.change("judged_hours", lambda text: f"SELECT * FROM ({text}) WHERE error('no look-up')")
    with pytest.raises(PartitionsBlocked, match=r"judged_hours all: .*no look-up"):
        ran(made)
    sql.mend()
    ran(made)
    verdicts = "SELECT verdict, count(*) FROM requests GROUP BY ALL ORDER BY ALL"
    workspace = Workspace(made / "goodput.toml")
    assert ask(workspace, verdicts).rows() == [("accepted", 1), ("unlabelled", 5)]


def test_a_forced_run_that_breaks_down_leaves_nothing_blocked_for_good(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def full(*_: object) -> NoReturn:
        raise MemoryError("no room")

    workspace = Workspace(made / "goodput.toml")
    noon = datetime.strptime(NOON, HOUR_FORMAT).replace(tzinfo=UTC)
    monkeypatch.setattr(compute, "write_table", full)
    with pytest.raises(PartitionsBlocked, match="no room"):
        run(workspace, noon, noon + timedelta(hours=1))
    monkeypatch.undo()
    ran(made)
    assert ask(Workspace(made / "goodput.toml"), BLOCKED).rows() == []
