"""What should leave the lake, asked of the published relations in other SQL: name, labels and value of each sample."""

from collections.abc import Iterator

import duckdb

Sample = tuple[str, frozenset[tuple[str, str]]]

_SLICES = "('overall', 'workload', 'model', 'pool', 'workload_route')"
_CUT = ("slice", "workload", "model", "pool", "route")
_NEWEST = """
    CREATE OR REPLACE TEMP TABLE newest AS
    SELECT window_s, max(window_start) AS window_start FROM goodput WHERE slice = 'overall' AND NOT partial GROUP BY ALL
"""
_OF_GOODPUT = {
    "goodput_offered": "offered",
    "goodput_rate_per_second": "goodput_rps",
    "goodput_ci_low_rate_per_second": "goodput_ci_low_rps",
    "goodput_ci_high_rate_per_second": "goodput_ci_high_rps",
    "goodput_ratio": "goodput_ratio",
    "goodput_ci_low_ratio": "goodput_ratio_ci_low",
    "goodput_ci_high_ratio": "goodput_ratio_ci_high",
    "goodput_throughput_per_second": "throughput_rps",
    "goodput_output_tokens_rate_per_second": "output_token_goodput_tps",
    "goodput_output_tokens_ci_low_rate_per_second": "output_token_goodput_ci_low_tps",
    "goodput_output_tokens_ci_high_rate_per_second": "output_token_goodput_ci_high_tps",
    "goodput_retry_ratio": "retry_ratio",
    "goodput_cost_usd": "cost_usd",
    "goodput_unpriced": "unpriced",
    "goodput_cost_per_accepted_usd": "cost_per_accepted_usd",
    "goodput_cost_per_accepted_ci_low_usd": "cost_per_accepted_ci_low_usd",
    "goodput_cost_per_accepted_ci_high_usd": "cost_per_accepted_ci_high_usd",
    "goodput_wasted_ratio": "wasted_ratio",
    "goodput_wasted_ci_low_ratio": "wasted_ci_low_ratio",
    "goodput_wasted_ci_high_ratio": "wasted_ci_high_ratio",
    "goodput_coverage_ratio": "coverage_ratio",
    "goodput_unobserved": "unobserved",
    "goodput_quality_gated_ratio": "quality_gated_ratio",
    "goodput_quality_coverage_ratio": "quality_coverage_ratio",
}
_VERDICTS = ("failed", "ungated", "over_budget", "slow", "rejected", "unevaluable", "unlabelled", "accepted")
_QUANTILES = {"p50": "0.5", "p95": "0.95", "p99": "0.99"}


def expected(connection: duckdb.DuckDBPyConnection) -> dict[Sample, float]:
    """Every sample of the newest whole windows and of the state, by name and labels; NULL is none."""
    connection.execute(_NEWEST)
    return {
        (name, frozenset((f"goodput_{key}", str(value)) for key, value in labels.items() if value is not None)): value
        for name, labels, value in [*_cut(connection), *_others(connection), *_state(connection)]
        if value is not None
    }


Row = tuple[str, dict[str, object], float | None]


def _asked(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, object]]:
    found = connection.execute(sql)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _windowed(connection: duckdb.DuckDBPyConnection, relation: str, where: str = "true") -> list[dict[str, object]]:
    return _asked(connection, f"FROM {relation} JOIN newest USING (window_s, window_start) WHERE {where}")


def _cut(connection: duckdb.DuckDBPyConnection) -> Iterator[Row]:
    sliced = f"slice IN {_SLICES}"
    for row in _windowed(connection, "goodput", sliced):
        labels = {key: row[key] for key in ("window_s", *_CUT)}
        for name, column in _OF_GOODPUT.items():
            yield name, labels, row[column]
        for verdict in _VERDICTS:
            yield "goodput_verdicts", labels | {"verdict": verdict}, row[verdict]
        for short, quantile in _QUANTILES.items():
            for latency in ("ttft", "tpot", "e2e"):
                name = f"goodput_{latency}_seconds"
                yield name, labels | {"quantile": quantile}, row[f"{short}_{latency}_s"]
    for row in _windowed(connection, "gate_failures", sliced):
        labels = {key: row[key] for key in ("window_s", *_CUT, "gate")}
        yield "goodput_gate_fail_ratio", labels, row["fail_ratio"]
        yield "goodput_gate_only_failing", labels, row["only_failing"]
    for row in _windowed(connection, "waste", sliced):
        labels = {key: row[key] for key in ("window_s", *_CUT, "bucket")}
        for name, column in {"": "usd", "ci_low_": "ci_low_usd", "ci_high_": "ci_high_usd"}.items():
            yield f"goodput_waste_{name}usd", labels, row[column]


def _others(connection: duckdb.DuckDBPyConnection) -> Iterator[Row]:
    for row in _asked(connection, "SELECT window_s, epoch(window_start) + window_s AS ends FROM newest"):
        yield "goodput_window_end_timestamp_seconds", {"window_s": row["window_s"]}, row["ends"]
    for row in _windowed(connection, "quality", "label IS NULL"):
        labels = {key: row[key] for key in ("window_s", "workload", "model", "evaluator")}
        yield "goodput_quality_pass_ratio", labels, row["pass_ratio"]
        yield "goodput_quality_pass_ci_low_ratio", labels, row["pass_ci_low_ratio"]
        yield "goodput_quality_pass_ci_high_ratio", labels, row["pass_ci_high_ratio"]
        yield "goodput_quality_judged", labels, row["judged"]
    sums: dict[tuple[object, ...], tuple[float, float]] = {}
    for row in _windowed(connection, "cache_by_replica", "hit_ratio IS NOT NULL"):
        key = (row["window_s"], row["pool"], row["model"])
        found, looked_up = sums.get(key, (0.0, 0.0))
        sums[key] = (found + row["hit_ratio"] * row["looked_up_tokens"], looked_up + row["looked_up_tokens"])
    for key, (found, looked_up) in sums.items():
        yield "goodput_cache_hit_ratio", dict(zip(("window_s", "pool", "model"), key, strict=True)), found / looked_up


def _state(connection: duckdb.DuckDBPyConnection) -> Iterator[Row]:
    keys = ("alarm_id", "rule", "severity", "metric", "workload", "pool", "replica")
    for row in _asked(connection, "FROM alarms"):
        labels = {key: row[key] for key in keys}
        yield "goodput_alarm_firing", labels, float(row["state"] == "firing")
        yield "goodput_alarm_suppressed", labels, float(row["suppressed"] is not None)
    for row in _asked(connection, "SELECT kind, severity, count(*) AS n FROM warnings GROUP BY ALL"):
        yield "goodput_warned_subjects", {"kind": row["kind"], "severity": row["severity"]}, row["n"]
    for row in _asked(connection, "FROM watermark"):
        for name in ("observed", "final", "billed"):
            at = row[f"{name}_until_at"]
            yield f"goodput_{name}_until_timestamp_seconds", {}, None if at is None else at.timestamp()
