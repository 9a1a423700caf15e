"""The metrics that alarms can watch: on which scale each one strays evenly, and which way is worse.

Where their series come from is monitor's work; only what settings may name, and its defaults, belongs here.
"""

from dataclasses import dataclass
from typing import Literal

Scale = Literal["log", "logit", "arcsine"]


@dataclass(frozen=True)
class Quantile:
    """A quantile of requests by the share of them above it, and above the lower one that stands for the body."""

    above: float
    above_body: float


_P99, _P95 = Quantile(0.01, 0.05), Quantile(0.05, 0.5)


@dataclass(frozen=True)
class AlarmMetric:
    """One metric: its scale, its direction, and the thresholds in sigma of its own noise.

    `least_requests` is how many make its quantile believable (a two-sided 95 % distribution-free interval exists);
    `stands_in_for` names a metric that this one is watched instead of while that one has too little traffic.
    """

    scale: Scale
    worse: Literal["up", "down"]
    page: float | None = 3.0
    ticket: float | None = 2.4
    least_requests: int = 0
    quantile: Quantile | None = None
    stands_in_for: str | None = None
    per: Literal["pool", "replica"] = "pool"


METRICS: dict[str, AlarmMetric] = {
    "p99_ttft_s": AlarmMetric("log", "up", least_requests=368, quantile=_P99),
    "p99_tpot_s": AlarmMetric("log", "up", least_requests=368, quantile=_P99),
    "p99_e2e_s": AlarmMetric("log", "up", least_requests=368, quantile=_P99),
    "p95_ttft_s": AlarmMetric("log", "up", least_requests=72, quantile=_P95, stands_in_for="p99_ttft_s"),
    "p95_tpot_s": AlarmMetric("log", "up", least_requests=72, quantile=_P95, stands_in_for="p99_tpot_s"),
    "p95_e2e_s": AlarmMetric("log", "up", least_requests=72, quantile=_P95, stands_in_for="p99_e2e_s"),
    "goodput_ratio": AlarmMetric("arcsine", "down", least_requests=30),
    "cost_per_accepted_usd": AlarmMetric("log", "up", least_requests=30),
    "kv_usage_ratio": AlarmMetric("logit", "up"),
    "hit_ratio": AlarmMetric("logit", "down"),
    "replica_p95_ttft_s": AlarmMetric("log", "up", page=None, least_requests=72, per="replica"),
    "replica_kv_usage_ratio": AlarmMetric("logit", "up", page=None, per="replica"),
    "replica_hit_ratio": AlarmMetric("logit", "down", page=None, per="replica"),
}
FLOOR: dict[Scale, float] = {"log": 0.02, "logit": 0.05, "arcsine": 0.005}  # the least sigma that is believed
QUARTER_HOURLY = {3.0: 2.05, 2.4: 1.64}  # the same false alarms with windows of 15 minutes
HIGHEST_SCORE = 4.0  # each window counts with at most so many sigma, and so does their average
