"""Each published relation of engines' metrics beside its computation."""

import json
from fractions import Fraction

from goodput.plumbing.workspace import Workspace
from oracle import effect, histograms
from oracle.compare import Comparison, keyed, rows
from oracle.counters import Point
from oracle.fleet import Row, S
from oracle.truth import Truth


def replica_windows(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relations replica_windows and cache_by_replica."""
    for name, computed in (("replica_windows", truth.states.windows()), ("cache_by_replica", truth.states.caches())):
        sql = f"SELECT *, epoch(window_start)::BIGINT AS window_at FROM {name}"
        found.rows(name, keyed(rows(workspace, sql), "window_at", "window_s", "replica"), computed)


def replica_histograms(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation replica_histograms."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM replica_histograms"
    published = keyed(rows(workspace, sql), "window_at", "window_s", "layer", "replica", "metric")
    found.rows("replica_histograms", published, histograms.histograms(truth.states))


def cache_effect(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation cache_effect."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM cache_effect"
    published = keyed(rows(workspace, sql), "window_at", "window_s", "pool", "model", "cached_up_to_ratio")
    found.rows("cache_effect", published, effect.cache_effect(truth.attempts, truth.fleet.settings["windows_s"]))


def coverage_rows(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation coverage."""
    published = keyed(
        rows(workspace, "SELECT *, epoch(window_start)::BIGINT // 3600 AS hour FROM coverage"), "hour", "replica"
    )
    for row in published.values():
        row["counted_by_reason"] = row["counted_by_reason"] and json.loads(row["counted_by_reason"])
    found.rows("coverage", published, truth.coverage.rows)


def replica_samples(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation replica_samples: what each reading adds."""
    published = keyed(rows(workspace, "SELECT * FROM replica_samples"), "replica", "metric", "reason", "sampled_ns")
    computed = {(point.replica, point.metric, point.reason, point.at): _sample(point) for point in truth.samples.points}
    found.rows("replica_samples", published, computed)


def _sample(point: Point) -> Row:
    interval = None if point.interval_ns is None else Fraction(point.interval_ns, S)
    known = {name: getattr(point, name) for name in ("value", "kind", "increase", "reset", "total", "layer")}
    return known | {"interval_s": interval, "bucket_counts": [*point.counts] or None}
