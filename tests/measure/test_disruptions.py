"""Disruptions: when they end, what they cost beside undisturbed windows, and costs by how often a kind comes.

Base windows are 300 s; minutes count from 2026-11-20T09:00Z. Pools are written by hand, window by window.
"""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goodput.contracts import arrow_schema
from goodput.join.workloads import workload_rows
from goodput.measure.disruptions import BY_KIND, caps, disrupt, options
from goodput.measure.nodes import DISRUPTION_COST, DISRUPTIONS
from goodput.plumbing.catalog import ALL
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Batch, Context
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.plan import due, execute
from goodput.plumbing.sql_files import compute, connect, sql_file
from goodput.settings.model import Disruptions, Settings
from lakes import put
from river import START_S, Row, at, made

DAY = 24 * 60


def window(minute: float, pool: str | None = "p", **given: Any) -> Row:
    """A base window of `goodput` with 100 requests, 90 accepted, at $1.08; `hit` of 1000 input tokens cached."""
    offered = given.get("offered", 100)
    accepted = given.pop("accepted", 90)
    return {
        "window_start": at(60 * minute),
        "window_s": 300,
        "slice": "overall" if pool is None else "pool",
        "pool": pool,
        "arrivals": offered,
        "offered": offered,
        "accepted": accepted,
        "goodput_rps": accepted / 300,
        "p95_ttft_s": 1.0,
        "cost_usd": 1.08,
        "partial": False,
        "observed_s": 300,
        "hit": 600,
        **given,
    }


def event(minute: float, kind: str = "salt_rotation", pool: str | None = "p", **given: Any) -> Row:
    return {"event_id": f"{kind}@{minute}", "kind": kind, "occurred_at": at(60 * minute), "pool": pool, **given}


def _loaded(connection: Any, windows: Sequence[Row], events: Iterable[Row] = ()) -> None:
    cached = [
        {
            **{name: row[name] for name in ("window_start", "window_s", "pool")},
            "replica": f"replica of {row['pool']}",
            "input_tokens": 1000,
            "cached_input_tokens": row["hit"],
        }
        for row in windows
        if row["pool"] is not None and row["hit"] is not None
    ]
    served = [{name: value for name, value in row.items() if name not in {"hit", "paid"}} for row in windows]
    paid = [
        {
            "window_start": row["window_start"],
            "pool": row["pool"],
            "own_usd": 0.0,
            "pool_usd": 0.0,
            "gpu_s": 300.0,
            **of,
        }
        for row in windows
        for of in row.get("paid", ())
    ]
    for name, rows in (
        ("goodput", served),
        ("cache_by_replica", cached),
        ("ops_events", list(events)),
        ("paid_time", paid),
    ):
        connection.register(name, pa.Table.from_pylist(rows, schema=arrow_schema(name)))


def disruptions(
    windows: Sequence[Row], events: Iterable[Row], since: float = -9 * DAY, until: float = 2 * DAY, **chosen: Any
) -> dict[str, Row]:
    """Rows of `disruptions` by event; telemetry begins at minute `since` and ends at minute `until`."""
    settings = Settings.model_validate({"workloads": chosen.pop("workloads", {}), "disruptions": chosen})
    batch = Batch(DISRUPTIONS, Lake(Path("none")), settings, {ALL: ""})
    asked = {"from_s": START_S - 9 * 86400.0, "until_s": START_S + 9 * 86400.0}
    observed = {"observed_from_s": START_S + 60.0 * since, "observed_until_s": START_S + 60.0 * until}
    with connect() as connection:
        _loaded(connection, windows, events)
        (row,) = options(Context(batch.lake, settings), batch).to_pylist()
        connection.register("disruption_options", as_rows("disruption_options", {**row, **asked, **observed}))
        connection.register("disruption_caps", caps(settings))
        connection.register("workload_rules", workload_rows(settings))
        found = disrupt(connection, batch)
    return {row["event_id"]: row for row in found.to_pylist()}


def costs(windows: Sequence[Row], judged: Iterable[Row], settings: Settings | None = None) -> dict[str, list[Row]]:
    """Rows of the tables by kind for these windows and rows of `disruptions`."""
    chosen = settings or Settings()
    batch = Batch(DISRUPTION_COST, Lake(Path("none")), chosen, {ALL: ""})
    with connect() as connection:
        _loaded(connection, windows)
        table = pa.Table.from_pylist(list(judged), schema=arrow_schema("disruptions"))
        connection.register("disruptions", table)
        (row,) = options(Context(batch.lake, chosen), batch).to_pylist()
        observed = {"observed_from_s": START_S - 9 * 86400.0, "observed_until_s": START_S + 9 * 86400.0}
        connection.register("disruption_options", as_rows("disruption_options", {**row, **observed}))
        connection.register("workload_rules", workload_rows(chosen))
        for relation in DISRUPTION_COST.relations:
            compute(connection, relation)
        return {name: made(connection, name).to_pylist() for name in BY_KIND}


def steady(first: int, last: int, **given: Any) -> list[Row]:
    return [window(minute, **given) for minute in range(first, last, 5)]


def told(row: Row, *names: str) -> list[Any]:
    return [row[name] for name in names]


ROTATED = [  # rotated at 10:02: the cache is cold until 10:15
    *steady(0, 60),
    window(60, hit=400, p95_ttft_s=1.3),
    window(65, hit=100, p95_ttft_s=2.0, accepted=40, cost_usd=1.5),
    window(70, hit=300, p95_ttft_s=1.5, accepted=60, cost_usd=1.5),
    *steady(75, 120),
]


