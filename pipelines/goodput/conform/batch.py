"""Rows of many sources on their way into the lake: held to their contracts together, written by table and partition.

Rows are kept in memory up to a bound and then written as parts, which count once the batch is committed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import duckdb
import polars as pl

from goodput.collect.received import Received, RefusedRow
from goodput.collect.stopped import Stopped
from goodput.collect.together import Together
from goodput.conform.account import Account, counts, event_spans
from goodput.conform.derive import derive
from goodput.conform.enforce import enforce, in_contract_shape
from goodput.conform.guard import Guard
from goodput.conform.part_changes import without_sources
from goodput.conform.written_keys import WrittenKeys
from goodput.contracts import arrow_schema, contract
from goodput.plumbing.catalog import ALL, Part, digest_sum
from goodput.plumbing.hours import HOUR_S, hour_label
from goodput.plumbing.lake import Lake, delete, write_each
from goodput.plumbing.pruned import read_pruned
from goodput.plumbing.source_ledger import SourceEntry
from goodput.settings.model import Settings

_ROWS_AT_ONCE = 100_000  # checked against their contract together: each check has a fixed cost
_MOST_ROWS = 300_000  # in memory
_UNCOUNTED = ("span_links",)  # by-products of rows that are counted as ignored
_CLOSED = "in_closed_hours"
_Written = tuple[str, str, pl.DataFrame]  # table, partition, rows


@dataclass(frozen=True)
class Written:
    """Sources that a batch has written, each with its account, the parts by table, and why first rows are refused."""

    sources: Mapping[str, SourceEntry]
    accounts: Mapping[str, Account]
    parts: Mapping[str, Sequence[Part]]
    reasons: Mapping[str, str]


class IngestBatch:
    """Sources read one after another: `begin`, `take` each block, then `end` or `refuse`; at last `write`.

    Of those that come `together` the rows are taken later, but before `write`.

    `parts` are those written so far, by table.
    """

    def __init__(self, lake: Lake, connection: duckdb.DuckDBPyConnection, guard: Guard | None = None) -> None:
        self.parts: dict[str, list[Part]] = {}
        self._lake = lake
        self._connection = connection
        self._guard = guard or Guard(Settings())
        self._open_from_hour = read_pruned(lake.root).closed_until_s // HOUR_S
        self._sources: dict[str, SourceEntry] = {}
        self._accounts: dict[str, Account] = {}
        self._current = ""
        self._received: dict[str, list[pl.DataFrame]] = {}  # not yet held to their contract
        self._frames: dict[str, list[pl.DataFrame]] = {}  # in contract shape
        self._refused: dict[str, list[RefusedRow]] = {}
        self._reasons: dict[str, str] = {}  # why the first refused row of each source is
        self._rows = 0
        self._written_keys = WrittenKeys()

    @property
    def entries(self) -> list[SourceEntry]:
        """The sources with their accounts, which are complete once all is written."""
        return [self._accounts[source_id].filled_in(entry) for source_id, entry in self._sources.items()]

    def begin(self, entry: SourceEntry) -> None:
        """A source comes next."""
        self._current = entry.source_id
        self._sources[entry.source_id] = entry
        self._accounts[entry.source_id] = Account()
        self._written_keys.clear()

    def take(self, block: Received) -> None:
        """Rows of the source; they may be written at once. Raises LakeUnwritable."""
        self._accounts[self._current].add(block)
        if block.refused:
            self._set_aside(self._current, block.refused)
        for table, frame in block.tables.items():
            self._receive(table, frame.with_columns(source_id=pl.lit(self._current)))
        self._rows += block.rows_read
        if self._rows >= _MOST_ROWS:
            for table, rows in self._write():
                self._written_keys.add(table, rows.filter(pl.col("source_id") == self._current))

    def take_together(self, source_ids: Sequence[str], block: Together) -> None:
        """All rows of several sources that have begun and ended; they may be written at once. Raises LakeUnwritable."""
        for source_id, own in zip(source_ids, block.of_each, strict=True):
            self._accounts[source_id].add(own)
            self._rows += own.rows_read
            if own.refused:
                self._set_aside(source_id, own.refused)
        names = pl.Series(source_ids, dtype=pl.String)
        for table in block.tables:
            self._receive(table, block.table_of(table, names))
        if self._rows >= _MOST_ROWS:
            self._write()

    def end(
        self, *, reader: str, stopped: Stopped | None, torn_tail_bytes: int, decoded_hash: str | None = None
    ) -> None:
        """The source is read."""
        self._sources[self._current] = replace(
            self._sources[self._current],
            reader=reader,
            reason=stopped.reason if stopped else None,
            unread_bytes=stopped.unread_bytes if stopped else 0,
            torn_tail_bytes=torn_tail_bytes,
            decoded_hash=decoded_hash,
        )

    def refuse(self, *, reader: str, reason: str) -> None:
        """The source is no use, and so is none of its rows. Raises LakeUnreadable, LakeUnwritable."""
        self.withdraw(self._current, reader, reason)

    def first_reason(self, source_id: str) -> str:
        """Why the first of the source's refused rows is refused; empty where none is."""
        return self._reasons.get(source_id, "")

    def withdraw(self, source_id: str, reader: str, reason: str) -> None:
        """Refuse a source that was taken, written or not. Raises LakeUnreadable, LakeUnwritable."""
        self._remove_rows(source_id)
        self._accounts[source_id] = Account()
        self._sources[source_id] = replace(self._sources[source_id], status="refused", reader=reader, reason=reason)

    def drop(self) -> None:
        """The source is not what it was begun as: as if it had never been. Raises LakeUnreadable, LakeUnwritable."""
        self._remove_rows(self._current)
        del self._accounts[self._current], self._sources[self._current]

    def write(self) -> Written:
        """Write what is in memory as one part for each table and partition. Raises LakeUnwritable."""
        self._write()
        return Written(self._sources, self._accounts, self.parts, self._reasons)

    def include(self, others: Written) -> None:
        """Count sources that another batch has read and written as this one's."""
        self._sources |= others.sources
        self._accounts |= others.accounts
        self._reasons |= others.reasons
        for table, parts in others.parts.items():
            self.parts.setdefault(table, []).extend(parts)

    def _receive(self, table: str, rows: pl.DataFrame) -> None:
        frames = self._received.setdefault(table, [])
        frames.append(self._guard.rows(table, rows))
        if sum(frame.height for frame in frames) >= _ROWS_AT_ONCE:
            self._conform(table)

    def _remove_rows(self, source_id: str) -> None:
        for held in (self._received, self._frames):
            for table, frames in held.items():
                held[table] = [frame.filter(pl.col("source_id") != source_id) for frame in frames]
        self._refused.pop(source_id, None)
        for table, partitions in self._accounts[source_id].partitions.items():
            for partition in partitions:
                self._withdraw(table, partition, source_id)

    def _write(self) -> list[tuple[str, pl.DataFrame]]:
        for table in [*self._received]:
            self._conform(table)
        written = [(table, self._unique(table, pl.concat(frames))) for table, frames in self._frames.items()]
        self._frames.clear()
        parts = [(table, *part) for table, rows in written for part in _by_partition(table, self._open(table, rows))]
        if self._refused:
            parts.append(("quarantine", ALL, self._quarantine()))
        inputs = [self._inputs(*part) for part in parts]
        for (table, _, _), part in zip(
            parts, write_each(self._write_part, zip(parts, inputs, strict=True)), strict=True
        ):
            self.parts.setdefault(table, []).append(part)
        self._rows = 0
        return written

    def _conform(self, table: str) -> None:
        """Hold what was received to its contract."""
        # not their schemas: to compare those takes several times as long
        alike = groupby(self._received.pop(table), key=lambda frame: (frame.columns, frame.dtypes))
        rows = pl.concat([in_contract_shape(table, pl.concat(frames)) for _, frames in alike])
        enforced = enforce(self._connection, table, derive(table, rows))
        for source_id, refused in enforced.refused.items():
            if table not in _UNCOUNTED:
                self._set_aside(source_id, refused)
                self._accounts[source_id].quarantined += len(refused)
        self._frames.setdefault(table, []).append(enforced.kept)

    def _unique(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Each row of a source once, the first; the rest are counted."""
        (key,) = contract(table).primary_key
        unique = self._written_keys.without(table, rows, self.parts.get(table, ()))
        if unique[key].n_unique() < unique.height:  # counting is quick, taking every row of every column is not
            unique = unique.unique(subset=["source_id", key], keep="first", maintain_order=True)
        if unique.height < rows.height and table not in _UNCOUNTED:
            for frame, sign in ((rows, 1), (unique, -1)):
                for source_id, count in counts(frame):
                    self._accounts[source_id].duplicates += sign * count
        if table == "serving_records":
            for source_id, first_ns, last_ns in event_spans(unique):
                self._accounts[source_id].extend(first_ns, last_ns)
        return unique

    def _open(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows but for those of closed hours, which come too late for any number and are counted as ignored."""
        if not self._open_from_hour or contract(table).partition == "none":
            return rows
        is_open = pl.sql_expr(contract(table).partitioned_by) >= self._open_from_hour
        kept = rows.filter(is_open)
        if kept.height < rows.height and table not in _UNCOUNTED:
            for source_id, count in counts(rows.filter(~is_open)):
                self._accounts[source_id].ignored[_CLOSED] += count
        return kept

    def _set_aside(self, source_id: str, refused: list[RefusedRow]) -> None:
        self._refused.setdefault(source_id, []).extend(self._guard.refused(refused))
        self._reasons.setdefault(source_id, refused[0].reason)

    def _quarantine(self) -> pl.DataFrame:
        rows = [
            {"source_id": source_id, "path": self._sources[source_id].path, **row.__dict__}
            for source_id, refused in self._refused.items()
            for row in sorted(refused, key=lambda row: (row.line, row.position))
        ]
        self._refused.clear()
        schema = {"source_id": pl.String, "path": pl.String}
        return in_contract_shape("quarantine", pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None))

    def _inputs(self, table: str, partition: str, rows: pl.DataFrame) -> str:
        sources = rows["source_id"].unique()
        return digest_sum(name for name in sources if self._accounts[name].lies_in(table, partition))

    def _write_part(self, part: tuple[_Written, str]) -> Part:
        (table, partition, rows), inputs = part
        return self._lake.write_part(table, partition, rows.to_arrow().cast(arrow_schema(table)), inputs)

    def _withdraw(self, table: str, partition: str, source_id: str) -> None:
        """Take a source out of parts that were written but not committed."""
        parts = [part for part in self.parts[table] if part.partition == partition]
        change = without_sources(self._lake, table, parts, {source_id})
        self.parts[table] = [part for part in self.parts[table] if part not in change.remove] + change.add
        delete(part.path for part in change.remove)


def _by_partition(table: str, rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    agreed = contract(table)
    if agreed.partition == "none":
        if rows.height:
            yield ALL, rows
        return
    hourly = rows.with_columns(hour=pl.sql_expr(agreed.partitioned_by))
    for (hour,), part in hourly.partition_by("hour", as_dict=True, include_key=False, maintain_order=True).items():
        yield hour_label(int(hour)), part
