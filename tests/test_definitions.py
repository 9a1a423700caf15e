"""Dagster: its assets are what the nodes declare, its jobs do what `goodput run` does, and it shows what ran beside."""

import csv
import gzip
import logging
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import dagster as dg
import pyarrow.parquet as pq
import pytest
import yaml
from dagster._core.test_utils import environ

from collect.test_cost_dialects import CHARGE, as_csv
from goodput.definitions import ASSETS, build_defs, hours_stale, landing_changed
from goodput.errors import BlockedPartition
from goodput.plumbing import dagster_sensors, plan, work
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.dagster_partitions import update_hours
from goodput.plumbing.dagster_report import report, report_run
from goodput.plumbing.hours import HOUR_NS
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Batch, Context
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from published import ask

ROOT = Path(__file__).parent.parent
T0_S = 1_772_000_000  # 2026-02-25T06:13:20Z
HOURS = ["2026-02-25T06", "2026-02-25T07", "2026-02-25T08"]  # of what land() writes
SETTINGS = """
landing = ["landing"]
lake = "lake"
windows_s = [300, 3600, 86400]
alarms = { enabled = false }
[workloads.chat]
match = { model = "m-*" }
ttft_s = 1.0
retry_budget = 0
[sources.rows]
format = "csv"
path = "*.csv"
[sources.rows.columns]
attempt_id = "id"
started_at = { column = "start_s", unit = "epoch_s" }
ended_at = { column = "end_s", unit = "epoch_s" }
ttft_s = { column = "ttft", unit = "s" }
output_tokens = "out"
model = "model"
"""
RANGE = {"dagster/asset_partition_range_start": HOURS[0], "dagster/asset_partition_range_end": HOURS[1]}


