"""How much load replicas bear, as relations `frontier` and `replicas_for` have it, for each pool and route."""

from typing import Any

import duckdb

from goodput.ask.database import Row, rows
from goodput.errors import UsageError
from goodput.plumbing.sql_files import sql_file

_OF_ALL_LOADS = (
    *("knee_rps", "knee_ci_low_rps", "knee_ci_high_rps", "knee_censored"),
    *("peak_rps", "recommended_replicas", "no_recommendation"),
)
_REPLICAS = "SELECT * FROM replicas_for($peak) ORDER BY ALL"


def loads(
    connection: duckdb.DuckDBPyConnection, pool: str | None, route: str | None, peak_rps: float | None
) -> dict[str, Any]:
    """Each pool and route with its knee and observed loads, and how many replicas a stated peak needs.

    Raises UsageError where no such pool or route is in it.
    """
    found = rows(connection, sql_file("load_curves").text)
    curves: dict[tuple[str | None, str | None], Row] = {}
    for row in found:
        if pool in {None, row["pool"]} and route in {None, row["route"]}:
            curve = curves.setdefault((row["pool"], row["route"]), {**_known(row, _OF_ALL_LOADS), "loads": []})
            curve["loads"].append(_known(row, ("load_rps", "ratio", "low", "high", "windows")))
    if found and not curves:
        there = sorted({str(row["pool"] or row["route"]) for row in found})
        raise UsageError(f"no load is known of pool {pool}, route {route}. There is: {', '.join(there)}.")
    listed = [{"pool": of_pool, "route": of_route, **curve} for (of_pool, of_route), curve in curves.items()]
    if peak_rps is None:
        return {"units": "requests per second and replica", "curves": listed}
    needed = [
        row
        for row in rows(connection, _REPLICAS, {"peak": peak_rps})
        if pool in {None, row["pool"]} and route in {None, row["route"]}
    ]
    return {"units": "requests per second and replica", "replicas": needed, "curves": listed}


def _known(row: Row, names: tuple[str, ...]) -> Row:
    return {name: row[name] for name in names}
