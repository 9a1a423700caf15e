"""Days with more rows than are held at once, as sums of their hours: each is added up by itself, and then all together.

See docs/scale.md#a-day-that-is-added-up.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from goodput.plumbing import shard_files
from goodput.plumbing.compute import compute_each, load, write_tables
from goodput.plumbing.graph import closure
from goodput.plumbing.node import STORED, Batch, Parts, Shards
from goodput.plumbing.sql_files import connect

Connection = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class HourlySums:
    """Relations whose rows of some hours are, one below the other, what those of a day stand for.

    `add_up` makes them on a connection, of the inputs of an hour. `measure` makes the parts of a day on a connection
    that has them: all that reads them adds up rows of equal keys.
    """

    names: Sequence[str]
    add_up: Callable[[Connection, Batch], None]
    measure: Callable[[Connection, Batch], Parts]

    @property
    def shards(self) -> Shards:
        """How a day is cut into its hours."""
        return Shards(_count, _cut, self._add_up, self._unite)

    def _add_up(self, hour: Batch, folder: Path) -> None:
        with connect() as connection:
            self.add_up(connection, hour)
            for name in self.names:
                shard_files.write(connection, name, folder)

    def _unite(self, day: Batch, _cuts: Sequence[Path], made: Sequence[Path]) -> Parts:
        with connect() as connection:
            shard_files.read(connection, self.names, made)
            return self.measure(connection, day)


def hourly_sums(names: Sequence[str], load_inputs: Callable[[Connection, Batch], set[str]] = load) -> HourlySums:
    """Those of a node whose tables are made by SQL alone, as `compute_sql` makes them.

    `load_inputs`: makes the inputs of an hour relations, and gives those without rows.
    """

    def add_up(connection: Connection, hour: Batch) -> None:
        empty = load_inputs(connection, hour)
        compute_each(connection, hour.node.name, closure(names, STORED), empty)

    def measure(connection: Connection, day: Batch) -> Parts:
        empty = load(connection, day)
        compute_each(connection, day.node.name, closure(day.node.tables, STORED.union(names)), empty)
        return write_tables(connection, day, empty)

    return HourlySums(names, add_up, measure)


def _count(batch: Batch) -> int:
    """As many as the hours of a large day; several partitions with a large one are divided before."""
    return max(len(batch.by_hour), len(batch.partitions) if batch.large else 1)


def _cut(batch: Batch, _count: int, _folder: Path) -> list[Batch]:
    return list(batch.by_hour)


def as_codes(connection: Connection, names: Collection[str], dimensions: Sequence[str]) -> None:
    """Make the dimensions of such relations enum codes, as in relations of rows."""
    for name in names:
        found = connection.sql(f'FROM "{name}"')
        casts = ", ".join(f"{word}::{word}_code AS {word}" for word in dimensions if word in found.columns)
        found.create_view(f"{name} of hours")
        found.project(f"* REPLACE ({casts})").create_view(name)
