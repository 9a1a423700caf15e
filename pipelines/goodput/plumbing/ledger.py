"""The ledger: what is known of every source file read, written last of all, in one file.

Rows of the ledger and their reading and writing belong here; counting rows belongs to the stages.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from goodput.errors import LakeUnreadable
from goodput.plumbing.lake import Lake, write_parquet


@dataclass(frozen=True)
class LedgerEntry:
    """One source file: how it was read and what became of its rows (identity R, semantics 9)."""

    source_id: str
    content_hash: str
    path: str
    landing: str
    reader: str
    status: str
    reason: str | None
    size_bytes: int
    rows_read: int = 0
    rows_duplicate: int = 0  # within this file
    rows_quarantined: int = 0
    ignored: dict[str, int] = field(default_factory=dict)
    torn_tail_bytes: int = 0
    first_event_ns: int | None = None
    last_event_ns: int | None = None
    ingested_ns: int = 0


LEDGER_SCHEMA = pa.schema(
    [
        *(
            (name, pa.string())
            for name in ("source_id", "content_hash", "path", "landing", "reader", "status", "reason")
        ),
        *((name, pa.int64()) for name in ("size_bytes", "rows_read", "rows_duplicate", "rows_quarantined")),
        ("ignored", pa.string()),
        *((name, pa.int64()) for name in ("torn_tail_bytes", "first_event_ns", "last_event_ns", "ingested_ns")),
    ]
)


def read_ledger(lake: Lake) -> dict[str, LedgerEntry]:
    """Every source read so far by source_id; empty for a new lake. Raises LakeUnreadable."""
    if not lake.ledger.exists():
        return {}
    try:
        rows = pq.read_table(lake.ledger).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise LakeUnreadable(lake.ledger, str(error)) from error
    return {row["source_id"]: LedgerEntry(**{**row, "ignored": json.loads(row["ignored"])}) for row in rows}


def write_ledger(lake: Lake, entries: Iterable[LedgerEntry]) -> None:
    """Replace the ledger, atomically."""
    ordered = sorted(entries, key=lambda entry: (entry.landing, entry.path, entry.source_id))
    rows = [{**asdict(entry), "ignored": json.dumps(entry.ignored, sort_keys=True)} for entry in ordered]
    write_parquet(lake.ledger, pa.Table.from_pylist(rows, schema=LEDGER_SCHEMA))


def observed(entries: Iterable[LedgerEntry]) -> tuple[int, int] | None:
    """First and last instant of observed serving telemetry in Unix nanoseconds, None without any."""
    spans = [(e.first_event_ns, e.last_event_ns) for e in entries if e.first_event_ns is not None]
    if not spans:
        return None
    return min(first for first, _ in spans if first is not None), max(last for _, last in spans if last is not None)
