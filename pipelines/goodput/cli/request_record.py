"""Everything that was published about one request: its row, attempts, records and places, labels, bounds.

Only the reading belongs here; what decided is in `gates`, where a fact came from in `facts`.
"""

from dataclasses import dataclass

import duckdb

from goodput.cli.cells import iso
from goodput.cli.database import Row, rows
from goodput.errors import SeveralRequests, UnknownRequest

# The surest reading of a key first; spans below the outermost come last: all records must be read for them.
_WAYS = (
    "SELECT request_key FROM requests WHERE request_key = $key",
    """
    SELECT DISTINCT request_key FROM attempts
    WHERE $key IN (attempt_id, response_id) OR $hex IN (attempt_id, trace_id, span_id)
        OR list_contains(record_ids, $key) OR list_contains(record_ids, $hex)
    """,
    """
    SELECT DISTINCT request_key FROM attempts
    WHERE list_has_any(record_ids, (
        SELECT list(record_id) FROM serving_records WHERE response_id = $key OR $hex IN (trace_id, span_id)))
    """,
)
_REQUESTS = "SELECT * FROM requests WHERE list_contains($keys, request_key) ORDER BY arrived_at, request_key"
_ATTEMPTS = "SELECT * FROM attempts WHERE request_key = $key ORDER BY attempt_index"
_RECORDS = """
    SELECT r.*, s.path, s.landing
    FROM serving_records AS r
    LEFT JOIN sources AS s USING (source_id)
    WHERE list_contains($record_ids, r.record_id)
    QUALIFY row_number() OVER (PARTITION BY r.record_id ORDER BY r.source_id) = 1
"""
_LABELS = """
    SELECT l.*, s.path, s.landing
    FROM quality_labels AS l
    LEFT JOIN sources AS s ON s.source_id = l.source
    WHERE l.request_key = $key
    ORDER BY l.labelled_at, l.label_id
"""
_BOUNDS = "SELECT gate, bound FROM workloads WHERE workload = $workload AND gate IS NOT NULL"


@dataclass(frozen=True)
class RequestRecord:
    """One request: `records` (by record_id) and `labels` carry `path` and `landing` of their source.

    `bounds` has an entry per gate that the workload sets; None where the gate has no number.
    """

    request: Row
    bounds: dict[str, float | None]
    attempts: list[Row]
    records: dict[str, Row]
    labels: list[Row]


def read_request_record(connection: duckdb.DuckDBPyConnection, key: str) -> RequestRecord:
    """The one request that `key` names: a request key, or an id of an attempt, trace, span or response.

    Raises UnknownRequest, or SeveralRequests when it names more than one.
    """
    request = _request_named(connection, key)
    of_request = {"key": request["request_key"]}
    attempts = rows(connection, _ATTEMPTS, of_request)
    record_ids = [record_id for attempt in attempts for record_id in attempt["record_ids"]]
    records = rows(connection, _RECORDS, {"record_ids": record_ids})
    bounds = rows(connection, _BOUNDS, {"workload": request["workload"]})
    return RequestRecord(
        request=request,
        bounds={row["gate"]: row["bound"] for row in bounds},
        attempts=attempts,
        records={record["record_id"]: record for record in records},
        labels=rows(connection, _LABELS, of_request),
    )


def place(row: Row) -> str:
    """Where a record or label stands: file:line, and #position where the line holds several; from 0."""
    source = row["path"] or row.get("source_id") or row.get("source")
    position = f" #{row['position']}" if row.get("position") else ""
    return f"{source}:{row['line']}{position}"


def _request_named(connection: duckdb.DuckDBPyConnection, key: str) -> Row:
    for way in _WAYS:
        # Ids are written in lower-case hex (the contracts' pattern), whatever the key was copied from.
        ids = {name: value for name, value in (("key", key), ("hex", key.lower())) if f"${name}" in way}
        keys = [row["request_key"] for row in rows(connection, way, ids)]
        found = rows(connection, _REQUESTS, {"keys": keys}) if keys else []
        if len(found) == 1:
            return found[0]
        if found:
            candidates = [(row["request_key"], iso(row["arrived_at"]), row["verdict"]) for row in found]
            raise SeveralRequests(key, candidates)
    raise UnknownRequest(key)
