"""What the dashboard shows: panels and the PromQL behind each. Making a dashboard of them is the work of `dashboards`.

A value counts until the next one of its length is due: windows come one by one, and a store of metrics forgets a gauge
after five minutes. The state comes with each run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from goodput.export.catalog import ExportedMetric, all_metrics, attribute
from goodput.export.prometheus_names import label_name, metric_name

METRICS: Mapping[str, ExportedMetric] = {metric.name: metric for metric in all_metrics()}
STATE_HOLDS = "2h"  # a run an hour, and one that failed
NEWEST_HOLDS = "2d"  # of the newest window, which may be a day
WORKLOADS = "$workload"
Look = Literal["lines", "stacked", "number", "list"]


@dataclass(frozen=True)
class Query:
    """PromQL, and what its series are called."""

    promql: str
    legend: str


@dataclass(frozen=True)
class DashboardPanel:
    """A question, how its answer looks, the unit as Grafana calls it, and the queries that answer it."""

    title: str
    look: Look
    unit: str
    queries: tuple[Query, ...]


def label(column: str) -> str:
    """The label by which series of a metric differ in a column."""
    return label_name(attribute(column))


def held(name: str, holds: str, **only: str) -> str:
    """The last value of a metric within a time, of the series with these values of labels (`~`: one of many)."""
    chosen = [f'{label(column)}{"=~" if value == WORKLOADS else "="}"{value}"' for column, value in only.items()]
    return f"last_over_time({metric_name(METRICS[name])}{{{','.join(chosen)}}}[{holds}])"


def windowed(name: str, **only: str) -> str:
    """The same of windows of the chosen length, each until the next one is due."""
    return held(name, "${window}s", window_s="$window", **only)


def newest(name: str, **only: str) -> str:
    """The same of the newest window of the chosen length, however late it comes."""
    return held(name, NEWEST_HOLDS, window_s="$window", **only)


def _by(column: str) -> str:
    return f"{{{{{label(column)}}}}}"


def _of(name: str, legend: str, **only: str) -> Query:
    return Query(windowed(name, **only), legend)


def _with_interval(name: str, **only: str) -> tuple[Query, ...]:
    head, _, last = name.rpartition(".")
    ends = ((f"{head}.ci_low.{last}", "from"), (name, ""), (f"{head}.ci_high.{last}", "to"))
    more = f" {_by('evaluator')}" if "slice" not in only else ""
    return tuple(_of(each, f"{_by('workload')}{more} {end}".strip(), **only) for each, end in ends)


_OVERALL = {"slice": "overall"}
_CHOSEN = {"slice": "workload", "workload": WORKLOADS}
_ROUTES = {"slice": "workload_route", "workload": WORKLOADS}

_JUDGED = {"workload": WORKLOADS}
_WORKLOAD = _by("workload")
_GATE = f"{_WORKLOAD} {_by('gate')}"
_ALARM = f"{_by('rule')} {_WORKLOAD} {_by('pool')} {_by('replica')}"
_WARNING = f"{_by('kind')}"


def _panel(title: str, look: Look, unit: str, *queries: Query) -> DashboardPanel:
    return DashboardPanel(title, look, unit, queries)


def _now(name: str) -> Query:
    return Query(newest(name, **_OVERALL), "")


def _age(since: str) -> Query:
    return Query(f"time() - {since}", "")


ROWS: Mapping[str, tuple[DashboardPanel, ...]] = {
    "Now": (
        _panel("Accepted", "number", "percentunit", _now("goodput.ratio")),
        _panel("One accepted costs", "number", "currencyUSD", _now("goodput.cost_per_accepted.usd")),
        _panel("Parts without a price", "number", "short", _now("goodput.unpriced")),
        _panel("Not for accepted answers", "number", "percentunit", _now("goodput.wasted.ratio")),
        _panel("Observed", "number", "percentunit", _now("goodput.coverage.ratio")),
        _panel("Telemetry ends", "number", "s", _age(held("goodput.observed_until.timestamp", STATE_HOLDS))),
        _panel("Newest window ended", "number", "s", _age(newest("goodput.window_end.timestamp"))),
    ),
    "What was accepted": (
        _panel("How much, and how sure is that?", "lines", "percentunit", *_with_interval("goodput.ratio", **_CHOSEN)),
        _panel("Accepted per second", "lines", "reqps", *_with_interval("goodput.rate", **_CHOSEN)),
        _panel("What became of all?", "stacked", "short", _of("goodput.verdicts", _by("verdict"), **_OVERALL)),
        _panel("By route", "lines", "percentunit", _of("goodput.ratio", f"{_WORKLOAD} {_by('route')}", **_ROUTES)),
        _panel("Gates that fail", "lines", "percentunit", _of("goodput.gate_fail.ratio", _GATE, **_CHOSEN)),
        _panel("Kept out by one gate alone", "lines", "short", _of("goodput.gate_only_failing", _GATE, **_CHOSEN)),
    ),
    "How long users waited": (
        _panel("First token", "lines", "s", _of("goodput.ttft", f"{_WORKLOAD} {_by('quantile')}", **_CHOSEN)),
        _panel("Each further token", "lines", "s", _of("goodput.tpot", f"{_WORKLOAD} {_by('quantile')}", **_CHOSEN)),
        _panel("Whole answer", "lines", "s", _of("goodput.e2e", f"{_WORKLOAD} {_by('quantile')}", **_CHOSEN)),
    ),
    "Money": (
        _panel("Where does it go?", "stacked", "currencyUSD", _of("goodput.waste.usd", _by("bucket"), **_OVERALL)),
        _panel(
            "An accepted answer", "lines", "currencyUSD", *_with_interval("goodput.cost_per_accepted.usd", **_CHOSEN)
        ),
        _panel("Not for accepted answers", "lines", "percentunit", *_with_interval("goodput.wasted.ratio", **_CHOSEN)),
    ),
    "Quality and cache": (
        _panel("Answers that pass", "lines", "percentunit", *_with_interval("goodput.quality_pass.ratio", **_JUDGED)),
        _panel("Labels", "lines", "percentunit", _of("goodput.quality_coverage.ratio", _WORKLOAD, **_CHOSEN)),
        _panel("Cache hits", "lines", "percentunit", _of("goodput.cache_hit.ratio", f"{_by('pool')} {_by('model')}")),
    ),
    "Can it be believed?": (
        _panel("Alarms that fire", "list", "short", Query(f"{held('goodput.alarm_firing', STATE_HOLDS)} == 1", _ALARM)),
        _panel("Warnings", "list", "short", Query(held("goodput.warned_subjects", STATE_HOLDS), _WARNING)),
        _panel("Observed by pool", "lines", "percentunit", _of("goodput.coverage.ratio", _by("pool"), slice="pool")),
    ),
}
