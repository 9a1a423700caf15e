"""Reads one landed file into the lake: its rows in contract shape by hour, its bad rows in quarantine, its account.

The parts are a pure function of the file, so doing it again writes the same bytes.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import duckdb
import polars as pl

from goodput.collect.landing import FileIdentity
from goodput.collect.read import open_file
from goodput.collect.received import LandedFile, Received, RefusedRow
from goodput.conform.derive import derive
from goodput.conform.enforce import enforce, in_contract_shape
from goodput.errors import SourceRefused
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.hours import HOUR_NS, hour_label
from goodput.plumbing.lake import Lake, write_each, write_parquet
from goodput.plumbing.ledger import LedgerEntry
from goodput.settings.model import Settings

_ROWS_AT_ONCE = 250_000
_EVENT_NS = {  # rows of other tables lie in one cell: they are few, and made into tables whole
    "serving_records": pl.coalesce("ended_ns", "started_ns"),
    "span_links": pl.col("ended_ns"),
    "label_records": pl.col("labelled_ns"),
    "sample_records": pl.col("sampled_ns"),
}


@dataclass
class _Account:
    """What became of the rows of one file so far."""

    rows_read: int = 0
    duplicates: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    refused: list[RefusedRow] = field(default_factory=list)
    received: dict[str, list[pl.DataFrame]] = field(default_factory=dict)  # not yet held to their contract
    frames: dict[str, list[pl.DataFrame]] = field(default_factory=dict)  # in contract shape
    first_event_ns: int | None = None
    last_event_ns: int | None = None


def ingest(  # noqa: PLR0913  (what is read, how, and where it goes)
    lake: Lake,
    file: LandedFile,
    identity: FileIdentity,
    settings: Settings,
    connection: duckdb.DuckDBPyConnection,
    *,
    on_bytes: Callable[[int], None] | None = None,
) -> LedgerEntry:
    """Write one file's conformed parts and quarantine and return its ledger entry; a bad file is refused whole.

    Rows are held to their contracts on `connection`, of which one serves many files: opening it takes longer than
    reading a small one.
    """
    entry = LedgerEntry(
        source_id=identity.source_id,
        content_hash=identity.content_hash,
        path=file.relative_path,
        landing=str(file.landing),
        reader=file.reader,
        status="read",
        reason=None,
        size_bytes=identity.size_bytes,
        ingested_ns=time.time_ns(),
    )
    account = _Account()
    try:
        opened, reading = open_file(file, settings, on_bytes)
        entry = replace(entry, reader=opened.reader)
        for block in reading:
            _take(account, block)
            _conform(account, connection, identity.source_id, at_least=_ROWS_AT_ONCE)
        _conform(account, connection, identity.source_id)
    except SourceRefused as error:
        return LedgerEntry(**{**entry.__dict__, "status": "refused", "reason": error.reason})
    for table, frames in account.frames.items():
        _write(lake, account, table, identity.source_id, frames)
    _write_quarantine(lake, entry, account.refused)
    return LedgerEntry(
        **{
            **entry.__dict__,
            "reason": reading.stopped,
            "rows_read": account.rows_read,
            "rows_duplicate": account.duplicates,
            "rows_quarantined": len(account.refused),
            "ignored": dict(account.ignored),
            "torn_tail_bytes": reading.torn_tail_bytes,
            "first_event_ns": account.first_event_ns,
            "last_event_ns": account.last_event_ns,
        }
    )


def _take(account: _Account, block: Received) -> None:
    account.rows_read += block.rows_read
    account.ignored.update(block.ignored)
    account.refused.extend(block.refused)
    for table, frame in block.tables.items():
        account.received.setdefault(table, []).append(frame)


def _conform(account: _Account, connection: duckdb.DuckDBPyConnection, source_id: str, *, at_least: int = 1) -> None:
    """Hold what was received to its contract, once enough has come together to be worth the while."""
    for table, frames in account.received.items():
        if sum(frame.height for frame in frames) < at_least:
            continue
        rows = pl.concat(
            [in_contract_shape(table, frame.with_columns(source_id=pl.lit(source_id))) for frame in frames]
        )
        frames.clear()
        enforced = enforce(connection, table, derive(table, rows))
        if table != "span_links":  # links are by-products of rows that are counted as ignored
            account.refused.extend(enforced.refused)
        account.frames.setdefault(table, []).append(enforced.kept)


def _write(lake: Lake, account: _Account, table: str, source_id: str, frames: list[pl.DataFrame]) -> None:
    rows = pl.concat(frames)
    (key,) = contract(table).primary_key
    has_copies = rows[key].n_unique() < rows.height  # counting is quick, taking every row of every column is not
    unique = rows.unique(subset=key, keep="first", maintain_order=True) if has_copies else rows
    if table != "span_links":
        account.duplicates += rows.height - unique.height

    def write(part: tuple[str, pl.DataFrame]) -> None:
        cell, rows = part
        write_parquet(lake.part("conformed", table, cell, source_id), rows.to_arrow().cast(arrow_schema(table)))

    write_each(write, _by_cell(table, unique))
    if table == "serving_records" and unique.height:
        account.first_event_ns, account.last_event_ns = unique.select(
            pl.col("started_ns").min(),
            pl.max_horizontal(pl.col("ended_ns").max(), pl.col("started_ns").max()),
        ).row(0)


def _by_cell(table: str, rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    if table not in _EVENT_NS:
        if rows.height:
            yield "all", rows
        return
    hourly = rows.with_columns(_EVENT_NS[table].floordiv(HOUR_NS).alias("hour"))
    for (hour,), part in hourly.partition_by("hour", as_dict=True, include_key=False, maintain_order=True).items():
        yield f"hour={hour_label(int(hour))}", part


def _write_quarantine(lake: Lake, entry: LedgerEntry, refused: list[RefusedRow]) -> None:
    if not refused:
        return
    rows = [{"source_id": entry.source_id, "path": entry.path, **row.__dict__} for row in refused]
    frame = in_contract_shape("quarantine", pl.DataFrame(rows, infer_schema_length=None)).sort("line", "position")
    path = lake.part("conformed", "quarantine", "all", entry.source_id)
    write_parquet(path, frame.to_arrow().cast(arrow_schema("quarantine")))
