"""Every metric that leaves the lake: name, unit, meaning, and the column of sql/export that has its values.

OTLP, the text that Prometheus reads, dashboards and rules all follow from this list (docs/export.md#metrics). All are
gauges: each value is that of one window, or of the state when it was asked for, and nothing accumulates.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class ExportedMetric:
    """A name and a unit as OpenTelemetry writes them, what is measured, and the column that has it."""

    name: str
    unit: str
    meaning: str
    column: str


@dataclass(frozen=True)
class Source:
    """A relation of sql/export: the columns that tell its points apart, and the metrics that its other columns are.

    Those of windows have `window_start` and `window_s` besides; the others are of the state as it is.
    """

    relation: str
    keys: tuple[str, ...]
    metrics: tuple[ExportedMetric, ...]
    of_windows: bool = True


_SLICED = ("slice", "workload", "model", "pool", "route")


def _with_interval(name: str, unit: str, meaning: str, columns: tuple[str, str, str]) -> tuple[ExportedMetric, ...]:
    """A metric, and the ends of its interval as metrics of their own: sums and means never mix the three."""
    head, _, last = name.rpartition(".")
    value, low, high = columns
    return (
        ExportedMetric(name, unit, meaning, value),
        ExportedMetric(f"{head}.ci_low.{last}", unit, f"Lower end of the 95 % interval of {name}", low),
        ExportedMetric(f"{head}.ci_high.{last}", unit, f"Upper end of the 95 % interval of {name}", high),
    )


SOURCES = (
    Source(
        "exported_ends",
        (),
        (ExportedMetric("goodput.window_end.timestamp", "s", "When the window ended, Unix time", "end_s"),),
    ),
    Source(
        "exported_goodput",
        _SLICED,
        (
            ExportedMetric("goodput.offered", "{request}", "Requests that completed, whatever came of them", "offered"),
            *_with_interval(
                "goodput.rate",
                "{request}/s",
                "Accepted requests per second, estimated where labels are a sample",
                ("goodput_rps", "goodput_ci_low_rps", "goodput_ci_high_rps"),
            ),
            *_with_interval(
                "goodput.ratio",
                "1",
                "Attainment: the share of offered requests that was accepted",
                ("goodput_ratio", "goodput_ratio_ci_low", "goodput_ratio_ci_high"),
            ),
            ExportedMetric("goodput.throughput", "{request}/s", "Requests that succeeded per second", "throughput_rps"),
            *_with_interval(
                "goodput.output_tokens.rate",
                "{token}/s",
                "Output tokens of accepted requests per second",
                (
                    "output_token_goodput_tps",
                    "output_token_goodput_ci_low_tps",
                    "output_token_goodput_ci_high_tps",
                ),
            ),
            ExportedMetric("goodput.retry.ratio", "1", "Share of offered requests that took a retry", "retry_ratio"),
            ExportedMetric(
                "goodput.cost.usd", "{USD}", "All that was spent and has a price, in US dollars", "cost_usd"
            ),
            ExportedMetric(
                "goodput.unpriced", "{part}", "Parts of the work without a price: cost is the least", "unpriced"
            ),
            *_with_interval(
                "goodput.cost_per_accepted.usd",
                "{USD}",
                "Loaded cost of one accepted result, in US dollars; the least where work is unpriced",
                ("cost_per_accepted_usd", "cost_per_accepted_ci_low_usd", "cost_per_accepted_ci_high_usd"),
            ),
            *_with_interval(
                "goodput.wasted.ratio",
                "1",
                "Share of the cost that was not for accepted answers; of what has a price",
                ("wasted_ratio", "wasted_ci_low_ratio", "wasted_ci_high_ratio"),
            ),
            ExportedMetric(
                "goodput.coverage.ratio", "1", "Share of what engines counted that was observed", "coverage_ratio"
            ),
            ExportedMetric(
                "goodput.unobserved", "{request}", "Requests that engines counted and nothing shows", "unobserved"
            ),
            ExportedMetric(
                "goodput.quality_gated.ratio", "1", "Share of requests with a quality gate", "quality_gated_ratio"
            ),
            ExportedMetric(
                "goodput.quality_coverage.ratio", "1", "Share of needed labels that are there", "quality_coverage_ratio"
            ),
        ),
    ),
    Source(
        "exported_verdicts",
        (*_SLICED, "verdict"),
        (
            ExportedMetric(
                "goodput.verdicts", "{request}", "Requests by verdict; the verdicts add up to offered", "requests"
            ),
        ),
    ),
    Source(
        "exported_latencies",
        (*_SLICED, "quantile"),
        (
            ExportedMetric("goodput.ttft", "s", "Quantile of the time to the first token, as users saw it", "ttft_s"),
            ExportedMetric("goodput.tpot", "s", "Quantile of the time for each further token", "tpot_s"),
            ExportedMetric("goodput.e2e", "s", "Quantile of the time to the end of the answer", "e2e_s"),
        ),
    ),
    Source(
        "exported_gates",
        (*_SLICED, "gate"),
        (
            ExportedMetric(
                "goodput.gate_fail.ratio", "1", "Share of measured requests that fails the gate", "fail_ratio"
            ),
            ExportedMetric(
                "goodput.gate_only_failing", "{request}", "Requests that only this gate keeps out", "only_failing"
            ),
        ),
    ),
    Source(
        "exported_waste",
        (*_SLICED, "bucket"),
        _with_interval(
            "goodput.waste.usd",
            "{USD}",
            "Where the cost went, in US dollars; the buckets add up to goodput.cost.usd",
            ("usd", "ci_low_usd", "ci_high_usd"),
        ),
    ),
    Source(
        "exported_quality",
        ("workload", "model", "evaluator"),
        (
            *_with_interval(
                "goodput.quality_pass.ratio",
                "1",
                "Share of answers that the evaluator passes; without an evaluator: the quality gate",
                ("pass_ratio", "pass_ci_low_ratio", "pass_ci_high_ratio"),
            ),
            ExportedMetric("goodput.quality_judged", "{request}", "Answers that were judged", "judged"),
        ),
    ),
    Source(
        "exported_cache",
        ("pool", "model"),
        (
            ExportedMetric(
                "goodput.cache_hit.ratio", "1", "Share of looked up tokens that prefix caches had", "hit_ratio"
            ),
        ),
    ),
    Source(
        "exported_alarms",
        ("alarm_id", "rule", "severity", "metric", "workload", "pool", "replica"),
        (
            ExportedMetric("goodput.alarm_firing", "{alarm}", "1: the alarm fires; else 0", "firing"),
            ExportedMetric(
                "goodput.alarm_suppressed", "{alarm}", "1: nobody is notified of it now; else 0", "suppressed"
            ),
        ),
        of_windows=False,
    ),
    Source(
        "exported_warnings",
        ("kind", "severity"),
        (ExportedMetric("goodput.warned_subjects", "{subject}", "Subjects of each kind of warning", "subjects"),),
        of_windows=False,
    ),
    Source(
        "exported_freshness",
        (),
        (
            ExportedMetric(
                "goodput.observed_until.timestamp", "s", "Telemetry was observed until then", "observed_until_s"
            ),
            ExportedMetric("goodput.final_until.timestamp", "s", "Windows are final until then", "final_until_s"),
            ExportedMetric("goodput.billed_until.timestamp", "s", "Bills reach until then", "billed_until_s"),
        ),
        of_windows=False,
    ),
)


def attribute(column: str) -> str:
    """The attribute by which points of a source differ in a column. No convention has a name for any of these."""
    return f"goodput.{column}"


def all_metrics() -> Iterator[ExportedMetric]:
    """Every metric, in the order of the list."""
    for source in SOURCES:
        yield from source.metrics
