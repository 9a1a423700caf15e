"""The frontier: what is a load, how good each is served, where the knee lies and what nobody has seen.

See docs/semantics.md#frontier.
"""

from collections.abc import Sequence
from math import ceil, log
from typing import Any, Literal

import polars as pl
import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema, contract_names
from goodput.join.workloads import workload_rows
from goodput.measure.frontier import fit_between, options
from goodput.measure.slices import slice_options
from goodput.plumbing.graph import closure
from goodput.plumbing.lake import write_parquet
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import connect
from goodput.settings.model import Disruptions, Quality, Settings, Workload
from river import START_S, Parts, Row, Stretch, at, at_ns, judged, measure, one_workload

WINDOW_S = 300
TTFT = one_workload(ttft_s=1.0)


def attempt(request: Row, replica: str | None) -> Row:
    return {
        "attempt_id": request["request_key"],
        "workload": request["workload"],
        "pool": request["pool"],
        "route": request["route"],
        "started_at": request["arrived_at"],
        "ended_at": request["ended_at"],
        "replica": replica,
    }


def load(window: int, arrivals: int, slow: int = 0, **given: Any) -> list[Row]:
    """Requests that arrive in a window and end at once; the slow ones, with a ttft of 3 s, in the next."""
    first = window * WINDOW_S + 1.0
    return [
        judged(
            f"{window}/{n}",
            "slow" if n < slow else "accepted",
            first + (WINDOW_S if n < slow else 1),
            start=first,
            ttft_s=3.0 if n < slow else 0.5,
            **given,
        )
        for n in range(arrivals)
    ]


def frontier(
    tmp_path: Any,
    requests: Sequence[Row],
    replicas: Sequence[str | None] = ("a", "b"),
    settings: Settings = TTFT,
    cost_usd: float | None = None,
) -> pl.DataFrame:
    """Rows of frontier by route, where all requests are of one."""
    return frontiers(tmp_path, requests, replicas, settings, cost_usd=cost_usd).filter(slice="route")


def frontiers(
    tmp_path: Any,
    requests: Sequence[Row],
    replicas: Sequence[str | None] = ("a", "b"),
    settings: Settings = TTFT,
    *,
    cost_usd: float | None = None,
    unpriced: str | None = None,
    partly: str | None = None,
    disruptions: Sequence[Row] = (),
) -> pl.DataFrame:
    """Rows of frontier; requests without a replica go to these in turn, and each window of a slice costs `cost_usd`.

    What workload `unpriced` costs is not known, of workload `partly` not all.
    """
    attempts = [
        attempt(request, request.get("replica") or replicas[n % len(replicas)]) for n, request in enumerate(requests)
    ]
    parts = {"requests": requests, "attempts": attempts}
    for name, rows in parts.items():
        write_parquet(tmp_path / f"{name}.parquet", pa.Table.from_pylist(list(rows), schema=arrow_schema(name)))
    files = Parts([str(tmp_path / "requests.parquet")], attempts=[str(tmp_path / "attempts.parquet")])
    made = measure(settings, files, [300], Stretch(START_S, START_S + 86400, (at_ns(-10), at_ns(86400))))
    is_known = pl.col("workload").is_null() | pl.col("workload").ne_missing(pl.lit(unpriced))
    known = pl.when(is_known).then(pl.lit(cost_usd))
    left_out = pl.when(pl.col("workload") == pl.lit(partly)).then(3).otherwise(0)
    with connect() as connection:
        connection.register("load_windows", made.load_windows.to_arrow().cast(arrow_schema("load_windows")))
        connection.register("goodput", made.goodput.with_columns(cost_usd=known, unpriced=left_out).to_arrow())
        register(connection, "workload_rules", workload_rows(settings))
        connection.register("disruptions", pa.Table.from_pylist(list(disruptions), schema=arrow_schema("disruptions")))
        register(connection, "slice_options", slice_options(settings))
        register(connection, "frontier_options", options(settings))
        fit_between(connection, "frontier", closure(["frontier"], contract_names()), set())
        rows = pl.DataFrame(connection.sql("FROM frontier").to_arrow_table())
    return rows.sort("slice", "pool", "route", "load_bin")


