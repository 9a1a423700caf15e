"""What an alarm says of a pool that is asked for something else: the workload, or the contexts, that grew."""

import json
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.settings.model import Settings
from monitor.noise import CALM, hourly_p99
from monitor.rows import MONDAY, goodput_rows

DAYS, SINCE = 31, 28 * 24


def page(batch_an_hour: Any, long_ratio: Any, slower: float = 1.5) -> dict[str, Any]:
    """The page of chat's p99 ttft, slower since SINCE, beside so much batch work and so many long contexts."""
    return paged(*telemetry(batch_an_hour, long_ratio, slower, SINCE + 8), SINCE + 8)


def telemetry(batch_an_hour: Any, long_ratio: Any, slower: float, until: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of goodput and of replica_windows."""
    p99, requests = hourly_p99(np.random.default_rng(8), 1, DAYS, profile=CALM)
    p99[0, SINCE:] *= slower
    chat = goodput_rows(p99, np.full(requests.shape, 9000))
    counts = np.broadcast_to(np.asarray(batch_an_hour), requests.shape).astype(np.int64)
    batch = goodput_rows(np.full(p99.shape, 3.0), counts, workload="batch")
    seen = pl.concat([chat, batch]).filter(pl.col("window_start") < MONDAY + timedelta(hours=until))
    hours = seen.filter(pl.col("workload") == "chat").select("window_start", "window_s", "pool")
    long = np.broadcast_to(np.asarray(long_ratio, dtype=float), requests.shape)[0, :until]
    replicas = pl.concat(
        hours.with_columns(
            replica=pl.lit(name),
            long_context_ratio=long,
            input_tokens=pl.lit(100_000),
            up_s=pl.lit(3600.0),
            mean_kv_usage_ratio=pl.lit(0.5),
            preemptions=pl.lit(0),
            mean_running_requests=pl.lit(9.0),
        )
        for name in ("r0", "r1")
    )
    return seen, replicas


def paged(
    goodput: pl.DataFrame, replicas: pl.DataFrame, until: int, rule: str = "p99_ttft_s_page", window_s: int = 3600
) -> dict[str, Any]:
    """The page of chat's ttft."""
    rows = {"goodput": goodput, "replica_windows": replicas}
    settings = Settings.model_validate({"alarms": {"max_age_s": 1e9}, "windows_s": [3600, 21600, 86400]})
    evaluation = Evaluation(Evidence(rows, settings), MONDAY + timedelta(hours=until))
    return next(
        row
        for row in evaluation.alarms()
        if (row["rule"], row.get("window_s"), row["workload"], row["pool"]) == (rule, window_s, "chat", "pool-0")
    )


def hourly(before: float, after: float) -> np.ndarray:
    return np.where(np.arange(DAYS * 24) < SINCE, before, after)


def test_a_workload_that_grew_is_named_with_its_shares() -> None:
    """1,000 of 10,000 requests an hour were batch work, now 6,000 of 15,000."""
    found = page(hourly(1000, 6000), 0.2)
    assert found["state"] == "firing"
    facts = json.loads(found["explanation"])
    assert (facts["mix_workload"], facts["mix_ratio"], facts["usual_mix_ratio"]) == ("batch", 0.4, 0.1)
    assert "long_context_ratio" not in facts
    assert "; workload batch is 40 % of requests instead of 10 %" in found["summary"]


def test_a_workload_that_was_not_there_is_named() -> None:
    facts = json.loads(page(hourly(0, 3000), 0.2)["explanation"])
    assert (facts["mix_workload"], facts["mix_ratio"], facts["usual_mix_ratio"]) == ("batch", 0.25, 0.0)


def test_longer_contexts_are_named() -> None:
    found = page(1000, hourly(0.2, 0.55))
    facts = json.loads(found["explanation"])
    assert (facts["long_context_ratio"], facts["usual_long_context_ratio"]) == (0.55, 0.2)
    assert "mix_workload" not in facts
    assert "; long contexts are 55 % of its input instead of 20 %" in found["summary"]


@pytest.mark.parametrize(
    ("thinned", "rule", "window_s", "usual"),
    [(140, "p99_ttft_s_page", 21600, 0.1), (1500, "p95_ttft_s_page", 86400, 0.0)],  # 10 / 15 of batch are none
)
def test_a_mix_is_named_in_the_longer_windows_of_thin_traffic(
    thinned: int, rule: str, window_s: int, usual: float
) -> None:
    """The same mix of a hundredth or less of the requests, for two days."""
    hours, replicas = telemetry(hourly(1000, 6000), hourly(0.2, 0.55), 2.5, SINCE + 48)
    thin = hours.with_columns(pl.col("offered", "accepted", "n_ttft", "n_tpot", "n_e2e") // thinned)
    counts = (pl.col("offered", "accepted", "need_label", "labelled", "n_ttft", "n_tpot", "n_e2e").sum(),)
    long = (
        thin.with_columns(pl.col("window_start").dt.truncate(f"{window_s}s"), window_s=pl.lit(window_s, pl.Int32))
        .group_by("window_start", "window_s", "slice", "workload", "pool", "partial")
        .agg(*counts, pl.selectors.float().mean())
    )
    found = paged(pl.concat([thin, long.select(thin.columns)]), replicas, SINCE + 48, rule, window_s)
    assert found["state"] == "firing"
    facts = json.loads(found["explanation"])
    assert (facts["mix_workload"], facts["mix_ratio"]) == ("batch", pytest.approx(0.4, abs=0.02))
    assert facts["usual_mix_ratio"] == pytest.approx(usual, abs=0.02)
    assert (facts["long_context_ratio"], facts["usual_long_context_ratio"]) == (0.55, 0.2)


@pytest.mark.parametrize(
    "batch_an_hour",
    [
        1000,
        hourly(1000, 1800),  # 10 to 17 %
        np.where(np.arange(DAYS * 24) % 24 < 8, 6000, 1000),  # every night
        1000 + 6000 * np.random.default_rng(3).integers(0, 2, DAYS * 24),  # any hour may be one of 10 or 44 %
    ],
    ids=["the same", "a little", "as every night", "as it always wanders"],
)
def test_a_mix_that_is_as_usual_is_not_named(batch_an_hour: Any) -> None:
    found = page(batch_an_hour, 0.2)
    assert found["state"] == "firing"
    assert "mix_workload" not in json.loads(found["explanation"])
