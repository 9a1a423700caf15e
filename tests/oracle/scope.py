"""Which published columns the second computation does not have, and why: all others are compared."""

from collections.abc import Iterable
from itertools import groupby

from goodput.contracts import contract, contract_names

ALL = "*"
OTHERS = {
    "alarms alarm_events alarm_power alarm_series deliveries": "make drill-alarms",
    "serving_records": "facts of attempts are compared; how records are merged is tested in tests/join",
    "session_labels": "published as rows of quality_labels, which are compared",
    "unjoined_labels": "the labels that count are compared in requests and quality",
    "replica_names": "names are learnt from traces; tests/join",
    "sources quarantine unknown_metrics blocked_partitions": "about files and runs, not about the fleet",
    "token_prices": "one list; prices are compared in cost_ledger",
    "warnings latest_window watermark workloads": "words, settings and pointers",
}
_FEW = {"percentiles": "exact for so few requests; tests/measure/test_large_days compares both"}
COLUMNS = {
    "cache_by_replica": _FEW,
    "cache_effect": _FEW,
    "replica_windows": _FEW,
    "attempts": {
        "source dialect trace_id span_id parent_span_id response_id record_ids": "as the records have it",
        "first_token_at": "first_token_ns, which is compared, in microseconds",
        "attributes": "as an object; its values are compared by slice",
        "answered_from_cache": "of gateways' own formats, which are not drawn; tests/measure/test_bought",
    },
    "cost_ledger": {
        "window_s request_key": "follow from the key",
        "late_by": "compared in requests, and what it adds up to in waste",
    },
    "cost_records": {
        "cost_id route request_key session_id": "follow from what is compared in cost_ledger",
        "billed_usd currency currency_usd billing_account sub_account service resource_id": "as the bill has it",
        "charge_category charge_class commitment_status": "as the bill has it",
        "gpu_s tokens placeholder_rate source line": "as the bill has it",
    },
    "coverage": {"window_s": "always an hour"},
    "frontier": {
        "knee_rps knee_ci_low_rps knee_ci_high_rps knee_censored": "make drill-knee",
        "knee_gate knee_bound_ratio fail_ratio pooled_fail_ratio": "judges that fit; tests/measure/test_frontier",
    },
    "goodput": {
        **_FEW,
        "computed_at revision": "about runs; compared where there are two",
    },
    "ops_events": {"dialect source line": "as the file has it"},
    "replica_samples": {
        "metric reason replica pool model sampled_at bucket_bounds labels emitted": "as the reading has it",
        "dialect version source": "as the file has it",
    },
    "quality_labels": {"subject_kind plan_id source line": "as the label has it; those of requests are compared there"},
    "restatements": {"restated_at sources": "about runs and files"},
    "requests": {
        "attributes": "as an object; its values are compared by slice",
    },
    "unused_cost_lines": {
        "source position cost_id dialect basis": "about files",
        "charge_category": "as the bill has it",
        "period_end resource_id superseded_by_source superseded_by_line": "about files",
    },
}


def reasons() -> dict[tuple[str, str], str]:
    """Why a column of a relation is not compared; `*` stands for all of a relation."""
    whole = {(name, ALL): reason for names, reason in OTHERS.items() for name in names.split()}
    parts = {
        (name, column): reason
        for name, of in COLUMNS.items()
        for columns, reason in of.items()
        for column in columns.split()
    }
    return whole | parts


def unexplained(compared: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Published columns that are neither compared, nor a key, nor named here; of relations without a row none."""
    found, known = set(compared), reasons()
    seen = {relation for relation, _ in found}
    missing = set()
    for name in contract_names():
        if contract(name).published in {"no", "inside"} or (name, ALL) in known:
            continue
        keys = contract(name).primary_key
        columns = {column.name for column in contract(name).columns if column.name not in keys}
        missing |= {(name, column) for column in columns if name in seen} - found - known.keys()
        missing |= set() if name in seen or name in RELATIONS else {(name, ALL)}
    return missing


RELATIONS = {
    "requests",
    "sessions",
    "goodput",
    "waste",
    "accepted_units",
    "gate_failures",
    "binding_gate",
    "quality",
    *COLUMNS,
    "reconciliation",
    "replica_windows",
    "disruptions",
    "disruption_cost",
    "disruption_frequency",
    "cache_by_replica",
    "cache_effect",
    "replica_histograms",
}


def lines() -> Iterable[str]:
    """A line for each relation or group of columns that is not compared."""
    for (relation, reason), of in groupby(sorted(reasons().items()), lambda item: (item[0][0], item[1])):
        yield f"{relation}.{', '.join(column for (_, column), _ in of)}: {reason}"
