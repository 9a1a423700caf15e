"""Days with more rows than are held at once, as sums of their hours: the same rows, percentiles within half a unit.

See docs/semantics.md#percentiles and docs/scale.md#a-day-that-is-added-up.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from goodput.contracts import contract
from goodput.measure.nodes import REPLICAS, WASTE, WINDOWS
from goodput.plumbing.assembly import assemble
from goodput.plumbing.hours import hour_label
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Batch, Context, Node, Parts
from goodput.plumbing.plan import due
from goodput.plumbing.runner import InProcess
from goodput.plumbing.sharded import in_shards, is_cut
from goodput.plumbing.work import ComputedBatch, work
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from goodput.settings.model import Settings, Slices
from lakes import observe, put
from random_requests import random_cases, random_settings
from river import START_S, at_ns, join, judged, session_hours
from runners.fleet import assert_same, land

DAY = "2026-11-20"
NODES = (WASTE, WINDOWS, REPLICAS)
UNIT_S = {"tpot": 1e-5}  # of the latencies of windows and attempts; all others are counted by the millisecond
CLOCKS = ("computed_at", "revision")
Frames = Mapping[str, pl.DataFrame]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A fleet with tenants, labels, sessions and bills, and overhead of one tenant in one hour of the day."""
    file = land(tmp_path_factory.mktemp("fleet"), hours=6.0, requests=1500)
    workspace = Workspace(file)
    run(workspace, deliver=False)
    catalog = workspace.lake.catalog
    hour = sorted(hour for hour in catalog["requests"].parts if hour.startswith(DAY))[-2]
    spent, asked = (
        pl.concat(pl.read_parquet(part.path, hive_partitioning=False) for part in catalog[table].parts[hour])
        for table in ("cost_ledger", "requests")
    )
    tenant = asked["tenant"].drop_nulls()[0]
    empty = [
        pl.lit(None, spent.schema[name]).alias(name) for name in ("request_key", "workload", "model", "pool", "route")
    ]
    shared = spent.head(1).with_columns(*empty, bucket=pl.lit("overhead"), usd=pl.lit(7.0), tenant=pl.lit(tenant))
    put(workspace.lake, "cost_ledger", hour, pl.concat([spent, shared]).to_arrow())
    return workspace


def made_of(batch: Batch) -> Frames:
    """Rows of the tables of a batch, computed at once or, where it is cut, hour by hour."""
    if is_cut(batch):
        ((_, done),) = in_shards([batch], InProcess())
    else:
        done = work(batch)
    assert isinstance(done, ComputedBatch), done
    return frames(done.parts)


def frames(parts: Parts) -> Frames:
    found = {
        table: pl.concat(pl.from_arrow(pq.ParquetFile(part.path).read()) for part in by_partition.values())
        for table, by_partition in parts.items()
        if by_partition and table != "restatements"
    }
    return {table: rows.drop(CLOCKS, strict=False) for table, rows in found.items()}


def assert_same_but_for_percentiles(counted: Frames, exact: Frames) -> None:
    assert counted.keys() == exact.keys()
    for table, rows in exact.items():
        timed = [name for name in rows.columns if name.startswith(("p50_", "p95_", "p99_")) and name.endswith("_s")]
        said = [*timed, *(["percentiles"] if "percentiles" in rows.columns else [])]
        key = contract(table).primary_key
        theirs, ours = rows.sort(key), counted[table].sort(key)
        assert_frame_equal(ours.drop(said), theirs.drop(said), check_exact=True)
        if timed:
            assert set(ours["percentiles"]) <= {"counted"}
            assert set(theirs["percentiles"]) <= {"exact"}
        for name in timed:
            half_s = UNIT_S.get(name.split("_")[1], 1e-3) / 2
            assert_frame_equal(ours.select(name), theirs.select(name), abs_tol=half_s + 1e-9, rel_tol=0)


@pytest.fixture(params=["listed", "crowded", "few_hours", "by_session"])
def chosen(request: pytest.FixtureRequest, fleet: Workspace) -> Settings:
    settings = fleet.settings
    crowded = Slices(by=("tenant", "workload_tenant"), max_values=2, max_names=1)
    by_session = {name: given.model_copy(update={"unit": "session"}) for name, given in settings.workloads.items()}
    return settings.model_copy(
        update={
            "listed": {},
            "crowded": {"slices": crowded},
            "few_hours": {"windows_s": (300, 7200, 86400)},
            "by_session": {"workloads": {**by_session, "chat": settings.workloads["chat"]}},
        }[request.param]
    )


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_a_day_is_the_sum_of_its_hours(node: Node, fleet: Workspace, chosen: Settings) -> None:
    assert_same_but_for_percentiles(*(day_of(node, fleet.lake, chosen, most) for most in (0, 10**9)))


