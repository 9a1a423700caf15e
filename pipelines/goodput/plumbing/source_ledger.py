"""The source ledger: what is known of every source file read, committed last of all.

Its rows and their reading and writing belong here; counting rows belongs to the stages.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pyarrow as pa

from goodput.contracts import arrow_schema, contract, polars_schema, stored_tables
from goodput.errors import LakeUnreadable
from goodput.plumbing.hours import HOUR_NS, hour_label
from goodput.plumbing.lake import Lake
from goodput.plumbing.row_table import change_rows, read_rows

TABLE = "source_ledger"
CLOCK_MARGIN_NS = 300 * 10**9  # by how much the clocks of emitters may be ahead
_RECORDS = "serving_records"
_REFUSED = pl.col("status") == "refused"
WAS_READ = pl.col("content_hash") != ""  # a file that was refused before has a row too
_MAPPINGS = ("ignored", "unknown_metrics", "partitions")  # stored as JSON objects


@dataclass(frozen=True)
class SourceEntry:
    """One source file: how it was read and what became of its rows (identity R, docs/semantics.md#sources)."""

    source_id: str
    content_hash: str
    head_hash: str
    path: str
    landing: str
    reader: str
    status: str
    reason: str | None
    size_bytes: int
    rows_read: int = 0
    rows_duplicate: int = 0  # within this file
    rows_quarantined: int = 0
    ignored: Mapping[str, int] = field(default_factory=dict)
    unknown_metrics: Mapping[str, int] = field(default_factory=dict)
    torn_tail_bytes: int = 0
    unread_bytes: int = 0  # behind the place where reading stopped short, at most
    decoded_hash: str | None = None
    first_event_ns: int | None = None
    last_event_ns: int | None = None
    partitions: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of each table, those that hold its rows
    ingested_ns: int = 0


def require(lake: Lake) -> None:
    """Check that a lake with rows of sources knows them. Raises LakeUnreadable: they would all be read once more."""
    ledger = lake.catalog[TABLE]
    if ledger.version < 0 and any(lake.catalog[name].parts for name in _of_sources()):
        raise LakeUnreadable(ledger.root, "it is not there, though the lake has rows of sources")


def _of_sources() -> list[str]:
    return [name for name in stored_tables() if contract(name).layer == "conformed"]


def read(lake: Lake, columns: Sequence[str] | None = None) -> pa.Table:
    """Every source read so far, in the columns of contract `source_ledger`; empty for a new lake.

    Raises LakeUnreadable.
    """
    found = read_frame(lake, columns)
    schema = arrow_schema(TABLE)
    return found.to_arrow().cast(pa.schema([schema.field(name) for name in found.columns]))


def read_frame(lake: Lake, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The same as a Polars frame."""
    return read_rows(lake, TABLE, columns)


def change(lake: Lake, add: Iterable[SourceEntry], remove: Iterable[str]) -> list[Path]:
    """Remove sources by their ids and add others in one commit; paths of the parts replaced. Raises LakeUnwritable."""
    schema = polars_schema(TABLE)
    rows = [{**vars(entry), **{name: _json(getattr(entry, name)) for name in _MAPPINGS}} for entry in add]
    removed = pl.DataFrame({"source_id": sorted(remove)}, schema={"source_id": pl.String})
    return change_rows(lake, TABLE, pl.DataFrame(rows, schema=schema).select(schema.names()), removed)


def renew(lake: Lake, source_ids: Collection[str], now_ns: int) -> list[Path]:
    """Note sources as read now, in one commit; paths of the parts replaced. Raises LakeUnwritable."""
    rows = read_frame(lake).filter(pl.col("source_id").is_in(list(source_ids)))
    return change_rows(lake, TABLE, rows.with_columns(ingested_ns=pl.lit(now_ns, pl.Int64)), rows.select("source_id"))


def observed(lake: Lake, now_ns: int) -> tuple[int, int] | None:
    """First and last instant of observed serving telemetry in Unix nanoseconds, None without any.

    Nothing is observed that lies further ahead of `now_ns` than clocks disagree: a misdated record ends no hour. Where
    most records lie ahead, the clock of this machine is wrong, and the last of them counts.
    """
    rows = read_frame(lake, ["first_event_ns", "last_event_ns"])
    first, last = rows.select(pl.col("first_event_ns").min(), pl.col("last_event_ns").max()).row(0)
    if first is None:
        return None
    until_ns = now_ns + CLOCK_MARGIN_NS
    return first, last if last <= until_ns else _last_by(lake, until_ns) or last


def _last_by(lake: Lake, until_ns: int) -> int | None:
    """The last instant of serving records by a time; None where most of them lie after it."""
    parts = lake.catalog[_RECORDS].parts
    hour = hour_label(until_ns // HOUR_NS)
    ahead = sum(part.rows for name, found in parts.items() if name > hour for part in found)
    if 2 * ahead > sum(part.rows for found in parts.values() for part in found):
        return None
    for name in sorted((name for name in parts if name <= hour), reverse=True):
        frames = [lake.catalog[_RECORDS].read(part, ["started_ns", "ended_ns"]) for part in parts[name]]
        records = pl.DataFrame(pa.concat_tables(frames))
        instants = records.select(at=pl.coalesce("ended_ns", "started_ns")).filter(pl.col("at") <= until_ns)
        if instants.height:
            return int(instants["at"].max())  # type: ignore[arg-type]
    return None


def quarantined_and_failed(lake: Lake, quarantined_ratio: float) -> tuple[int, list[tuple[str, str]]]:
    """Rows in quarantine, over all sources; and the paths of those that are refused, were not read to their end, or
    have a larger share of their rows there, with what is wrong."""
    counts = ["status", "rows_read", "rows_quarantined", "unread_bytes"]
    rows = read_frame(lake, counts)
    quarantined = int(rows["rows_quarantined"].sum())
    too_many = pl.col("rows_quarantined") > quarantined_ratio * pl.col("rows_read")
    is_failed = _REFUSED | (pl.col("unread_bytes") > 0) | too_many  # in rows of an older version it is null
    if rows.filter(is_failed).is_empty():  # paths of a long history are many, failures few
        return quarantined, []
    found = read_frame(lake, ["path", "reason", *counts]).filter(is_failed).sort("path")
    return quarantined, [
        (path, _wrong(status, reason, unread, f"{unusable} of {read} rows in quarantine"))
        for path, reason, status, read, unusable, unread in found.iter_rows()
    ]


def _wrong(status: str, reason: str | None, unread_bytes: int | None, else_wrong: str) -> str:
    if status == "refused":
        return f"refused, {reason}"
    return f"up to {unread_bytes} bytes not read, {reason}" if unread_bytes else else_wrong


def refused_unread(lake: Lake) -> set[str]:
    """Ids of the sources that were refused before they were read."""
    if read_frame(lake, ["status"]).filter(_REFUSED).is_empty():
        return set()
    rows = read_frame(lake, ["source_id", "content_hash", "status"]).filter(_REFUSED)
    return set(rows.filter(~WAS_READ)["source_id"])


def ids(lake: Lake) -> set[str]:
    """Ids of the sources that were read."""
    return set(read_frame(lake, ["source_id", "content_hash"]).filter(WAS_READ)["source_id"])


def partitions_of(lake: Lake, source_ids: Iterable[str]) -> dict[str, dict[str, set[str]]]:
    """The sources that have rows in each partition of each conformed table, of some sources."""
    wanted = pl.DataFrame({"source_id": sorted(source_ids)}, schema={"source_id": pl.String})
    rows = read_frame(lake, ["source_id", "partitions"]).join(wanted, on="source_id", how="semi")
    found: dict[str, dict[str, set[str]]] = {}
    for source_id, text in rows.iter_rows():
        for table, partitions in json.loads(text).items():
            for partition in partitions:
                found.setdefault(table, {}).setdefault(partition, set()).add(source_id)
    return found


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)
