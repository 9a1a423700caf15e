"""A demo of the whole fleet as it is published, held against the truth of its simulation."""

import csv
import json
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from statistics import linear_regression
from typing import Any

import duckdb
import polars as pl
import pytest

from goodput.ask.comparison import compared
from goodput.ask.sides import between_values
from goodput.plumbing.workspace import Workspace
from goodput.simulate.demo import demo_settings, write_demo
from goodput.simulate.truth.truth import Truth
from published import ask, run_at

BOUNDS = dict.fromkeys(("since", "until", "workload"))
BASE = timedelta(seconds=300)
# what nobody reports of attempts is taken from those alike, drafts and preemptions from counters
ESTIMATED = {"abandoned", "failed", "preemption", "retry", "speculation"}
MEASURED = {"accepted", "slow", "rejected", "unlabelled", "idle"}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Truth]:
    """A demo of two hours, and what really happened in it."""
    folder = tmp_path_factory.mktemp("demo")
    truth = write_demo(folder / "landing", hours=2)
    (folder / "goodput.toml").write_text(demo_settings())
    return run_at(folder / "goodput.toml"), truth


@pytest.fixture(scope="module")
def demo(published: tuple[Workspace, Truth]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Requests of the demo as published, and what really happened to them."""
    return ask(published[0], "SELECT * FROM requests"), published[1].requests


def test_one_request_for_each_that_users_made(demo: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    requests, truth = demo
    assert truth.height > 8000
    assert not truth["complete"].all()  # the spans of one engine are lost for a while: callers still told all
    assert sorted(requests["request_key"]) == sorted(truth["request_key"])


@pytest.mark.parametrize(
    "fact", ["attempts", "outcome", "input_tokens", "output_tokens", "session_id", "workload", "route", "tenant"]
)
def test_facts_are_what_happened(demo: tuple[pl.DataFrame, pl.DataFrame], fact: str) -> None:
    both = demo[0].join(demo[1], on="request_key", suffix="_true")
    delivered = pl.col("outcome_true") == "ok" if fact.endswith("_tokens") else pl.lit(value=True)
    wrong = both.filter(delivered & pl.col(fact).ne_missing(pl.col(f"{fact}_true")))
    assert wrong.height == 0, wrong.select("request_key", fact, f"{fact}_true").head()


def test_coverage_names_the_replicas_whose_spans_were_lost(published: tuple[Workspace, Truth]) -> None:
    workspace, truth = published
    lost = truth.attempts.filter(pl.col("engine_completed") & ~pl.col("engine_reported"))["replica"]
    low = ask(workspace, "SELECT DISTINCT replica FROM coverage WHERE coverage_ratio < 1")["replica"]
    assert sorted(low) == sorted(set(lost)) != []


def test_operations_are_what_was_done(published: tuple[Workspace, Truth]) -> None:
    workspace, truth = published
    announced = truth.operations.filter(pl.col("kind") != "slowdown")  # nobody announces that a replica slows down
    began = "(SELECT min(arrived_at) FROM requests)"  # what pools began the day with was deployed long before
    found = ask(
        workspace, f"SELECT kind, pool, occurred_at FROM ops_events WHERE occurred_at > {began} ORDER BY occurred_at"
    )
    assert found.select("kind", "pool").rows() == announced.sort("occurred_at").select("kind", "pool").rows()
    late_s = (found["occurred_at"] - announced.sort("occurred_at")["occurred_at"]).dt.total_seconds()
    assert late_s.abs().max() <= 1


def test_bills_are_the_price_of_the_time_that_replicas_ran(published: tuple[Workspace, Truth]) -> None:
    workspace, truth = published
    paid = ask(workspace, "SELECT sum(amount_usd) FROM cost_records").item()
    ran = truth.replicas.select((pl.col("usd_per_h") * pl.col("up_s") / 3600).sum()).item()
    assert paid >= ran  # a node is billed for the hours in which it is up, restarts included
    assert paid == pytest.approx(ran, rel=0.05)


def test_a_session_costs_what_the_ledger_says_of_its_requests(published: tuple[Workspace, Truth]) -> None:
    spent = ask(published[0], "SELECT request_key, usd FROM cost_ledger WHERE request_key IS NOT NULL")
    requests = ask(published[0], "SELECT request_key, session_id FROM requests WHERE session_id IS NOT NULL")
    expected = requests.join(spent, on="request_key").group_by("session_id").agg(pl.col("usd").sum())
    found = ask(published[0], "SELECT session_id, cost_usd FROM sessions").join(expected, on="session_id")
    assert found.height == expected.height > 300
    assert (found["cost_usd"] - found["usd"]).abs().max() < 1e-12
    assert found["usd"].min() > 0


def test_both_sides_of_a_deployment_cost_what_the_pool_did(published: tuple[Workspace, Truth]) -> None:
    workspace, truth = published
    rollout = truth.operations.filter(kind="deployment", pool="rag")["occurred_at"].item()
    pools = ask(workspace, "SELECT arrived_at, ended_at FROM requests WHERE pool = 'rag' AND verdict <> 'in_flight'")
    with duckdb.connect(workspace.lake.database, read_only=True) as connection:
        sides = compared(connection, between_values("model_revision", "3.0.0", "3.1.0-fp8"), BOUNDS).sides
        pool = compared(connection, between_values("pool", "rag", "chat"), BOUNDS).sides[0]
    late = pools.filter(pl.col("arrived_at") >= rollout).height
    assert [side["n"] for side in sides] == [pools.height - late, late]
    spent = ask(workspace, "SELECT sum(usd) FROM waste WHERE slice = 'pool' AND pool = 'rag' AND window_s = 300").item()
    assert pool["cost_usd"] == pytest.approx(spent, rel=1e-9)
    assert sum(side["cost_usd"] for side in sides) == pytest.approx(spent, rel=0.1)  # a window both serve in is shared


@pytest.mark.parametrize("latency", ["ttft_s", "e2e_s"])
def test_latencies_are_what_users_waited(demo: tuple[pl.DataFrame, pl.DataFrame], latency: str) -> None:
    both = demo[0].join(demo[1], on="request_key", suffix="_true").filter(pl.col("outcome_true") == "ok")
    error = (both[latency] - both[f"{latency}_true"]).abs()
    assert error.null_count() == 0
    assert error.max() < 2e-9  # the emitted floats of seconds, rounded to nanoseconds


def test_verdicts_follow_from_the_truth(demo: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    requests, truth = demo
    tokens = pl.col("output_tokens_true")
    tpot = pl.when(tokens > 1).then((pl.col("e2e_s_true") - pl.col("ttft_s_true")) / (tokens - 1))
    ttft, e2e, workload = pl.col("ttft_s_true"), pl.col("e2e_s_true"), pl.col("workload_true")
    slow = (
        pl.when(workload == "chat")
        .then((ttft > 1.5) | (tpot > 0.06).fill_null(value=False))
        .when(workload == "rag")
        .then((ttft > 4) | (e2e > 25))
        .otherwise(e2e > 120)
    )
    expected = (
        pl.when(pl.col("outcome_true") != "ok")
        .then(pl.lit("failed"))
        .when((pl.col("attempts_true") > 2) & (workload != "batch"))
        .then(pl.lit("over_budget"))
        .when(slow)
        .then(pl.lit("slow"))
        .when(~pl.col("labelled"))
        .then(pl.lit("unlabelled"))
        .when(pl.col("quality_passed"))
        .then(pl.lit("accepted"))
        .otherwise(pl.lit("rejected"))
    )
    both = requests.join(truth, on="request_key", suffix="_true").with_columns(expected=expected)
    wrong = both.filter(pl.col("verdict") != pl.col("expected"))
    assert wrong.height == 0, wrong.select("request_key", "verdict", "expected").head()
    assert set(both["verdict"]) == {"failed", "over_budget", "slow", "unlabelled", "accepted", "rejected"}


def test_the_estimate_holds_the_truth(demo: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path) -> None:
    # Labels are a sample; the truth knows the quality of all. Another seed is another draw: the interval may miss
    # one in twenty, this seed is not one of them.
    requests, truth = demo
    both = requests.join(truth, on="request_key", suffix="_true")
    good = both.filter(pl.col("verdict").is_in(["accepted", "unlabelled"]) & pl.col("quality_passed")).height
    need, labelled = both.filter("needs_label"), both.filter(pl.col("needs_label") & pl.col("labelled"))
    estimate = sum(
        need.filter(workload=name).height * labelled.filter(workload=name)["quality_passed"].mean()  # type: ignore[operator]
        for name in ("chat", "rag", "batch")
    )
    assert abs(estimate - good) / good < 0.03


def test_identity_v_in_every_window_and_slice(published: tuple[Workspace, Truth]) -> None:
    rows = ask(published[0], "SELECT * FROM goodput")
    verdicts = ("failed", "ungated", "over_budget", "slow", "rejected", "unevaluable", "unlabelled", "accepted")
    assert rows.filter(pl.col("offered") != pl.sum_horizontal(verdicts)).height == 0
    for window_s in (300, 3600, 86400):
        whole = rows.filter(slice="overall", window_s=window_s)
        assert whole["offered"].sum() == published[1].requests.height


def billed(folder: Path, window_s: int) -> dict[tuple[datetime, str], float]:
    """USD of the bill by window and pool."""
    found: dict[tuple[datetime, str], float] = defaultdict(float)
    length = timedelta(seconds=window_s)
    for row in csv.DictReader((folder / "landing/billing/focus.csv").read_text().splitlines()):
        begin, end = (datetime.fromisoformat(row[f"ChargePeriod{word}"]) for word in ("Start", "End"))
        window = begin - (begin - begin.replace(hour=0, minute=0, second=0)) % length
        while window < end:
            share = (min(end, window + length) - max(begin, window)) / (end - begin)
            found[window, json.loads(row["Tags"])["pool"]] += float(row["BilledCost"]) * share
            window += length
    return found


@pytest.mark.parametrize("window_s", [300, 3600, 86400])
def test_identity_m_against_the_bill_in_every_window_and_pool(
    published: tuple[Workspace, Truth], window_s: int
) -> None:
    workspace, _ = published
    spent = ask(
        workspace,
        "SELECT window_start, pool, sum(usd) AS usd FROM waste "
        f"WHERE slice = 'pool' AND window_s = {window_s} GROUP BY ALL",
    )
    found = {(start, pool): usd for start, pool, usd in spent.rows()}
    assert found == pytest.approx(billed(workspace.config.parent, window_s), rel=1e-9)


@pytest.fixture(scope="module")
def money(published: tuple[Workspace, Truth], demo: tuple[pl.DataFrame, pl.DataFrame]) -> pl.DataFrame:
    """True USD of each attempt and step with its bucket; verdicts are what other tests here hold against the truth."""
    requests, truth = demo
    known = truth.select("request_id", "request_key", "attempts", "quality_passed").join(
        requests.select("request_key", "verdict"), on="request_key"
    )
    outcomes = published[1].attempts.select("request_id", "attempt_index", "outcome")
    return (
        published[1]
        .money.join(known, on="request_id", how="left")
        .join(outcomes, on=["request_id", "attempt_index"], how="left")
        .with_columns(
            bucket=pl.when(pl.col("attempt_index") < pl.col("attempts") - 1)
            .then(pl.lit("retry"))
            .when(pl.col("outcome") == "cancelled")
            .then(pl.lit("abandoned"))
            .otherwise("verdict")
        )
    )


@pytest.fixture(scope="module")
def spent(money: pl.DataFrame) -> pl.DataFrame:
    """True USD by window_start, pool and bucket."""
    parts = [
        money.filter(pl.col("bucket").is_not_null()).select("window_start", "pool", "bucket", "usd"),
        *(
            money.select("window_start", "pool", pl.lit(bucket).alias("bucket"), usd=f"{bucket}_usd")
            for bucket in ("preemption", "speculation", "idle")
        ),
    ]
    return pl.concat(parts).group_by("window_start", "pool", "bucket").agg(pl.col("usd").sum())


def test_every_bucket_costs_what_it_truly_cost(published: tuple[Workspace, Truth], spent: pl.DataFrame) -> None:
    told = ask(published[0], "SELECT * FROM waste WHERE slice = 'overall' AND window_s = 86400")
    true = dict(spent.group_by("bucket").agg(pl.col("usd").sum()).filter(pl.col("usd") > 0).iter_rows())
    rows = told.rows_by_key("bucket", named=True, unique=True)
    assert set(rows) == set(true)
    # replicas are billed while they restart, and up to the end of the hour in which telemetry ends
    assert {bucket for bucket, row in rows.items() if row["estimated"]} == ESTIMATED | {"accepted", "rejected", "idle"}
    for bucket in MEASURED | {"speculation"}:
        assert rows[bucket]["measured_usd"] == pytest.approx(true[bucket], rel=0.01), bucket
    for bucket in set(rows) - MEASURED:
        assert abs(rows[bucket]["usd"] - true[bucket]) <= rows[bucket]["error_usd"], bucket
    # an error as large as the amount would say nothing
    assert rows["abandoned"]["error_usd"] < 0.3 * rows["abandoned"]["usd"]
    assert rows["retry"]["error_usd"] < rows["retry"]["usd"]
    assert rows["idle"]["error_usd"] < 0.06 * rows["idle"]["usd"]


def test_what_failed_quality_costs_as_much_as_all_labels_would_show(
    published: tuple[Workspace, Truth], money: pl.DataFrame
) -> None:
    rows = ask(published[0], "SELECT * FROM waste WHERE slice = 'overall' AND window_s = 86400")
    found = rows.rows_by_key("bucket", named=True, unique=True)
    judged = money.filter(pl.col("bucket").is_in(["accepted", "rejected", "unlabelled"]))
    true = dict(judged.group_by("quality_passed").agg(pl.col("usd").sum()).iter_rows())
    for bucket, passed in (("accepted", True), ("rejected", False)):
        assert found[bucket]["ci_low_usd"] <= true[passed] <= found[bucket]["ci_high_usd"]
        assert found[bucket]["usd"] == pytest.approx(true[passed], rel=0.1)
    assert found["rejected"]["measured_usd"] < 0.5 * true[False]
    assert found["unlabelled"]["usd"] == 0


def test_errors_hold_the_truth_19_times_in_20(published: tuple[Workspace, Truth], spent: pl.DataFrame) -> None:
    told = ask(
        published[0],
        "SELECT window_start, pool, bucket, measured_usd AS usd, error_usd FROM waste "
        "WHERE slice = 'pool' AND window_s = 3600 AND bucket <> 'idle'",
    )
    key = ["window_start", "pool", "bucket"]
    hours = spent.with_columns(pl.col("window_start").dt.truncate("1h")).group_by(key).agg(true=pl.col("usd").sum())
    both = told.join(hours.filter(pl.col("true") > 0, pl.col("bucket") != "idle"), on=key, how="full", coalesce=True)
    off = (pl.col("usd").fill_null(0.0) - pl.col("true").fill_null(0.0)).abs()
    missed = both.filter(off > pl.col("error_usd").fill_null(0.0) + 1e-9)
    assert both.height > 25
    assert missed.height <= 0.05 * both.height, missed


def test_idle_cost_is_right_in_every_window_and_pool(published: tuple[Workspace, Truth], spent: pl.DataFrame) -> None:
    told = ask(
        published[0],
        "SELECT window_start, pool, usd FROM waste WHERE slice = 'pool' AND window_s = 300 AND bucket = 'idle'",
    )
    true = {(start, pool): usd for start, pool, usd in spent.filter(bucket="idle").drop("bucket").rows() if usd > 1e-9}
    # what is in flight as a process ends dies unseen, some seconds after the reading that is the last sign of it
    anew = "SELECT DISTINCT window_start, pool FROM replica_windows WHERE window_s = 300 AND restarts > 0"
    restarted = set(ask(published[0], anew).rows())
    usd_of = {(start, pool): usd for start, pool, usd in told.rows()}
    assert usd_of.keys() == true.keys()
    for at, usd in true.items():
        assert usd_of[at] == pytest.approx(usd, rel=1e-2 if at in restarted else 1e-5), at


@pytest.fixture(scope="module")
def disruptions(published: tuple[Workspace, Truth]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each announced operation: as published, and as it truly was."""
    workspace, truth = published
    began = truth.requests["arrived_at"].min()
    told = (
        ask(workspace, "SELECT * FROM disruptions ORDER BY occurred_at")
        .filter(pl.col("occurred_at") > began)
        .to_dicts()
    )
    true = truth.operations.filter("announced").sort("occurred_at").to_dicts()
    assert [(row["kind"], row["pool"]) for row in told] == [(row["kind"], row["pool"]) for row in true]
    return list(zip(told, true, strict=True))


def test_disruptions_open_and_close_at_the_true_times(
    disruptions: list[tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    for told, true in disruptions:
        assert abs(told["occurred_at"] - true["occurred_at"]) <= timedelta(seconds=1)
        assert abs(told["ended_at"] - true["ended_at"]) <= BASE, told["kind"]
        assert told["baseline_windows"] == len(true["baseline"])
        assert told["baseline_hit_ratio"] == pytest.approx(true["baseline_hit_ratio"], rel=0.02)
    # not all of them end alike
    assert {told["ended_by"] for told, _ in disruptions} == {"recovered", "cap"}
    assert all(true["highest_p95_ttft_s"] > true["baseline_p95_ttft_s"] for _, true in disruptions)


def test_the_excess_cost_of_a_disruption_lies_in_its_interval(
    demo: tuple[pl.DataFrame, pl.DataFrame],
    spent: pl.DataFrame,
    disruptions: list[tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    requests, truth = demo
    passed = requests.filter(pl.col("verdict").is_in(["accepted", "unlabelled"])).select("request_key")
    good = truth.join(passed, on="request_key").filter("quality_passed")
    accepted = good.group_by(window_start=pl.col("ended_at").dt.truncate(BASE), pool="pool").agg(accepted=pl.len())
    windows = (
        spent.group_by("window_start", "pool")
        .agg(pl.col("usd").sum())
        .join(accepted, on=["window_start", "pool"], how="left")
    )
    came = truth.group_by(window_start=pl.col("arrived_at").dt.truncate(BASE), pool="pool").agg(arrivals=pl.len())
    windows = windows.join(came, on=["window_start", "pool"], how="left")
    start, excesses = pl.col("window_start"), []
    for told, true in disruptions:
        own = windows.filter(pool=true["pool"])
        inside = own.filter(start + BASE > true["occurred_at"], start < true["ended_at"])
        before = own.filter(start.is_in(true["baseline"]))
        if told["no_interval"] is not None:
            continue
        # what such windows cost and accept at its load: lines through theirs
        beyond = [load - inside["arrivals"].mean() for load in before["arrivals"]]
        usd, accepted = (linear_regression(beyond, before[name]).intercept for name in ("usd", "accepted"))
        excess = inside["usd"].sum() - inside["accepted"].sum() * usd / accepted
        assert told["excess_cost_ci_low_usd"] <= excess <= told["excess_cost_ci_high_usd"], told["kind"]
        excesses.append(excess)
    assert len(excesses) >= 2
    assert max(excesses) > 0.2  # two chat replicas more than the load needs, and cold caches
    # what leads up to the peak shows the load of the deployment of chat; the fp8 rollout of rag reaches beyond the end
    unpriced = [(told["kind"], told["pool"], told["no_interval"]) for told, _ in disruptions if told["no_interval"]]
    assert unpriced == [("deployment", "rag", "partly_observed")]
