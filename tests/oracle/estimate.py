"""Accepted units where labels are a sample, and how sure that is.

See docs/semantics.md#goodput-from-a-sample, #definition.
"""

from collections import defaultdict
from fractions import Fraction
from math import sqrt
from typing import Any

from oracle.fleet import Fleet, Row
from oracle.quantiles import wilson


def estimated(fleet: Fleet, rows: list[Row]) -> tuple[dict[str, Any], Any]:
    """Accepted requests (estimate under "", bounds, interval) and their output tokens, workload by workload."""
    total: dict[str, Any] = {"": Fraction(0), "lower": Fraction(0), "upper": Fraction(0)}
    below, above, tokens = 0.0, 0.0, Fraction(0)
    for name, own in by_workload(rows).items():
        quality = fleet.workloads.get(name, {}).get("quality")
        policy = "estimate" if quality is None else quality.get("unlabelled", "estimate")
        one = _of_workload(own, policy)
        tokens += _tokens(own, policy)
        for column in total:
            total[column] += one[column]
        below += float(one[""] - one["ci_low"]) ** 2
        above += float(one["ci_high"] - one[""]) ** 2
    low, high = float(total[""]) - sqrt(below), float(total[""]) + sqrt(above)
    return {
        **total,
        "ci_low": max(low, float(total["lower"])),
        "ci_high": min(high, float(total["upper"])),
    }, tokens


def by_workload(rows: list[Row]) -> dict[str, list[Row]]:
    """Requests by their workload."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["workload"]].append(row)
    return found


def _of_workload(rows: list[Row], policy: str) -> dict[str, Any]:
    accepted = sum(row["verdict"] == "accepted" for row in rows)
    needing = [row for row in rows if row["needs_label"]]
    labelled = [row for row in needing if row["pass_quality"] is not None]
    passed = sum(row["pass_quality"] for row in labelled)
    ungated = accepted - passed  # of a workload without a quality gate
    lower, upper = Fraction(accepted), Fraction(accepted + len(needing) - len(labelled))
    bounds = {"lower": lower, "upper": upper, "ci_low": lower, "ci_high": upper}
    if policy != "estimate" or not labelled:
        return {"": lower if policy == "fail" else upper, **bounds}
    low, high = wilson(passed, len(labelled), len(needing))
    return {
        "": ungated + Fraction(len(needing) * passed, len(labelled)),
        "lower": lower,
        "upper": upper,
        "ci_low": max(float(lower), ungated + len(needing) * low),
        "ci_high": min(float(upper), ungated + len(needing) * high),
    }


def _tokens(rows: list[Row], policy: str) -> Fraction:
    def tokens(of: list[Row]) -> int:
        return sum(row["output_tokens"] or 0 for row in of)

    accepted = tokens([row for row in rows if row["verdict"] == "accepted"])
    needing = [row for row in rows if row["needs_label"]]
    labelled = [row for row in needing if row["pass_quality"] is not None]
    passed = tokens([row for row in labelled if row["pass_quality"]])
    if policy == "fail":
        return Fraction(accepted)
    if policy == "pass" or not labelled:
        return Fraction(accepted + tokens(needing) - tokens(labelled))
    if not tokens(labelled):
        return Fraction(tokens(needing) * sum(row["pass_quality"] for row in labelled), len(labelled))
    return accepted - passed + Fraction(tokens(needing) * passed, tokens(labelled))


def definition(fleet: Fleet, rows: list[Row], arrived: set[str]) -> str:
    """What is known of the quality of the requests that pass every other gate; `arrived`: workloads with none over."""
    there = ({row["workload"] for row in rows} | arrived) & {*fleet.workloads}
    gated = {name for name, workload in fleet.workloads.items() if workload.get("quality") is not None}
    if not there & gated:
        return "latency_constrained"
    passing = [row for row in rows if row["needs_label"] or (row["verdict"] == "accepted")]
    judged = sum(row["needs_label"] and row["pass_quality"] is not None for row in passing)
    if judged == len(passing):
        return "full" if passing or there <= gated else "latency_constrained"
    return "estimated" if judged else "latency_constrained"


def quality_gated_ratio(rows: list[Row]) -> Fraction | None:
    """Share of the requests that pass every other gate which has a quality gate."""
    passing = [row for row in rows if row["needs_label"] or (row["verdict"] == "accepted")]
    return Fraction(sum(row["needs_label"] for row in passing), len(passing)) if passing else None