def test_load_is_arrivals_per_replica_and_outcomes_are_those_of_the_arrivals(tmp_path: Any) -> None:
    # 600 and 1200 arrivals in 5 min on two replicas: 1 and 2 per second and replica; slow ones end windows later.
    found = frontier(tmp_path, load(0, 600, slow=3) + load(10, 1200, slow=600))
    light, gap, heavy = found.to_dicts()
    assert (light["load_bin"], heavy["load_bin"]) == (0, 6)
    assert (light["load_rps"], light["replicas"], light["arrivals"]) == (1.0, 2.0, 600)
    assert heavy["from_rps"] <= heavy["load_rps"] == 2.0 < heavy["to_rps"]
    assert (gap["windows"], gap["arrivals"], gap["goodput_ratio"]) == (0, 0, None)
    assert (gap["from_rps"], gap["to_rps"]) == (light["to_rps"], heavy["from_rps"])
    assert (light["goodput_ratio"], heavy["goodput_ratio"]) == (0.995, 0.5)
    assert light["goodput_rps"] == pytest.approx(0.995)
    assert heavy["goodput_rps"] == pytest.approx(1.0)
    assert light["p99_ttft_s"] == pytest.approx(0.5, rel=0.006)
    assert heavy["p99_ttft_s"] == pytest.approx(3.0, rel=0.006)
    assert (light["p99_gates_hold"], heavy["p99_gates_hold"]) == (True, False)


def test_the_knee_is_the_highest_sustained_load_and_replicas_follow_from_it(tmp_path: Any) -> None:
    found = frontier(tmp_path, load(0, 600) + load(2, 900, slow=9) + load(4, 1200, slow=240))
    # 9 of 900 are just the 1 % that may fail, 240 of 1200 too many: the line through both meets 1 % at the former
    assert list(found.drop_nulls("load_rps")["is_sustained"]) == [True, True, False]
    row = found.to_dicts()[0]
    assert (row["knee_rps"], row["knee_censored"]) == (1.5, False)
    assert (row["observed_min_rps"], row["observed_max_rps"], row["peak_rps"]) == (1.0, 2.0, 4.0)
    assert row["recommended_replicas"] == ceil(4.0 / 1.5 * 1.2)


def test_a_knee_at_the_highest_load_may_lie_higher(tmp_path: Any) -> None:
    row = frontier(tmp_path, load(0, 600) + load(2, 900)).to_dicts()[0]
    assert (row["knee_rps"], row["knee_censored"], row["knee_ci_high_rps"]) == (1.5, True, None)


def log_odds(failing: float, judged: int) -> float:
    """Of a share, half a request added to either side, so that none is no infinity."""
    return log((failing + 0.5) / (judged - failing + 0.5))


def test_a_p99_that_misses_its_gate_is_beyond_the_knee(tmp_path: Any) -> None:
    # 2 % slow is within 0.95 of the unloaded ratio, but not a p99 that holds: the knee is where log odds reach 1 %
    found = frontier(tmp_path, load(0, 600) + load(2, 900, slow=18)).to_dicts()[0]
    way = (log(0.01 / 0.99) - log_odds(0, 600)) / (log_odds(18, 900) - log_odds(0, 600))
    assert found["knee_rps"] == pytest.approx(1.0 + 0.5 * way)
    assert 1.38 < found["knee_rps"] < 1.39
    assert (found["knee_censored"], found["knee_windows"]) == (False, 2)
    assert (found["knee_ci_low_rps"], found["knee_ci_high_rps"]) == (
        None,
        None,
    )  # of one window each, no spread is known


def test_it_is_published_what_a_knee_is_judged_by(tmp_path: Any) -> None:
    found = frontier(tmp_path, load(0, 600) + load(2, 900, slow=18)).to_dicts()
    # 2 % slow is beyond the 1 % of the gate, and within the 5 % of goodput
    assert {(row["knee_gate"], row["knee_bound_ratio"]) for row in found} == {("ttft", 0.01)}
    assert [row["fail_ratio"] for row in found if row["windows"]] == [0.0, 0.02]
    assert {row["headroom"] for row in found} == {1.2}
    # of failed requests no latency is judged: what is not accepted reaches 5 % first
    begin = 2 * WINDOW_S + 1.0
    tenth = [
        judged(f"f/{n}", "failed" if n < 90 else "accepted", begin + 1, start=begin, ttft_s=0.5) for n in range(900)
    ]
    found = frontier(tmp_path, load(0, 600) + tenth).to_dicts()
    assert found[0]["knee_gate"] == "goodput"
    assert found[0]["knee_bound_ratio"] == pytest.approx(0.05)
    assert [row["fail_ratio"] for row in found if row["windows"]] == [0.0, pytest.approx(0.1)]
    # fewer than 100 requests judge nothing
    assert frontier(tmp_path, load(0, 60)).to_dicts()[0]["knee_gate"] is None


