"""`waste`: every dollar of the ledger once in every slice and window, carried and divided as by hand."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.stats import t as student

from by_seconds import Fleet, Record, Try
from charging import (
    BEGIN_S,
    HOUR_S,
    at_us,
    attempt_row,
    charged,
    fleets,
    requests_of,
    wasted,
    whole_of,
)
from goodput.contracts import arrow_schema
from goodput.plumbing.sql_files import connect
from goodput.settings.model import Quality, Slices, Workload
from river import Parts, Row, Stretch, judged, measure, one_workload


@given(fleet=fleets, overheads=st.lists(st.sampled_from([None, "p1", "p9"]), max_size=2), names=st.randoms())
@settings(max_examples=15, deadline=None)
def test_slices_add_up_whatever_windows_are_asked_for(fleet: Fleet, overheads: list[str | None], names: Random) -> None:
    extra = [Record(3.0, 0, 5000, pool=pool, basis="overhead") for pool in overheads]
    fleet = replace(fleet, records=[*fleet.records, *extra])
    rows = [
        attempt_row(attempt, workload=names.choice("xyz"), route=names.choice(["r1", None]), tenant=names.choice("abc"))
        for attempt in fleet.tries
    ]
    spent = charged(replace(fleet, tries=[]), (0, 1), rows)
    grains = (300, 900, 3600, 7200)
    ended = [
        row | {"attributes": names.choice([None, '{"team":"x"}', '{"team":"y"}'])}
        for row in requests_of([row for row in rows if row["verdict"]])
    ]
    sliced = Slices(by=("tenant", "workload_tenant", "attributes.team", "workload_attributes.team"), max_values=2)
    rules = {"x": Workload(quality=Quality()), "y": Workload(quality=Quality(unlabelled="fail"))}
    frame = wasted(spent, *grains, ended=ended, sliced=sliced, workloads=rules)
    # every dollar of the ledger is in every slice of every length, in its window
    money = spent.with_columns(start_s=pl.col("window_start").dt.epoch("s")).filter(pl.col("usd").is_not_null())
    for (window_s, name), rows_of in frame.filter(pl.col("usd").is_not_null()).group_by("window_s", "slice"):
        found = dict(rows_of.group_by("window_start").agg(pl.col("usd").sum()).iter_rows())
        start = pl.from_epoch(pl.col("start_s") // window_s * window_s).dt.replace_time_zone("UTC")
        expected = dict(money.group_by(start.alias("window_start")).agg(pl.col("usd").sum()).iter_rows())
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9), (window_s, name)
    keys = ["window_s", "window_start", "bucket"]
    # by bucket as the verdicts are: unlabelled cost is divided by the labels of each row, into buckets of its own
    measured = [pl.col(name).sum() for name in ("measured_usd", "gpu_s", "tokens")]

    def added(rows: pl.DataFrame) -> pl.DataFrame:
        found = rows.group_by(keys).agg(measured).sort(keys)
        return found.filter(pl.any_horizontal(pl.col("measured_usd", "gpu_s", "tokens") != 0))

    overall = added(frame.filter(slice="overall"))
    for _, rows_of in frame.group_by("slice"):
        assert_frame_equal(added(rows_of), overall, abs_tol=1e-9, rel_tol=1e-9)
    # workloads of a value add up to it, and change nothing of it
    of_value = [*keys, "slice_value"]
    values = [*measured, *(pl.col(name).sum() for name in ("usd", "direct_usd"))]
    for cut in ("tenant", "attributes.team"):
        whole, parts = frame.filter(slice=cut), frame.filter(slice=f"workload_{cut}")
        sums = [rows_of.group_by(of_value).agg(values).sort(of_value) for rows_of in (parts, whole)]
        assert_frame_equal(*sums, abs_tol=1e-9, rel_tol=1e-9)
        only = wasted(spent, *grains, ended=ended, sliced=Slices(by=(cut,), max_values=2), workloads=rules)
        assert only.filter(slice=cut).sort(of_value).equals(whole.sort(of_value))
    # a window is the same whatever others are asked for
    alone = pl.concat([wasted(spent, grain, ended=ended, sliced=sliced, workloads=rules) for grain in grains])
    order = [*keys, "slice", "slice_value", "workload", "model", "pool", "route"]
    assert not frame.select(order).is_duplicated().any()
    assert alone.sort(order).equals(frame.sort(order))


def test_the_published_example_of_two_routes(tmp_path: Path) -> None:
    """100 requests each in 10 s, 58 and 85 pass all gates, $1.10 and $1.45: 5.8 and 8.5 per s, $0.019 and $0.017."""
    routes = {"A": (58, 1.10), "B": (85, 1.45)}
    rows = [
        attempt_row(
            Try(
                f"{route}{n}",
                "accepted" if n < passing else "slow",
                start=n // 20,
                end=n // 20 + 2,
                replica=route,
                pool=route,
            ),
            route=route,
        )
        for route, (passing, _) in routes.items()
        for n in range(100)
    ]
    bills = [Record(usd, 0, 10, replica=route, pool=route) for route, (_, usd) in routes.items()]
    costs = wasted(charged(Fleet(records=bills), attempts=rows, step_s=10), 10, step_s=10)
    requests = [
        judged(
            row["attempt_id"],
            row["verdict"],
            end=2.0,
            pool=row["pool"],
            route=row["route"],
            model="m",
            arrived_at=at_us(0),
            ended_at=row["ended_ns"] // 1000,
        )
        for row in rows
    ]
    paths = {"requests": tmp_path / "requests.parquet", "waste": tmp_path / "waste.parquet"}
    pq.write_table(pa.Table.from_pylist(requests, schema=arrow_schema("requests")), paths["requests"])
    pq.write_table(costs.select(arrow_schema("waste").names).to_arrow().cast(arrow_schema("waste")), paths["waste"])
    stretch = Stretch(BEGIN_S, BEGIN_S + 10, (BEGIN_S * 10**9, (BEGIN_S + 10) * 10**9))
    frame = measure(
        one_workload(), Parts([str(paths["requests"])], waste=[str(paths["waste"])]), (10,), stretch
    ).goodput
    by_route = {row["route"]: row for row in frame.to_dicts() if row["slice"] == "workload_route"}
    for route, goodput_rps, usd, per_accepted in (("A", 5.8, 1.10, 0.019), ("B", 8.5, 1.45, 0.017)):
        assert by_route[route]["goodput_rps"] == pytest.approx(goodput_rps)
        assert by_route[route]["cost_usd"] == pytest.approx(usd, rel=1e-9)
        assert round(by_route[route]["cost_per_accepted_usd"], 3) == per_accepted
    (overall,) = frame.filter(pl.col("slice") == "overall").to_dicts()
    assert overall["cost_usd"] == pytest.approx(2.55, rel=1e-9)
    assert overall["cost_per_accepted_usd"] == pytest.approx(2.55 / 143)


def test_of_eight_tickets_with_twelve_calls_four_calls_are_retry_waste() -> None:
    """Every call asks the same and takes a second of one replica at $0.01 a second; nothing is in flight for 8 s."""
    retried = {1, 4, 6, 7}
    calls = [(ticket, call) for ticket in range(8) for call in range(2 if ticket in retried else 1)]
    tries = [
        Try(f"{ticket}/{call}", "retry" if call == 0 and ticket in retried else "accepted", n, n + 1, "r", "p")
        for n, (ticket, call) in enumerate(calls)
    ]
    frame = charged(Fleet(tries, sampled=[("r", "p", 0, 20)], rates={"p": 0.01}))
    assert frame.filter(pl.col("bucket") == "retry").height == 4
    assert whole_of(frame) == pytest.approx({"retry": 0.04, "accepted": 0.08, "idle": 0.08})


def day_of_one_replica() -> tuple[Fleet, list[Row]]:
    """One replica at 2 USD an hour up for a UTC day; 2,000 accepted in 10 of its hours, 24 USD of review."""
    rows = [
        attempt_row(Try(f"{hour}/{n}", "accepted", hour * HOUR_S + 18 * n, hour * HOUR_S + 18 * n + 9, "r", "p"))
        for hour in range(9, 19)
        for n in range(200)
    ]
    fleet = Fleet(
        sampled=[("r", "p", HOUR_S, 25 * HOUR_S)],
        rates={"p": 2 / HOUR_S},
        records=[Record(24.0, HOUR_S, 25 * HOUR_S, basis="overhead")],
    )
    return fleet, rows


def test_a_day_carries_its_night_and_its_overhead() -> None:
    """48 USD of replica and 24 of review over 2,000 accepted: 0.036 each, of which half of ten hours is their own."""
    fleet, rows = day_of_one_replica()
    frame = wasted(charged(fleet, range(1, 25), rows), 300, 3600, 86400, ended=requests_of(rows))
    of_workload = frame.filter(slice="workload", workload="qa")
    (accepted, idle) = of_workload.filter(window_s=86400).sort("bucket").to_dicts()
    assert (accepted["bucket"], idle["bucket"]) == ("accepted", "idle")
    assert accepted["usd"] + idle["usd"] == pytest.approx(72.0, rel=1e-9)
    assert (accepted["usd"] + idle["usd"]) / 2000 == pytest.approx(0.036, rel=1e-9)
    assert accepted["direct_usd"] == pytest.approx(10.0, rel=1e-9)
    assert idle["direct_usd"] == 0
    # an hour carries what that hour held: 2 of its replica and 1 of review; the night is nobody's
    hourly = of_workload.filter(window_s=3600).group_by("window_start").agg(pl.col("usd").sum())
    assert hourly["usd"].to_list() == pytest.approx([3.0] * 10)
    night = frame.filter(slice="workload", workload="unknown", window_s=3600)
    spent = {row["bucket"]: row["usd"] for row in night.group_by("bucket").agg(pl.col("usd").sum()).to_dicts()}
    assert spent == pytest.approx({"idle": 28.0, "unattributed": 14.0})


LABELLED = ["accepted"] * 3 + ["rejected"] + ["unlabelled"] * 6


def judged_by(quality: Quality, verdicts: Sequence[str] = LABELLED) -> dict[str, tuple[float, ...]]:
    """Of each bucket usd, measured_usd and the interval, where each verdict is of an attempt that costs a dollar."""
    return divided(quality, [Try(f"{n}", verdict, 0, 100, f"r{n}", "p") for n, verdict in enumerate(verdicts)])


def divided(
    quality: Quality, tries: Sequence[Try], *, times: float = 1.0, **columns: Sequence[Any]
) -> dict[str, tuple[float, ...]]:
    """The same of attempts at a cent a second, so many `times`; `columns` are theirs (route) or of their requests
    (session_id)."""
    rows = [
        attempt_row(given, **({"route": columns["route"][n]} if "route" in columns else {}))
        for n, given in enumerate(tries)
    ]
    ended = [
        row
        | {"needs_label": True, "pass_quality": {"accepted": True, "rejected": False}.get(row["verdict"])}
        | ({"session_id": columns["session_id"][n]} if "session_id" in columns else {})
        for n, row in enumerate(requests_of(rows))
    ]
    frame = charged(Fleet(rates={"p": 0.01}), attempts=rows).with_columns(pl.col("usd") * times)
    found = wasted(frame, 300, ended=ended, workloads={"qa": Workload(quality=quality)}).filter(slice="workload")
    columns = ("usd", "measured_usd", "ci_low_usd", "ci_high_usd")
    return {row["bucket"]: tuple(row[name] for name in columns) for row in found.to_dicts()}


def test_unlabelled_cost_is_divided_as_the_labelled_was() -> None:
    """Of 10 USD 3 were accepted, 1 was rejected and 6 have no label: 4.5 and 1.5 of these.

    Four labels of ten, drawn without replacement, are worth 4 x 9 / 6 = 6: Wilson's interval of 3/4 of 6.
    """
    z, p, n = 1.959963984540054, 0.75, 6
    middle, half = p + z**2 / (2 * n), z * (p * (1 - p) / n + z**2 / (4 * n**2)) ** 0.5
    low, high = (10 * (middle + sign * half) / (1 + z**2 / n) for sign in (-1, 1))
    high = min(high, 9)  # a dollar was rejected
    assert judged_by(Quality()) == {
        "accepted": pytest.approx((7.5, 3.0, low, high)),
        "rejected": pytest.approx((2.5, 1.0, 10 - high, 10 - low)),
        "unlabelled": pytest.approx((0.0, 6.0, 0.0, 0.0)),
    }


@pytest.mark.parametrize(
    ("quality", "verdicts", "usd"),
    [
        (Quality(unlabelled="fail"), LABELLED, {"accepted": 3.0, "rejected": 7.0, "unlabelled": 0.0}),
        (Quality(unlabelled="pass"), LABELLED, {"accepted": 9.0, "rejected": 1.0, "unlabelled": 0.0}),
        # labels that nobody drew, or none at all, show nothing of the others
        (Quality(sampling="none"), LABELLED, {"accepted": 3.0, "rejected": 1.0, "unlabelled": 6.0}),
        (Quality(), ["unlabelled"] * 6, {"accepted": 0.0, "rejected": 0.0, "unlabelled": 6.0}),
        (Quality(), LABELLED[:4], {"accepted": 3.0, "rejected": 1.0}),
    ],
)
def test_unlabelled_cost_by_policy(quality: Quality, verdicts: Sequence[str], usd: dict[str, float]) -> None:
    found = judged_by(quality, verdicts)
    assert {bucket: row[0] for bucket, row in found.items()} == pytest.approx(usd)
    assert sum(row[1] for row in found.values()) == pytest.approx(sum(usd.values()))


def test_what_no_label_shows_may_be_all_of_it() -> None:
    undrawn = judged_by(Quality(sampling="none"))
    assert undrawn == {
        "accepted": pytest.approx((3.0, 3.0, 3.0, 9.0)),
        "rejected": pytest.approx((1.0, 1.0, 1.0, 7.0)),
        "unlabelled": pytest.approx((6.0, 6.0, 6.0, 6.0)),
    }
    assert judged_by(Quality(), ["unlabelled"] * 6)["rejected"] == pytest.approx((0.0, 0.0, 0.0, 6.0))


@pytest.mark.parametrize("quality", [Quality(), Quality(sampling="none"), Quality(unlabelled="fail")])
@pytest.mark.parametrize("routes", ["x" * 18, "x" * 10 + "y" * 8])
def test_a_credit_is_divided_as_the_same_cost_would_be(quality: Quality, routes: str) -> None:
    verdicts = ["accepted"] * 3 + ["rejected"] * 3 + ["unlabelled"] * 5 + ["accepted"] * 2 + ["unlabelled"] * 5
    tries = [Try(f"{n}", verdict, 0, 100, f"r{n}", "p") for n, verdict in enumerate(verdicts)]
    charge = divided(quality, tries, route=list(routes))
    credit = divided(quality, tries, route=list(routes), times=-1.0)
    assert credit == {
        bucket: pytest.approx((-usd, -measured, -high, -low)) for bucket, (usd, measured, low, high) in charge.items()
    }


@pytest.mark.parametrize(
    ("estimate", "low", "high", "ends"),
    [
        # $6 of credit for 4 accepted: 3.5 to 4.5 by an estimate, and the error of 0.4 is a tenth for each
        (4.0, 3.5, 4.5, (-1.5 - math.hypot(6 / 3.5 - 1.5, 0.1), -1.5 + math.hypot(1.5 - 6 / 4.5, 0.1))),
        (4.0, 3.0, 5.0, (-6.4 / 3, -5.6 / 5)),  # bounds
        (None, 3.0, 5.0, (-6.4 / 3, -5.6 / 5)),
        (None, 0.0, 5.0, (None, -5.6 / 5)),
    ],
)
def test_a_credit_is_the_less_for_each_the_more_are_accepted(
    estimate: float | None, low: float, high: float, ends: tuple[float | None, float]
) -> None:
    with connect() as connection:
        sql = "SELECT unnest(price_within(-6.0, 0.4, $1::DOUBLE, $2::DOUBLE, $3::DOUBLE, 3.0, 5.0))"
        within = connection.execute(sql, [estimate, low, high]).fetchone()
    assert within == pytest.approx(ends)


def wilson(share: float, drawn: float, errors: float = 1.959963984540054) -> tuple[float, float]:
    """Where a share lies 1.96 of its own standard errors from the one that was seen."""
    per_draw = errors**2 / drawn
    middle, half = share + per_draw / 2, (per_draw * share * (1 - share) + per_draw**2 / 4) ** 0.5
    return (middle - half) / (1 + per_draw), (middle + half) / (1 + per_draw)


def test_unlabelled_cost_is_divided_route_by_route_where_routes_are_judged_at_rates_of_their_own() -> None:
    """A dollar each: of route x 3 of 6 labelled passed, 4 have no label; of y 2 of 2, 8 have none: 2 + 8 of 12."""
    verdicts = ["accepted"] * 3 + ["rejected"] * 3 + ["unlabelled"] * 4 + ["accepted"] * 2 + ["unlabelled"] * 8
    tries = [Try(f"{n}", verdict, 0, 100, f"r{n}", "p") for n, verdict in enumerate(verdicts)]
    found = divided(Quality(), tries, route=["x"] * 10 + ["y"] * 10)
    of_x, of_y = wilson(0.5, 6 * 9 / 4), wilson(1, 2 * 9 / 8)
    # squares 1.5 in x and none in y over 5 + 1 labels, and a quarter more in each; nearly 2 degrees of freedom
    of_each = ((10 / 6) ** 2 * 0.4 * 1.75, (10 / 2) ** 2 * 0.8 * 0.25)
    freedom = sum(of_each) ** 2 / (of_each[0] ** 2 / 5 + of_each[1] ** 2)
    # the wider of distances in quadrature and of 15 of 20 at the variance of both, within the bounds: 5 and 17
    together = wilson(0.75, 15 * 5 / sum(of_each), student.ppf(0.975, freedom))
    least = (max(3, 10 * of_x[0]), max(2, 10 * of_y[0]))
    low = max(5, min(15 - math.hypot(5 - least[0], 10 - least[1]), 20 * together[0]))
    high = min(17, max(15 + 10 * of_x[1] - 5, 20 * together[1]))
    # Student's t of fractions is true to 1.5 %
    assert found["accepted"] == pytest.approx((15.0, 5.0, low, high), rel=0.02)
    assert found["accepted"][:2] == pytest.approx((15.0, 5.0))
    assert found["rejected"] == pytest.approx((5.0, 3.0, 20 - found["accepted"][3], 20 - found["accepted"][2]))


def test_each_route_is_divided_by_its_own_labels() -> None:
    """A dollar each, 10 a route: of x 2 of 6 labelled passed, of y all 6, of z nobody judged one."""
    routes = {"x": ["accepted"] * 2 + ["rejected"] * 4, "y": ["accepted"] * 6, "z": []}
    verdicts = [(route, verdict) for route, of in routes.items() for verdict in of + ["unlabelled"] * (10 - len(of))]
    rows = [
        attempt_row(Try(f"{n}", verdict, 0, 100, f"r{n}", "p"), route=route, tenant=f"of {route}")
        for n, (route, verdict) in enumerate(verdicts)
    ]
    ended = [
        row
        | {"needs_label": True, "pass_quality": {"accepted": True, "rejected": False}.get(row["verdict"])}
        | {"tenant": f"of {row['route']}"}
        for row in requests_of(rows)
    ]
    spent = charged(Fleet(rates={"p": 0.01}), attempts=rows)
    frame = wasted(
        spent, 300, ended=ended, sliced=Slices(by=("tenant",)), workloads={"qa": Workload(quality=Quality())}
    )
    expected = {
        ("x", "accepted"): 10 * 2 / 6,
        ("x", "rejected"): 10 * 4 / 6,
        ("y", "accepted"): 10.0,
        ("z", "unlabelled"): 10.0,
    }
    for slice_, column, prefix in (("workload_route", "route", ""), ("tenant", "slice_value", "of ")):
        found = frame.filter(pl.col("slice") == slice_, pl.col("usd") != 0)
        usd = {(row[column].removeprefix(prefix), row["bucket"]): row["usd"] for row in found.to_dicts()}
        assert usd == pytest.approx(expected), slice_
        # what nobody judged may be either
        open_ = frame.filter(pl.col("slice") == slice_, pl.col(column) == f"{prefix}z", bucket="rejected")
        assert open_.select("usd", "ci_low_usd", "ci_high_usd").row(0) == pytest.approx((0.0, 0.0, 10.0))
        # what 6 labels of 10 are worth: 6 x 9 / 4; four of x failed for sure
        (of_x,) = frame.filter(pl.col("slice") == slice_, pl.col(column) == f"{prefix}x", bucket="accepted").to_dicts()
        low, high = wilson(2 / 6, 6 * 9 / 4)
        assert (of_x["ci_low_usd"], of_x["ci_high_usd"]) == pytest.approx((max(2, 10 * low), min(6, 10 * high)))
    assert whole_of(frame.filter(slice="overall").with_columns(usd="measured_usd")) == pytest.approx(
        whole_of(frame.filter(slice="workload_route").with_columns(usd="measured_usd"))
    )


@pytest.mark.parametrize(
    ("quality", "verdicts", "accepted"),
    [
        (Quality(), LABELLED, 7.5),
        (Quality(unlabelled="fail"), LABELLED, 3.0),
        (Quality(sampling="none"), LABELLED, None),
        (Quality(), ["accepted"] * 4 + ["rejected"] * 6, 4.0),
    ],
)
def test_a_price_has_the_error_of_its_cost(
    tmp_path: Path, quality: Quality, verdicts: list[str], accepted: float | None
) -> None:
    """Ten requests of a dollar each, of which two buckets may be off by 30 and 40 cents: 50 in all."""
    rows = [attempt_row(Try(f"{n}", verdict, 0, 100, f"r{n}", "p")) for n, verdict in enumerate(verdicts)]
    requests = [judged(row["attempt_id"], row["verdict"], gated=True, ended_at=row["ended_ns"] // 1000) for row in rows]
    spent = wasted(charged(Fleet(rates={"p": 0.01}), attempts=rows), 300, ended=requests_of(rows))
    errors = {"accepted": 0.3, "rejected": 0.4}
    given = spent.with_columns(error_usd=pl.col("bucket").replace_strict(errors, default=0.0))
    row = _window(tmp_path, quality, requests, given)
    lower, upper = verdicts.count("accepted"), verdicts.count("accepted") + verdicts.count("unlabelled")
    if accepted == 7.5:  # an estimate: both distances in quadrature around the price
        least, most = (max(lower, min(upper, 10 * end)) for end in wilson(0.75, 4 * 9 / 6))
        price = 10 / accepted
        ends = [
            price - math.hypot(price - 10 / most, 0.5 / accepted),
            price + math.hypot(10 / least - price, 0.5 / accepted),
        ]
    else:  # bounds, or all is known
        ends = [9.5 / upper, 10.5 / lower]
    assert row["cost_error_usd"] == pytest.approx(0.5)
    assert row["cost_per_accepted_usd"] == (accepted and pytest.approx(10 / accepted))
    assert [row["cost_per_accepted_ci_low_usd"], row["cost_per_accepted_ci_high_usd"]] == pytest.approx(ends)
    assert row["no_cost_interval"] is None
    unknown = _window(tmp_path, quality, requests, given.with_columns(error_usd=pl.lit(None, pl.Float64)))
    assert (unknown["cost_per_accepted_ci_low_usd"], unknown["no_cost_interval"]) == (None, "error_unknown")


def _window(folder: Path, quality: Quality, requests: list[Row], waste: pl.DataFrame) -> Row:
    """The window of `goodput` of all these."""
    paths = {"requests": folder / "requests.parquet", "waste": folder / "waste.parquet"}
    pq.write_table(pa.Table.from_pylist(requests, schema=arrow_schema("requests")), paths["requests"])
    pq.write_table(waste.select(arrow_schema("waste").names).to_arrow().cast(arrow_schema("waste")), paths["waste"])
    stretch = Stretch(BEGIN_S, BEGIN_S + 300, (BEGIN_S * 10**9, (BEGIN_S + 300) * 10**9))
    parts = Parts([str(paths["requests"])], waste=[str(paths["waste"])])
    (row,) = measure(one_workload(quality=quality), parts, (300,), stretch).goodput.filter(slice="overall").to_dicts()
    return row


def test_labels_of_dear_requests_and_of_one_session_are_worth_fewer() -> None:
    """Of 4 labelled requests one cost $2, two of the rest are of one session; all others cost $0.50.

    Weights 4, 1, 1, 1 are worth 49 / 19 labels; 5 of 7 parts were accepted; $3 have no label.
    """
    verdicts = ["accepted", "accepted", "rejected", "rejected", *["unlabelled"] * 6]
    tries = [Try(f"{n}", verdict, 0, 200 if n == 0 else 50, f"r{n}", "p") for n, verdict in enumerate(verdicts)]
    alone = divided(Quality(), tries)
    p, worth = 5 / 7, 49 / 19
    worth = min(worth, p * (1 - p) * 49 / (17 * (1 - 2 * p) + p**2 * 19))
    low, high = wilson(p, worth * 9 / 6)
    assert alone["accepted"] == pytest.approx((2.5 + 3 * p, 2.5, max(2.5, 6.5 * low), min(5.5, 6.5 * high)))
    together = divided(Quality(sampling="session"), tries, session_id=["a", "b", "c", "c", *"defghi"])
    assert together["accepted"][0] == alone["accepted"][0]
    # residuals of c: (-0.5)^2 twice beside 4 x 0.25: 1.5; three draws: t(2) = 4.303 for t(3) = 3.182
    low, high = wilson(p, worth * 9 / 6 / (1.5 * (4.302653 / 3.182446) ** 2))
    assert together["accepted"][2:] == pytest.approx((max(2.5, 6.5 * low), min(5.5, 6.5 * high)))


def test_slow_dollars_are_told_apart_by_what_alone_made_them_late() -> None:
    """Fourteen seconds of a replica at $0.01 for seven of equal work, and $5 of overhead each."""
    late = {"queue 1": "queue", "queue 2": "queue", "tries": "retries", "prefill": "prefill", "work": "work"}
    late |= {"unknown": None}
    rows = [
        attempt_row(Try(name, "slow", 2 * n, 2 * n + 2, "r", "p"), late_by=by)
        for n, (name, by) in enumerate(late.items())
    ]
    rows.append(attempt_row(Try("in time", "accepted", 12, 14, "r", "p")))
    fleet = Fleet(sampled=[("r", "p", 0, 20)], rates={"p": 0.01}, records=[Record(35.0, 0, 20, basis="overhead")])
    frame = wasted(charged(fleet, attempts=rows), 300, ended=requests_of(rows))
    costs = frame.filter(pl.col("slice") == "overall").to_dicts()
    by_bucket = {row["bucket"]: row for row in costs}
    names = ("usd", "direct_usd", "queue_late_usd", "retries_late_usd", "prefill_late_usd", "work_late_usd")
    assert [by_bucket["slow"][name] for name in names] == pytest.approx([30.12, 0.12, 0.04, 0.02, 0.02, 0.02])
    assert {row[name] for bucket, row in by_bucket.items() if bucket != "slow" for name in names[2:]} == {None}


def test_overhead_is_shared_by_the_requests_that_its_record_is_for() -> None:
    rows = [attempt_row(Try(name, bucket, 10, 20, None, "p")) for name, bucket in (("a", "accepted"), ("b", "failed"))]
    rows.append(attempt_row(Try("c", "abandoned", 10, 20, None, "q")))
    rows[0]["tenant"] = "acme"
    fleet = Fleet(
        records=[
            Record(1.5, 0, 300, basis="overhead"),
            Record(3.0, 0, 300, pool="p", basis="overhead"),
            Record(5.0, 0, 300, pool="other", basis="overhead"),
        ]
    )
    spent = charged(fleet, attempts=rows)
    assert whole_of(spent.filter(basis="overhead")) == pytest.approx({"overhead": 9.5})
    frame = wasted(spent, 300, ended=requests_of(rows)).filter(slice="overall")
    assert whole_of(frame) == pytest.approx({"accepted": 2.0, "failed": 2.0, "abandoned": 0.5, "unattributed": 5.0})
    scoped = spent.filter(basis="overhead").with_columns(tenant=pl.lit("acme"), workload=pl.lit("qa"), pool=None)
    frame = wasted(scoped, 300, ended=requests_of(rows)).filter(slice="overall")
    assert whole_of(frame) == pytest.approx({"accepted": 9.5})


def test_idle_time_is_carried_by_those_whom_the_pool_served() -> None:
    rows = [
        attempt_row(Try("x", "accepted", 0, 30, "r", "p"), route="x"),
        attempt_row(Try("y", "accepted", 30, 120, "r", "p"), route="y"),
    ]
    fleet = Fleet(sampled=[("r", "p", 0, 300), ("s", "p", 0, 300), ("t", "q", 0, 300)], rates={"p": 0.01, "q": 0.01})
    spent = charged(fleet, attempts=rows)
    idle = spent.filter(bucket="idle")
    assert idle.select("workload", "model", "route").null_count().row(0) == (3, 3, 3)
    assert dict(idle.select("replica", "usd").iter_rows()) == pytest.approx({"r": 1.8, "s": 3.0, "t": 3.0})
    frame = wasted(spent, 300).filter(slice="finest", bucket="idle")
    usd = {(row["pool"], row["route"]): row["usd"] for row in frame.to_dicts()}
    # attempts of equal work, but y's replica time is as much as x's by work, so both carry half
    assert usd == pytest.approx({("p", "x"): 2.4, ("p", "y"): 2.4, ("q", "unknown"): 3.0})


def test_tenants_carry_idle_time_and_overhead_as_workloads_do() -> None:
    rows = [
        attempt_row(Try("x", "accepted", 0, 30, "r", "p"), tenant="a"),
        attempt_row(Try("y", "accepted", 30, 120, "r", "p"), tenant="b"),
        attempt_row(Try("z", "accepted", 30, 120), tenant="b"),
    ]
    rows[0]["tenant"] = None  # its request knows, by another try
    ended = requests_of(rows)
    ended[0]["tenant"] = "a"
    fleet = Fleet(
        sampled=[("r", "p", 0, 300), ("t", "q", 0, 300)],
        rates={"p": 0.01, "q": 0.01},
        records=[Record(3.0, 0, 300, basis="overhead")],
    )
    frame = wasted(charged(fleet, attempts=rows), 300, ended=ended, sliced=Slices(by=("tenant",))).filter(
        slice="tenant"
    )
    usd = {(row["slice_value"], row["bucket"]): row["usd"] for row in frame.to_dicts() if row["usd"]}
    # x and y each work 60 s and carry half of 180 s idle; of overhead each of three requests has 1 USD
    assert usd == pytest.approx(
        {
            ("a", "accepted"): 0.6 + 1.0,
            ("a", "idle"): 0.9,
            ("b", "accepted"): 0.6 + 2.0,
            ("b", "idle"): 0.9,
            ("unknown", "idle"): 3.0,
        }
    )


def test_overhead_of_a_tenant_whom_nobody_served_is_still_the_tenants() -> None:
    rows = [attempt_row(Try("x", "accepted", 0, 30), tenant="a")]
    spent = charged(Fleet(records=[Record(3.0, 0, 300, basis="overhead")]), attempts=rows)
    spent = spent.with_columns(tenant=pl.when(pl.col("bucket") == "overhead").then(pl.lit("b")).otherwise("tenant"))
    frame = wasted(spent, 300, ended=requests_of(rows), sliced=Slices(by=("tenant",))).filter(slice="tenant")
    usd = {(row["slice_value"], row["bucket"]): row["usd"] for row in frame.to_dicts() if row["usd"]}
    assert usd == pytest.approx({("b", "unattributed"): 3.0})