def day_of(node: Node, lake: Lake, settings: Settings, most: int, day: str = DAY) -> Frames:
    context = Context(lake, settings.model_copy(update={"max_exact_requests": most}))
    batch = assemble(context, node, {day: "0" * 32})
    assert is_cut(batch) == (most == 0)
    found = made_of(batch)
    assert found[node.tables[0]].height > 5
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_day_of_random_requests_is_the_sum_of_its_hours(seed: int, tmp_path: Path) -> None:
    """Requests that go on for hours, that never end, sessions over hours, names that crowd a window."""
    chance = Random(seed)
    settings, cases = random_settings(chance), random_cases(chance, 300, 5 * 3600)
    first = next(iter(settings.workloads))
    workloads = {**settings.workloads, first: settings.workloads[first].model_copy(update={"unit": "session"})}
    more = {"workloads": workloads, "windows_s": (300, 7200, 86400), "max_request_lifetime_s": 7200.0}
    settings = settings.model_copy(update={**more, "slices": Slices(by=("tenant",), max_values=1, max_names=1)})
    named = {case.request_key: chance.choice([None, *(f"s{n}" for n in range(90))]) for case in cases}
    late = {case.request_key: chance.choice([0, 0, 0, 3600, 5400]) for case in cases}
    records = [
        _later(row, late[case.request_key]) | {"session_id": named[case.request_key]}
        for case in cases
        for row in case.records
    ]
    labels = [label for case in cases for label in case.labels]
    joined = join(records, labels, settings=settings, observed_until_s=30 * 3600)
    lake = Lake(tmp_path / "lake")
    hours: dict[str, list[Mapping[str, Any]]] = {}
    for row in joined.requests_table.to_pylist():
        hours.setdefault(_hour(row["ended_at"] or row["arrived_at"]), []).append(row)
    for hour, rows in hours.items():
        put(lake, "requests", hour, rows)
        put(lake, "session_hours", hour, session_hours(rows))
    observe(lake, at_ns(0), at_ns(5 * 3600))
    day = hour_label(START_S // 3600)[:10]
    assert_same_but_for_percentiles(*(day_of(WINDOWS, lake, settings, most, day) for most in (0, 10**9)))


def _later(row: Mapping[str, Any], seconds: int) -> dict[str, Any]:
    """The record, which ends so much later than it did."""
    if row["ended_ns"] is None or not seconds:
        return dict(row)
    return {**row, "ended_ns": row["ended_ns"] + seconds * 10**9, "e2e_s": row["e2e_s"] + seconds}


def _hour(moment: datetime) -> str:
    return hour_label(int(moment.timestamp()) // 3600)


def requests_that_take(lake: Lake, e2e_s: Mapping[int, Sequence[float]]) -> None:
    """Requests of hours after START_S, which succeeded and took so long."""
    for hour, latencies in e2e_s.items():
        start = 3600.0 * hour
        rows = [
            judged(f"{hour}/{n}", "accepted", start + 10, start=start, e2e_s=e2e, ttft_s=None)
            for n, e2e in enumerate(latencies)
        ]
        put(lake, "requests", hour_label(START_S // 3600 + hour), rows)
    observe(lake, at_ns(0), at_ns(86_400))


def percentiles(lake: Lake, partition: str, window_s: int, most: int = 0) -> tuple[Any, ...]:
    """The three percentiles of e2e_s of all requests in the first window, and what they are made from."""
    context = Context(lake, Settings(max_exact_requests=most))
    rows = made_of(assemble(context, WINDOWS, {partition: "0" * 32}))["goodput"]
    row = rows.filter(slice="overall", window_s=window_s).sort("window_start").to_dicts()[0]
    assert (row["p50_ttft_s"], row["n_ttft"]) == (None, 0)
    return row["p50_e2e_s"], row["p95_e2e_s"], row["p99_e2e_s"], row["percentiles"]


HOUR = hour_label(START_S // 3600)
ONE_DAY = HOUR[:10]


@pytest.mark.parametrize(("partition", "window_s"), [(HOUR, 3600), (ONE_DAY, 86400)])
@pytest.mark.parametrize(
    ("latencies", "expected"),
    [
        ([1.2344], (1.234, 1.234, 1.234)),
        ([0.0006, 0.0004], (0.0005, 0.00095, 0.00099)),  # of 1 and 0 ms
        ([1.0] * 99 + [5.0], (1.0, 1.0, 1.04)),  # rank 98.01: a hundredth of the way from 1 to 5 s
        ([0.001 * n for n in range(101)], (0.05, 0.095, 0.099)),
        ([86_000.0004, 86_000.0004, 10.0], (86_000.0, 86_000.0, 86_000.0)),
    ],
)
def test_counted_percentiles_by_hand(
    partition: str, window_s: int, latencies: list[float], expected: tuple[float, ...], tmp_path: Path
) -> None:
    lake = Lake(tmp_path / "lake")
    requests_that_take(lake, {0: latencies})
    assert percentiles(lake, partition, window_s) == (*map(pytest.approx, expected), "counted")


def test_a_day_ranks_the_requests_of_all_its_hours(tmp_path: Path) -> None:
    """Two quick hours and a slow one: the median is that of 1 to 9, not of three medians."""
    lake = Lake(tmp_path / "lake")
    requests_that_take(lake, {0: [1.0, 2.0, 3.0], 1: [4.0], 2: [5.0, 6.0, 7.0, 8.0, 9.0]})
    assert percentiles(lake, ONE_DAY, 86400)[0] == pytest.approx(5.0)


@pytest.mark.parametrize(("most", "expected"), [(2, "counted"), (3, "exact")])
def test_a_partition_with_more_requests_than_are_held_is_large(most: int, expected: str, tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    requests_that_take(lake, {0: [1.0, 2.0, 3.0]})
    assert {percentiles(lake, *of, most)[-1] for of in ((HOUR, 3600), (ONE_DAY, 86400))} == {expected}


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_another_bound_makes_windows_anew(node: Node, tmp_path: Path) -> None:
    """What says exact where it would be counted now is not left."""
    file = land(tmp_path, hours=2.0, requests=200)
    workspace = Workspace(file)
    run(workspace, deliver=False)
    changed = workspace.settings.model_copy(update={"max_exact_requests": 10})
    assert not due(node, Context(workspace.lake, workspace.settings))
    made = workspace.lake.catalog[node.tables[0]].parts
    assert due(node, Context(workspace.lake, changed)).keys() == made.keys()


def test_small_hours_beside_a_large_one_stay_exact(tmp_path: Path) -> None:
    lake, first = Lake(tmp_path / "lake"), START_S // 3600
    requests_that_take(lake, {0: [1.0001], 1: [1.0001] * 5, 2: [1.0001]})
    context = Context(lake, Settings(max_exact_requests=3))
    hours = {hour_label(first + n): "0" * 32 for n in range(3)}
    together = assemble(context, WINDOWS, hours)
    assert is_cut(together)
    assert not together.by_hour
    alone = [assemble(context, WINDOWS, {hour: "0" * 32}) for hour in hours]
    assert not any(map(is_cut, alone))
    found = pl.concat(made_of(batch)["goodput"].filter(slice="overall", window_s=3600) for batch in alone)
    assert found["percentiles"].to_list() == ["exact", "counted", "exact"]
    assert found["p50_e2e_s"].to_list() == pytest.approx([1.0001, 1.0, 1.0001], abs=1e-9)


def test_a_run_over_large_days_gives_the_tables_of_one_over_small_days(fleet: Workspace, tmp_path: Path) -> None:
    """The plan divides, cuts and unites by itself, with workers as without; what follows from windows is the same."""
    assert fleet.config is not None
    changed = fleet.config.parent / "large.toml"
    changed.write_text(f"max_exact_requests = 100\n{fleet.config.read_text()}")
    lakes = []
    for workers in (None, 2):
        workspace = Workspace(changed, lake_path=tmp_path / f"lake-{workers}", workers=workers)
        run(workspace, deliver=False)
        lakes.append(workspace.lake)
    assert_same(lakes[1], lakes[0], spread=True)


def test_names_and_values_of_a_day_are_kept_by_the_requests_of_each_hour_once(tmp_path: Path) -> None:
    """An hour shows the requests of the next one too, as they may have arrived in it: `late` has four, not eight."""
    lake = Lake(tmp_path / "lake")
    for hour, name, count in ((0, "early", 5), (1, "late", 4)):
        start = 3600.0 * hour
        rows = [judged(f"{name}{n}", "accepted", start + 10, pool=name, tenant=name) for n in range(count)]
        put(lake, "requests", hour_label(START_S // 3600 + hour), rows)
    observe(lake, at_ns(0), at_ns(86_400))
    settings = Settings(max_exact_requests=0, slices=Slices(by=("tenant",), max_values=1, max_names=1))
    rows = made_of(assemble(Context(lake, settings), WINDOWS, {ONE_DAY: "0" * 32}))["goodput"]
    for name, column in (("pool", "pool"), ("tenant", "slice_value")):
        found = rows.filter(slice=name, window_s=86400).sort(column)
        assert found.select(column, "offered").rows() == [("(other)", 4), ("early", 5)]