def test_what_fails_is_pooled_until_it_never_falls(tmp_path: Any) -> None:
    found = frontier(tmp_path, load(0, 600, slow=12) + load(2, 900) + load(4, 1200, slow=600)).to_dicts()
    # 12 of 600 and 0 of 900 are 12 of 1500
    loads = [row for row in found if row["windows"]]
    assert [row["fail_ratio"] for row in loads] == [0.02, 0.0, 0.5]
    assert [row["pooled_fail_ratio"] for row in loads] == pytest.approx([0.008, 0.008, 0.5])
    assert [row["pooled_fail_ratio"] for row in found if not row["windows"]] == [None] * (len(found) - 3)


def test_where_no_load_holds_the_knee_is_judged_by_what_fails_most(tmp_path: Any) -> None:
    # half of all are slow: 50 times the bound of the gate, and all that goodput may lose and more
    row = frontier(tmp_path, load(0, 600, slow=300) + load(2, 900, slow=600)).to_dicts()[0]
    assert (row["knee_rps"], row["knee_gate"], row["fail_ratio"]) == (None, "ttft", 0.5)


def test_a_load_that_fares_better_than_a_lower_one_is_pooled_with_it(tmp_path: Any) -> None:
    # 12 of 600 slow, then 0 of 900: by itself the first would be beyond the knee, pooled 12 of 1500 hold.
    found = frontier(tmp_path, load(0, 600, slow=12) + load(2, 900) + load(4, 1200, slow=600)).to_dicts()[0]
    assert 1.0 < found["knee_rps"] < 2.0
    assert found["knee_censored"] is False


def test_without_a_load_that_holds_there_is_no_knee(tmp_path: Any) -> None:
    row = frontier(tmp_path, load(0, 600, slow=300) + load(2, 900, slow=600)).to_dicts()[0]
    assert (row["knee_rps"], row["knee_censored"], row["recommended_replicas"]) == (None, None, None)
    assert row["no_recommendation"] == "no_knee"


def test_disrupted_windows_are_left_out_unless_asked(tmp_path: Any) -> None:
    rows = load(0, 600) + load(2, 900) + load(4, 600, slow=600)
    event = {
        "event_id": "e1",
        "kind": "deployment",
        "pool": rows[0]["pool"],
        "occurred_at": at(4 * WINDOW_S + 60),
        "ended_at": at(5 * WINDOW_S),
    }
    found = frontiers(tmp_path, rows, disruptions=[event]).filter(slice="route").to_dicts()[0]
    assert (found["knee_rps"], found["knee_censored"], found["disrupted_windows"]) == (1.5, True, 1)
    elsewhere = frontiers(tmp_path, rows, disruptions=[event | {"pool": "another"}]).filter(slice="route").to_dicts()[0]
    assert (elsewhere["knee_rps"], elsewhere["disrupted_windows"]) == (None, 0)
    asked = TTFT.model_copy(update={"disruptions": Disruptions(in_frontier=True)})
    found = frontiers(tmp_path, rows, settings=asked, disruptions=[event]).filter(slice="route").to_dicts()[0]
    assert (found["knee_rps"], found["disrupted_windows"]) == (None, 0)


def test_what_was_asked_for_in_a_disruption_is_a_peak_all_the_same(tmp_path: Any) -> None:
    event = {"event_id": "e1", "kind": "restart", "occurred_at": at(2 * WINDOW_S), "ended_at": at(3 * WINDOW_S)}
    found = frontiers(tmp_path, load(0, 600) + load(2, 900), disruptions=[event]).filter(slice="route").to_dicts()[0]
    assert (found["observed_max_rps"], found["peak_rps"]) == (1.0, 3.0)


