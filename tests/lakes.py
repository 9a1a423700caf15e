"""Lakes that hold hand-written rows: parts put there as an earlier step of the plan would have left them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from goodput.contracts import arrow_schema
from goodput.plumbing import source_ledger
from goodput.plumbing.catalog import Part
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import HOUR_NS, hour_label
from goodput.plumbing.lake import Lake
from goodput.plumbing.source_ledger import SourceEntry

Row = Mapping[str, Any]


def put(lake: Lake, table: str, partition: str, rows: pa.Table | Iterable[Row], inputs: str | None = None) -> None:
    """Make these rows those of a partition; without `inputs` they count as made from themselves."""
    shaped = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), schema=arrow_schema(table))
    made_from = inputs or fingerprint(str(shaped.to_pylist()))
    part = lake.write_part(table, partition, shaped.cast(arrow_schema(table)), made_from)
    lake.catalog[table].replace({partition: (part,)})


def put_sources(lake: Lake, table: str, hours: Mapping[str, Sequence[Row]]) -> None:
    """Make these rows those of the hours of a conformed table, as ingest does: a part of each source."""
    lake.catalog[table].replace({hour: _parts(lake, table, hour, rows) for hour, rows in hours.items()})


def _parts(lake: Lake, table: str, hour: str, rows: Sequence[Row]) -> list[Part]:
    parts = []
    for source_id in sorted({row["source_id"] for row in rows}):
        own = [row for row in rows if row["source_id"] == source_id]
        shaped = pa.Table.from_pylist(own, schema=arrow_schema(table))
        parts.append(lake.write_part(table, hour, shaped, fingerprint(table, hour, str(own))))
    return parts


def by_hour(rows: Iterable[Row], column: str) -> dict[str, list[Row]]:
    """Rows by the hour in which the instant of a column lies (Unix nanoseconds)."""
    hours: dict[str, list[Row]] = {}
    for row in rows:
        hours.setdefault(hour_label(row[column] // HOUR_NS), []).append(row)
    return hours


def observe(lake: Lake, first_ns: int, last_ns: int) -> None:
    """Note a source in whose time telemetry was observed, in Unix nanoseconds."""
    entry = SourceEntry(
        "observed",
        "1",
        "1",
        "a.jsonl",
        "landing",
        "otlp",
        "read",
        None,
        1,
        first_event_ns=first_ns,
        last_event_ns=last_ns,
    )
    source_ledger.change(lake, [entry], ["observed"])


def rows_of(lake: Lake, table: str, partitions: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Rows of some partitions of a table, or of all, part by part."""
    parts = lake.catalog[table].parts
    return rows_in(
        part for name in (sorted(parts) if partitions is None else partitions) for part in parts.get(name, ())
    )


def rows_in(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """Rows of parts, one after another."""
    return [row for part in parts for row in pq.ParquetFile(part.path).read().to_pylist()]
