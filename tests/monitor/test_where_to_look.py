"""The SQL of an alarm is run: it gives the requests that the value was made of, and no others."""

from typing import Any

import duckdb
import numpy as np
import pytest

from goodput.monitor.grid import Grid
from goodput.monitor.panel import Panel
from goodput.monitor.rule_kind import rule_kind
from goodput.monitor.rule_series import RuleSeries
from monitor.drifts import MONDAY_S

NOTHING = np.empty(0)
ONSET = {"onset_at": "2026-01-05T06:00:00Z"}
NINE = MONDAY_S + 9 * 3600
ROWS = """
CREATE TABLE requests AS SELECT * FROM (VALUES
    ('before', 'chat', 'a', '05:59:59', 9.0, true, 'slow'), ('first', 'chat', 'a', '06:00:00', 1.0, true, 'slow'),
    ('worst', 'chat', 'a', '08:59:59', 5.0, true, 'slow'), ('failed', 'chat', 'a', '07:00:00', 8.0, false, 'failed'),
    ('after', 'chat', 'a', '09:00:00', 9.0, true, 'slow'), ('other', 'rag', 'a', '07:00:00', 9.0, true, 'slow'),
    ('nowhere', 'chat', NULL, '07:00:00', 3.0, true, 'slow')
) AS t(request_key, workload, pool, clock, ttft_s, pass_success, verdict);
ALTER TABLE requests ADD COLUMN ended_at TIMESTAMPTZ;
ALTER TABLE requests ADD COLUMN replica VARCHAR;
UPDATE requests SET ended_at = ('2026-01-05 ' || clock || 'Z')::TIMESTAMPTZ, replica = 'r';
CREATE TABLE goodput AS SELECT 'workload_pool' AS slice, 'chat' AS workload, 'a' AS pool, 3600 AS window_s,
    make_timestamptz((epoch(TIMESTAMPTZ '2026-01-05 00:00:00Z')::BIGINT + 3600 * hour) * 1000000) AS window_start
    FROM range(-20, 20) AS h(hour);
"""


def found(kind: str, metric: str, onset: dict[str, str] = ONSET, **labels: str) -> list[tuple[Any, ...]]:
    named = tuple(labels.items())
    panel = Panel(metric, Grid(MONDAY_S, 1), (named,), NOTHING, None, None) if kind != "burn_rate" else None
    one = RuleSeries("r", kind, "page", metric, named, 1.0, NOTHING, NOTHING, (), panel=panel, grid=Grid(0, 1))
    with duckdb.connect() as database:
        database.execute(ROWS)
        return database.execute(rule_kind(kind).evidence_sql(one, onset, NINE)).fetchall()


@pytest.mark.parametrize(("pool", "keys"), [("a", ["worst", "first"]), ("unknown", ["nowhere"])])
def test_the_worst_requests_are_those_of_the_percentile(pool: str, keys: list[str]) -> None:
    assert [row[0] for row in found("trend", "p99_ttft_s", workload="chat", pool=pool)] == keys


def test_an_objective_counts_what_its_globs_name() -> None:
    assert found("trend", "goodput_ratio", workload="chat", pool="a") == [("failed", "r", 1), ("slow", "r", 2)]
    assert found("burn_rate", "goodput_ratio", workload="ch*, nobody") == [("failed", "r", 1), ("slow", "r", 3)]


def test_a_silence_is_seen_in_the_windows_of_the_day_before() -> None:
    assert len(found("absence", "goodput_ratio", workload="chat", pool="a")) == 24


def test_a_silence_that_is_older_is_seen_from_its_beginning() -> None:
    """The first hour that there is, of which nine on this day are over."""
    long_ago = {"onset_at": "2026-01-04T04:00:00Z"}
    assert len(found("absence", "goodput_ratio", long_ago, workload="chat", pool="a")) == 20 + 9
