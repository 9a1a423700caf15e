"""Relation `deliveries`: the outbox as users see it, without the bodies, in one Parquet file of the lake."""

import hashlib
import json
import sqlite3
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from goodput.contracts import arrow_schema
from goodput.notify.outbox import Outbox
from goodput.notify.retry import NS
from goodput.plumbing.database import deliveries_file
from goodput.plumbing.lake import Lake, write_parquet

_ROWS = """
SELECT d.*, (SELECT json_group_array(alarm_id) FROM concerns WHERE delivery_id = d.delivery_id) AS alarms,
    (SELECT json_group_array(event_id) FROM events WHERE delivery_id = d.delivery_id) AS events
FROM deliveries AS d
ORDER BY sequence
"""
_AS_STORED = (
    *("delivery_id", "channel", "kind", "state", "reason", "status", "severity", "rule", "summary"),
    *("attempts", "http_status", "error"),
)


def write_deliveries(lake: Lake, outbox: Outbox) -> int:
    """Write the relation anew; its rows. Raises OutboxUnusable or LakeUnwritable."""
    rows = [_row(row) for row in outbox.rows(_ROWS)]
    table = pa.Table.from_pylist(rows, schema=arrow_schema("deliveries"))
    write_parquet(deliveries_file(lake), table)
    return len(rows)


def is_written(lake: Lake) -> bool:
    """Whether the relation is there at all."""
    return deliveries_file(lake).exists()


def _row(row: sqlite3.Row) -> dict[str, Any]:
    pending = row["state"] == "pending"
    latency_ns = row["latency_ns"]
    return {
        **{name: row[name] for name in _AS_STORED},
        "alarm_ids": sorted(json.loads(row["alarms"])),
        "event_ids": sorted(json.loads(row["events"])),
        "fallback_of": row["origin"],
        "enqueued_at": instant(row["enqueued_ns"]),
        "attempted_at": instant(row["attempted_ns"]),
        "next_attempt_at": instant(max(row["next_attempt_ns"], row["not_before_ns"]) or None) if pending else None,
        "settled_at": instant(row["settled_ns"]),
        "latency_s": None if latency_ns is None else latency_ns / NS,
        "body_bytes": len(row["body"]),
        "body_sha256": hashlib.sha256(row["body"]).hexdigest(),
    }


def instant(at_ns: int | None) -> datetime | None:
    """Unix nanoseconds as an instant in UTC."""
    return None if at_ns is None else datetime.fromtimestamp(at_ns / NS, UTC)
