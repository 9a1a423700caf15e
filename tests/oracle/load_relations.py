"""Relation frontier and what is asked of it, beside their computation: docs/semantics.md#frontier."""

from fractions import Fraction
from math import ceil

from goodput.plumbing.workspace import Workspace
from oracle.compare import Comparison, keyed, rows
from oracle.fleet import Row
from oracle.truth import Truth

PEAK_RPS, HEADROOM = 40, Fraction(13, 10)


def frontier(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation frontier; a knee is taken as it is published."""
    published = keyed(rows(workspace, "SELECT * FROM frontier"), "slice", "pool", "route", "load_bin")
    computed = truth.frontier.rows(truth.disruptions)
    for key, row in computed.items():
        if key in published:
            knee = published[key]["knee_rps"]
            row["no_recommendation"] = row["no_recommendation"] or (None if knee else "no_knee")
            row["recommended_replicas"] = _replicas(row, row["peak_rps"], knee, Fraction(6, 5))
    found.rows("frontier", published, computed)
    asked = "SELECT * FROM replicas_for(40, headroom := 1.3)"
    replicas = keyed(rows(workspace, asked), "slice", "pool", "route")
    of_each = {}
    for (slice_, pool, route, _), row in computed.items():
        knee = replicas.get((slice_, pool, route), {}).get("knee_rps")
        of_each[slice_, pool, route] = {"recommended_replicas": _replicas(row, Fraction(PEAK_RPS), knee, HEADROOM)}
    found.rows("replicas_for", replicas, of_each)


def _replicas(row: Row, peak_rps: Fraction, knee: float | None, headroom: Fraction) -> int | None:
    """Whole replicas for a peak; a hair less than a whole one is that one."""
    if knee is None or row["no_recommendation"]:
        return None
    return ceil(peak_rps / Fraction(knee) * headroom - Fraction(1, 10**9))
