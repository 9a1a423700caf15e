"""Burn rates, bounds, ratios and replicas: small cases by hand."""

from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.settings.model import Settings
from monitor.noise import kv_utilisation
from monitor.rows import MONDAY, goodput_rows

DAYS, A_DAY = 35, 24


def at(hour: float) -> Any:
    return MONDAY + timedelta(hours=hour)


def alarms(rows: dict[str, pl.DataFrame], hour: float, **given: Any) -> dict[tuple[str, str | None], dict[str, Any]]:
    """Rows of `alarms` by rule and replica, else pool."""
    seen = {name: frame.filter(pl.col("window_start") < at(hour)) for name, frame in rows.items()}
    found = Evaluation(Evidence(seen, Settings.model_validate(given)), at(hour)).alarms()
    return {(row["rule"], row["replica"] or row["pool"]): row for row in found}


def steady(ratio: np.ndarray, requests: int = 1000) -> pl.DataFrame:
    """One pool with a constant p99, and goodput by the hour."""
    hours = len(ratio)
    return goodput_rows(np.ones((1, hours)), np.full((1, hours), requests), ratio=ratio[None, :])


def burning(*hours: tuple[int, float]) -> dict[str, pl.DataFrame]:
    """Four days at 99 % goodput, with another share in some hours."""
    ratio = np.full(4 * A_DAY, 0.99)
    for hour, share in hours:
        ratio[hour] = share
    return {"goodput": steady(ratio)}


ONE_DAY = {"objective": 0.99, "burn_rates": [{"budget_ratio": 0.1, "long_s": 86400, "short_s": 7200}]}
RULE = ("chat_burn_24h_ticket", None)


def test_a_burn_rate_is_bad_over_all_in_both_windows() -> None:
    """Budget 1 %; the last day burns (22 x 1 % + 2 x 31 %) / 24 = 3.5 times too fast, the last two hours 31 times."""
    given = {"windows_s": [3600], "slo": {"chat": ONE_DAY}}
    found = alarms(burning((94, 0.69), (95, 0.69)), 96, **given)[RULE]
    assert (found["state"], found["threshold"]) == ("firing", pytest.approx(3.0))
    assert found["score"] == pytest.approx(3.5)
    assert found["value"] == pytest.approx(0.965)
    assert found["requests"] == 24000


def test_the_short_window_resets_it() -> None:
    given = {"windows_s": [3600], "slo": {"chat": ONE_DAY}}
    found = alarms(burning((90, 0.69), (91, 0.69)), 96, **given)[RULE]
    assert found["score"] == pytest.approx(1.0)  # the last two hours spend the budget just so
    assert found["state"] == "resolved"
    assert found["starts_at"] == at(92)
    assert found["ends_at"] == at(94)


def test_too_few_requests_say_nothing_of_a_burn_rate() -> None:
    """Ten bad ones would have to be expected of what is offered: 1,000 in a day; here it is 960."""
    given = {"windows_s": [3600], "slo": {"chat": ONE_DAY}}
    quiet = {"goodput": steady(np.full(4 * A_DAY, 0.5), requests=40)}
    assert "score" not in alarms(quiet, 96, **given)[RULE]
    enough = {"goodput": steady(np.full(4 * A_DAY, 0.5), requests=42)}
    assert alarms(enough, 96, **given)[RULE]["score"] == pytest.approx(50.0)


def judged_now_and_then(passing: float | None, last: int = 0) -> dict[str, pl.DataFrame]:
    """Four days of which one hour in four has labels, of which a share passed, lastly so many hours before the end."""
    is_judged = np.arange(4 * A_DAY)[::-1] % 4 == last
    rows = steady(np.where(is_judged, 0.0 if passing is None else passing, 1.0))
    return {
        "goodput": rows.with_columns(
            need_label=pl.lit(1000),
            labelled=pl.Series(np.where(is_judged, 50, 0)),
            goodput_upper_rps=pl.lit(1000 / 3600),
            goodput_rps=pl.col("goodput_rps").replace(0.0, None),
        )
    }


