"""The fewest labels that keep a width: found by asking the estimator of `goodput` about labels that are not there yet.

What a plan is and what it prints belong to `label_plan` and `label_lines`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import duckdb

from goodput.ask.database import rows
from goodput.plumbing.sql_files import compute

WHOLE, CELL = "whole", "cell"  # the workload as one stratum, or its cells as strata
_TRIALS = 24  # shares that are tried at once
_ROUNDS = 4  # each looks closer between two of the shares before: to 1 in 25,000
_LEAST_SHARE = 1e-6
_REDRAWN = 12  # times at most
_LEAST_MORE = 0.01  # a step, each larger than the one before: together they draw twice as many
_ROUNDING = 1e-12
_ESTIMATED = ("label_strata", "estimated_strata", "estimated_windows", "supposed_widths")
# What the estimator reads beside labels. How labels of a plan are drawn is known, whatever others were.
_GIVEN = """
    CREATE OR REPLACE TEMP VIEW workload_rules AS
        SELECT workload, unlabelled, if(sampling = 'none', 'random', sampling) AS sampling FROM plan_rules;
    CREATE OR REPLACE TEMP TABLE slices AS
        SELECT *, true AS by_workload, false AS by_model, false AS by_pool, slice = 'stratum' AS by_route
        FROM (VALUES ('whole', 0), ('cell', 1), ('stratum', 2)) AS s(slice, cut);
    CREATE OR REPLACE TEMP TABLE crowded_windows (cut INTEGER, window_s INTEGER, start_s BIGINT);
    CREATE OR REPLACE TEMP TABLE kept_values (cut INTEGER, window_s INTEGER, start_s BIGINT, slice_value VARCHAR);
    CREATE OR REPLACE TEMP TABLE kept_codes (window_s INTEGER, start_s BIGINT, models VARCHAR[], pools VARCHAR[],
        routes VARCHAR[], other_model VARCHAR, other_pool VARCHAR, other_route VARCHAR);
"""
_TRIED = """
    CREATE OR REPLACE TEMP TABLE plan_trials AS
    SELECT unnest($workload) AS workload, unnest($slice) AS slice, unnest($trial) AS trial, unnest($share) AS share
"""
_DESIGNS = "SELECT DISTINCT workload, by_session FROM plan_rules JOIN plan_cells USING (workload)"
_KEPT = """
    SELECT workload, slice, min(trial) AS trial, arg_min(drawn, trial) AS drawn
    FROM supposed_widths WHERE width <= $width GROUP BY ALL
"""
_WIDER = "SELECT workload, width FROM supposed_widths WHERE trial = 1 AND slice <> 'stratum' AND width > $width"

_Design = tuple[str, str]  # of a workload


@dataclass(frozen=True)
class Drawn:
    """How a workload's labels are drawn, the share of what can be drawn, and how many labels each design would take."""

    design: str
    share: float
    to_draw: Mapping[str, int]


def draw(connection: duckdb.DuckDBPyConnection, width: float) -> dict[str, Drawn]:
    """Draw of each workload the fewest labels that keep a width.

    Makes `drawn_units`, and `supposed_widths` with them (trial 1) and without (trial 0). The connection has
    `plan_cells`, `plan_draws`, `plan_pairs`, `plan_rules` and `plan_units`.
    """
    connection.execute(_GIVEN)
    drawn = _fewest(connection, width)
    for step in range(1, _REDRAWN + 1):
        _suppose(connection, [(name, each.design, 1, each.share) for name, each in drawn.items()])
        for relation in ("drawn_units", "planned_cells"):
            compute(connection, relation)
        _estimate(connection, "planned_cells")
        wide = {row["workload"]: row["width"] for row in rows(connection, _WIDER, {"width": width + _ROUNDING})}
        if not wide:
            break
        drawn |= {name: _more(drawn[name], max(1 + _LEAST_MORE * step, found / width)) for name, found in wide.items()}
    return drawn


def _more(drawn: Drawn, times: float) -> Drawn:
    """A larger share, where cells came out so unlike by chance that the estimator will take them for strata."""
    return replace(drawn, share=min(1.0, drawn.share * times))


def _fewest(connection: duckdb.DuckDBPyConnection, width: float) -> dict[str, Drawn]:
    """For each workload the design that takes the fewest labels by expectation; the simpler of two alike."""
    between: dict[_Design, tuple[float, float]] = {
        (row["workload"], design): (0.0, 1.0)
        for row in rows(connection, _DESIGNS)
        for design in ((WHOLE,) if row["by_session"] else (WHOLE, CELL))
    }
    taken: dict[_Design, int] = {}
    for _ in range(_ROUNDS):
        shares = {key: _shares(*ends) for key, ends in between.items()}
        _suppose(connection, [(*key, n, share) for key, tried in shares.items() for n, share in enumerate(tried)])
        _estimate(connection, "trial_cells")
        for row in rows(connection, _KEPT, {"width": width + _ROUNDING}):
            key, number = (row["workload"], row["slice"]), row["trial"]
            between[key] = shares[key][max(0, number - 1)], shares[key][number]
            taken[key] = round(row["drawn"])
    return {name: _better(name, between, taken) for name in sorted({name for name, _ in between})}


def _better(name: str, between: Mapping[_Design, tuple[float, float]], taken: Mapping[_Design, int]) -> Drawn:
    to_draw = {design: count for (workload, design), count in taken.items() if workload == name}
    best = min(to_draw, key=lambda design: (to_draw[design], design != WHOLE))
    return Drawn(best, between[name, best][1], to_draw)


def _shares(low: float, high: float) -> list[float]:
    """Shares from one end to the other, each by the same factor larger than the one before."""
    if low >= high:
        return [high]
    first = max(low, min(_LEAST_SHARE, high))
    between = [first * (high / first) ** (n / _TRIALS) for n in range(1, _TRIALS)]
    return [low, *([first] if low < first else []), *between, high]


def _suppose(connection: duckdb.DuckDBPyConnection, trials: Iterable[tuple[str, str, int, float]]) -> None:
    columns = dict(zip(("workload", "slice", "trial", "share"), map(list, zip(*trials, strict=True)), strict=True))
    connection.execute(_TRIED, columns)
    compute(connection, "trial_cells")


def _estimate(connection: duckdb.DuckDBPyConnection, cells: str) -> None:
    """Ask the estimator how wide its intervals would be with the labels that these cells suppose."""
    connection.execute(f"CREATE OR REPLACE TEMP VIEW supposed_cells AS FROM {cells}")
    for relation in ("supposed_labels", "supposed_clusters"):
        compute(connection, relation)
    connection.execute(
        "CREATE OR REPLACE TEMP VIEW label_cells AS SELECT * EXCLUDE (slice, labelled_now) FROM supposed_labels;"
        "CREATE OR REPLACE TEMP VIEW label_clusters AS FROM supposed_clusters"
    )
    for relation in _ESTIMATED:
        compute(connection, relation)
