"""Dagster is the real execution path: what it is told of the assets, and that a run of it does the work."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from end_to_end.test_same_sources_same_tables import SETTINGS, T0_NS, otlp_line
from end_to_end.whole import ask, table
from goodput.definitions import build_defs, hours, hours_stale, ingest
from goodput.errors import HeldHour, HoursHeld, LakeUnwritable
from goodput.plumbing import checked, lake
from goodput.plumbing.contracts import contract
from goodput.plumbing.workspace import Workspace
from goodput.run import run

DISRUPTED = ("disruptions", "disruption_cost", "disruption_frequency")
WATCHED = ("cache_by_replica", "replica_windows")
HOURLY = (
    *("attempts", "requests", "quality_labels", "replica_samples", "coverage", "cost_ledger", "waste", "goodput"),
    *("gate_failures", *WATCHED),
)
WHOLE = ("ops_events", "cost_records", "token_prices", "session_labels")
CONFORMED = (
    *("serving_records", "span_links", "label_records", "sample_records", "event_records", "cost_lines", "price_lines"),
    "quarantine",
)
ALARMS = ("alarms", "alarm_events", "alarm_series", "alarm_power")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Settings and a landing zone with 24 exchanges over three hours."""
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    (tmp_path / "landing").mkdir()
    rng = random.Random(1)
    (tmp_path / "landing/spans.jsonl").write_text("".join(otlp_line(rng, range(at, at + 6)) for at in range(0, 24, 6)))
    return Workspace(tmp_path / "goodput.toml")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as one:
        yield one


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without contract checks, which take seconds: for tests of something else."""
    monkeypatch.setattr(checked, "check_hours", lambda name, parts: [])


@pytest.fixture(scope="module")
def specs() -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in build_defs().resolve_all_asset_specs()}


def test_every_table_of_the_river_is_an_asset(specs: dict[str, dg.AssetSpec]) -> None:
    whole = {*WHOLE, *DISRUPTED, "frontier"}
    assert set(specs) == {"landing", *CONFORMED, *whole, *HOURLY, *ALARMS, "goodput_database", "deliveries"}
    stages = {name: spec.group_name for name, spec in specs.items()}
    assert stages == {
        "landing": "collect",
        **dict.fromkeys(CONFORMED, "conform"),
        **dict.fromkeys((*WHOLE, "attempts", "requests", "quality_labels", "replica_samples"), "join"),
        **dict.fromkeys(("coverage", "cost_ledger", "waste", "goodput", "gate_failures", "frontier"), "measure"),
        **dict.fromkeys((*WATCHED, *DISRUPTED, "goodput_database"), "measure"),
        **dict.fromkeys(ALARMS, "monitor"),
        "deliveries": "notify",
    }


def test_assets_say_who_owns_them_and_what_they_hold(specs: dict[str, dg.AssetSpec]) -> None:
    for name, spec in specs.items():
        assert spec.owners, name
        assert spec.kinds, name
        assert spec.description, name
    for name in (*CONFORMED, *WHOLE, *HOURLY, *DISRUPTED, "frontier", "deliveries"):
        shown = [column.name for column in specs[name].metadata["dagster/column_schema"].columns]
        assert shown == [column.name for column in contract(name).columns]


def test_event_time_is_partitioned_by_the_hour(specs: dict[str, dg.AssetSpec]) -> None:
    for name in HOURLY:
        partitions = specs[name].partitions_def
        assert isinstance(partitions, dg.TimeWindowPartitionsDefinition), name
        assert partitions.is_basic_hourly, name
    defs = build_defs()
    for name in HOURLY:
        policy = defs.get_assets_def(name).backfill_policy
        assert policy == dg.BackfillPolicy.single_run(), name


def test_contracts_are_blocking_checks() -> None:
    checks = {
        (spec.asset_key.to_user_string(), spec.name): spec.blocking
        for asset in build_defs().resolve_asset_graph().assets_defs
        for spec in asset.check_specs
    }
    assert checks == {(name, "contract"): True for name in (*WHOLE, *HOURLY, *DISRUPTED, "frontier")}


def test_schedule_sensors_and_hooks() -> None:
    defs = build_defs()
    assert [(s.name, s.cron_schedule) for s in defs.schedules or ()] == [("hourly", "10 * * * *")]
    assert {s.name for s in defs.sensors or ()} == {"landing_changed", "hours_stale"}
    for job in (ingest, hours):
        assert {hook.name for hook in job.hooks or ()} == {"say_what_failed"}


def test_jobs_compute_what_goodput_run_computes(
    workspace: Workspace, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    defs = build_defs(workspace=workspace)
    workspace.lake.open()
    assert defs.resolve_job_def("ingest").execute_in_process(instance=instance).success
    with dg.build_sensor_context(instance=instance, resources={"workspace": workspace}) as context:
        asked = hours_stale(context)
    assert isinstance(asked, dg.SensorResult)
    assert asked.run_requests
    for request in asked.run_requests:
        result = defs.resolve_job_def("hours").execute_in_process(instance=instance, tags=dict(request.tags))
        assert result.success
    by_jobs = table(workspace, "goodput", ("computed_at",))
    other = Workspace(workspace.config, lake_path=tmp_path / "other")
    run(other)
    assert by_jobs.height > 0
    assert by_jobs.equals(table(other, "goodput", ("computed_at",)))
    with dg.build_sensor_context(instance=instance, resources={"workspace": workspace}) as context:
        again = hours_stale(context)
    assert isinstance(again, dg.SensorResult)
    assert not again.run_requests


@pytest.mark.usefixtures("unchecked")
def test_a_second_run_finds_nothing_to_do(workspace: Workspace) -> None:
    first = run(workspace)
    before = table(workspace, "goodput")
    second = run(workspace)
    assert (first.sources_read, first.hours_computed > 0) == (1, True)
    assert (second.sources_read, second.sources_unchanged, second.hours_computed) == (0, 1, 0)
    assert table(workspace, "goodput").equals(before)


@pytest.mark.usefixtures("unchecked")
def test_changed_gates_restate_without_reading_again(workspace: Workspace) -> None:
    run(workspace)
    assert workspace.config is not None
    workspace.config.write_text(SETTINGS.replace("ttft_s = 1.0", "ttft_s = 0.5"))
    stricter = Workspace(workspace.config)
    ran = run(stricter)
    assert ran.sources_read == 0
    slow = "SELECT count(*) FROM requests WHERE verdict <> 'failed' AND ttft_s > 0.5 AND workload = 'chat'"
    slower = slow + " AND verdict NOT IN ('slow', 'over_budget')"
    assert ask(stricter, slow).item() > 0
    assert ask(stricter, slower).item() == 0
    assert ask(stricter, "SELECT max(revision) FROM goodput").item() == 1


def test_an_hour_that_breaks_its_contract_is_held_and_the_others_go_on(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked, "check_hours", lambda name, parts: [])
    run(workspace)
    published = table(workspace, "goodput")
    all_hours = sorted({str(start)[:13].replace(" ", "T") for start in ask(workspace, "FROM requests")["ended_at"]})
    bad = f"hour={all_hours[0]}"

    def broken(name: str, parts: dict[str, list[Path]]) -> list[HeldHour]:
        return [HeldHour(name, bad, ("verdict_invalid: 1 row",))] if name == "requests" and bad in parts else []

    monkeypatch.setattr(checked, "check_hours", broken)
    assert workspace.config is not None
    workspace.config.write_text(SETTINGS.replace("ttft_s = 1.0", "ttft_s = 0.1"))
    with pytest.raises(HoursHeld, match=r"requests hour=.*verdict_invalid"):
        run(Workspace(workspace.config))
    after = table(workspace, "goodput").filter(window_s=3600)
    labels = after["window_start"].dt.strftime("%Y-%m-%dT%H")
    kept = after.filter(labels == all_hours[0])
    assert kept.height > 0
    hourly = published.filter(window_s=3600)
    assert kept.equals(hourly.filter(hourly["window_start"].dt.strftime("%Y-%m-%dT%H") == all_hours[0]))
    changed = after.filter(labels == all_hours[1])
    assert changed["revision"].max() == 1
    # Held is not forgotten: the next run says so again, and publishes once the contract holds.
    with pytest.raises(HoursHeld):
        run(Workspace(workspace.config))
    monkeypatch.setattr(checked, "check_hours", lambda name, parts: [])
    workspace.config.write_text(SETTINGS.replace("ttft_s = 1.0", "ttft_s = 0.2"))
    run(Workspace(workspace.config))


@pytest.mark.usefixtures("unchecked")
def test_since_and_until_compute_the_hours_again(workspace: Workspace) -> None:
    run(workspace)
    first = datetime.fromtimestamp(T0_NS / 1e9, UTC)
    again = run(workspace, first, first + timedelta(hours=2))
    assert again.hours_computed == 3


def test_a_failing_step_names_its_cause(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lake.pq, "write_table", full)
    with pytest.raises(LakeUnwritable, match="No space left on device"):
        run(workspace)
    assert not [path for path in workspace.lake.root.rglob("*") if path.suffix in (".parquet", ".tmp", ".duckdb")]


def test_metadata_of_a_run_is_json(workspace: Workspace, instance: dg.DagsterInstance) -> None:
    workspace.lake.open()
    result = build_defs(workspace=workspace).resolve_job_def("ingest").execute_in_process(instance=instance)
    for event in result.get_asset_materialization_events():
        values = {key: value.value for key, value in event.materialization.metadata.items()}
        said = json.loads(json.dumps(values))
        if event.asset_key and event.asset_key.to_user_string() in CONFORMED:
            assert said["sources_read"] == 1
        assert "dagster/row_count" in values


def test_the_schedule_waits_for_late_telemetry_as_long_as_the_settings_say(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text("[schedule]\ngrace_s = 1200\n")
    (schedule,) = build_defs(workspace=Workspace(tmp_path / "goodput.toml")).schedules or ()
    assert schedule.cron_schedule == "20 * * * *"
