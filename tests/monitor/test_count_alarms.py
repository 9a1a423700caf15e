"""Alarms on counts from the rows of published relations: which series there are, what fires, and what it is called."""

import json
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from goodput.contracts import arrow_schema
from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.grid import Grid
from goodput.monitor.panel import Panel
from goodput.monitor.series import panels
from goodput.plumbing.alarm_actions import Action
from goodput.settings.model import Settings
from monitor.count_noise import CALM, NORMAL, events, moved, strayed, trials
from monitor.drifts import MONDAY_S
from monitor.rows import MONDAY

DAYS, A_DAY = 35, 24
ONSET = 30 * A_DAY
HOURS = [MONDAY + timedelta(hours=hour) for hour in range(DAYS * A_DAY)]


def frame(**columns: Any) -> pl.DataFrame:
    """Rows of the hours of five weeks."""
    starts = pl.Series(HOURS, dtype=pl.Datetime("us", "UTC"))
    return pl.DataFrame({"window_start": starts}).with_columns(
        pl.lit(3600, pl.Int32).alias("window_s"),
        *(
            pl.Series(name, value) if isinstance(value, np.ndarray) else pl.lit(value).alias(name)
            for name, value in columns.items()
        ),
    )


def judged(evaluator: str | None, label: str | None, model: str, n: np.ndarray, bad: np.ndarray) -> pl.DataFrame:
    words = {"workload": "chat", "model": model}
    known = frame(**words, judged=n.astype(np.int64), pass_ratio=1 - bad / np.maximum(n, 1))
    given = [pl.lit(word, pl.String).alias(name) for name, word in (("evaluator", evaluator), ("label", label))]
    return known.with_columns(*given).filter(pl.col("judged") > 0)


@pytest.fixture(scope="module")
def quality() -> pl.DataFrame:
    """Of a judge whose failures double after 30 days, half of it on each of two models; the gate stays as it is."""
    rng = np.random.default_rng(51)
    n = trials(rng, 2, DAYS, 100)
    onset = np.array([ONSET, DAYS * A_DAY])
    bad = events(rng, n, 0.05, strayed(rng, 2, DAYS, CALM) + moved(DAYS * A_DAY, onset, np.log(2)))
    half = np.floor(n[0] / 2)
    of_half = np.minimum(np.round(bad[0] * half / np.maximum(n[0], 1)), half)
    parts = [
        judged("judge", None, "a", half, of_half),
        judged("judge", None, "b", n[0] - half, bad[0] - of_half),
        judged("judge", "bad", "a", bad[0], bad[0]),
        judged(None, None, "a", n[1], bad[1]),
    ]
    return pl.concat(parts)


def run(rows: dict[str, pl.DataFrame], hour: int = DAYS * A_DAY, **more: Any) -> Evaluation:
    seen = {name: rows[name].filter(pl.col("window_start") < MONDAY + timedelta(hours=hour)) for name in rows}
    return Evaluation(Evidence(seen, Settings(), **more), MONDAY + timedelta(hours=hour, minutes=10))


def of_rule(seen: Evaluation, rule: str) -> dict[str, dict[str, Any]]:
    return {row["labels"]: row for row in seen.alarms() if row["rule"] == rule}


def the_panel(relation: str, rows: pl.DataFrame, metric: str) -> Panel:
    (panel,) = panels({relation: rows}, Grid(MONDAY_S, DAYS), {metric}, Settings().alarms.max_series)
    return panel


def test_an_evaluator_that_passes_less_pages_within_14_hours_and_the_gate_does_not(quality: pl.DataFrame) -> None:
    before, after = (of_rule(run({"quality": quality}, ONSET + hours), "pass_ratio_page") for hours in (0, 14))
    judge, gate = '{"workload": "chat", "evaluator": "judge"}', '{"workload": "chat"}'
    assert set(before) == set(after) == {judge, gate}
    assert {row["state"] for row in before.values()} == {"inactive"}
    assert (after[judge]["state"], after[gate]["state"]) == ("firing", "inactive")
    facts = json.loads(after[judge]["explanation"])
    assert "pass_ratio of workload=chat evaluator=judge" in after[judge]["summary"]
    assert facts["usual"] == pytest.approx(0.95, abs=0.005)
    assert "evaluator = 'judge' AND label IS NULL" in facts["sql"]
    assert after[judge]["threshold"] == 4.0