def land(folder: Path, name: str, start_s: int, attempts: int = 24) -> None:
    """Attempts ten minutes apart, each of two seconds."""
    (folder / "landing").mkdir(exist_ok=True)
    with (folder / "landing" / f"{name}.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "start_s", "end_s", "ttft", "out", "model"])
        for n in range(attempts):
            at = start_s + 400 * n
            rows.writerow([f"{name}-{n}", at, at + 2, (0.2, 0.9, 1.4)[n % 3], 40, "m-a"])


def make_workspace(folder: Path) -> Workspace:
    (folder / "goodput.toml").write_text(SETTINGS)
    land(folder, "first", T0_S)
    return Workspace(folder / "goodput.toml")


@pytest.fixture(scope="module")
def by_run(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A lake that `goodput run` made; tests read it."""
    workspace = make_workspace(tmp_path_factory.mktemp("run"))
    run(workspace)
    return workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


@pytest.fixture
def made(by_run: Workspace, tmp_path: Path) -> Workspace:
    """A copy of what `goodput run` made; a test may change it."""
    assert by_run.config is not None
    shutil.copytree(by_run.config.parent, tmp_path / "made")
    return Workspace(tmp_path / "made/goodput.toml")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as one:
        yield one


@pytest.fixture(scope="module")
def specs() -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in build_defs().resolve_all_asset_specs()}


def execute(
    workspace: Workspace, instance: dg.DagsterInstance, job: str, **options: object
) -> dg.ExecuteInProcessResult:
    fresh = Workspace(workspace.config, lake_path=workspace.lake_path)
    return build_defs(workspace=fresh).resolve_job_def(job).execute_in_process(instance=instance, **options)  # type: ignore[arg-type]


def look(
    workspace: Workspace, instance: dg.DagsterInstance, sensor: dg.SensorDefinition, cursor: str | None = None
) -> tuple[list[dg.RunRequest], str | None]:
    """What a sensor requests, and its cursor after that."""
    resources = {"workspace": workspace}
    with dg.build_sensor_context(instance=instance, resources=resources, cursor=cursor) as context:
        found = sensor(context)
        if isinstance(found, dg.SensorResult):
            return list(found.run_requests or []), found.cursor
        return [found] if isinstance(found, dg.RunRequest) else [], context.cursor


def rows_by_partition(lake: Lake, table: str) -> dict[str, int]:
    lake.refresh()
    return {p: sum(part.rows for part in parts) for p, parts in lake.catalog[table].parts.items()}


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def reported(instance: dg.DagsterInstance, asset: str) -> dict[str | None, dg.AssetMaterialization]:
    """The newest materialization of each partition."""
    records = instance.fetch_materializations(dg.AssetKey(asset), limit=1000, ascending=True).records
    found = [record.asset_materialization for record in records]
    return {one.partition: one for one in found if one}


def rows_of(materialization: dg.AssetMaterialization) -> object:
    return materialization.metadata["dagster/row_count"].value


# --- what Dagster is told


def _layer(schema: Path) -> str | None:
    properties = yaml.safe_load(schema.read_text()).get("customProperties", [])
    return next((p["value"] for p in properties if p["property"] == "layer"), None)


def test_every_table_of_the_lake_is_an_asset(specs: dict[str, dg.AssetSpec]) -> None:
    stored = {schema.stem for schema in (ROOT / "schemas").glob("*.yaml") if _layer(schema)}
    assert set(specs) == (stored - {"blocked_partitions"}) | {"landing", "goodput_database", "deliveries"}
    groups = {name: spec.group_name for name, spec in specs.items()}
    assert {group: sum(g == group for g in groups.values()) for group in groups.values()}.keys() == {
        *("collect", "conform", "join", "measure", "monitor", "publish", "notify")
    }
    assert (groups["landing"], groups["serving_records"], groups["requests"]) == ("collect", "conform", "join")
    assert (groups["goodput"], groups["alarms"], groups["deliveries"]) == ("measure", "monitor", "notify")


def _reads_by_header() -> dict[str, list[str]]:
    """What each SQL file says in its header that it reads."""
    texts = {path.stem: path.read_text() for path in (ROOT / "sql").rglob("*.sql")}
    found = {name: re.search(r"^-- reads: (.*)$", text, re.MULTILINE) for name, text in texts.items()}
    return {name: match[1].split(", ") for name, match in found.items() if match}


def test_deps_are_what_the_sql_reads(specs: dict[str, dg.AssetSpec]) -> None:
    reads = _reads_by_header()
    stored = set(specs)

    def inputs(name: str, seen: set[str]) -> set[str]:
        found = set()
        for read in reads.get(name, []):
            if read in stored:
                found.add(read)
            elif read in reads and read not in seen:
                found |= inputs(read, {*seen, read})
        return found

    for node in plan.in_order([asset.node for asset in ASSETS if asset.node]):
        expected = set().union(*(inputs(table, {table}) for table in node.tables)) - set(node.tables)
        for table in node.tables:
            assert {dep.asset_key.to_user_string() for dep in specs[table].deps} == expected, table
    assert {dep.asset_key.to_user_string() for dep in specs["serving_records"].deps} == {"landing"}


def test_assets_show_who_owns_them_and_what_they_hold(specs: dict[str, dg.AssetSpec]) -> None:
    for name, spec in specs.items():
        assert spec.owners, name
        assert spec.kinds, name
        assert spec.description, name
        if name not in ("landing", "goodput_database"):
            schema = yaml.safe_load((ROOT / f"schemas/{name}.yaml").read_text())
            shown = [column.name for column in spec.metadata["dagster/column_schema"].columns]
            assert shown == [column["name"] for column in schema["schema"][0]["properties"]], name
        if name not in ("landing", "goodput_database", "deliveries"):
            assert spec.code_version, name


def test_hours_are_partitions_and_range_backfills_take_one_run(specs: dict[str, dg.AssetSpec]) -> None:
    partitions = {name: yaml.safe_load((ROOT / f"schemas/{name}.yaml").read_text()) for name in specs if _stored(name)}
    hourly = {
        name
        for name, schema in partitions.items()
        if {"property": "partition", "value": "hour"} in schema["customProperties"]
        or {"property": "partition", "value": "windows"} in schema["customProperties"]
    }
    assert {name for name, spec in specs.items() if spec.partitions_def} == hourly
    defs = build_defs()
    for name in hourly:
        assert isinstance(specs[name].partitions_def, dg.DynamicPartitionsDefinition)
        assert defs.get_assets_def(name).backfill_policy == dg.BackfillPolicy.single_run(), name
    for name in ("frontier", "alarms", "goodput_database"):
        for dep in specs[name].deps:
            if dep.asset_key.to_user_string() in hourly:
                assert isinstance(dep.partition_mapping, dg.AllPartitionMapping)


def _stored(name: str) -> bool:
    return (ROOT / f"schemas/{name}.yaml").exists() and name != "deliveries"


def test_schedule_and_sensors_run_from_the_start(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text("[schedule]\ngrace_s = 1200\n")
    defs = build_defs(workspace=Workspace(tmp_path / "goodput.toml"))
    (schedule,) = defs.schedules or ()
    assert isinstance(schedule, dg.ScheduleDefinition)
    assert (schedule.name, schedule.cron_schedule) == ("hourly", "20 * * * *")
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING
    assert {sensor.name: sensor.default_status for sensor in defs.sensors or ()} == dict.fromkeys(
        ("landing_changed", "hours_stale"), dg.DefaultSensorStatus.RUNNING
    )


# --- what its jobs and sensors do


def test_jobs_compute_what_goodput_run_computes(
    by_run: Workspace, workspace: Workspace, instance: dg.DagsterInstance
) -> None:
    asked, _ = look(workspace, instance, landing_changed)
    assert [request.run_key for request in asked if request.run_key]
    assert execute(workspace, instance, "ingest").success
    (request,), _ = look(workspace, instance, hours_stale)
    assert [request.tags[key] for key in sorted(RANGE)][::-1] == [
        HOURS[0],
        instance.get_dynamic_partitions("hours")[-1],
    ]
    assert execute(workspace, instance, "hours", tags=dict(request.tags)).success
    again, cursor = look(workspace, instance, hours_stale)
    assert not again
    assert look(workspace, instance, landing_changed)[0] == []
    assert look(workspace, instance, hours_stale, cursor)[0] == []

    ours, theirs = workspace.lake, by_run.lake
    ours.refresh()
    for name in (asset.name for asset in ASSETS if asset.node):
        assert rows_by_partition(ours, name) == rows_by_partition(theirs, name), name
    for name in ("attempts", "requests", "waste", "coverage"):
        assert ours.catalog[name].contents == theirs.catalog[name].contents, name
    mine, its = (pq.read_table(lake.catalog["goodput"].all_files()) for lake in (ours, theirs))
    assert mine.num_rows > 0
    assert mine.drop_columns("computed_at").equals(its.drop_columns("computed_at"))


def test_a_new_bill_is_not_blocked_while_its_hours_wait(workspace: Workspace, instance: dg.DagsterInstance) -> None:
    """Between the job that reads it and the one that computes its hours its dollars are in no bucket yet."""
    begin, end = (datetime.fromtimestamp(at_s, UTC).isoformat() for at_s in (T0_S, T0_S + 3600))
    bill = as_csv({**CHARGE, "ChargePeriodStart": begin, "ChargePeriodEnd": end})
    (workspace.lake.root.parent / "landing/focus.csv.gz").write_bytes(gzip.compress(bill.encode()))
    assert execute(workspace, instance, "ingest").success
    workspace.lake.refresh()
    assert list(Blocked(workspace.lake).all()) == []
    (request,), _ = look(workspace, instance, hours_stale)
    assert execute(workspace, instance, "hours", tags=dict(request.tags)).success
    workspace.lake.refresh()
    assert list(Blocked(workspace.lake).all()) == []
    assert rows_by_partition(workspace.lake, "reconciliation")


def test_a_job_waits_for_the_lock(workspace: Workspace, instance: dg.DagsterInstance) -> None:
    lake = workspace.lake
    lake.open()
    done: list[bool] = []
    job = threading.Thread(target=lambda: done.append(execute(workspace, instance, "ingest").success))
    with Lake(lake.root).lock():
        before = state_of(lake.root)
        job.start()
        time.sleep(3)
        assert job.is_alive()
        assert state_of(lake.root) == before
    job.join(60)
    assert done == [True]
    assert sum(rows_by_partition(lake, "serving_records").values()) == 24


def test_sensors_neither_write_to_the_lake_nor_take_its_lock(by_run: Workspace, instance: dg.DagsterInstance) -> None:
    before = state_of(by_run.lake.root)
    with Lake(by_run.lake.root).lock():
        for sensor in (landing_changed, hours_stale):
            assert look(by_run, instance, sensor)[0] == []
    assert state_of(by_run.lake.root) == before


def test_a_sensor_shows_what_ran_beside_dagster(by_run: Workspace, instance: dg.DagsterInstance) -> None:
    look(by_run, instance, hours_stale)
    assert instance.get_dynamic_partitions("hours") == HOURS
    for name, hours in (("requests", HOURS), ("cost_ledger", HOURS), ("alarms", [None]), ("goodput_database", [None])):
        assert list(reported(instance, name)) == hours, name
    by_hour = {hour: rows_of(one) for hour, one in reported(instance, "requests").items()}
    assert by_hour == {hour: rows_by_partition(by_run.lake, "requests")[hour] for hour in HOURS}
    assert by_hour == {HOURS[0]: 7, HOURS[1]: 9, HOURS[2]: 8}  # 06:13:20 and every 400 s after it
    versions = {hour: one.tags["dagster/data_version"] for hour, one in reported(instance, "requests").items()}
    assert versions == {hour: by_run.lake.catalog["requests"].contents[hour] for hour in HOURS}


def test_a_range_backfill_computes_its_hours_alone(
    made: Workspace, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(made, instance, hours_stale)
    computed: list[list[str]] = []
    compute = plan.work

    def noted(batch: Batch) -> work.Done:
        computed.append([*batch.partitions])
        return compute(batch)

    monkeypatch.setattr(plan, "work", noted)
    before = {asset.name: rows_by_partition(made.lake, asset.name) for asset in ASSETS if asset.node}
    config = {"ops": {"join_step": {"config": {"force": True}}}}
    keys = [dg.AssetKey(name) for name in ("attempts", "requests", "session_hours", "quality_labels", "source_rows")]
    assert execute(made, instance, "hours", tags=RANGE, run_config=config, asset_selection=keys).success
    assert computed == [HOURS[:2]]
    assert {asset.name: rows_by_partition(made.lake, asset.name) for asset in ASSETS if asset.node} == before


# --- what is blocked


def test_a_blocked_hour_is_missing_and_the_others_go_on(
    workspace: Workspace, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(table: str, parts: dict[str, list[Path]]) -> dict[str, tuple[str, ...]]:
        return {p: ("verdict_invalid: 1 row",) for p in parts if table == "requests" and p == HOURS[1]}

    monkeypatch.setattr(work, "audit", broken)
    conformed = [dg.AssetKey(asset.name) for asset in ASSETS if asset.step == "ingest" and asset.check]
    assert execute(workspace, instance, "ingest", asset_selection=conformed).success
    (request,), _ = look(workspace, instance, hours_stale)
    steps = ("join", "samples", "coverage", "cost_ledger", "publish")
    keys = [dg.AssetKey(asset.name) for asset in ASSETS if asset.step in steps]
    result = execute(workspace, instance, "hours", tags=dict(request.tags), asset_selection=keys)
    assert result.success
    assert set(reported(instance, "requests")) & set(HOURS) == {HOURS[0], HOURS[2]}
    # attempts are made with requests: what reads those of that hour waits, and an hour reads the hours beside it
    assert set(reported(instance, "attempts")) & set(HOURS) == {HOURS[0], HOURS[2]}
    for table in ("coverage", "cost_ledger"):
        assert not set(reported(instance, table)) & set(HOURS)
        waiting = Blocked(workspace.lake).of_table(table)
        assert {waiting[hour].blocked_by for hour in HOURS} == {f"attempts {HOURS[1]}"}
    checks = {one.asset_key.to_user_string(): one.passed for one in result.get_asset_check_evaluations()}
    assert checks == {
        **dict.fromkeys(("replica_samples", "sample_rows"), True),
        "source_rows": True,  # rows of a source are accounted for, be their hour blocked or not
        **dict.fromkeys(("attempts", "quality_labels", "requests"), False),
        **dict.fromkeys(("coverage", "cost_ledger", "goodput_database"), False),
        **dict.fromkeys(("session_hours", "billed_buckets", "paid_time"), False),
    }


def test_each_asset_shows_what_ran_and_is_checked(
    by_run: Workspace, instance: dg.DagsterInstance, specs: dict[str, dg.AssetSpec]
) -> None:
    report(instance, Context(by_run.lake, by_run.settings), ASSETS)
    assert all(reported(instance, name) for name in specs)
    checks = build_defs().resolve_asset_graph().asset_check_keys
    assert {key.asset_key.to_user_string() for key in checks} == set(specs) - {"landing"}
    storage = instance.event_log_storage
    for key in checks:
        (check,) = storage.get_asset_check_execution_history(key, limit=5)
        assert check.status.value == "SUCCEEDED", key
    (files,) = reported(instance, "landing").values()
    assert rows_of(files) == 1


def test_a_damaged_part_is_made_again_by_the_job_that_meets_it(
    made: Workspace, instance: dg.DagsterInstance, by_run: Workspace
) -> None:
    """Of conformed rows: the job reads their source again before it computes anything without them."""
    (part,) = made.lake.catalog["serving_records"].parts[HOURS[1]]
    part.path.write_bytes(part.path.read_bytes()[:100])
    assert made.config is not None
    land(made.config.parent, "second", T0_S + 3600, attempts=3)
    assert execute(made, instance, "ingest").success
    (request,), _ = look(made, instance, hours_stale)
    assert execute(made, instance, "hours", tags=dict(request.tags)).success
    assert not Blocked(made.lake).all()
    before, after = (rows_by_partition(one.lake, "requests") for one in (by_run, made))
    assert after[HOURS[1]] == before[HOURS[1]] + 3
    assert {hour: after[hour] for hour in (HOURS[0], HOURS[2])} == {hour: before[hour] for hour in (HOURS[0], HOURS[2])}


@pytest.mark.parametrize("hour", HOURS[1:])
def test_a_part_that_is_damaged_where_it_is_published_is_made_again(
    made: Workspace, instance: dg.DagsterInstance, by_run: Workspace, hour: str
) -> None:
    """No node reads it: it is met when its rows are copied into a new database, in the job's range of hours or not."""
    (part,) = made.lake.catalog["goodput"].parts[hour]
    part.path.write_bytes(part.path.read_bytes()[:100])
    made.lake.database.unlink()
    update_hours(instance, HOURS)
    publish = [dg.AssetKey(asset.name) for asset in ASSETS if asset.step == "publish"]
    assert execute(made, instance, "hours", tags=RANGE, asset_selection=publish).success
    counted = "SELECT count(*) FROM goodput"
    assert ask(made, counted).item() == ask(by_run, counted).item()


def test_what_broke_is_tried_again_every_hour(
    made: Workspace, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not each minute, and not never: what it reads may be whole again without anything that a sensor sees."""
    monkeypatch.setattr(Blocked, "all", lambda _: [BlockedPartition("goodput", HOURS[1], "IOException: torn")])
    monkeypatch.setattr(dagster_sensors, "stale_partitions", lambda *_: {"windows": {HOURS[1]: "inputs"}})
    tried: list[str | None] = []
    cursor: str | None = None
    for minutes in range(0, 180, 20):
        now_ns = 1_000_000 * HOUR_NS + minutes * 60 * 10**9
        monkeypatch.setattr("goodput.definitions.Context", partial(Context, now_ns=now_ns))
        requests, cursor = look(made, instance, hours_stale, cursor)
        tried += [request.run_key for request in requests]
    assert len(tried) == len(set(tried)) == 3


# --- runs beside Dagster


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "dagster_home"
    folder.mkdir()
    (folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with environ({"DAGSTER_HOME": str(folder)}):
        yield folder


def test_a_run_reports_to_the_instance_of_dagster_home(made: Workspace, home: Path) -> None:
    land(made.settings.landing_paths[0].parent, "late", T0_S - 7200, attempts=2)
    run(made)
    after = ["2026-02-25T04", *HOURS]
    with dg.DagsterInstance.get() as instance:
        assert instance.get_dynamic_partitions("hours") == after
        for asset in ASSETS:
            assert reported(instance, asset.name), asset.name
        assert {hour: rows_of(one) for hour, one in reported(instance, "requests").items()} == dict(
            zip(after, (2, 7, 9, 8), strict=True)
        )
        assert instance.get_materialized_partitions(dg.AssetKey("requests")) == set(after)
        judged = reported(instance, "quality_labels")
        lineage = judged[after[-1]].metadata["dagster/column_lineage"].value
        assert lineage.deps_by_column["label_id"] == [
            dg.TableColumnDep(asset_key="label_records", column_name="label_id")
        ]
        assert [hour for hour, one in judged.items() if "dagster/column_lineage" in one.metadata] == [after[-1]]
        assert "dagster/column_lineage" not in reported(instance, "serving_records")[after[-1]].metadata
        key = dg.AssetCheckKey(dg.AssetKey("requests"), "contract")
        (check,) = instance.event_log_storage.get_asset_check_execution_history(key, limit=5)
        assert check.status.value == "SUCCEEDED"
        newest = instance.event_log_storage.get_maximum_record_id()
    run(Workspace(made.config))
    with dg.DagsterInstance.get() as instance:
        assert instance.event_log_storage.get_maximum_record_id() == newest


def test_only_what_changed_is_reported_again(made: Workspace, instance: dg.DagsterInstance) -> None:
    context = Context(made.lake, made.settings)
    assert report(instance, context, ASSETS) > len(ASSETS)
    assert report(instance, context, ASSETS) == 0
    join = next(asset.node for asset in ASSETS if asset.name == "requests" and asset.node)
    outcome = plan.Outcome(join, computed={HOURS[1]: "inputs"})
    assert report(instance, context, ASSETS, [outcome]) == 2 * len(join.tables)


def test_where_a_run_cannot_be_reported_it_warns(
    by_run: Workspace, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with environ({"DAGSTER_HOME": str(tmp_path / "nowhere")}), caplog.at_level(logging.WARNING):
        report_run(Context(by_run.lake, by_run.settings), ASSETS, ())
    assert "not reported to Dagster" in caplog.text


def test_without_dagster_home_a_run_does_not_import_dagster(by_run: Workspace) -> None:
    script = (
        "import sys; from pathlib import Path; from goodput.run import run; from goodput.plumbing.workspace import "
        "Workspace; run(Workspace(Path(sys.argv[1]))); print('dagster' in sys.modules)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "DAGSTER_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(by_run.config)], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "False"


def test_hours_stay_in_order(instance: dg.DagsterInstance) -> None:
    for hours in (["T02", "T03"], ["T02", "T03", "T05"], ["T01", "T02", "T03", "T05"], ["T02", "T05"]):
        update_hours(instance, hours)
        assert list(instance.get_dynamic_partitions("hours")) == hours


# --- what is shown of quality, age and the page


def test_what_is_published_shows_its_numbers_and_its_page(
    workspace: Workspace, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    assert workspace.config is not None
    workspace.config.write_text(f'{SETTINGS}\n[report]\nfile = "page.html"\n')
    workspace = Workspace(workspace.config)
    execute(workspace, instance, "ingest")
    (request,), _ = look(workspace, instance, hours_stale)
    assert execute(workspace, instance, "hours", tags=dict(request.tags)).success
    shown = reported(instance, "goodput_database")[None].metadata
    # 24 attempts, of which every third takes 1.4 s to its first token, and the gate is at 1.0
    assert {name: shown[name].value for name in ("offered", "accepted")} == {"offered": 24, "accepted": 16}
    assert shown["goodput_ratio"].value == pytest.approx(16 / 24)
    assert {name: shown[name].value for name in ("rows_quarantined", "blocked_partitions", "firing_alarms")} == {
        "rows_quarantined": 0,
        "blocked_partitions": 0,
        "firing_alarms": 0,
    }
    assert "cost_per_accepted_usd" not in shown  # nothing is known of money, and Dagster takes no NULL
    assert shown["report"].value == str(workspace.config.parent / "page.html")
    assert "<html" in (workspace.config.parent / "page.html").read_text()
    assert "report" not in reported(instance, "requests")[HOURS[0]].metadata


def test_a_page_that_cannot_be_written_costs_no_run(workspace: Workspace, instance: dg.DagsterInstance) -> None:
    assert workspace.config is not None
    (workspace.config.parent / "file").write_text("")
    workspace.config.write_text(f'{SETTINGS}\n[report]\nfile = "file/page.html"\n')
    assert execute(Workspace(workspace.config), instance, "ingest").success


def test_an_empty_database_has_no_numbers_and_a_page_is_not_missed(
    by_run: Workspace, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "goodput.toml").write_text('landing = ["empty"]\nlake = "lake"\n')
    assert execute(Workspace(tmp_path / "goodput.toml"), instance, "ingest").success
    assert not {"goodput_ratio", "report"} & set(reported(instance, "goodput_database")[None].metadata)


def test_how_old_what_is_published_may_be(specs: dict[str, dg.AssetSpec]) -> None:
    policy = specs["goodput_database"].freshness_policy
    assert policy is not None
    assert {name for name, spec in specs.items() if spec.freshness_policy} == {"goodput_database"}
    kept = yaml.safe_load((ROOT / "dagster_home/dagster.yaml").read_text())
    assert kept["freshness"] == {"enabled": True}  # without it the daemon judges no policy