def test_the_rates_that_a_sweep_declares_are_its_loads(tmp_path: Any) -> None:
    # Runs of 100 s in windows of 300, of 2 and 3 arrivals a second; what declares nothing is no part of the sweep.
    def run(window: int, rate: int, slow: int) -> list[Row]:
        begin, count = window * WINDOW_S, 100 * rate
        return [
            judged(
                f"{window}/{n}",
                "slow" if n < slow else "accepted",
                begin + 200.0,
                start=begin + n / rate,
                ttft_s=3.0 if n < slow else 0.5,
                attributes=f'{{"offered_rps": "{rate}"}}',
            )
            for n in range(count)
        ]

    sweep = run(0, 2, 0) + run(2, 3, 30)
    found = frontier(tmp_path, sweep + load(6, 1200, slow=1200), replicas=("a",)).to_dicts()[0]
    way = (log(0.01 / 0.99) - log_odds(0, 200)) / (log_odds(30, 300) - log_odds(0, 200))
    assert found["knee_windows"] == 2
    assert found["knee_rps"] == pytest.approx(2.0 + way)


def test_a_single_request_of_a_sweep_takes_no_time(tmp_path: Any) -> None:
    """Nothing shows its rate: what it declares is the load, and nothing is known of what was served by the second."""
    (alone,) = load(0, 1, attributes='{"offered_rps": "2"}')
    row = frontier(tmp_path, [alone], replicas=("a",)).to_dicts()[0]
    assert (row["load_rps"], row["arrivals"], row["goodput_ratio"]) == (2.0, 1, 1.0)
    assert (row["throughput_rps"], row["goodput_rps"]) == (None, None)


def test_a_sweep_is_timed_by_its_instants(tmp_path: Any) -> None:
    """From 1 s to 1.100001 s after the hour: two arrivals in 0.100001 s, one interval."""
    first, last = load(0, 2, attributes='{"offered_rps": "10"}')
    last |= {"arrived_at": at(1.100001)}
    row = frontier(tmp_path, [first, last], replicas=("a",)).to_dicts()[0]
    assert row["load_rps"] == pytest.approx(1 / 0.100001, rel=1e-12)


def test_what_was_not_measured_is_in_no_percentile(tmp_path: Any) -> None:
    """Of 100 requests with a ttft two waited 3 s; 300 that report none are no fast ones."""
    silent = [row | {"request_key": f"silent/{n}", "ttft_s": None} for n, row in enumerate(load(0, 300))]
    row = frontier(tmp_path, load(0, 100, slow=2) + silent).to_dicts()[0]
    assert row["p99_ttft_s"] == pytest.approx(3.0, rel=0.006)
    assert row["p99_tpot_s"] is None


def test_a_handful_of_requests_shows_nothing(tmp_path: Any) -> None:
    found = frontier(tmp_path, load(0, 60) + load(2, 600))
    few, *_, many = found.to_dicts()
    assert (few["low_n"], few["is_sustained"]) == (True, None)
    assert (many["low_n"], many["is_sustained"]) == (False, True)
    assert many["unloaded_goodput_ratio"] == 1.0


def test_without_replicas_the_route_is_taken_whole(tmp_path: Any) -> None:
    row = frontier(tmp_path, load(0, 600), replicas=(None,)).to_dicts()[0]
    assert (row["load_rps"], row["replicas"], row["knee_rps"]) == (2.0, None, 2.0)
    assert (row["recommended_replicas"], row["no_recommendation"]) == (None, "replicas_unknown")