def test_models_of_one_evaluator_are_one_series_and_a_label_is_another(quality: pl.DataFrame) -> None:
    panel = the_panel("quality", quality, "pass_ratio")
    labels = [dict(label) for label in panel.labels]
    assert {"workload": "chat", "evaluator": "judge", "label": "bad"} in labels
    row = labels.index({"workload": "chat", "evaluator": "judge"})
    mine = quality.filter((pl.col("evaluator") == "judge") & pl.col("label").is_null())
    both = (
        mine.group_by("window_start")
        .agg(n=pl.col("judged").sum(), passed=(pl.col("judged") * pl.col("pass_ratio")).sum())
        .sort("window_start")
    )
    at = [(start - MONDAY) // timedelta(hours=1) for start in both["window_start"]]
    assert panel.trials is not None
    assert panel.trials[row, at] == pytest.approx(both["n"].to_numpy())
    assert panel.values[row, at] == pytest.approx((both["passed"] / both["n"]).to_numpy())


def test_accepting_what_one_evaluator_does_accepts_nothing_of_the_gate(quality: pl.DataFrame) -> None:
    match = {"metric": "pass_ratio", "workload": "chat", "evaluator": "judge", "label": ""}
    at = {name: MONDAY + timedelta(hours=ONSET + hours) for name, hours in (("begins", 0), ("said_at", 24))}
    seen = run({"quality": quality}, actions=[Action("a", "accept", match, at["said_at"], at["begins"])])
    mine = [e for e in seen.new_events([]) if e["rule"] == "pass_ratio_page"]
    assert {e["labels"] for e in mine} == {'{"workload": "chat", "evaluator": "judge"}'}
    assert [e["reason"] for e in mine if e["transition"] == "resolved"] == ["accepted"]


def test_failed_and_retried_page_and_rows_have_the_columns_of_their_contracts() -> None:
    rng = np.random.default_rng(52)
    n = trials(rng, 1, DAYS, 1000)
    tripled = moved(DAYS * A_DAY, np.array([ONSET]), np.log(3))
    failed, retried = (events(rng, n, p, strayed(rng, 1, DAYS, NORMAL) + tripled) for p in (0.002, 0.03))
    rows = frame(
        slice="workload_pool", workload="chat", pool="a", partial=False, offered=n[0].astype(np.int64),
        failed=failed[0].astype(np.int64), retry_ratio=retried[0] / np.maximum(n[0], 1),
    ).filter(pl.col("offered") > 0)  # fmt: skip
    seen = run({"goodput": rows})
    found = {row["rule"]: row for row in seen.alarms()}
    for rule in ("failed_page", "retry_ratio_page"):
        assert found[rule]["state"] == "firing"
        assert found[rule]["starts_at"] - MONDAY <= timedelta(hours=ONSET + 12)
        assert found[rule]["requests"] == n[0, -1]
    assert found["failed_page"]["value"] == pytest.approx(failed[0, -1] / n[0, -1])
    assert set(seen.series()["quantity"]) == {"failed (of offered)", "retry ratio"}
    for table, made in (
        ("alarms", seen.alarms()),
        ("alarm_events", seen.new_events([])),
        ("alarm_power", seen.power()),
    ):
        assert {name for row in made for name in row} <= set(arrow_schema(table).names)
    power = {row["rule"]: row for row in seen.power()}
    assert 0 < power["failed_page"]["false_alarms_per_week"] < power["failed_ticket"]["false_alarms_per_week"] < 0.1


def test_preemptions_are_a_rate_in_the_hours_that_replicas_were_up() -> None:
    """Two replicas, one up half as long: 3 preemptions in 1.5 hours are 2 an hour; what nobody read has no part."""
    parts = [
        frame(pool="a", replica="r1", up_s=3600.0, preemptions=2),
        frame(pool="a", replica="r2", up_s=1800.0, preemptions=1),
        frame(pool="a", replica="r3", up_s=3600.0, preemptions=None).cast({"preemptions": pl.Int64}),
    ]
    panel = the_panel(
        "replica_windows", pl.concat([part.cast({"preemptions": pl.Int64}) for part in parts]), "preemptions"
    )
    assert panel.labels == ((("pool", "a"),),)
    assert panel.values == pytest.approx(2.0)
    assert panel.trials == pytest.approx(1.5)
    assert panel.requests is None


def test_preemptions_where_none_ever_were_are_a_ticket() -> None:
    counts = np.zeros(DAYS * A_DAY, dtype=np.int64)
    counts[ONSET] = 3
    once = run({"replica_windows": frame(pool="a", replica="r", up_s=3600.0, preemptions=counts)}, ONSET + 5)
    assert of_rule(once, "preemptions_ticket")['{"pool": "a"}']["state"] in {"inactive", "pending"}
    counts[ONSET + 2] = 3
    twice = run({"replica_windows": frame(pool="a", replica="r", up_s=3600.0, preemptions=counts)}, ONSET + 5)
    assert of_rule(twice, "preemptions_ticket")['{"pool": "a"}']["state"] == "firing"


def test_tokens_of_a_cache_are_counted_by_the_thousand() -> None:
    rows = pl.concat([
        frame(pool="a", replica="r1", hit_ratio=0.5, looked_up_tokens=300_000),
        frame(pool="a", replica="r2", hit_ratio=0.9, looked_up_tokens=100_000),
    ])  # fmt: skip
    panel = the_panel("cache_by_replica", rows, "hit_ratio")
    assert panel.values == pytest.approx((0.5 * 300 + 0.9 * 100) / 400)
    assert panel.trials == pytest.approx(400)
    assert panel.requests is None


def test_queueing_that_is_next_to_nothing_is_no_trend() -> None:
    """From 1 to 4 ms is four times as long and nothing; from 0.2 to 0.8 s is not."""
    offered = np.full(DAYS * A_DAY, 5000)
    states = []
    for usual, later in ((0.001, 0.004), (0.2, 0.8)):
        noise = np.exp(np.random.default_rng(53).normal(0, 0.1, DAYS * A_DAY))
        p99 = np.where(np.arange(DAYS * A_DAY) < ONSET, usual, later) * noise
        rows = frame(
            slice="workload_pool", workload="chat", pool="a", partial=False, offered=offered, n_queue=offered,
            p99_queue_s=p99, p95_queue_s=0.8 * p99, p50_queue_s=0.0,
        )  # fmt: skip
        states.append(
            of_rule(run({"goodput": rows}), "p99_queue_s_ticket")['{"workload": "chat", "pool": "a"}']["state"]
        )
    assert states == ["inactive", "firing"]
