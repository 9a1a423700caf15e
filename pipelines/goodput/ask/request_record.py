"""Everything that was published about one request: its row, attempts, records and places, labels, bounds, costs.

Only the reading belongs here; what decided is in `gates`, where a fact came from in `facts`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb

from goodput.ask.cells import iso
from goodput.ask.database import Row, asked
from goodput.errors import SeveralRequests, UnknownRequest
from goodput.plumbing.sql_files import HOURS_VARIABLE, macros_of

_Look = Callable[[duckdb.DuckDBPyConnection, Sequence[str]], None]  # where to look for some ids

# How a key may name requests, the surest reading first; records below the outermost come last.
_WAYS = (
    ("requests_of_key", ("key",)),
    ("requests_of_attempt", ("key", "hex")),
    ("requests_of_records", ("records",)),
)


@dataclass(frozen=True)
class RequestRecord:
    """One request: `records` (by record_id), `labels` and `charges` carry `path` and `landing` of their source.

    `bounds` has an entry per gate that the workload sets; None where the gate has no number. `passing_unmeasured` are
    those that a request without the measurement passes (`on_missing`).
    """

    request: Row
    bounds: dict[str, float | None]
    passing_unmeasured: frozenset[str]
    attempts: list[Row]
    records: dict[str, Row]
    labels: list[Row]
    costs: list[Row]
    charges: list[Row]


def read_request_record(connection: duckdb.DuckDBPyConnection, key: str) -> RequestRecord:
    """The one request that `key` names: a request key, or an id of an attempt, trace, span or response.

    Raises UnknownRequest, or SeveralRequests when it names more than one.
    """
    connection.execute("SET search_path = 'main,stored'")
    connection.execute("SET parquet_metadata_cache = true")  # several questions open the same parts
    connection.execute(macros_of(["id_occurrences"]))
    for look_for in (_look_into_hours_of, _look_everywhere):  # the index lacks what is blocked
        request_key = _request_key(connection, key, look_for)
        if request_key:
            return _read(connection, request_key, look_for)
    raise UnknownRequest(key)


def _read(connection: duckdb.DuckDBPyConnection, request_key: str, look_for: _Look) -> RequestRecord:
    of_request = {"key": request_key}
    look_for(connection, [request_key])
    attempts = asked(connection, "explained_attempts", of_request)
    record_ids = [record_id for attempt in attempts for record_id in attempt["record_ids"]]
    look_for(connection, [request_key, *record_ids])
    (request,) = asked(connection, "explained_requests", {"keys": [request_key]})
    records = asked(connection, "explained_records", {"record_ids": record_ids})
    bounds = asked(connection, "explained_bounds", {"workload": request["workload"]})
    return RequestRecord(
        request=request,
        bounds={row["gate"]: row["bound"] for row in bounds},
        passing_unmeasured=frozenset(row["gate"] for row in bounds if row["on_missing"] == "pass"),
        attempts=attempts,
        records={record["record_id"]: record for record in records},
        labels=asked(connection, "explained_labels", of_request),
        costs=asked(connection, "explained_costs", of_request),
        charges=asked(connection, "explained_charges", of_request),
    )


def place(row: Row) -> str:
    """Where a record or label stands: file:line, and #position where the line holds several; from 0."""
    source = row["path"] or row.get("source_id") or row.get("source")
    position = f" #{row['position']}" if row.get("position") else ""
    return f"{source}:{row['line']}{position}"


def _request_key(connection: duckdb.DuckDBPyConnection, key: str, look_for: _Look) -> str | None:
    """The request's own key, by the surest reading of `key` that names any."""
    # Ids are written in lower-case hex (the contracts' pattern), whatever the key was copied from.
    ids = {"key": key, "hex": key.lower()}
    look_for(connection, [*ids.values()])
    (called,) = asked(connection, "called_requests", {"key": key})
    if called["requests"] == 1:  # most keys are a request's: every further question looks at all rows of its hours
        return key
    records = [row["record_id"] for row in asked(connection, "records_of_id", ids)]
    look_for(connection, [*ids.values(), *records])
    for way, names in _WAYS:
        given = {**ids, "records": records}
        named = asked(connection, way, {name: given[name] for name in names})
        keys = [row["request_key"] for row in named]
        found = asked(connection, "explained_requests", {"keys": keys}) if keys else []
        if len(found) > 1:
            raise SeveralRequests(key, [(row["request_key"], iso(row["arrived_at"]), row["verdict"]) for row in found])
        if found:
            return str(found[0]["request_key"])
    return None


def _look_into_hours_of(connection: duckdb.DuckDBPyConnection, ids: Sequence[str]) -> None:
    """Have views open the parts of those hours alone in which one of the ids occurs."""
    connection.execute("SET VARIABLE wanted_ids = $ids", {"ids": ids})
    (found,) = asked(connection, "id_occurrences")
    connection.execute(f"SET VARIABLE {HOURS_VARIABLE} = $hours", {"hours": found["hours"] or []})


def _look_everywhere(connection: duckdb.DuckDBPyConnection, _ids: Sequence[str]) -> None:
    connection.execute(f"RESET VARIABLE {HOURS_VARIABLE}")
