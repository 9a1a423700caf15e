"""Whole published tables of two workspaces beside each other, whatever computed them."""

from collections.abc import Callable
from datetime import datetime
from math import isclose
from typing import Any

from goodput.contracts import contract
from goodput.plumbing.workspace import Workspace
from oracle.compare import rows
from oracle.fleet import Row
from published import RESTATED

NAMES = (
    *("attempts", "requests", "quality_labels", "goodput", "gate_failures", "cost_ledger", "waste", "sessions"),
    *(
        "accepted_units",
        "cache_by_replica",
        "replica_windows",
        "coverage",
        "cache_effect",
        "replica_histograms",
        "replica_samples",
        "ops_events",
        "disruptions",
        "disruption_cost",
        "disruption_frequency",
        "frontier",
    ),
)
ACCIDENTAL = {*RESTATED, "source", "line", "record_id"}  # where and when a row was read
Tables = dict[str, list[Row]]


def tables(workspace: Workspace, names: tuple[str, ...] = NAMES) -> Tables:
    """Rows of published relations without what says when and where they were read."""
    found = {name: rows(workspace, f'SELECT * FROM "{name}"') for name in names}
    return {
        name: [{column: value for column, value in row.items() if column not in ACCIDENTAL} for row in of]
        for name, of in found.items()
    }


def mapped(found: Tables, change: Callable[[str, Any], Any]) -> Tables:
    """Each value of each row changed by its column."""
    return {name: [{c: change(c, v) for c, v in row.items()} for row in of] for name, of in found.items()}


def differences(left: Tables, right: Tables) -> list[str]:
    """Rows and values that are not in both; numbers to 1e-9."""
    found: list[str] = []
    for name, of in left.items():
        ours, theirs = _keyed(name, of), _keyed(name, right[name])
        found += (f"{name} {key}: only in one of them" for key in ours.keys() ^ theirs.keys())
        for key in ours.keys() & theirs.keys():
            found += (
                f"{name} {key} {column}: {value} and {theirs[key][column]}"
                for column, value in ours[key].items()
                if not _same(value, theirs[key][column])
            )
    return found


def _keyed(name: str, of: list[Row]) -> dict[Any, Row]:
    keys = [column.name for column in contract(name).columns if column.primary_key]
    return {tuple(str(row[key]) for key in keys): row for row in of}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)


def is_time(value: Any) -> bool:
    """Whether a value is an instant."""
    return isinstance(value, datetime)
