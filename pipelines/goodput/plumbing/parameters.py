"""Relations that Python registers for SQL to read: each has one shape, declared here."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

_TEXT, _TEXTS, _INT, _LONG, _REAL, _FLAG = (
    pa.string(),
    pa.list_(pa.string()),
    pa.int32(),
    pa.int64(),
    pa.float64(),
    pa.bool_(),
)
_DIMENSIONS = ("workload", "model", "pool", "route")

SCHEMAS: Mapping[str, pa.Schema] = {
    name: pa.schema(fields)
    for name, fields in {
        "options": [
            ("latency_origin", _TEXT),
            ("max_request_lifetime_ns", _LONG),
            ("label_lateness_ns", _LONG),
        ],
        "observed": [("observed_until_ns", _LONG)],
        "sample_options": [("staleness_ns", _LONG)],
        "target_hours": [("epoch_hour", _LONG)],
        "source_files": [("source_id", _TEXT), ("path", _TEXT), ("content_hash", _TEXT)],
        "event_subjects": [("subject", _TEXT), ("pool", _TEXT), ("replica", _TEXT)],
        "cost_rules": [
            (name, _TEXTS) for name in ("pool_tags", "replica_tags", "model_tags", "services", "sub_accounts")
        ],
        "price_rules": [("valid_from", pa.timestamp("us", "UTC"))],
        "rates": [("ordinal", _INT), ("pool", _TEXTS), ("replica", _TEXTS), ("usd_per_s", _REAL), ("gpus", _REAL)],
        "work_weights": [
            ("ordinal", _INT),
            ("model", _TEXTS),
            *((name, _REAL) for name in ("prefill_weight", "cached_weight", "decode_weight", "draft_weight")),
        ],
        "ledger_options": [("step_ns", _LONG), ("staleness_ns", _LONG), ("reach_h", _LONG)],
        "grains": [("window_s", _INT)],
        "span": [
            ("from_s", _LONG),
            ("until_s", _LONG),
            ("step_s", _LONG),
            ("base_s", _INT),
            ("session_reach_h", _LONG),
            ("observed_from_s", _REAL),
            ("observed_until_s", _REAL),
        ],
        "slices": [("slice", _TEXT), *((f"by_{name}", _FLAG) for name in _DIMENSIONS)],
        "disruption_options": [
            ("base_s", _INT),
            ("tolerance_ratio", _REAL),
            ("baseline_s", _LONG),
            ("baseline_windows", _LONG),
            ("load_tolerance_ratio", _REAL),
            ("from_s", _REAL),
            ("until_s", _REAL),
            ("observed_from_s", _REAL),
            ("observed_until_s", _REAL),
        ],
        "disruption_caps": [("kind", _TEXT), ("cap_s", _REAL)],
    }.items()
}


def as_rows(name: str, *rows: Mapping[str, Any]) -> pa.Table:
    """Rows of a declared relation."""
    return pa.Table.from_pylist(list(rows), schema=SCHEMAS[name])


def shaped(name: str, rows: pa.Table) -> pa.Table:
    """The rows in the declared shape of their relation, where one is declared."""
    return rows.cast(SCHEMAS[name]) if name in SCHEMAS else rows
