"""What alarms watch by default, and what a metric is: its series, its scale, its thresholds, its believable counts.

Which metrics there are follows from contracts (`watched`); where their rows come from is monitor's work.
"""

from dataclasses import dataclass
from typing import Literal

Scale = Literal["log", "logit"]
Chart = Literal["level", "ratio", "rate"]
Worse = Literal["up", "down"]

FLOOR: dict[Scale, float] = {"log": 0.02, "logit": 0.05}  # the least sigma that is believed
QUARTER_HOURLY = {3.0: 2.05, 2.4: 1.64}  # the same false alarms with windows of 15 minutes
HIGHEST_SCORE = 4.0  # each window counts with at most so many sigma, and so does their average
HIGHEST_COUNT_SCORE = 17.0  # of the counts of ten hours, each as far out as one may count
_LEVELS, _COUNTS = (3.0, 2.4), (4.0, 3.4)  # sigma at which they page, and are a ticket


@dataclass(frozen=True)
class Quantile:
    """A quantile of requests by the share of them above it, and above the lower one that stands for the body."""

    above: float
    above_body: float


@dataclass(frozen=True)
class AlarmMetric:
    """One metric: the column it is, of which series, how they stray and which way is worse (None: not declared).

    `chart` is level (a value), ratio (events of trials) or rate (events in time); `of` names the column that counts
    what a value is of: requests of a quantile, trials of a ratio, seconds of a rate. `counted`: the column holds the
    events themselves. `beside` is the median of the same quantity, `body` the lower quantile that a `quantile` is
    charted against. `least_requests` make a value believable; `stands_in_for` names a metric that this one is watched
    instead of while that one has too little traffic; `per` replica: it is compared with its peers. Rows count where
    each column of `where` has its value; several of one series are added up, or averaged with `weight`.
    """

    relation: str
    column: str
    labels: tuple[str, ...]
    scale: Scale
    chart: Chart
    worse: Worse | None
    of: str | None = None
    counted: bool = False
    negligible: float = 0.0
    least_requests: int = 0
    stands_in_for: str | None = None
    quantile: Quantile | None = None
    beside: str | None = None
    body: str | None = None
    per: Literal["pool", "replica"] = "pool"
    where: tuple[tuple[str, str], ...] = ()
    weight: str | None = None

    @property
    def columns(self) -> set[str]:
        """Every column that is read."""
        optional = {name for name in (self.of, self.weight, self.beside, self.body) if name}
        return {"window_start", "window_s", self.column, *self.labels, *optional, *(name for name, _ in self.where)}

    @property
    def page(self) -> float:
        """Sigma at which it pages."""
        return self._sigma[0]

    @property
    def ticket(self) -> float:
        """Sigma at which it is a ticket."""
        return self._sigma[1]

    @property
    def of_requests(self) -> bool:
        """Whether `of` counts requests, answers or judgements: neither tokens nor time."""
        return self.of is not None and not self.of.endswith(("_tokens", "_s"))

    @property
    def _sigma(self) -> tuple[float, float]:
        return _LEVELS if self.chart == "level" else _COUNTS


_BOTH, _TICKET = ("page", "ticket"), ("ticket",)
DEFAULTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("p99_ttft_s", "p99_tpot_s", "p99_e2e_s", "p95_ttft_s", "p95_tpot_s", "p95_e2e_s"), _BOTH),
    **dict.fromkeys(("goodput_ratio", "failed", "retry_ratio", "pass_ratio"), _BOTH),
    **dict.fromkeys(("cost_per_accepted_usd", "kv_usage_ratio", "hit_ratio"), _BOTH),
    **dict.fromkeys(("p99_queue_s", "p95_queue_s", "preemptions"), _TICKET),
    **dict.fromkeys(("replica_p95_ttft_s", "replica_kv_usage_ratio", "replica_hit_ratio"), _TICKET),
}
"""The metrics that are watched without any setting, and how urgent an alarm of each may be."""


def symptoms_first(metric: str | None) -> int:
    """Place of a metric among those that move together: what users notice first, what engines do to cause it last."""
    return list(DEFAULTS).index(metric) if metric in DEFAULTS else len(DEFAULTS)