def test_a_salt_rotation_lasts_until_hits_and_ttft_are_back() -> None:
    (row,) = disruptions(ROTATED, [event(62)]).values()
    assert told(row, "occurred_at", "ended_at", "recovery_s") == [at(62 * 60), at(75 * 60), 780]
    assert told(row, "baseline", "baseline_windows", "overlapping_events") == ["matched", 12, 0]
    assert told(row, "offered", "accepted", "p95_ttft_s", "baseline_p95_ttft_s") == [300, 190, 1.5, 1.0]
    assert told(row, "hit_ratio", "baseline_hit_ratio") == pytest.approx([800 / 3000, 0.6])
    assert row["baseline_cost_per_accepted_usd"] == pytest.approx(0.012)
    assert row["cost_usd"] == pytest.approx(4.08)
    assert row["excess_cost_usd"] == pytest.approx(4.08 - 190 * 0.012)
    assert row["lost_accepted"] == pytest.approx(300 * 0.9 - 190)
    # the baseline does not vary and every label is known: what this disruption cost is no estimate
    assert told(row, "recovery_ci_low_s", "recovery_ci_high_s") == [780, 780]
    assert row["baseline_cost_per_accepted_ci_low_usd"] == pytest.approx(row["baseline_cost_per_accepted_ci_high_usd"])
    assert told(row, "excess_cost_ci_low_usd", "excess_cost_ci_high_usd") == pytest.approx([4.08 - 190 * 0.012] * 2)
    assert told(row, "lost_accepted_ci_low", "lost_accepted_ci_high") == pytest.approx([80, 80])


@pytest.mark.parametrize(
    ("after", "end", "ended_by"),
    [
        pytest.param({}, 62, "recovered", id="no effect at all"),
        pytest.param({60: {"hit": 1}}, 65, "recovered", id="cold for a moment"),
        pytest.param({65: {"p95_ttft_s": 1.2}}, 70, "recovered", id="slow alone"),
        pytest.param({60: {"hit": 9}, 65: {"hit": 540, "p95_ttft_s": 1.1}}, 65, "recovered", id="just within 10 %"),
        pytest.param({60: {"hit": 9}, 65: {"hit": 539}}, 70, "recovered", id="just not within 10 %"),
        pytest.param({60: {"hit": 9}, 70: {"hit": 9}}, 75, "recovered", id="back for one window only"),
        pytest.param({m: {"hit": 9} for m in range(60, 120, 5)}, 82, "cap", id="never back"),
        pytest.param({60: {"hit": 9}, 65: {"hit": None}}, 70, "recovered", id="a window without a lookup is not back"),
        pytest.param({m: {"hit": 9} for m in (60, 65, 70, 75)}, 80, "recovered", id="at the last moment"),
    ],
)
def test_a_disruption_ends_with_two_windows_in_a_row_or_at_its_cap(
    after: dict[int, Row], end: int, ended_by: str
) -> None:
    windows = [*steady(0, 60), *(window(minute, **after.get(minute, {})) for minute in range(60, 120, 5))]
    (row,) = disruptions(windows, [event(62)]).values()
    assert told(row, "ended_at", "ended_by") == [at(end * 60), ended_by]
    assert row["duration_s"] == (end - 62) * 60
    assert row["recovery_s"] == (None if ended_by == "cap" else (end - 62) * 60)


def test_settings_set_tolerance_and_caps() -> None:
    cold = [*steady(0, 60), *steady(60, 120, hit=500)]
    assert disruptions(cold, [event(60)])["salt_rotation@60"]["ended_by"] == "cap"
    lenient = disruptions(cold, [event(60)], recovery_tolerance_ratio=0.2)["salt_rotation@60"]
    assert told(lenient, "ended_by", "recovery_s") == ["recovered", 0]
    caps = {"cap_s": 600.0, "caps_s": {"deployment": 1800.0}}
    found = disruptions(cold, [event(60), event(60, "deployment")], **caps)
    assert [found[f"{kind}@60"]["duration_s"] for kind in ("salt_rotation", "deployment")] == [600, 1800]


def test_what_was_over_before_telemetry_began_is_not_told() -> None:
    events = [event(39), event(41), event(62)]  # the cap is 20 minutes
    assert set(disruptions(ROTATED, events, since=60)) == {"salt_rotation@41", "salt_rotation@62"}


def test_telemetry_that_ends_leaves_a_disruption_open() -> None:
    (row,) = disruptions(ROTATED[:14], [event(62)], until=70).values()
    assert told(row, "ended_by", "ended_at", "recovery_s") == ["open", at(70 * 60), None]


def test_baselines_are_of_like_loads_and_say_how_near_they_are() -> None:
    """The event comes at 100 requests a window; there were 12 such windows, then 12 of 70 and of 130, then only 5."""
    nights = steady(-400, -100, offered=10, arrivals=10, accepted=1)
    apart = [window(minute, offered=70 if minute % 10 else 130, accepted=63) for minute in range(-120, 0, 5)]
    cases = {"matched": ([*nights, *steady(0, 60)], 12), "nearest": (apart, 24), "few": (steady(35, 60), 5)}
    for baseline, (before, windows) in cases.items():
        (row,) = disruptions([*before, *steady(60, 90)], [event(60)]).values()
        assert told(row, "baseline", "baseline_windows", "priced_windows") == [baseline, windows, windows]
        # windows of other loads do not show how hits and latency vary at this one
        names = ("recovery", "s"), ("baseline_hit", "ratio"), ("baseline_p95_ttft", "s")
        ends = {row[f"{name}_ci_{end}_{unit}"] is None for name, unit in names for end in ("low", "high")}
        assert ends == {baseline != "matched"}


