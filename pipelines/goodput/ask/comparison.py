"""What `goodput compare` finds: both sides, every measure, every slice, and what follows.

The arithmetic is sql/ask/compare/, the words are `verdict`'s, printing is `compare`'s work.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

import duckdb

from goodput.ask.cells import iso, plain, shown, significant
from goodput.ask.database import Row, rows
from goodput.ask.sides import REVISION, UNKNOWN, Sides, quoted
from goodput.ask.verdict import drifting, undecided, verdict
from goodput.contracts import contract_names
from goodput.errors import UsageError
from goodput.plumbing.graph import closure
from goodput.plumbing.sql_files import MACROS, compute, sql_file

_DEPLOYED = "deployed_revisions"  # says where the ledger is cut, before its rows are made
_ANSWERS = ("compared", "compared_slices", "compared_drift")
_OF_REPLICAS = ("pool", "replica", REVISION)
_COST_CONTAINS = (
    "all that was spent on a side / accepted: its requests with retries, and its part of idle replicas, by GPU time in"
    " their pool, and of overhead, by requests (direct_: without these)"
)


@dataclass(frozen=True)
class Comparison:
    """Both sides, what their cost contains, rows of `compared` and `compared_slices`, what would decide, verdict.

    `beside` says how many requests are on neither side because they report no value of the column.
    `divided` says how much money was divided by time, as a bound lies within a step of the ledger.
    `counted` says of which workloads `goodput` counts something else: sessions, or unlabelled answers by a policy.
    `drift` says that slow change is in the differences and not in their intervals, where windows show it.
    """

    sides: list[Row]
    beside: str | None
    divided: str | None
    counted: str | None
    cost_contains: str
    metrics: list[Row]
    slices: list[Row]
    undecided: list[str]
    drift: str | None
    verdict: str


def compared(connection: duckdb.DuckDBPyConnection, sides: Sides, bounds: Mapping[str, object]) -> Comparison:
    """Compare two sides of `requests` within `bounds` (since, until: by completion; workload; None: no bound).

    Raises UsageError where there is no such column, or a side has no requests.
    """
    _check_column(connection, sides.column)
    _check_workload(connection, bounds.get("workload"))
    connection.execute(sql_file(MACROS).text)
    for name, value in {**sides.parameters, **bounds}.items():
        connection.execute(f"SET VARIABLE {name} = $value", {"value": value})
    if sides.column == REVISION:
        compute(connection, _DEPLOYED)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW side_spans AS {sides.spans}")
    connection.execute(f"CREATE OR REPLACE TEMP VIEW side_cuts AS {sides.cuts}")
    compared_rows = "revised_rows" if sides.column == REVISION else "comparable_rows"
    for relation in closure((compared_rows,), contract_names()):
        if relation != _DEPLOYED:
            compute(connection, relation)
    is_known = "true" if sides.column is None else f"{quoted(sides.column)} IS NOT NULL"
    connection.execute(
        f"CREATE OR REPLACE TEMP VIEW side_rows AS SELECT *, {sides.expression} AS own_side, {is_known} AS is_known, "  # noqa: S608
        "coalesce(getvariable('workload') IS NULL OR workload = getvariable('workload'), false) AS is_asked, "
        f"CASE WHEN is_asked THEN own_side END AS side FROM {compared_rows} "
        "WHERE coalesce(ended_at >= getvariable('since'), true) AND coalesce(ended_at < getvariable('until'), true)"
    )
    for relation in closure(_ANSWERS, contract_names()):
        if relation not in _ANSWERS:
            compute(connection, relation)
    found = {row["side"]: row for row in rows(connection, "FROM compared_sides JOIN compared_costs USING (side)")}
    for side, name in zip("AB", sides.names, strict=True):
        if side not in found:
            raise UsageError(
                f"{name}: no such request{_bounded(bounds)} was published. {_known(connection, sides.column)}"
            )
    described = [_side(found[side], name) for side, name in zip("AB", sides.names, strict=True)]
    metrics, slices, (drift,) = (rows(connection, sql_file(answer).text) for answer in _ANSWERS)
    words = verdict(metrics, slices, found, sides.names)
    notes = _beside(connection, sides), _divided(connection), _counted(connection)
    return Comparison(
        described, *notes, _COST_CONTAINS, metrics, slices, undecided(metrics, found), drifting(drift), words
    )


def _beside(connection: duckdb.DuckDBPyConnection, sides: Sides) -> str | None:
    if sides.column is None or UNKNOWN in sides.parameters.values():
        return None
    (found,) = rows(
        connection,
        "SELECT count(*) FILTER (WHERE NOT is_known) AS unknown, count(*) AS of_all, "
        "count(*) FILTER (WHERE NOT is_known AND verdict = 'accepted') AS accepted "
        "FROM side_rows WHERE bucket IS NULL AND is_asked AND verdict <> 'in_flight'",
    )
    if not found["unknown"]:
        return None
    why = " (what a gateway refuses has no pool or replica)" if sides.column in _OF_REPLICAS else ""
    return (
        f"On neither side: {found['unknown']} of {found['of_all']} requests, whose {sides.column} is unknown{why};"
        f" {found['accepted']} of them accepted."
    )


def _divided(connection: duckdb.DuckDBPyConnection) -> str | None:
    asked = "SELECT abs(coalesce(sum(cut_usd), 0)) AS usd FROM compared_beside"
    ((usd,),) = (row.values() for row in rows(connection, asked))
    if not usd:
        return None
    return (
        "Sides begin or end within steps of the ledger: their part of the idle time and other money beside requests in"
        f" these, ${significant(usd, 3)}, is an estimate, divided by time as if it were even within a step."
    )


def _counted(connection: duckdb.DuckDBPyConnection) -> str | None:
    asked = rows(
        connection,
        "SELECT DISTINCT workload, unit, unlabelled FROM workloads "
        "WHERE workload IN (SELECT workload FROM side_rows WHERE side IS NOT NULL AND bucket IS NULL) ORDER BY ALL",
    )
    of_sessions = sorted({row["workload"] for row in asked if row["unit"] == "session"})
    by_policy = [row for row in asked if row["unlabelled"] in {"fail", "pass"}]
    lines = [f"Here each request counts; goodput counts sessions of {', '.join(of_sessions)}."] if of_sessions else []
    lines += [
        f"Here unlabelled answers of {row['workload']} are estimated by those that were judged; in goodput they all"
        f" {row['unlabelled']}, as its settings say."
        for row in by_policy
    ]
    return " ".join(lines) or None


def _bounded(bounds: Mapping[str, object]) -> str:
    given = [f"{name} {shown(value)}" for name, value in bounds.items() if value is not None]
    return f" ({', '.join(given)})" if given else ""


def _known(connection: duckdb.DuckDBPyConnection, column: str | None) -> str:
    """What there is within the bounds: the commonest values of a column, else from when to when."""
    if column is None:
        asked = "SELECT min(ended_at) AS first, max(ended_at) AS last FROM side_rows WHERE bucket IS NULL AND is_asked"
        ((first, last),) = (row.values() for row in rows(connection, asked))
        return "There is none at all." if last is None else f"What there is ended from {iso(first)} to {iso(last)}."
    value = f"coalesce({quoted(column)}::VARCHAR, '{UNKNOWN}')"
    most = rows(
        connection,
        f"SELECT {value} AS value FROM side_rows WHERE bucket IS NULL AND is_asked "  # noqa: S608
        "GROUP BY value ORDER BY count(*) DESC, value LIMIT 6",
    )
    return f"Of {column} there is: {', '.join(plain(row['value']) for row in most) or 'nothing'}."


def _check_column(connection: duckdb.DuckDBPyConnection, column: str | None) -> None:
    known = [*(row["column_name"] for row in rows(connection, "DESCRIBE requests")), REVISION]
    if column is not None and column not in known:
        near = ", ".join(get_close_matches(column, known, 3)) or "goodput tables requests lists them"
        raise UsageError(f"requests have no column {column}. Right would be: {near}.")


def _check_workload(connection: duckdb.DuckDBPyConnection, workload: object) -> None:
    known = [row["workload"] for row in rows(connection, "SELECT DISTINCT workload FROM requests ORDER BY workload")]
    if workload is not None and workload not in known:
        there = ", ".join(map(plain, filter(None, known))) or "none"
        raise UsageError(f"workload {workload}: no such request was published. Workloads: {there}.")


def _side(row: Row, name: str) -> Row:
    kept = (
        *("side", "n", "succeeded", "low_n", "accepted", "need", "labelled", "windows", "time_s"),
        *("cost_usd", "idle_usd", "overhead_usd", "unattributed_usd"),
        *("unpriced", "no_cost"),
    )
    return {"name": name, **{key: row[key] for key in kept}}