def failing_at_least(labels: int) -> float:
    """The least share that fails by so many labels of which 4 % failed."""
    return 1 - float(binomtest(round(0.96 * labels), labels).proportion_ci(method="wilson").high)


@pytest.mark.parametrize(
    ("quality", "last", "bad"),
    [
        # of the last two hours one has 50 labels, of the day six have 300
        ({}, 0, min((0.04 + failing_at_least(50)) / 2, (6 * 0.04 + 18 * failing_at_least(300)) / 24)),
        # those of the day say what passes in the last two hours
        ({}, 2, failing_at_least(300)),
        ({"unlabelled": "pass"}, 0, 0.01),
        (None, 0, 0.01),
    ],
    ids=["as labels allow", "as earlier labels allow", "by the policy", "without a gate"],
)
def test_hours_without_a_label_burn(quality: dict[str, str] | None, last: int, bad: float) -> None:
    """4 % of what was judged fail; counted as passed, three quarters of the hours would spend nothing."""
    given = {"windows_s": [3600], "slo": {"chat": ONE_DAY}, "workloads": {"chat": {"quality": quality}}}
    assert alarms(judged_now_and_then(0.96, last), 96, **given)[RULE]["score"] == pytest.approx(bad / 0.01)


def test_of_labels_that_nobody_drew_what_is_sure_to_fail_burns_and_later_hours_are_known() -> None:
    given = {"windows_s": [3600], "slo": {"chat": ONE_DAY}, "workloads": {"chat": {"quality": {"sampling": "none"}}}}
    rows = judged_now_and_then(None)["goodput"].with_columns(
        goodput_upper_rps=pl.when(labelled=50).then(0.98 * 1000 / 3600).otherwise(pl.col("goodput_upper_rps"))
    )
    assert alarms({"goodput": rows}, 96, **given)[RULE]["score"] == pytest.approx(0.5)  # 2 % of each fourth hour


def test_short_windows_are_summed_from_the_shortest_rows() -> None:
    fine = steady(np.full(4 * A_DAY * 12, 0.99), requests=100).with_columns(
        window_s=pl.lit(300, pl.Int32),
        window_start=pl.lit(MONDAY) + pl.duration(seconds=300 * pl.int_range(pl.len())),
    )
    late = fine.with_columns(
        goodput_rps=pl.when(pl.col("window_start") >= at(95.5)).then(0.0).otherwise(pl.col("offered") * 0.99 / 300)
    )
    slo = {"objective": 0.95, "burn_rates": [{"budget_ratio": 0.02, "long_s": 21600, "short_s": 1800}]}
    rows = {"goodput": pl.concat([late, steady(np.full(4 * A_DAY, 0.99))], how="diagonal_relaxed")}
    found = alarms(rows, 96, windows_s=[300, 3600], slo={"chat": slo})["chat_burn_6h_ticket", None]
    # of six hours 5.5 lose 1 %, half an hour all: (5.5 x 0.01 + 0.5) / 6 / 0.05
    assert found["score"] == pytest.approx(1.85)
    assert found["threshold"] == pytest.approx(2.4)


def test_a_bound_fires_above_it_and_is_over_a_tenth_below() -> None:
    p99 = np.ones((1, 2 * A_DAY))
    p99[0, 10:20] = 2.1
    p99[0, 20:30] = 1.95  # below the bound, but not by a tenth of it
    rule = {"kind": "absolute", "metric": "p99_ttft_s", "above": 2.0, "severity": "page"}
    rows = {"goodput": goodput_rows(p99, np.full(p99.shape, 1000))}
    given = {"alarms": {"rules": {"slow": rule}}}
    assert alarms(rows, 30, **given)["slow", "pool-0"]["state"] == "firing"
    found = alarms(rows, 48, **given)["slow", "pool-0"]
    assert (found["starts_at"], found["ends_at"]) == (at(12), at(33))


