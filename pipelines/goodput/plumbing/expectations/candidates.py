"""Candidate rows of some partitions as views in one DuckDB database in memory; the rows stay in their files.

Views belong here; what is checked on them is in suite.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import duckdb

from goodput.plumbing.expectations.suite import PARTITION
from goodput.plumbing.parquet_layouts import BLIND_TO_NAN
from goodput.plumbing.sql_files import spilling


@dataclass(frozen=True)
class Candidates:
    """Parquet files of one table; this process can connect to `database`, which knows their partitions, by its name."""

    database: str
    connection: duckdb.DuckDBPyConnection

    def create_view(self, name: str, files: Sequence[str]) -> None:
        """Create view `name`: the rows of `files`, all of one layout, with the partition of each."""
        parts = self.connection.read_parquet(list(files), hive_partitioning=False)
        parts.project("*, filename AS part_file").create_view(f"{name} parts")
        self.connection.execute(
            f'CREATE VIEW "{name}" AS SELECT parts.* EXCLUDE (part_file), partitions.{PARTITION} '  # noqa: S608 - own names
            f'FROM "{name} parts" AS parts LEFT JOIN partitions ON partitions.file = part_file'
        )


@contextmanager
def open_candidates(partition_of: Mapping[str, str]) -> Iterator[Candidates]:
    """Open a database of its own for the files of `partition_of` (file -> partition); it is gone when left."""
    database = f":memory:checks-{uuid4().hex}"
    with duckdb.connect(database, config=spilling(database)) as connection:
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute(f"SET GLOBAL disabled_optimizers = '{BLIND_TO_NAN}'")
        connection.execute(f"CREATE TABLE partitions (file VARCHAR, {PARTITION} VARCHAR)")
        connection.execute(
            "INSERT INTO partitions SELECT unnest(?), unnest(?)", [list(partition_of), list(partition_of.values())]
        )
        yield Candidates(database, connection)