def test_a_price_is_that_of_its_load() -> None:
    """A window costs $1 at whatever load, and nine in ten pass: at 60 requests an accepted one costs 1/54, at 100 1/90.

    By day 80 to 120 requests came, and by night 20 to 40 do. A disruption at 100 that changes nothing costs nothing,
    nor does one at 60, between them; of one at 5 or 200 nothing shows what it costs.
    """
    of_day = [80 + 40 * n // 11 for n in range(12)]
    of_night = [20 + 20 * n // 11 for n in range(12)]
    before = [
        window(5 * n, offered=10 * load, accepted=9 * load, cost_usd=1.0) for n, load in enumerate([*of_day, *of_night])
    ]
    for load, excess_usd in ((100, 0.0), (60, 0.0), (5, None), (200, None)):
        after = steady(120, 150, offered=10 * load, accepted=9 * load, cost_usd=1.0)
        (row,) = disruptions([*before, *after], [event(120)]).values()
        assert row["no_interval"] == (None if excess_usd is not None else "load_unmatched")
        names = ("excess_cost_usd", "excess_cost_ci_low_usd", "excess_cost_ci_high_usd")
        lost = ("lost_accepted", "lost_accepted_ci_low", "lost_accepted_ci_high")
        if excess_usd is None:
            assert told(row, *names, *lost) == [None] * 6
        else:
            assert told(row, *names, *lost) == pytest.approx([0.0] * 6, abs=1e-9)
            assert row["baseline_cost_per_accepted_usd"] == pytest.approx(1 / (9 * load))


SILENT = {"offered": 0, "arrivals": 0, "accepted": 0, "partial": True, "observed_s": 0, "p95_ttft_s": None, "hit": None}


def test_a_window_without_a_request_is_part_of_what_it_cost() -> None:
    """No request comes in window 65, of which there is what was paid and no more: with window 60, 2 x 1.08 USD."""
    rows = [*steady(0, 60), window(60, accepted=5), window(65, **SILENT), *steady(70, 90)]
    (row,) = disruptions(rows, [event(61)], cap_s=600.0).values()
    assert (row["cost_usd"], row["offered"]) == (pytest.approx(2.16), 100)
    assert told(row, "excess_cost_usd", "lost_accepted", "no_interval") == [None, None, "load_unmatched"]


def test_an_outage_of_a_whole_pool_says_why_it_has_no_price() -> None:
    rows = [*steady(0, 60), *(window(minute, **SILENT) for minute in (60, 65, 70)), *steady(75, 90)]
    (row,) = disruptions(rows, [event(61)], cap_s=600.0).values()
    assert row["cost_usd"] == pytest.approx(3.24)
    assert told(row, "excess_cost_usd", "no_interval") == [None, "load_unmatched"]
    (gone,) = disruptions([*steady(0, 60), *steady(75, 90)], [event(61)], cap_s=600.0).values()
    assert told(gone, "cost_usd", "excess_cost_usd", "no_interval") == [None, None, "load_unmatched"]


def test_a_window_that_was_observed_in_part_has_no_price() -> None:
    """A bill may have all of its cost, where telemetry ends within it."""
    cut = [*steady(0, 80), window(80, partial=True, offered=50, accepted=45)]
    (row,) = disruptions(cut, [event(62)], until=83).values()
    assert told(row, "ended_by", "no_interval") == ["recovered", None]
    for row in disruptions(
        [{**row, "hit": 9 if row["window_start"] >= at(3600) else 600} for row in cut], [event(62)], until=83
    ).values():
        names = ("excess_cost_usd", "lost_accepted", "baseline_cost_per_accepted_usd")
        assert told(row, "no_interval", *names) == ["partly_observed", None, None, None]
        assert row["cost_usd"] is not None


def test_half_the_interval_of_a_line() -> None:
    """By hand: of loads 90, 100, 110 and 120 the windows cost 1, 2, 2 and 1 dollars, 90 accepted in each; ours is 100.

    The line is level at $1.50, its residuals -0.5, 0.5, 0.5, -0.5 with two degrees of freedom: s^2 = 0.5. The mean
    load is 105, squares about it are 500: at 100 the line has 1/4 + 25/500 = 0.3 of that. t = 4.302653.
    """
    loads = ((90, 1.0), (100, 2.0), (110, 2.0), (120, 1.0))
    before = [
        window(5 * n, offered=load, accepted=90, goodput_rps=90 / 300, cost_usd=usd)
        for n, (load, usd) in enumerate(loads)
    ]
    (row,) = disruptions([*before, *steady(20, 40, cost_usd=3.0)], [event(20)]).values()
    half = 4.302653 * math.sqrt(0.5 * 0.3)
    assert row["baseline_cost_per_accepted_usd"] == pytest.approx(1.5 / 90)
    names = ("baseline_cost_per_accepted_ci_low_usd", "baseline_cost_per_accepted_ci_high_usd")
    assert told(row, *names) == pytest.approx([0, (1.5 + half) / 90])  # 1.5 - 1.67 is below 0
    assert row["excess_cost_usd"] == pytest.approx(1.5 * row["offered"] / 100)


def test_a_baseline_that_is_not_there_compares_with_nothing() -> None:
    after = steady(60, 90)
    (none,) = disruptions(after, [event(60)]).values()
    assert told(none, "baseline", "baseline_windows", "ended_by", "excess_cost_usd") == ["none", 0, "cap", None]
    assert told(none, "priced_windows", "no_interval") == [0, "few_windows"]
    assert told(none, "lost_accepted", "baseline_hit_ratio", "recovery_ci_low_s", "offered") == [None, None, None, 400]
    old = [window(minute) for minute in range(-8 * DAY, -8 * DAY + 100, 5)]
    (aged,) = disruptions([*old, *after], [event(60)]).values()
    assert aged["baseline"] == "none"


def test_disturbed_windows_are_no_baseline() -> None:
    """An hour ago something else happened: its 20 minutes, though long recovered from, are left out."""
    (row, other) = disruptions(
        [*steady(0, 30), *steady(30, 50, accepted=0), *steady(50, 95), *steady(95, 140, hit=0)],
        [event(30, "deployment"), event(95)],
    ).values()
    assert {row["kind"], other["kind"]} == {"deployment", "salt_rotation"}
    judged = row if row["kind"] == "salt_rotation" else other
    assert told(judged, "baseline_windows", "baseline_goodput_ratio") == [15, 0.9]


def test_an_event_concerns_its_pool_its_replicas_pool_or_the_fleet() -> None:
    windows = [
        *ROTATED,
        *steady(0, 120, pool="q"),
        *[window(row_minute, None, p95_ttft_s=1.0) for row_minute in range(0, 120, 5)],
    ]
    events = [event(62), event(62, "restart", None, replica="replica of q"), event(62, "config_change", None)]
    found = disruptions(windows, events)
    assert found["restart@62"]["pool"] == "q"
    assert told(found["restart@62"], "ended_by", "recovery_s") == ["recovered", 0]
    fleet = found["config_change@62"]
    # 1200 of 2000 at rest, then 1000, 700, 900: back when both pools are
    # the restart was over at once, and in its window all the same
    assert told(fleet, "pool", "ended_at", "overlapping_events") == [None, at(75 * 60), 2]
    assert fleet["baseline_hit_ratio"] == pytest.approx(0.6)


def test_a_replica_that_telemetry_does_not_know_is_not_the_fleet() -> None:
    """Nobody knows its pool: what it did shows in no known pool, and never in the fleet as a whole."""
    windows = [*ROTATED, *[window(minute, None) for minute in range(0, 120, 5)]]
    (row,) = disruptions(windows, [event(62, "restart", None, replica="of another cluster")]).values()
    assert told(row, "pool", "offered", "baseline", "ended_by") == ["unknown", 0, "none", "cap"]


def test_the_smallest_costs_are_exact() -> None:
    """Windows of $2.5e-10 for 90 accepted requests, and three of $7.5e-10: $1.5e-9 beyond what is usual."""
    tiny = [{**row, "cost_usd": 7.5e-10 if row["offered"] and row["hit"] < 500 else 2.5e-10} for row in ROTATED]
    (row,) = disruptions([{**row, "accepted": 90, "goodput_rps": 0.3} for row in tiny], [event(62)]).values()
    assert told(row, "cost_usd", "excess_cost_usd") == pytest.approx([22.5e-10, 15e-10], rel=1e-9)


def test_what_is_known_of_its_own_requests_bounds_what_was_accepted() -> None:
    """Two of four requests have a label, and both passed: 2 to 4 were accepted, though Wilson's end lies at 1.75."""
    shown = {"offered": 4, "need_label": 4, "labelled": 2, "accepted": 2, "unlabelled": 2}
    pools = steady(60, 65, **shown)
    of_qa = [{**row, "slice": "workload_pool", "workload": "qa", "hit": None} for row in pools]
    gated = {"qa": {"quality": {}}}
    (row,) = disruptions([*steady(0, 60), *pools, *of_qa, *steady(65, 120)], [event(62)], workloads=gated).values()
    assert told(row, "accepted", "accepted_ci_low", "accepted_ci_high") == [4, 2, 4]


def test_seconds_are_those_of_the_instants() -> None:
    """A third of a second after 10:02, and telemetry ends at 10:10: doubles of Unix seconds would miss it by 1e-7."""
    begun = {**event(62), "occurred_at": at(62 * 60) + timedelta(microseconds=333_333)}
    (row,) = disruptions(ROTATED, [begun]).values()
    assert told(row, "duration_s", "recovery_s") == [779.666667, 779.666667]
    (row,) = disruptions(ROTATED[:14], [begun], until=70).values()
    assert row["duration_s"] == 479.666667


def test_without_cost_all_else_is_there() -> None:
    free = [{**row, "cost_usd": None} for row in ROTATED]
    (row,) = disruptions(free, [event(62)]).values()
    names = ("cost_usd", "cost_per_accepted_usd", "baseline_cost_per_accepted_usd", "excess_cost_usd")
    assert told(row, *names, "excess_cost_ci_low_usd") == [None] * 5
    assert told(row, "baseline_cost_per_accepted_ci_low_usd", "baseline_cost_per_accepted_ci_high_usd") == [None] * 2
    assert told(row, "recovery_s", "lost_accepted") == [780, pytest.approx(80)]
    tables = costs(free, [row])
    assert told(tables["disruption_cost"][0], "blended_cost_per_accepted_usd", "events") == [None, 1]
    assert {row["blended_cost_per_accepted_usd"] for row in tables["disruption_frequency"]} == {None}


def deployments(*minutes: float) -> list[Row]:
    """Disruptions of 20 minutes each, as measured."""
    return [
        {**event(minute, "deployment"), "ended_at": at(60 * (minute + 20)), "ended_by": "cap"} for minute in minutes
    ]


def test_the_published_example() -> None:
    """Steady $0.012, and $0.035 for 20 minutes after each of two deployments a day, at 600 accepted a window.

    By hand: 280 windows at $7.20 and 8 at $21.00 are $2184.00 for 172,800 accepted: $0.0126389. Without a deployment
    $0.012; with n of them $0.012 + n x 20 / 1440 x $0.023.
    """
    busy = [
        window(minute, offered=700, accepted=600, cost_usd=21.0 if {minute // 20} & {24, 48} else 7.2)
        for minute in range(0, DAY, 5)
    ]
    tables = costs(busy, deployments(480, 960))
    by_kind_and_pool = {(row["kind"], row["pool"]): row for row in tables["disruption_cost"]}
    assert by_kind_and_pool.keys() == {("deployment", "p"), ("deployment", None), (None, "p"), (None, None)}
    for row in by_kind_and_pool.values():
        assert told(row, "events", "events_per_day", "disrupted_s", "disrupted_per_event_s") == [2, 2.0, 2400.0, 1200.0]
        assert row["steady_cost_per_accepted_usd"] == pytest.approx(0.012)
        assert row["disrupted_cost_per_accepted_usd"] == pytest.approx(0.035)
        assert row["blended_cost_per_accepted_usd"] == pytest.approx(2184 / 172_800)
        assert row["excess_cost_usd"] == pytest.approx(4800 * 0.023)
    found = {row["events_per_day"]: row for row in tables["disruption_frequency"] if row["kind"] == "deployment"}
    expected = {0: 0.012, 1: 0.0123194, 2: 0.0126389, 4: 0.0132778, 8: 0.0145556, 16: 0.0171111, 32: 0.0222222}
    assert {n: row["blended_cost_per_accepted_usd"] for n, row in found.items()} == pytest.approx(expected, abs=5e-8)
    assert [n for n, row in found.items() if row["observed"]] == [2]
    assert found[2]["disrupted_ratio"] == pytest.approx(40 / 1440)


def day_with(costs_usd: dict[int, float], varied_usd: float = 0.0, **given: Any) -> list[Row]:
    """A day of base windows at $1.08, in turn dearer and cheaper by `varied_usd`, but for those at some minutes."""
    return [
        window(minute, **{"cost_usd": costs_usd.get(minute, 1.08 + (-1) ** (minute // 5) * varied_usd), **given})
        for minute in range(0, DAY, 5)
    ]


SEPARATE = [  # of one window each
    {**event(minute, "deployment"), "ended_at": at(60 * (minute + 5)), "ended_by": "recovered"}
    for minute in (480, 720, 960)
]


def test_what_such_a_disruption_costs_lies_between_students_ends() -> None:
    """$1.00, $1.50 and $2.00 beyond $1.08 for as many accepted: $1.50 each, +- 4.302653 x 0.5 / sqrt(3)."""
    busy = day_with({480: 2.08, 720: 2.58, 960: 3.08})
    (row,) = [row for row in costs(busy, SEPARATE)["disruption_cost"] if (row["kind"], row["pool"]) == (None, "p")]
    assert told(row, "disruptions", "events", "no_interval") == [3, 3, None]
    assert told(row, "excess_cost_usd", "excess_cost_per_disruption_usd") == pytest.approx([4.5, 1.5])
    half = 4.302653 * 0.5 / math.sqrt(3)
    ends = told(row, "excess_cost_per_disruption_ci_low_usd", "excess_cost_per_disruption_ci_high_usd")
    assert ends == pytest.approx([1.5 - half, 1.5 + half], abs=1e-6)
    # 90 accepted of $2.08, $2.58 and $3.08: the same spread
    ends = told(row, "disrupted_cost_per_accepted_ci_low_usd", "disrupted_cost_per_accepted_ci_high_usd")
    assert ends == pytest.approx([(2.58 - half) / 90, (2.58 + half) / 90], abs=1e-8)
    # nothing was lost, and steady time is the same throughout
    names = (
        "lost_accepted_per_disruption",
        "lost_accepted_per_disruption_ci_low",
        "lost_accepted_per_disruption_ci_high",
    )
    assert told(row, *names) == pytest.approx([0, 0, 0], abs=1e-6)
    names = ("steady_cost_per_accepted_ci_low_usd", "steady_cost_per_accepted_ci_high_usd")
    assert told(row, *names) == pytest.approx([0.012, 0.012])
    # dear windows are 3 of 288: their spread and that of steady ones, of all that was accepted
    names = ("blended_cost_per_accepted_ci_low_usd", "blended_cost_per_accepted_ci_high_usd")
    blended = (285 * 1.08 + 7.74) / (288 * 90)
    assert told(row, *names) == pytest.approx([blended - 3 * half / (288 * 90), blended + 3 * half / (288 * 90)])


def test_steady_time_that_varies_leaves_disruptions_less_sure() -> None:
    """285 windows of $1.08 +- $0.50: t(284) = 1.968 times sqrt(285 / 284 x 285 x 0.25) over all of them."""
    busy = day_with({480: 2.08, 720: 2.08, 960: 2.08}, varied_usd=0.5)
    (row,) = [row for row in costs(busy, SEPARATE)["disruption_cost"] if (row["kind"], row["pool"]) == (None, "p")]
    steady_usd = sum(row["cost_usd"] for row in busy if row["window_start"] not in [e["occurred_at"] for e in SEPARATE])
    mean_usd = steady_usd / 285
    squares = sum((sign * 0.5 + 1.08 - mean_usd) ** 2 for sign in [1] * 141 + [-1] * 144)
    assert steady_usd == pytest.approx(285 * 1.08 - 3 * 0.5)
    half = 1.968 * math.sqrt(285 / 284 * squares) / 285
    excess = 2.08 - mean_usd
    names = (
        "excess_cost_per_disruption_usd",
        "excess_cost_per_disruption_ci_low_usd",
        "excess_cost_per_disruption_ci_high_usd",
    )
    assert told(row, *names) == pytest.approx([excess, excess - half, excess + half], rel=1e-3)


def test_two_disruptions_do_not_show_what_such_ones_cost() -> None:
    """Two that overlap are one, and so are those of the fleet in all of its pools."""
    busy = [*day_with({480: 2.08, 720: 2.58}), *(window(minute, "q") for minute in range(0, DAY, 5))]
    both = [SEPARATE[0], {**SEPARATE[1], "pool": None}]
    overlapping = {**event(478, "restart"), "ended_at": at(60 * 484), "ended_by": "recovered"}
    for row in costs(busy, [*both, overlapping])["disruption_cost"]:
        assert row["no_interval"] == "few_disruptions"
        assert row["disruptions"] <= 2
        missing = [
            name
            for name in row
            if "per_disruption" in name or (name.startswith(("blended", "disr")) and "_ci_" in name)
        ]
        assert len(missing) == 10
        assert {row[name] for name in missing} == {None}
    (row,) = [row for row in costs(busy, [*both, overlapping])["disruption_cost"] if row["kind"] is row["pool"] is None]
    assert told(row, "disruptions", "events", "excess_cost_usd") == [2, 3, pytest.approx(1 + 1.5)]


def test_operations_on_the_fleet_that_are_one_in_a_pool_are_one_disruption() -> None:
    """At 8:00 and 8:20; a restart of p reaches from one to the other: one there, two in q, and one over all."""
    busy = [window(minute, pool) for pool in ("p", "q") for minute in range(0, DAY, 5)]
    ends = {"ended_by": "recovered"}
    both = [
        {**event(480, "deployment", None), "event_id": "b", "ended_at": at(60 * 485), **ends},
        {**event(500, "deployment", None), "event_id": "a", "ended_at": at(60 * 505), **ends},
    ]
    restart = {**event(480, "restart", "p"), "ended_at": at(60 * 505), **ends}
    rows = costs(busy, [*both, restart])["disruption_cost"]
    found = {(row["kind"], row["pool"]): row["disruptions"] for row in rows if row["kind"] != "restart"}
    assert found == {
        **{("deployment", pool): 2 for pool in ("p", "q", None)},
        **{(None, "p"): 1, (None, "q"): 2, (None, None): 1},
    }


def judged_days(labelled: int, passed: int) -> tuple[list[Row], list[Row]]:
    """A day of windows of 100 requests of one workload that all need a label: so many have one and passed."""
    shown = {"need_label": 100, "labelled": labelled, "accepted": passed, "unlabelled": 100 - labelled}
    pools = day_with({480: 2.08, 720: 2.58, 960: 3.08}, **shown)
    return pools, [{**row, "slice": "workload_pool", "workload": "qa"} for row in pools]


def test_windows_without_a_label_are_as_good_as_the_others() -> None:
    """Of 1 in 100 requests labelled in every other window nine in ten passed: 90 of 100 in every window."""
    pools, of_qa = judged_days(0, 0)
    for number, row in enumerate(of_qa):
        if number % 2 == 0:
            row |= {"labelled": 10, "accepted": 9, "unlabelled": 90}
    gated = Settings.model_validate({"workloads": {"qa": {"quality": {}}}})
    by_pool = [
        {**row, **{name: of[name] for name in ("labelled", "accepted", "unlabelled")}}
        for row, of in zip(pools, of_qa, strict=True)
    ]
    rows = costs([*by_pool, *[{**row, "hit": None} for row in of_qa]], SEPARATE, gated)["disruption_cost"]
    (row,) = [row for row in rows if (row["kind"], row["pool"]) == ("deployment", "p")]
    assert told(row, "steady_accepted", "disrupted_accepted", "no_interval") == [
        pytest.approx(285 * 90),
        pytest.approx(3 * 90),
        None,
    ]
    assert row["steady_cost_per_accepted_usd"] == pytest.approx(0.012)
    low, high = told(row, "steady_cost_per_accepted_ci_low_usd", "steady_cost_per_accepted_ci_high_usd")
    assert low < 0.012 < high
    undrawn = Settings.model_validate({"workloads": {"qa": {"quality": {"sampling": "none"}}}})
    rows = costs([*by_pool, *[{**row, "hit": None} for row in of_qa]], SEPARATE, undrawn)["disruption_cost"]
    (row,) = [row for row in rows if (row["kind"], row["pool"]) == ("deployment", "p")]
    # all that was not judged may have failed, and all may have passed
    steady = [of for of, pool in zip(of_qa, pools, strict=True) if pool["cost_usd"] == 1.08]
    passed, unjudged = (sum(of[name] for of in steady) for name in ("accepted", "unlabelled"))
    low, high = told(row, "steady_cost_per_accepted_ci_low_usd", "steady_cost_per_accepted_ci_high_usd")
    assert row["steady_cost_per_accepted_usd"] == pytest.approx(285 * 1.08 / (passed + unjudged))
    assert low <= row["steady_cost_per_accepted_usd"]
    assert high >= 285 * 1.08 / passed


def test_where_nothing_counts_as_accepted_no_frequency_has_a_price() -> None:
    """What has no label counts as failed, and may have passed: there is no price, and no end of one either."""
    pools, of_qa = judged_days(0, 0)
    strict = Settings.model_validate({"workloads": {"qa": {"quality": {"unlabelled": "fail"}}}})
    tables = costs([*pools, *[{**row, "hit": None} for row in of_qa]], SEPARATE, strict)
    found = {value for rows in tables.values() for row in rows for name, value in row.items() if "blended" in name}
    assert found == {None}
    assert {row["no_interval"] for row in tables["disruption_cost"]} == {"nothing_accepted"}


def test_overlapping_disruptions_count_once_in_totals() -> None:
    """Deployments at 0:00 and 0:10 of hour 8 and a restart inside: 30 minutes are disrupted, not 60."""
    busy = [window(minute) for minute in range(0, DAY, 5)]
    restart = {**event(485, "restart"), "ended_at": at(60 * 495), "ended_by": "recovered"}
    tables = costs(busy, [*deployments(480, 490), restart])
    rows = {row["kind"]: row for row in tables["disruption_cost"] if row["pool"] == "p"}
    assert {kind: told(row, "disrupted_s", "events", "disrupted_offered") for kind, row in rows.items()} == {
        "deployment": [1800, 2, 600],
        "restart": [600, 1, 200],
        None: [1800, 3, 600],
    }
    assert {row["steady_s"] for row in rows.values()} == {86400 - 1800}


def test_what_an_operation_before_the_first_window_disrupts_is_not_steady() -> None:
    """Deployed 5 minutes before the first window: the first 15 minutes are disrupted."""
    rows = costs([window(minute) for minute in range(0, DAY, 5)], deployments(-5))["disruption_cost"]
    assert {(row["events"], row["disrupted_s"], row["steady_s"]) for row in rows} == {(1, 900, 86400 - 900)}


def test_pools_together_lose_what_each_loses_beside_itself() -> None:
    """Pool p at $0.012 doubles its cost for 20 minutes, pool q at $0.12 for 10: $4.32 and $21.60 more."""
    cheap = [window(minute, cost_usd=2.16 if 480 <= minute < 500 else 1.08) for minute in range(0, DAY, 5)]
    dear = [window(minute, "q", cost_usd=21.6 if 600 <= minute < 610 else 10.8) for minute in range(0, DAY, 5)]
    other = {**event(600, "deployment", "q"), "ended_at": at(60 * 610), "ended_by": "recovered"}
    rows = {row["pool"]: row for row in costs([*cheap, *dear], [*deployments(480), other])["disruption_cost"]}
    told_usd = {pool: row["excess_cost_usd"] for pool, row in rows.items()}
    assert told_usd == pytest.approx({"p": 4.32, "q": 21.6, None: 25.92})


@pytest.mark.parametrize(("unpriced", "costs_usd"), [(0, 288 * 1.08 - 4 * 1.08), (1, None)])
def test_what_reached_no_pool_cost_nothing_unless_it_was_work(unpriced: int, costs_usd: float | None) -> None:
    """Refusals in twenty windows beside a pool at $1.08 each, of which four are disrupted."""
    served = [window(minute, unpriced=0) for minute in range(0, DAY, 5)]
    refused = {"offered": 5, "accepted": 0, "cost_usd": None, "hit": None, "unpriced": unpriced}
    nowhere = [window(minute, "unknown", **refused) for minute in range(0, 100, 5)]
    rows = costs([*served, *nowhere], deployments(480))["disruption_cost"]
    every = next(row for row in rows if row["pool"] is None)
    assert every["steady_cost_usd"] == (None if costs_usd is None else pytest.approx(costs_usd))
    alone = [{**row, "pool": "unknown", "cost_usd": None} for row in served]
    assert {row["steady_cost_usd"] for row in costs(alone, deployments(480))["disruption_cost"]} <= {None}


def test_intervals_are_the_same_every_time_and_wider_where_windows_vary() -> None:
    rng = random.Random(3)
    wild = [
        {**row, "cost_usd": rng.uniform(0.8, 1.4), "p95_ttft_s": row["p95_ttft_s"] * rng.uniform(0.96, 1.04)}
        for row in [*steady(-300, 0), *ROTATED]
    ]
    (row,) = disruptions(wild, [event(62)]).values()
    again = disruptions(wild, [event(62), event(-2 * DAY, "restart", "other")])["salt_rotation@62"]
    assert row == again
    assert row["excess_cost_ci_low_usd"] < row["excess_cost_usd"] < row["excess_cost_ci_high_usd"]
    low, high = told(row, "baseline_cost_per_accepted_ci_low_usd", "baseline_cost_per_accepted_ci_high_usd")
    # 72 windows of uniform cost 0.8..1.4: standard error 0.6 / sqrt(12 x 72)
    assert (high - low) == pytest.approx(2 * 1.96 * 0.6 / math.sqrt(12 * 72) / 90, rel=0.25)


@pytest.mark.parametrize("seed", range(4))
def test_random_pools_by_plain_python(seed: int) -> None:
    rng = random.Random(seed)
    windows = []
    for minute in range(-600, 300, 5):
        if rng.random() < 0.95:
            offered = rng.choice((40, 80, 95, 100, 110, 130))
            windows.append(
                window(
                    minute,
                    offered=offered,
                    accepted=rng.randrange(offered),
                    cost_usd=round(rng.uniform(0.5, 2), 3),
                    hit=rng.choice((None, *range(540, 660, 10))) if rng.random() < 0.8 else 100,
                    p95_ttft_s=rng.uniform(0.95, 1.06) if rng.random() < 0.8 else 3.0,
                )
            )
    events = [event(rng.randrange(-300, 250), rng.choice(("deployment", "restart"))) for _ in range(6)]
    found = disruptions(windows, {row["event_id"]: row for row in events}.values(), until=300)
    by_start = {(row["window_start"].timestamp() - START_S) / 60: row for row in windows}
    starts = {key: (row["occurred_at"].timestamp() - START_S) / 60 for key, row in found.items()}
    for key, row in found.items():
        begin = starts[key]
        cap = begin + 20
        inside = [w["arrivals"] for m, w in by_start.items() if m < cap and m + 5 > begin]
        calm = [
            w
            for m, w in by_start.items()
            if m + 5 <= begin and not any(m < other + 20 and m + 5 > other for other in starts.values())
        ]
        base = _alike(calm, inside)
        lookups = [w["hit"] for w in base if w["hit"] is not None]
        hit, slow = sum(lookups) / 1000 / len(lookups), median(w["p95_ttft_s"] for w in base)
        assert row["baseline_windows"] == len(base)
        assert told(row, "baseline_hit_ratio", "baseline_p95_ttft_s") == pytest.approx([hit, slow])
        back = {
            m
            for m, w in by_start.items()
            if w["hit"] is not None and w["hit"] / 1000 >= 0.9 * hit and w["p95_ttft_s"] <= 1.1 * slow
        }
        ends = sorted(m for m in back if m + 5 in back and m + 5 > begin and m < cap)
        end = max(ends[0], begin) if ends else min(cap, 300)
        assert row["ended_at"] == at(60 * end)
        members = [w for m, w in by_start.items() if m + 5 > begin and (m < end or m <= begin)]
        assert row["offered"] == sum(w["offered"] for w in members)
        if row["no_interval"] is None:
            loads = [w["arrivals"] for w in members]
            alike = _alike(calm, loads)
            assert row["priced_windows"] == len(alike)
            at_load = [w["arrivals"] - sum(loads) / len(loads) for w in alike]
            shares = _shares(alike, loads)
            usd, accepted, offered = (
                _at_zero(at_load, [w[name] for w in alike], shares) for name in ("cost_usd", "accepted", "offered")
            )
            own = sum(w["accepted"] for w in members)
            assert row["excess_cost_usd"] == pytest.approx(sum(w["cost_usd"] for w in members) - own * usd / accepted)
            assert row["lost_accepted"] == pytest.approx(row["offered"] * accepted / offered - own)


def _at_zero(places: list[float], values: list[float], weights: list[float]) -> float:
    """Where a weighted line through points meets 0; their mean where all lie at one place."""
    straight = 1 if len(set(places)) > 1 else 0
    return float(np.polyfit(places, values, straight, w=np.sqrt(weights))[-1])


def _shares(alike: list[Row], loads: list[int]) -> list[float]:
    """What each window stands for: each of the loads for one, in equal parts by those that are like it."""
    nearest = [_alike_one(alike, load, math.ceil(12 / len(loads))) for load in loads]
    return [sum(1 / len(found) for found in nearest if window in found) for window in alike]


def _alike(calm: list[Row], loads: list[int]) -> list[Row]:
    """Windows up to the nth nearest load at or below and above each of these, twelve shared out among them."""
    found = []
    for load in loads:
        found += [w for w in _alike_one(calm, load, math.ceil(12 / len(loads))) if w not in found]
    return found


def _alike_one(calm: list[Row], load: int, nth: int) -> list[Row]:
    below = sorted((w["arrivals"] for w in calm if w["arrivals"] <= load), reverse=True)[:nth]
    above = sorted(w["arrivals"] for w in calm if w["arrivals"] > load)[:nth]
    return [w for w in calm if min([*below, *above]) <= w["arrivals"] <= max([*below, *above])]


def _lay(lake: Lake, windows: Sequence[Row], events: Sequence[Row]) -> Context:
    """Windows and events as the plan would have left them."""
    hours: dict[str, list[Row]] = {}
    for row in windows:
        served = {name: value for name, value in row.items() if name != "hit"}
        hours.setdefault(f"{row['window_start']:%Y-%m-%dT%H}", []).append(served)
    for hour, rows in hours.items():
        put(lake, "goodput", hour, rows)
    put(lake, "ops_events", ALL, events)
    return Context(lake, Settings())


def test_only_days_near_a_change_are_due(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    windows, later = steady(0, 60), event(15 * DAY)
    context = _lay(lake, windows, [event(30), later])
    days = ["2026-11-20", "2026-12-05"]
    assert list(due(DISRUPTIONS, context)) == days
    done = execute(DISRUPTIONS, context)
    assert (list(done.computed), done.rows) == (days, {"disruptions": 2})
    assert due(DISRUPTIONS, _lay(lake, windows, [event(30), later])) == {}
    assert list(due(DISRUPTIONS, _lay(lake, steady(-2 * DAY, -2 * DAY + 60), [event(30), later]))) == days[:1]
    assert list(due(DISRUPTIONS, _lay(lake, steady(0, 60, accepted=80), [event(30), later]))) == days[:1]
    retold = _lay(lake, windows, [event(30)])
    assert days[1] in due(DISRUPTIONS, retold)
    execute(DISRUPTIONS, retold)
    assert [part.rows for day in days for part in lake.catalog["disruptions"].parts[day]] == [1, 0]


def test_disruptions_on_either_side_of_midnight_may_share_a_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One lasts until half a minute after midnight, the other begins 4 minutes after: further than any may last."""
    lake, midnight = Lake(tmp_path), (datetime(2026, 11, 21, tzinfo=UTC) - at(0)).total_seconds() / 60
    slow = [window(midnight + minute, accepted=40, p95_ttft_s=9.0) for minute in (-5, 0, 5, 10)]
    windows = [*steady(int(midnight) - 60, int(midnight) - 5), *slow, *steady(int(midnight) + 15, int(midnight) + 60)]
    laid = _lay(lake, windows, [event(midnight + minute, "deployment") for minute in (-1.5, 4)])
    observed = [int(row["window_start"].timestamp()) * 10**9 for row in (windows[0], windows[-1])]
    monkeypatch.setattr(Context, "observed_ns", tuple(observed))
    execute(DISRUPTIONS, replace(laid, settings=Settings(disruptions=Disruptions(cap_s=120))))
    parts = [pq.read_table(path) for path in lake.catalog["disruptions"].all_files()]
    assert pa.concat_tables(parts)["overlapping_events"].to_pylist() == [1, 1]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            {
                "excess_cost_usd": 12.3456,
                "excess_cost_ci_low_usd": 8.0,
                "excess_cost_ci_high_usd": 15.5,
                "lost_accepted_ci_low": -17.3,
                "lost_accepted_ci_high": 88.2,
            },
            "deployment of chat at 2026-11-20 09:30 UTC: 14 min, then recovered; 35 (-17..88) accepted requests lost, "
            "$12.35 more than steady (8.00..15.50)",
        ),
        (
            {"excess_cost_usd": -0.5, "excess_cost_ci_low_usd": -1.5, "excess_cost_ci_high_usd": 0.25},
            "deployment of chat at 2026-11-20 09:30 UTC: 14 min, then recovered; 35 accepted requests lost, "
            "$0.50 less than steady ($1.50 less to $0.25 more)",
        ),
        (
            {"ended_by": "cap", "duration_s": 1200.0, "pool": None, "lost_accepted": -3.0},
            "deployment of the fleet at 2026-11-20 09:30 UTC: 20 min, not recovered by its cap; its cost is not known",
        ),
        (
            {"lost_accepted": None, "no_interval": "load_unmatched"},
            "deployment of chat at 2026-11-20 09:30 UTC: 14 min, then recovered; what it cost is not known: "
            "no undisturbed window before it had its load",
        ),
        (
            {"lost_accepted": None, "no_interval": "few_windows"},
            "deployment of chat at 2026-11-20 09:30 UTC: 14 min, then recovered; what it cost is not known: "
            "too few undisturbed windows before it",
        ),
        (
            {
                "excess_cost_usd": 2.0,
                "excess_cost_ci_low_usd": 1.0,
                "lost_accepted": 0.2,
                "no_interval": "nothing_judged",
            },
            "deployment of chat at 2026-11-20 09:30 UTC: 14 min, then recovered; $2.00 more than steady",
        ),
    ],
)
def test_the_headline_tells_the_latest_price(given: Row, line: str) -> None:
    latest = {
        **event(30, "deployment", "chat"),
        **{"ended_by": "recovered", "baseline": "matched", "duration_s": 840.0, "lost_accepted": 35.4},
        **given,
    }
    others = [{**latest, **event(20, "restart")}, {**latest, **event(40, "restart"), "ended_by": "open"}]
    with connect() as connection:
        table = pa.Table.from_pylist([*others, latest], schema=arrow_schema("disruptions"))
        connection.register("disruptions", table)
        (found,) = connection.sql(sql_file("latest_disruption").text).fetchall()
    assert found == (f"Latest disruption: {line}",)


def test_the_headline_tells_of_a_disruption_with_a_price_before_one_without() -> None:
    common = {"ended_by": "recovered", "baseline": "matched", "duration_s": 840.0, "lost_accepted": 0.0}
    priced = {**event(20, "restart", "chat"), **common, "excess_cost_usd": 2.0}
    later = {**event(30, "deployment", "rag"), **common, "no_interval": "few_windows"}
    with connect() as connection:
        connection.register("disruptions", pa.Table.from_pylist([priced, later], schema=arrow_schema("disruptions")))
        ((line,),) = connection.sql(sql_file("latest_disruption").text).fetchall()
    assert line.startswith("Latest disruption with a price: restart of chat at 2026-11-20 09:20 UTC: 14 min")
