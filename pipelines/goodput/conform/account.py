"""The account of one source: what became of each of its rows (identity R), and where those in use lie."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import polars as pl

from goodput.collect.received import Received
from goodput.plumbing.source_ledger import SourceEntry


@dataclass
class Account:
    """Counts of a source so far; `partitions` are those of each table that hold its rows."""

    rows_read: int = 0
    duplicates: int = 0
    quarantined: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    unknown_metrics: Counter[str] = field(default_factory=Counter)
    first_event_ns: int | None = None
    last_event_ns: int | None = None
    partitions: dict[str, set[str]] = field(default_factory=dict)

    def add(self, block: Received) -> None:
        """Count the rows of a block."""
        self.rows_read += block.rows_read
        self.quarantined += len(block.refused)
        self.ignored.update(block.ignored)
        self.unknown_metrics.update(block.unknown_metrics)

    def lies_in(self, table: str, partition: str) -> bool:
        """Note a part with rows of the source; whether it is the first of its partition."""
        partitions = self.partitions.setdefault(table, set())
        is_first = partition not in partitions
        partitions.add(partition)
        return is_first

    def extend(self, first_ns: int, last_ns: int) -> None:
        """Note the first and last instants of some of its serving records."""
        self.first_event_ns = min(first_ns, self.first_event_ns or first_ns)
        self.last_event_ns = max(last_ns, self.last_event_ns or last_ns)

    def filled_in(self, entry: SourceEntry) -> SourceEntry:
        """The entry of the source with these counts."""
        return replace(
            entry,
            rows_read=self.rows_read,
            rows_duplicate=self.duplicates,
            rows_quarantined=self.quarantined,
            ignored=dict(self.ignored),
            unknown_metrics=dict(self.unknown_metrics),
            first_event_ns=self.first_event_ns,
            last_event_ns=self.last_event_ns,
            partitions={table: sorted(partitions) for table, partitions in self.partitions.items()},
        )


def event_spans(serving_records: pl.DataFrame) -> Iterable[tuple[str, int, int]]:
    """First and last instant of the records of each source."""
    last = pl.max_horizontal(pl.col("ended_ns").max(), pl.col("started_ns").max())
    found = serving_records.group_by("source_id").agg(first=pl.col("started_ns").min(), last=last)
    return found.iter_rows()


def counts(rows: pl.DataFrame) -> Iterator[tuple[str, int]]:
    """Rows of each source."""
    yield from rows.group_by("source_id").len().iter_rows()
