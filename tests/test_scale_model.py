"""The simulated day: sums and bounds that a hand can work out, on stages made up for it, and the stages of the plan."""

import math
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from goodput.nodes import NODES
from goodput.settings.model import Settings

sys.path.append(str(Path(__file__).parents[1]))  # where the benchmarks are, which are no part of the package

from benchmarks import scale_day, scale_model, scale_stages
from benchmarks.scale_day import CORES, DAY, HOUR, INGEST, KEY, OWN, Assumed, simulate
from benchmarks.scale_stages import Stage

PLAIN = Assumed(
    machines=1,
    cores=1,
    peak_to_mean=1.0,
    largest_key=0.0,
    late_share=0.0,
    failure=0.0,
    spread=0.0,
    run_growth=0.0,
    grace_s=0.0,
    latency_s=0.0,
    store_bytes_s=math.inf,
)
A_DAY = 240_000.0  # 10,000 an hour


def stage(core_s: float = 0.001, **others: Any) -> Stage:
    """One of which a request takes a millisecond, and a task nothing more."""
    made = Stage("made", (), 1, core_s, 0.0, 100.0, 1000.0, 0.0)
    return replace(made, **others)


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the stages; ingest and commits then take nothing, unless they are told."""

    def set_to(*barriers: tuple[Stage, ...], ingest_core_s: float = 0.0, commit_s: float = 0.0) -> None:
        monkeypatch.setattr(scale_day, "BARRIERS", barriers)
        monkeypatch.setattr(scale_day, "INGEST_CORE_S", ingest_core_s)
        monkeypatch.setattr(scale_day, "COMMIT_S", commit_s)
        monkeypatch.setattr(scale_day, "INGEST_CORES", 1.0)

    return set_to


# What a day adds up to


def test_work_is_what_each_request_costs_in_every_stage(plan: Any) -> None:
    hours, days = stage(before=2, task_core_s=1.0), stage(0.0001, is_of_day=True)
    plan((hours,), (days,), ingest_core_s=0.002)
    took = simulate(A_DAY, PLAIN)
    # each run makes 3 hours, of 10 s and 1 s for the task; the day so far has 1, 2 ... 24 hours of 10,000 x 0.1 ms
    assert took.worker_core_s == pytest.approx(24 * 3 * 11 + sum(range(1, 25)))
    assert took.own_core_s == pytest.approx(24 * 20)


def test_windows_of_a_day_that_wait_for_its_end_are_made_once(plan: Any) -> None:
    plan((stage(0.0001, is_of_day=True),))
    assert simulate(A_DAY, replace(PLAIN, day_at_end=1)).worker_core_s == pytest.approx(24)


def test_a_large_day_is_a_task_for_each_hour_of_it_and_a_union(plan: Any) -> None:
    day = stage(is_of_day=True, of="small")
    hours, union = replace(day, of="large", is_by_hour=True), replace(day, of="large", core_s=0.0, task_core_s=5.0)
    plan((day, hours), (union,))
    # until 50,000 requests one task, of 10 to 50 s; from the sixth hour on one of 10 s for each hour, and 5 s
    small, large = sum(10 * n for n in range(1, 6)), sum(10 * n + 5 for n in range(6, 25))
    took = simulate(A_DAY, replace(PLAIN, cores=24, exact_requests=50_000))
    assert took.worker_core_s == pytest.approx(small + large)
    assert sum(took.path_s.values()) == pytest.approx(small + 19 * (10 + 5))


def test_with_one_worker_time_is_the_sum(plan: Any) -> None:
    plan((stage(before=2),), (stage(), stage(0.0001, is_of_day=True)), ingest_core_s=0.002)
    took = simulate(A_DAY, replace(PLAIN, spread=0.5, failure=0.1))
    assert sum(took.path_s.values()) == pytest.approx(took.worker_core_s + took.own_core_s)


def test_numbers_are_out_when_the_run_is_over(plan: Any) -> None:
    plan((stage(),), ingest_core_s=0.002)
    assert simulate(A_DAY, replace(PLAIN, grace_s=600)).delays_s == pytest.approx([600 + 20 + 10] * 24)


def test_twice_the_cores_take_half_as_long(plan: Any) -> None:
    plan((stage(is_cut=True),))
    few = replace(PLAIN, cores=8, shard_requests=100)
    one, two = (simulate(A_DAY, replace(few, machines=machines)) for machines in (1, 2))
    task_s = 0.1
    took_s, halved_s = (sum(each.path_s.values()) / 24 for each in (one, two))
    assert took_s == pytest.approx(10 / 8, abs=task_s)
    assert halved_s == pytest.approx(took_s / 2, abs=task_s)


def test_a_whole_hour_is_no_faster_on_more_cores(plan: Any) -> None:
    plan((stage(),))
    took = simulate(A_DAY, replace(PLAIN, cores=64))
    assert took.path_s[HOUR] + took.path_s[CORES] == pytest.approx(24 * 10)


def test_commits_follow_the_last_task(plan: Any) -> None:
    plan((stage(before=2),), commit_s=4.0)
    # hours of 10 s on three workers; 3 commits of 4 s, of which none can begin before an hour is done
    assert simulate(A_DAY, replace(PLAIN, cores=3)).path_s[OWN] == pytest.approx(24 * 12)
    # on one worker commits of the first two hours go on beside the next
    assert simulate(A_DAY, PLAIN).path_s[OWN] == pytest.approx(24 * 4)


def test_workers_share_what_has_landed_by_eight_megabytes(plan: Any) -> None:
    plan(ingest_core_s=0.003)
    took = simulate(A_DAY, replace(PLAIN, cores=10, object_bytes=1e6))
    # 10,000 requests of 2,030 bytes are three shares, of a third of 30 s each, on ten workers
    assert took.path_s[CORES] + took.path_s[INGEST] == pytest.approx(24 * 10)
    assert (took.worker_core_s, took.own_core_s) == pytest.approx((24 * 30, 0))
    assert took.reads == pytest.approx(24 * (21 + 21 + 8))  # objects, by the run and by workers; and of any run


def test_tries_that_fail_are_work_too(plan: Any) -> None:
    plan((stage(is_cut=True),))
    many = replace(PLAIN, cores=8, shard_requests=10)  # 24,000 tasks a day
    plain, failing = (simulate(A_DAY, replace(many, failure=share)).worker_core_s for share in (0.0, 0.2))
    assert failing / plain == pytest.approx(1 / (1 - 0.2), rel=0.02)


def test_what_varies_costs_the_same_on_average(plan: Any) -> None:
    plan((stage(is_cut=True),))
    many = replace(PLAIN, cores=8, shard_requests=10)
    assert simulate(A_DAY, replace(many, spread=0.5)).worker_core_s == pytest.approx(240, rel=0.02)


def test_waiting_for_the_store_is_latency_by_eight_at_once(plan: Any) -> None:
    plan()
    took = simulate(A_DAY, replace(PLAIN, latency_s=1.0, latency_sigma=0.0, object_bytes=1e12))
    assert took.path_s[INGEST] == pytest.approx(24 * 2 / 8)  # an object is read, a part written
    assert took.path_s[OWN] == pytest.approx(24 * 40)


def test_bytes_take_their_time_to_the_store_and_from_it(plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plan((stage(stored_bytes=300.0, before=1),))
    monkeypatch.setattr(scale_day, "LANDED_BYTES", 2000)
    monkeypatch.setattr(scale_day, "RECORD_BYTES", 500)
    took = simulate(A_DAY, replace(PLAIN, cores=2, store_bytes_s=1e6))
    assert took.path_s[INGEST] == pytest.approx(24 * 10_000 * 2500 / 1e6)
    assert took.path_s[OWN] == pytest.approx(24 * 2 * 10_000 * 300 / 1e6)  # two hours, both done at once


# Late rows and backlogs


def test_late_rows_make_past_hours_due_with_those_around_them() -> None:
    hourly = np.arange(10.0)
    found = scale_day.due(stage(before=2, after=1), [5, 9], hourly, 9, PLAIN)
    assert [one.requests.tolist() for one in found] == [[3], [4], [5], [6], [7], [8], [9]]


def test_late_rows_are_read_once_and_cost_whole_hours(plan: Any) -> None:
    plan((stage(),), ingest_core_s=0.001)
    late = replace(PLAIN, late_share=0.2, late_h=1)  # all of them land with the next run
    took = simulate(A_DAY, late)
    assert took.own_core_s == pytest.approx(240, rel=0.01)
    assert took.worker_core_s == pytest.approx(24 * 2 * 10)


def test_a_busy_noon_is_caught_up_with_by_night(plan: Any) -> None:
    plan(ingest_core_s=86_400 * 0.8 / A_DAY)
    took = simulate(A_DAY, replace(PLAIN, peak_to_mean=1.5))
    assert not took.is_behind
    assert max(took.delays_s) > 2 * 3600 > min(took.delays_s)


@pytest.mark.parametrize(("share", "is_behind"), [(0.99, False), (1.05, True), (3.0, True)])
def test_more_than_a_day_of_work_a_day_is_never_done(plan: Any, share: float, is_behind: bool) -> None:
    plan(ingest_core_s=86_400 * share / A_DAY)
    assert simulate(A_DAY, PLAIN).is_behind is is_behind


# Shards


def test_a_key_is_not_cut() -> None:
    sizes, largest = scale_day.cut(1e6, replace(PLAIN, shard_requests=10_000, largest_key=0.05))
    assert largest == KEY
    assert sizes.max() == sizes[0] == 50_000
    assert sizes.sum() == pytest.approx(1e6)
    assert len(sizes) == 1 + 95


def test_shards_without_a_large_key_are_alike() -> None:
    sizes, largest = scale_day.cut(1e6, replace(PLAIN, shard_requests=10_000, largest_key=0.001))
    assert largest == CORES
    assert sizes.tolist() == pytest.approx([10_000.0] * 100)


@pytest.mark.parametrize("shard", [None, 2_000_000])
def test_an_hour_that_is_not_cut_is_one_task(shard: int | None) -> None:
    sizes, largest = scale_day.cut(1e6, replace(PLAIN, shard_requests=shard, largest_key=0.5))
    assert (sizes.tolist(), largest) == ([1e6], HOUR)


@pytest.mark.parametrize(
    ("requests", "workers", "portions"), [(8e6, 4, 4), (8e6, 20, 8), (1e6, 20, 5), (8e6, 1, 1), (8e6, 0, 1)]
)
def test_an_hour_is_cut_in_portions_by_the_workers_that_are_free(requests: float, workers: int, portions: int) -> None:
    hours = 2
    found = scale_day.due(
        stage(cuts=True, is_in_portions=True, before=1),
        [3],
        np.full(4, requests),
        3,
        replace(PLAIN, machines=1, cores=max(1, workers * hours), shard_requests=1000),
    )
    assert [one.requests.tolist() for one in found] == [[requests / portions] * portions] * hours
    assert {one.largest for one in found} == {CORES if portions > 1 else HOUR}


def test_workers_take_what_comes_next_as_they_are_free() -> None:
    tasks_s = np.array([3.0, 1.0, 1.0, 1.0, 2.0])
    assert scale_day.makespan_s(tasks_s, 2) == 5.0  # 3, 2 beside 1, 1, 1
    assert scale_day.makespan_s(tasks_s, 1) == 8.0
    assert scale_day.makespan_s(tasks_s, 5) == 3.0


def test_traffic_has_its_day_and_its_peak() -> None:
    hours = scale_day.traffic(2400.0, 1.5)
    assert hours.sum() == pytest.approx(2400)
    assert (hours.max(), int(hours.argmax()), hours.min()) == (pytest.approx(150), 14, pytest.approx(50))


@pytest.mark.parametrize("wrong", [{"peak_to_mean": 2.5}, {"peak_to_mean": 0.5}, {"late_h": 0}, {"late_h": 49}])
def test_what_no_day_can_be_is_refused(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} is {wrong[name]}: give 1 to "):
        Assumed(**wrong)


# What is full first


def day(given: Assumed) -> scale_model.Day:
    return scale_model.day(A_DAY, given, scale_model.Prices())


def test_more_cores_move_the_bottleneck_from_cores_to_ingest(plan: Any) -> None:
    plan((stage(is_cut=True),), ingest_core_s=0.0001)
    given = replace(PLAIN, shard_requests=100)
    assert [day(replace(given, cores=cores)).bottleneck for cores in (4, 64)] == [CORES, INGEST]


def test_faster_ingest_moves_it_back(plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plan((stage(is_cut=True),), ingest_core_s=0.0001)
    monkeypatch.setattr(scale_day, "INGEST_CORES", 10.0)
    assert day(replace(PLAIN, shard_requests=100, cores=64)).bottleneck == CORES


def test_cutting_hours_moves_it_from_the_hour_to_the_key_that_cannot_be_cut(plan: Any) -> None:
    plan((stage(is_cut=True),))
    given = replace(PLAIN, cores=64, largest_key=0.2)
    found = [day(replace(given, shard_requests=shard)).bottleneck for shard in (None, 100)]
    assert found == [HOUR, KEY]
    assert day(replace(given, shard_requests=100, largest_key=0.01)).bottleneck == CORES


def test_windows_of_the_day_are_one_task(plan: Any) -> None:
    plan((stage(0.0001), stage(is_of_day=True)))
    assert day(replace(PLAIN, cores=64)).bottleneck == DAY


def test_memory_that_is_enough_is_no_bottleneck(plan: Any) -> None:
    plan((stage(),), ingest_core_s=0.1)
    needed_bytes = 1000 + 100 * 10_000  # of a task, and of a request
    given = [replace(PLAIN, worker_bytes=held / 2, spill=2.0) for held in (needed_bytes - 1, needed_bytes)]
    found = [day(one) for one in given]
    assert [one.bottleneck for one in found] == ["an hour of the made does not fit a worker", INGEST]
    assert found[1].delays_s == pytest.approx((1010, 1010))
    out = [list(scale_model.cells(one))[3] for one in found]
    assert out == ["never; if it did fit 17 min, 17 min", "17 min, 17 min"]


def test_workers_needed_fit_their_work_beside_what_one_process_does(plan: Any) -> None:
    plan((stage(0.72),), ingest_core_s=0.09)
    found = day(replace(PLAIN, cores=64))  # a quarter of the day is ingest's; 172,800 s of work in 64,800 s
    assert found.workers_needed == 3
    plan((stage(0.72),), ingest_core_s=0.36)
    assert day(replace(PLAIN, cores=64, object_bytes=1e12)).workers_needed == math.inf  # one object is one share


def test_dollars(plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plan((stage(0.015),))
    monkeypatch.setattr(scale_model, "RECORD_BYTES", 1_000_000.0)
    monkeypatch.setattr(scale_model, "STAGES", ())
    prices = scale_model.Prices(
        retention_days=10, core_hour_usd=0.05, gb_month_usd=0.0365, write_usd=0.001, read_usd=0.01
    )
    found = scale_model.day(A_DAY, replace(PLAIN, object_bytes=1e12), prices)
    compute, storage, asked = found.usd
    assert compute == pytest.approx(0.05)  # 3600 core-seconds
    assert storage == pytest.approx(240 * 10 * 0.0365 * 12 / 365)
    # of each run: an object and 8 more reads; a block, a part with its commit, 40 more, and renewals of 150 s each 20 s
    assert asked == pytest.approx(24 * (9 * 0.01 + (1 + 2 + 40 + 7.5) * 0.001))


# The table


def test_the_same_seed_gives_the_same_table() -> None:
    def table(seed: int) -> str:
        return scale_model.table([scale_model.day(1e7, Assumed(seed=seed), scale_model.Prices())])

    assert table(1) == table(1)
    assert table(1) != table(2)


def test_tables_of_whole_hours_and_of_cut_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["scale_model", "--requests", "1e6", "1e7", "--late-share", "0.25"])
    scale_model.main()
    printed = capsys.readouterr().out.splitlines()
    assert "late_share = 0.25  # share of requests that land after the run of their hour" in printed
    assert [line.split(" | ")[0] for line in printed if line.startswith("| 10^")] == ["| 10^6", "| 10^7"] * 2


def test_stages_reach_as_far_as_the_plan_does() -> None:
    nodes = {node.name: node for node in NODES}
    context: Any = SimpleNamespace(request_reach_h=1, settings=Settings())
    for name, found in (
        ("join", scale_stages.JOIN),
        ("cost_ledger", scale_stages.LEDGER),
        ("windows", scale_stages.HOUR_WINDOWS),
    ):
        reach = [(look.after, look.before) for look in nodes[name].lookaround(context).values()]
        assert (found.before, found.after) == tuple(map(max, zip(*reach, strict=True))), name


def test_stages_are_all_that_workers_compute_of_requests() -> None:
    of_little = {"samples", "label_rows", "judged_hours", "reconciliation", "disruptions"}  # no rows of requests
    partitioned = {node.name for node in NODES if node.partition != "none"}
    assert {name for one in scale_stages.STAGES for name in one.nodes} == partitioned - of_little
