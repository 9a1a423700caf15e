"""Every published number that rests on a sample of labels has its interval beside it, or a reason why it needs none.

A walk over the contracts: whoever adds a number to a relation that reads labels adds its ends, or says here why not.
"""

import re

import pytest

from goodput.contracts import contract, contract_names

# Relations of which no number depends on what a judge said: times, tokens, money and counts as they were reported.
WITHOUT_LABELS = (
    *("alarm_events", "alarm_power", "alarm_series", "alarms", "deliveries", "attempts", "serving_records", "requests"),
    *("cache_by_replica", "cache_effect", "replica_windows", "replica_histograms", "replica_names", "replica_samples"),
    *(
        "cost_records",
        "token_prices",
        "unused_cost_lines",
        "coverage",
        "latest_window",
        "ops_events",
        "warnings",
        "watermark",
    ),
    *("sources", "quarantine", "unknown_metrics", "blocked_partitions", "sessions", "unjoined_labels", "workloads"),
)
# Verdicts and money by them as labels are, nothing of what has none; labels themselves.
AS_JUDGED = ("cost_ledger", "reconciliation", "gate_failures", "binding_gate", "quality_labels", "session_labels")
MEASURED = {
    "goodput": "throughput_rps output_tps quality_gated_ratio quality_coverage_ratio ttft_fail_ratio tpot_fail_ratio"
    " e2e_fail_ratio retry_ratio cost_usd cost_error_usd direct_cost_usd coverage_ratio unobserved observed_s"
    " throughput_observed_rps",
    "accepted_units": "cost_usd direct_cost_usd",
    "waste": "measured_usd gpu_s tokens error_usd",
    "frontier": "from_rps to_rps load_rps replicas throughput_rps observed_min_rps observed_max_rps peak_rps"
    " shared_ratio knee_bound_ratio headroom",
    "disruptions": "duration_s cost_usd hit_ratio p95_ttft_s",
    "disruption_cost": "events_per_day disrupted_s disrupted_per_event_s steady_s steady_cost_usd disrupted_cost_usd",
    "disruption_frequency": "events_per_day disrupted_ratio",
    "restatements": "cost_usd_before cost_usd_after",
}
LATENCY = re.compile(r"p\d\d_\w+_s")
# Of what was judged alone: `quality_judged` beside it is how many, and relation `quality` estimates the rest.
OF_THE_JUDGED = {"goodput": "quality_pass_ratio quality_pass_in_bounds_ratio"}
BOUNDS = {"goodput": "goodput_lower_rps goodput_upper_rps goodput_ratio_low goodput_ratio_high"}
# The same number in another unit or times a known one: the ends of the other column of its row are its ends, too.
FOLLOWS = {
    "waste.direct_usd": "usd",  # without idle time and overhead, divided by the same share
    "waste.queue_late_usd": "usd",  # of slow answers: nothing of them is divided
    "waste.retries_late_usd": "usd",
    "waste.prefill_late_usd": "usd",
    "waste.work_late_usd": "usd",
    "goodput.goodput_observed_rps": "goodput_rps",
    "frontier.goodput_rps": "goodput_ratio",
    "frontier.fail_ratio": "goodput_ratio",  # of a gate as measured; of goodput what is left of 1
    "frontier.pooled_fail_ratio": "knee_rps",  # which says where it passes its bound
    "frontier.unloaded_goodput_ratio": "goodput_ratio",  # of the lowest load: that of its row
    "disruption_cost.steady_accepted": "steady_cost_per_accepted_usd",
    "disruption_cost.disrupted_accepted": "disrupted_cost_per_accepted_usd",
    "disruption_cost.excess_cost_usd": "excess_cost_per_disruption_usd",
    "disruption_cost.lost_accepted": "lost_accepted_per_disruption",
}
COPIES = {"restatements": "goodput_rps_before goodput_rps_after"}  # of goodput, which has the interval


def published() -> list[str]:
    """Relations that users read."""
    return [name for name in contract_names() if contract(name).published not in {"no", "inside"}]


def numbers(relation: str) -> list[str]:
    """Columns that are no whole numbers: shares, rates, times, money."""
    return [column.name for column in contract(relation).columns if column.duckdb_type == "DOUBLE"]


def with_ends(relation: str) -> set[str]:
    """Columns that have a lower and an upper end."""
    names = numbers(relation)
    low, high = (
        {re.sub(rf"_?ci_{end}(?=_|$)", "", name).lstrip("_") for name in names if f"ci_{end}" in name}
        for end in ("low", "high")
    )
    return low & high


def explained(relation: str) -> set[str]:
    """Columns that need no interval, by the tables above."""
    known = {name for table in (MEASURED, OF_THE_JUDGED, BOUNDS, COPIES) for name in table.get(relation, "").split()}
    follows = {name.partition(".")[2] for name in FOLLOWS if name.startswith(f"{relation}.")}
    return known | follows | {name for name in numbers(relation) if LATENCY.fullmatch(name)}


@pytest.mark.parametrize("relation", [name for name in published() if name not in (*WITHOUT_LABELS, *AS_JUDGED)])
def test_a_number_has_an_interval_or_a_reason(relation: str) -> None:
    ends = {name for name in numbers(relation) if "ci_low" in name or "ci_high" in name}
    estimates = set(numbers(relation)) - ends - explained(relation)
    assert estimates == with_ends(relation) - explained(relation)
    assert len(ends) == 2 * len(with_ends(relation)), "an end without its other end or its number"
    assert with_ends(relation) <= set(numbers(relation))


@pytest.mark.parametrize("relation", WITHOUT_LABELS)
def test_relations_without_labels_estimate_nothing(relation: str) -> None:
    words = re.compile(r"accept|goodput|cost_per|wasted|lost|excess|pass_ratio|ci_low")
    assert relation not in contract_names() or not [name for name in numbers(relation) if words.search(name)]


def test_reasons_are_about_columns_that_there_are() -> None:
    named = {
        (name, column)
        for table in (MEASURED, OF_THE_JUDGED, BOUNDS, COPIES)
        for name in table
        for column in table[name].split()
    }
    named |= {(name.partition(".")[0], name.partition(".")[2]) for name in FOLLOWS}
    assert not [place for place in named if place[1] not in numbers(place[0])]
    assert not [name for name, other in FOLLOWS.items() if other not in with_ends(name.partition(".")[0])]


@pytest.mark.parametrize(
    ("relation", "reason"),
    [
        ("goodput", "definition"),
        ("accepted_units", "definition"),
        ("goodput", "no_wasted_interval"),
        ("goodput", "no_cost_interval"),
        ("waste", "no_interval"),
        ("waste", "no_share_interval"),
        ("frontier", "no_interval"),
        ("frontier", "no_cost_interval"),
        ("disruption_cost", "no_interval"),
        ("disruptions", "baseline"),
        ("disruptions", "baseline_windows"),
        ("disruptions", "no_interval"),
    ],
)
def test_a_missing_interval_has_its_reason_in_the_row(relation: str, reason: str) -> None:
    assert reason in {column.name for column in contract(relation).columns}