def test_a_bound_on_a_quantile_of_too_few_requests_says_that_it_is_not_judged() -> None:
    """A p99 has a two-sided 95 % interval from ln 0.025 / ln 0.99 = 367.04 requests on, a p95 from 71.9 on."""
    slow = np.full((1, 2 * A_DAY), 5.0)
    rules = {name: {"kind": "absolute", "metric": f"{name}_ttft_s", "above": 2.0} for name in ("p99", "p95")}
    rows = {"goodput": goodput_rows(slow, np.full(slow.shape, 120)).with_columns(p95_ttft_s=pl.col("p99_ttft_s"))}
    found = alarms(rows, 48, alarms={"rules": rules})
    thin = found["p99", "pool-0"]
    assert (thin["state"], thin["why"]) == (
        "learning",
        "too little traffic: at most 120 requests a window, 368 are needed",
    )
    assert (found["p95", "pool-0"]["state"], found["p95", "pool-0"]["why"]) == ("firing", None)


def test_a_ratio_made_of_few_bad_requests_makes_no_trend() -> None:
    """At 99.8 % of 500 requests, an hour has 0 to 4 bad ones: that is no drift, and ten times as many are one."""
    rng = np.random.default_rng(4)
    bad = rng.binomial(500, 0.002, DAYS * A_DAY)
    bad[-8:] = rng.binomial(500, 0.02, 8)
    rows = {"goodput": steady(1 - bad / 500, requests=500)}
    quiet = alarms(rows, DAYS * A_DAY - 8)["goodput_ratio_ticket", "pool-0"]
    assert quiet["starts_at" if "starts_at" in quiet else "state"] == "inactive"
    assert alarms(rows, DAYS * A_DAY)["goodput_ratio_page", "pool-0"]["state"] == "firing"


@pytest.fixture(scope="module")
def replicas() -> pl.DataFrame:
    """Rows of five replicas of one pool by the hour: the last day replica-0 fills up, the others as ever."""
    usage = kv_utilisation(np.random.default_rng(5), 1, DAYS) + np.zeros((5, 1))
    usage = usage + np.random.default_rng(6).normal(0, 0.02, usage.shape)
    usage[0, -A_DAY:] = usage[0, -A_DAY:] + np.linspace(0, 0.3, A_DAY)
    hours = np.tile(np.arange(DAYS * A_DAY), 5)
    return pl.DataFrame(
        {
            "window_start": pl.Series([at(int(h)) for h in hours], dtype=pl.Datetime("us", "UTC")),
            "window_s": pl.Series([3600] * len(hours), dtype=pl.Int32),
            "pool": ["chat"] * len(hours),
            "replica": [f"replica-{i}" for i in range(5) for _ in range(DAYS * A_DAY)],
            "mean_kv_usage_ratio": np.clip(usage, 0.01, 0.99).ravel(),
        }
    )


def test_a_replica_is_judged_against_its_peers(replicas: pl.DataFrame) -> None:
    found = alarms({"replica_windows": replicas}, DAYS * A_DAY)
    states = {name: row["state"] for (rule, name), row in found.items() if rule == "replica_kv_usage_ratio_ticket"}
    assert states == {"replica-0": "firing", **{f"replica-{i}": "inactive" for i in range(1, 5)}}


def test_a_pool_is_the_mean_of_its_replicas(replicas: pl.DataFrame) -> None:
    found = alarms({"replica_windows": replicas}, DAYS * A_DAY)["kv_usage_ratio_page", "chat"]
    last = replicas.filter(pl.col("window_start") == at(DAYS * A_DAY - 1))
    assert found["value"] == pytest.approx(last["mean_kv_usage_ratio"].mean())


def test_a_relation_that_is_not_there_gives_no_alarms(replicas: pl.DataFrame) -> None:
    found = alarms({"replica_windows": replicas}, DAYS * A_DAY)
    watched = {row["metric"] for row in found.values() if row["metric"] is not None}
    assert watched == {"kv_usage_ratio", "replica_kv_usage_ratio"}