def test_the_load_of_a_route_is_what_its_replicas_carried(tmp_path: Any) -> None:
    # Chat has a and b, batch a alone. Of 5 min a answers 300 + 30, b 600: batch's replica bears 1.1 per second, chat's
    # two 930 / 300 / 2. Later chat is twice as much, and batch fares as its replica does: 2.1 and 1830 / 300 / 2.
    rows = []
    for window, times in ((0, 1), (2, 2)):
        for name, replica, arrivals in (("chat", "a", 300 * times), ("chat", "b", 600 * times), ("batch", "a", 30)):
            mine = load(window, arrivals, slow=arrivals // 2 * (times - 1), route=name, replica=replica)
            rows += [row | {"request_key": f"{name}{replica}{row['request_key']}"} for row in mine]
    found = frontiers(tmp_path, rows)
    loads = {
        name: [round(load, 6) for load in found.filter(route=name).drop_nulls("load_rps")["load_rps"]]
        for name in ("chat", "batch")
    }
    assert loads == {"chat": [1.55, 3.05], "batch": [1.1, 2.1]}
    arrivals = found.filter(route="batch").drop_nulls("load_rps")
    assert list(arrivals["arrivals"]) == [30, 30]
    batch, chat, pool = (
        found.filter(c).to_dicts()[0]
        for c in (pl.col("route") == "batch", pl.col("route") == "chat", pl.col("slice") == "pool")
    )
    # of 330 + 630 on a, 60 are batch's; of 930 + 1830 on a and b 60 are not chat's
    assert batch["shared_ratio"] == pytest.approx(900 / 960)
    assert chat["shared_ratio"] == pytest.approx(60 / 2760)
    assert [row["no_recommendation"] for row in (batch, chat, pool)] == ["shared_replicas", "shared_replicas", None]
    assert [row["recommended_replicas"] for row in (batch, chat)] == [None, None]
    # none of 930 were slow, then 915 of 1830; the peak is 1830 / 300
    way = (log(0.01 / 0.99) - log_odds(0, 930)) / (log_odds(915, 1830) - log_odds(0, 930))
    assert pool["knee_rps"] == pytest.approx(1.55 + 1.5 * way)
    assert pool["recommended_replicas"] == ceil(6.1 / (1.55 + 1.5 * way) * 1.2)
    assert pool["shared_ratio"] == 0


def test_a_route_disrupted_elsewhere_still_loads_the_replicas_of_others(tmp_path: Any) -> None:
    """Batch is served by a in pool p1 and by b in q, where something happens: on a it is chat's load all the same."""
    chat = load(0, 300, replica="a", route="chat")
    batch = [row | {"request_key": f"b{n}"} for n, row in enumerate(load(0, 300, replica="a", route="batch"))]
    away = [row | {"request_key": f"q{n}"} for n, row in enumerate(load(0, 30, replica="b", route="batch", pool="q"))]
    event = {"event_id": "e1", "kind": "restart", "pool": "q", "occurred_at": at(0), "ended_at": at(WINDOW_S)}
    found = frontiers(tmp_path, [*chat, *batch, *away], disruptions=[event])
    row = found.filter(slice="route", route="chat").to_dicts()[0]
    assert (row["load_rps"], row["shared_ratio"]) == (2.0, 0.5)


def test_a_disruption_lies_in_the_window_of_its_event_at_least(tmp_path: Any) -> None:
    """It begins with a window, and the pool was back at once."""
    event = {"event_id": "e1", "kind": "restart", "occurred_at": at(2 * WINDOW_S), "ended_at": at(2 * WINDOW_S)}
    found = frontiers(tmp_path, load(0, 600) + load(2, 900), disruptions=[event]).filter(slice="route").to_dicts()[0]
    assert (found["disrupted_windows"], found["observed_max_rps"]) == (1, 1.0)


def test_what_no_replica_answered_was_meant_for_all_alike(tmp_path: Any) -> None:
    # 600 of chat on a and b that name no replica as their answer's, 120 of batch on b: batch's replica bears 300 + 120.
    chat = [row | {"replica": None} for row in load(0, 600, route="chat")]
    batch = [row | {"request_key": f"b{n}", "replica": "b"} for n, row in enumerate(load(0, 120, route="batch"))]
    found = frontiers(tmp_path, chat + batch)
    assert found.filter(route="batch")["load_rps"][0] == pytest.approx(1.4)
    assert found.filter(route="chat")["load_rps"][0] == pytest.approx(1.2)


def test_a_route_that_hardly_anyone_shares_has_a_recommendation(tmp_path: Any) -> None:
    other = [row | {"request_key": f"o{n}"} for n, row in enumerate(load(0, 6, route="other"))]
    found = frontiers(tmp_path, load(0, 600, route="chat") + other)
    assert found.filter(route="chat")["no_recommendation"][0] is None  # 6 of 606
    assert found.filter(route="other")["no_recommendation"][0] == "shared_replicas"


def wilson_low(p: float, n: float) -> float:
    z = 1.959963984540054
    return (p + z**2 / (2 * n) - z * (p * (1 - p) / n + z**2 / (4 * n * n)) ** 0.5) / (1 + z**2 / n)


def test_windows_that_disagree_widen_the_interval(tmp_path: Any) -> None:
    # Three windows of 600 alike, or all slow, half of them, all good: the same ratio, another certainty.
    alike = frontier(tmp_path, [row for window in (0, 2, 4) for row in load(window, 600, slow=300)]).to_dicts()[0]
    slow = {0: 600, 2: 300, 4: 0}
    apart = frontier(tmp_path, [row for window, n in slow.items() for row in load(window, 600, slow=n)]).to_dicts()[0]
    assert alike["goodput_ratio"] == apart["goodput_ratio"] == 0.5
    assert alike["goodput_ratio_ci_low"] == pytest.approx(wilson_low(0.5, 1800))
    # (300^2 + 0 + 300^2) x 3 / 2 over 1800^2 is a squared standard error; t of two degrees of freedom is 4.302653
    worth = 0.25 / (270_000 / 1800**2 * (4.302653 / 1.959963984540054) ** 2)
    assert apart["goodput_ratio_ci_low"] == pytest.approx(wilson_low(0.5, worth))


def test_a_load_of_one_window_has_the_spread_of_the_others_and_alone_no_interval(tmp_path: Any) -> None:
    heavy = load(9, 1200, slow=600)
    alone = frontier(tmp_path, heavy).to_dicts()[0]
    assert (alone["goodput_ratio_ci_low"], alone["goodput_ratio_ci_high"]) == (None, None)
    slow = {0: 600, 2: 300, 4: 0}
    rows = [row for window, n in slow.items() for row in load(window, 600, slow=n)]
    beside = frontier(tmp_path, rows + heavy).to_dicts()[-1]
    # windows of 600 vary by (1 + 0 + 1) / 4 / 2 = 0.25, of which 0.25 / 600 is chance; one of 1200 has its own chance
    variance = 0.25 - 0.25 / 600 + 0.25 / 1200
    worth = 0.25 / (variance * (4.302653 / 1.959963984540054) ** 2)
    assert beside["goodput_ratio_ci_low"] == pytest.approx(wilson_low(0.5, worth))


def test_unlabelled_requests_count_as_the_labelled_ones_passed(tmp_path: Any) -> None:
    gated = Settings(workloads={"qa": Workload(quality=Quality())})
    verdicts = [("accepted", True)] * 240 + [("rejected", False)] * 60 + [("unlabelled", None)] * 300
    rows = [
        row | {"verdict": verdict, "needs_label": True, "pass_quality": passed}
        for window in (0, 2, 4)
        for row, (verdict, passed) in zip(load(window, 600), verdicts, strict=True)
    ]
    row = frontier(tmp_path, rows, settings=gated, cost_usd=4.8).to_dicts()[0]
    assert row["goodput_ratio"] == pytest.approx(0.8)
    assert row["cost_per_accepted_usd"] == pytest.approx(4.8 / 480)
    # windows alike: 0.8 x 0.2 / 1800 of the requests, and of 900 labels drawn from 1800 0.8 x 0.2 / 900 x 900 / 1799
    worth = 0.16 / (0.16 / 1800 + 0.16 / 900 * 900 / 1799)
    assert row["goodput_ratio_ci_low"] == pytest.approx(wilson_low(0.8, worth))


@pytest.mark.parametrize(("sampling", "labels"), [("random", 0), ("none", 240)])
def test_what_no_label_shows_may_have_failed(tmp_path: Any, sampling: Literal["random", "none"], labels: int) -> None:
    """All 600 of each window pass every other gate; labels there are none, or none that anybody drew."""
    gated = Settings(workloads={"qa": Workload(quality=Quality(sampling=sampling))})
    rows = [
        row | {"needs_label": True} | ({"pass_quality": True} if n < labels else {"verdict": "unlabelled"})
        for window in (0, 2, 4)
        for n, row in enumerate(load(window, 600))
    ]
    row = frontier(tmp_path, rows, settings=gated, cost_usd=4.8).to_dicts()[0]
    assert row["goodput_ratio"] == row["goodput_ratio_ci_high"] == 1
    known = wilson_low(1, 1800) - 1 + labels / 600
    assert row["goodput_ratio_ci_low"] == pytest.approx(max(0, known))
    # nobody knows what an accepted one costs where nothing estimates them
    assert (row["cost_per_accepted_usd"] is None) == (sampling == "none")
    assert row["no_cost_interval"] == ("labels_not_drawn" if sampling == "none" else None)
    # without a label none may be accepted: a lower end alone
    assert row["cost_per_accepted_ci_high_usd"] is None


def test_an_accepted_one_costs_more_or_less_as_windows_vary(tmp_path: Any) -> None:
    rows = [row for window, slow in ((0, 30), (2, 0), (4, 60)) for row in load(window, 600, slow=slow)]
    row = frontier(tmp_path, rows, cost_usd=4.8).to_dicts()[0]
    # 570, 600 and 540 accepted for $4.80 each
    price = 14.4 / 1710
    squares = sum((4.8 - price * accepted) ** 2 for accepted in (570, 600, 540))
    half = 4.302653 * (3 / 2 * squares) ** 0.5 / 1710
    found = [row[f"cost_per_accepted{end}_usd"] for end in ("_ci_low", "", "_ci_high")]
    assert found == pytest.approx([price - half, price, price + half])
    assert (row["no_interval"], row["no_cost_interval"]) == (None, None)


def test_a_load_of_one_window_says_why_its_price_has_no_interval(tmp_path: Any) -> None:
    row = frontier(tmp_path, load(0, 600, slow=3), cost_usd=4.8).to_dicts()[0]
    assert (row["cost_per_accepted_ci_low_usd"], row["cost_per_accepted_ci_high_usd"]) == (None, None)
    assert row["cost_per_accepted_usd"] == pytest.approx(4.8 / 597)
    assert (row["no_interval"], row["no_cost_interval"]) == ("single_windows", "single_window")
    unpriced = frontier(tmp_path, load(0, 600, slow=3)).to_dicts()[0]
    assert (unpriced["cost_per_accepted_usd"], unpriced["no_cost_interval"]) == (None, "cost_unknown")


def test_a_window_of_which_one_workload_has_no_cost_has_none(tmp_path: Any) -> None:
    """Much was accepted: that there is no price is for the cost of the other workload."""
    rows = load(0, 600) + [row | {"request_key": f"o{n}", "workload": "o"} for n, row in enumerate(load(0, 60))]
    both = Settings(workloads={"qa": Workload(ttft_s=1.0), "o": Workload(ttft_s=1.0)})
    row = frontiers(tmp_path, rows, settings=both, cost_usd=4.8, unpriced="o").filter(slice="route").to_dicts()[0]
    assert (row["cost_per_accepted_usd"], row["no_cost_interval"]) == (None, "cost_unknown")


def test_labels_that_nobody_drew_are_no_sample_of_other_windows(tmp_path: Any) -> None:
    """All 60 requests of each window are judged, and 54 passed: windows that cost the same leave nothing open."""
    gated = Settings(workloads={"qa": Workload(quality=Quality(sampling="none"))})
    verdicts = [("accepted", True)] * 54 + [("rejected", False)] * 6
    rows = [
        row | {"verdict": verdict, "needs_label": True, "pass_quality": passed}
        for window in (0, 2, 4)
        for row, (verdict, passed) in zip(load(window, 60), verdicts, strict=True)
    ]
    row = frontier(tmp_path, rows, settings=gated, cost_usd=5.4).to_dicts()[0]
    assert [row[f"cost_per_accepted{end}_usd"] for end in ("_ci_low", "", "_ci_high")] == pytest.approx([0.1] * 3)


def test_labels_of_one_window_price_the_windows_of_its_load(tmp_path: Any) -> None:
    gated = Settings(workloads={"qa": Workload(quality=Quality())})
    verdicts = [("accepted", True)] * 240 + [("rejected", False)] * 60 + [("unlabelled", None)] * 300
    rows = [
        row | {"verdict": verdict, "needs_label": True, "pass_quality": passed}
        for window, given in ((0, verdicts), (2, [("unlabelled", None)] * 600), (4, [("unlabelled", None)] * 600))
        for row, (verdict, passed) in zip(load(window, 600), given, strict=True)
    ]
    row = frontier(tmp_path, rows, settings=gated, cost_usd=4.8).to_dicts()[0]
    assert row["cost_per_accepted_usd"] == pytest.approx(3 * 4.8 / (0.8 * 1800))


def test_where_none_counts_as_accepted_there_is_no_price_of_one(tmp_path: Any) -> None:
    """What has no label counts as failed, and may have passed: the cost is known, that of an accepted one is not."""
    gated = Settings(workloads={"qa": Workload(quality=Quality(unlabelled="fail"))})
    rows = [row | {"verdict": "unlabelled", "needs_label": True} for window in (0, 2, 4) for row in load(window, 600)]
    row = frontier(tmp_path, rows, settings=gated, cost_usd=4.8).to_dicts()[0]
    assert [row[f"cost_per_accepted{end}_usd"] for end in ("_ci_low", "", "_ci_high")] == [None] * 3
    assert row["no_cost_interval"] == "nothing_accepted"


def test_without_arrivals_there_is_no_frontier(tmp_path: Any) -> None:
    assert frontier(tmp_path, []).height == 0
