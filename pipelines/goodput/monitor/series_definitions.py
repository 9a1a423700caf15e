"""Where the series of each metric come from: a table of rules over published relations.

A relation, or a column, that is not there gives no series. How a series is judged is defined elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass

LABELS = ("workload", "pool", "replica")


@dataclass(frozen=True)
class SeriesDefinition:
    """One metric's rows: `value` by window and `labels`, averaged with `weight` where several rows share both.

    `requests` is the column that counts what the value is of, `beside` the median of the same quantity, `body` the
    lower quantile that stands for all but the tail; rows count where each column of `where` has its value, and where
    their window was wholly observed.
    """

    metric: str
    relation: str
    value: str
    labels: tuple[str, ...]
    requests: str | None = None
    weight: str | None = None
    beside: str | None = None
    body: str | None = None
    where: tuple[tuple[str, str], ...] = ()

    @property
    def columns(self) -> set[str]:
        """Every column that is read."""
        optional = {name for name in (self.requests, self.weight, self.beside, self.body) if name}
        return {"window_start", "window_s", self.value, *self.labels, *optional, *(name for name, _ in self.where)}


def _pools(metric: str, requests: str, **more: str) -> SeriesDefinition:
    cut = (("slice", "workload_pool"),)
    return SeriesDefinition(metric, "goodput", metric, ("workload", "pool"), requests, where=cut, **more)


def _latencies() -> Iterator[SeriesDefinition]:
    for name in ("ttft", "tpot", "e2e"):
        for quantile, body in (("p99", "p95"), ("p95", "p50")):
            yield _pools(f"{quantile}_{name}_s", f"n_{name}", beside=f"p50_{name}_s", body=f"{body}_{name}_s")


SERIES_DEFINITIONS = (
    *_latencies(),
    _pools("goodput_ratio", "offered"),
    _pools("cost_per_accepted_usd", "accepted"),
    SeriesDefinition("kv_usage_ratio", "replica_windows", "mean_kv_usage_ratio", ("pool",)),
    SeriesDefinition("hit_ratio", "cache_by_replica", "hit_ratio", ("pool",), weight="looked_up_tokens"),
    SeriesDefinition("replica_kv_usage_ratio", "replica_windows", "mean_kv_usage_ratio", ("pool", "replica")),
    SeriesDefinition("replica_hit_ratio", "cache_by_replica", "hit_ratio", ("pool", "replica")),
    SeriesDefinition("replica_p95_ttft_s", "cache_by_replica", "p95_ttft_miss_s", ("pool", "replica"), "n_ttft_miss"),
)


def symptoms_first(metric: str | None) -> int:
    """Place of a metric among those that move together: what users notice first, what engines do to cause it last."""
    order = [definition.metric for definition in SERIES_DEFINITIONS]
    return order.index(metric) if metric in order else len(order)
