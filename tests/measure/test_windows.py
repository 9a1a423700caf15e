"""Windows of goodput: what counts where, percentiles, ratios and flags (docs/semantics.md#windows)."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from goodput.settings.model import Settings
from river import VERDICTS, Row, at, judged, one_workload, row_of, windows

SLICES = {
    "overall": (),
    "workload": ("workload",),
    "workload_model": ("workload", "model"),
    "model": ("model",),
    "pool": ("pool",),
    "workload_pool": ("workload", "pool"),
    "workload_route": ("workload", "route"),
    "finest": ("workload", "model", "pool", "route"),
}
COUNTS = ("offered", *VERDICTS)


# One busy hour, measured once: 400 requests of two workloads, some of them without model, pool or route.


@pytest.fixture(scope="module")
def busy() -> list[Row]:
    chance = random.Random(4)

    def one(n: int) -> Row:
        end, wait = chance.uniform(1, 3599), chance.choice([None, chance.expovariate(2)])
        return judged(
            f"r{n}",
            chance.choice(VERDICTS),
            end,
            start=end - chance.uniform(0.1, 900),
            workload=chance.choice(["qa", "unassigned"]),
            model=chance.choice(["m1", "m2", None]),
            pool=chance.choice(["p1", None]),
            route=chance.choice(["r1", "r2", None]),
            ttft_s=wait,
            queue_s=chance.choice([None, 0.0, chance.random()]),
            tpot_s=chance.random() / 10,
            output_tokens=chance.choice([None, 0, 1, 50, 700]),
            retry_count=chance.choice([0, 0, 1, 4]),
            tpot_na=chance.random() < 0.1,
            pass_tpot=chance.choice([None, True, False]),
        )

    return [one(n) for n in range(400)]


@pytest.fixture(scope="module")
def measured(busy: list[Row], tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    return windows(tmp_path_factory.mktemp("busy"), busy, one_workload(), (300, 3600))


def members(busy: list[Row], row: Row, by: str = "ended_at") -> list[Row]:
    """The requests of one row of goodput, found without SQL."""
    start = row["window_start"].timestamp()
    return [
        r
        for r in busy
        if start <= r[by].timestamp() < start + row["window_s"]
        and all(row[name] == (r[name] or "unknown") for name in SLICES[row["slice"]])
    ]


def test_every_window_of_every_slice_counts_its_requests(busy: list[Row], measured: pl.DataFrame) -> None:
    for row in measured.to_dicts():
        inside = members(busy, row)
        verdicts = Counter(r["verdict"] for r in inside)
        assert {name: row[name] for name in COUNTS} == {"offered": len(inside)} | {v: verdicts[v] for v in VERDICTS}
        assert row["succeeded"] == sum(r["pass_success"] for r in inside)
        assert row["arrivals"] == len(members(busy, row, "arrived_at"))
        assert row["tpot_na"] == sum(r["tpot_na"] for r in inside)


def test_identity_v_holds_in_every_row(measured: pl.DataFrame) -> None:
    assert measured.select((pl.col("offered") == pl.sum_horizontal(*VERDICTS)).all()).item()


def test_a_slice_column_that_does_not_cut_is_null(measured: pl.DataFrame) -> None:
    assert set(measured["slice"]) == set(SLICES)
    for name, cut_by in SLICES.items():
        rows = measured.filter(pl.col("slice") == name)
        for column in ("workload", "model", "pool", "route"):
            if column in cut_by:
                assert rows[column].null_count() == 0
            else:
                assert rows[column].null_count() == rows.height
    assert set(measured.filter(pl.col("slice") == "finest")["model"]) == {"m1", "m2", "unknown"}


def test_no_window_is_missing_and_none_is_there_twice(busy: list[Row], measured: pl.DataFrame) -> None:
    for name, cut_by in SLICES.items():
        cells = {
            (int(r[by].timestamp()) // 300 * 300, *(r[column] or "unknown" for column in cut_by))
            for r in busy
            for by in ("ended_at", "arrived_at")
            if r[by] >= at(0)
        }
        rows = measured.filter((pl.col("slice") == name) & (pl.col("window_s") == 300)).to_dicts()
        found = [(int(row["window_start"].timestamp()), *(row[column] for column in cut_by)) for row in rows]
        assert len(found) == len(set(found))
        assert cells <= set(found)


def test_percentiles_interpolate_linearly_over_succeeded_requests(busy: list[Row], measured: pl.DataFrame) -> None:
    for row in measured.to_dicts():
        for name in ("ttft", "tpot", "e2e", "queue"):
            values = [r[f"{name}_s"] for r in members(busy, row) if r["pass_success"] and r[f"{name}_s"] is not None]
            assert row[f"n_{name}"] == len(values)
            for p in (50, 95, 99):
                expected = np.percentile(values, p) if values else None
                assert row[f"p{p}_{name}_s"] == (None if expected is None else pytest.approx(expected, rel=1e-12))


def test_rates_and_ratios(busy: list[Row], measured: pl.DataFrame) -> None:
    for row in measured.to_dicts():
        inside = members(busy, row)
        ok = [r for r in inside if r["pass_success"]]
        assert row["throughput_rps"] == pytest.approx(len(ok) / row["window_s"])
        assert row["output_tps"] == pytest.approx(sum(r["output_tokens"] or 0 for r in ok) / row["window_s"])
        assert row["goodput_ratio"] == (
            pytest.approx(row["goodput_rps"] * row["window_s"] / len(inside)) if inside else None
        )
        retried = sum(r["retry_count"] > 0 for r in inside)
        assert row["retry_ratio"] == (pytest.approx(retried / len(inside)) if inside else None)
        for gate in ("ttft", "tpot", "e2e"):
            told = [r[f"pass_{gate}"] for r in inside if r.get(f"pass_{gate}") is not None]
            assert row[f"{gate}_fail_ratio"] == (pytest.approx(told.count(False) / len(told)) if told else None)


def test_finer_windows_add_up_to_coarser_ones(measured: pl.DataFrame) -> None:
    keys = ["slice", "workload", "model", "pool", "route"]
    added = measured.group_by("window_s", *keys).agg(pl.sum(*COUNTS, "succeeded", "arrivals"))
    fine = added.filter(pl.col("window_s") == 300).drop("window_s").sort(keys, nulls_last=True)
    coarse = added.filter(pl.col("window_s") == 3600).drop("window_s").sort(keys, nulls_last=True)
    assert fine.equals(coarse)


# Small windows


def test_a_request_belongs_to_the_window_of_its_completion(tmp_path: Path) -> None:
    rows = [
        judged("a", "accepted", end=300.0, start=299.999),
        judged("b", "failed", end=299.999, start=-5.0),
        judged("c", "accepted", end=3600.0, start=3599.0),
    ]
    frame = windows(tmp_path, rows, one_workload())
    first, second, last = (row_of(frame, minute) for minute in (0, 5, 55))
    assert (first["offered"], first["arrivals"], first["failed"]) == (1, 1, 1)
    assert (second["offered"], second["arrivals"], second["accepted"]) == (1, 0, 1)
    # c's completion lies beyond what was asked for; its arrival does not
    assert (last["offered"], last["arrivals"]) == (0, 1)
    assert set(frame["window_start"]) == {at(0), at(300), at(3300)}


def test_windows_of_work_that_was_only_under_way_exist(tmp_path: Path) -> None:
    frame = windows(tmp_path, [judged("long", "accepted", end=1000.0, start=10.0)], one_workload())
    overall = frame.filter(pl.col("slice") == "overall")
    assert list(overall["window_start"]) == [at(0), at(300), at(600), at(900)]
    assert list(overall["offered"]) == [0, 0, 0, 1]
    assert list(overall["arrivals"]) == [1, 0, 0, 0]
    idle = row_of(frame, 5)
    assert (idle["throughput_rps"], idle["goodput_rps"], idle["output_token_goodput_tps"]) == (0, 0, 0)
    # ratios of nothing are unknown, not zero
    unknown = (
        "goodput_ratio",
        "retry_ratio",
        "ttft_fail_ratio",
        "quality_coverage_ratio",
        "p50_ttft_s",
        "binding_gate",
        "cost_per_accepted_usd",
    )
    assert {name: idle[name] for name in unknown} == dict.fromkeys(unknown)


def test_without_telemetry_there_is_no_window(tmp_path: Path) -> None:
    assert windows(tmp_path, [], one_workload()).height == 0
    far = [judged("before", "accepted", end=-10.0), judged("after", "accepted", end=4000.0)]
    assert windows(tmp_path, far, one_workload()).height == 0


def test_a_request_in_flight_has_arrived_but_is_in_no_window(tmp_path: Path) -> None:
    frame = windows(tmp_path, [judged("a", "in_flight", end=2.0), judged("b", "accepted", end=3.0)], one_workload())
    row = row_of(frame)
    assert (row["offered"], row["arrivals"], row["accepted"]) == (1, 2, 1)


def test_a_window_is_partial_unless_wholly_observed(tmp_path: Path) -> None:
    rows = [judged(f"r{n}", "accepted", end=300.0 * n + 10) for n in range(4)]
    frame = windows(tmp_path, rows, one_workload(), (300, 3600), observed_s=(300.0, 900.0))
    assert [row_of(frame, 5 * n)["partial"] for n in range(4)] == [True, False, False, True]
    assert row_of(frame, 0, 3600)["partial"] is True


def test_rates_over_observed_seconds_leave_out_what_nobody_watched(tmp_path: Path) -> None:
    # 36 answers in two hours, of which telemetry covers the last 70 minutes; a quarter of them were slow
    rows = [judged(f"r{n}", "slow" if n % 4 == 0 else "accepted", end=200.0 * n + 5) for n in range(36)]
    frame = windows(tmp_path, rows, one_workload(), (3600, 86400), hours=24, observed_s=(3000.0, 7200.0))
    named = ("observed_s", "throughput_observed_rps", "goodput_observed_rps")
    first, second = row_of(frame, 0, 3600), row_of(frame, 60, 3600)
    assert [second[name] for name in named] == [3600, 18 / 3600, 14 / 3600]
    assert second["throughput_observed_rps"] == second["throughput_rps"]
    assert (first["observed_s"], first["throughput_observed_rps"]) == (600, 18 / 600)
    (day,) = [row for row in frame.to_dicts() if row["window_s"] == 86400 and row["slice"] == "overall"]
    assert [day[name] for name in named] == [4200, 36 / 4200, 27 / 4200]
    assert day["goodput_observed_rps"] * 4200 == pytest.approx(day["goodput_rps"] * 86400)


def test_a_window_outside_of_observed_telemetry_has_no_rate_over_it(tmp_path: Path) -> None:
    frame = windows(tmp_path, [judged("a", "accepted", 10.0)], one_workload(), observed_s=(600.0, 900.0))
    row = row_of(frame)
    assert (row["observed_s"], row["goodput_observed_rps"], row["throughput_observed_rps"]) == (0, None, None)


def test_few_requests_are_said_to_be_few(tmp_path: Path) -> None:
    def some(n: int, verdict: str, minute: int) -> list[Row]:
        return [judged(f"{minute}/{verdict}/{i}", verdict, end=60.0 * minute + 10) for i in range(n)]

    rows = some(99, "accepted", 0) + some(100, "accepted", 5) + some(99, "accepted", 10) + some(50, "unevaluable", 10)
    # 105 succeeded, 80 of them with all measurements; what failed makes these no more
    rows += some(80, "accepted", 15) + some(25, "unevaluable", 15) + some(30, "failed", 15)
    frame = windows(tmp_path, rows, one_workload())
    assert [row_of(frame, minute)["low_n"] for minute in (0, 5, 10, 15)] == [True, False, True, True]


def test_the_binding_gate_is_the_one_whose_removal_accepts_most(tmp_path: Path) -> None:
    def failing(gate: str | None, n: int, minute: int) -> list[Row]:
        return [judged(f"{minute}/{gate}/{i}", "slow", end=60.0 * minute + 5, sole_failing_gate=gate) for i in range(n)]

    rows = failing("ttft", 3, 0) + failing("e2e", 4, 0) + failing("quality", 2, 0) + failing(None, 9, 0)
    rows += failing("retries", 1, 5) + failing(None, 1, 10)
    frame = windows(tmp_path, rows, one_workload())
    found = [(row["binding_gate"], row["binding_gate_requests"]) for row in (row_of(frame, m) for m in (0, 5, 10))]
    assert found == [("e2e", 4), ("retries", 1), (None, 0)]


def test_no_cost_is_unknown_cost(tmp_path: Path) -> None:
    row = row_of(windows(tmp_path, [judged("a", "failed")], Settings()))
    assert (row["cost_usd"], row["cost_per_accepted_usd"]) == (None, None)


@pytest.mark.parametrize("window_s", [300, 3600])
def test_a_request_is_under_way_no_further_back_than_requests_reach(tmp_path: Path, window_s: int) -> None:
    """Three and a half hours long, where a request lives an hour: of its hours the last two alone can read it."""
    request = judged("r", "accepted", 3.6 * 3600, start=0.1 * 3600)
    found = windows(tmp_path, [request], one_workload(), (window_s,), hours=4).filter(slice="overall")
    assert sorted(found["window_start"]) == [at(start) for start in range(2 * 3600, 3 * 3600 + 2160 + 1, window_s)]
