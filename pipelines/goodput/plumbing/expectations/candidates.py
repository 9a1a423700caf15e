"""Candidate rows of some hours as views in one DuckDB database in memory; the rows stay in their files.

Views and file layouts belong here; what is checked on them is in suite.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import duckdb

from goodput.plumbing.expectations.suite import HOUR
from goodput.plumbing.sql_files import CAUTIOUS


@dataclass(frozen=True)
class Candidates:
    """Parquet files of one table and the hour of each; this process can connect to `database` by its name."""

    database: str
    connection: duckdb.DuckDBPyConnection
    hour_of: Mapping[str, str]

    def by_layout(self) -> list[list[str]]:
        """Files grouped by their columns and types.

        Only files of one layout may be read together: of two, DuckDB fills up or casts what one lacks.
        """
        groups = self.connection.execute(
            "SELECT list(file_name ORDER BY file_name) AS files FROM ("
            "  SELECT file_name, list((name, duckdb_type) ORDER BY column_id) AS layout"
            "  FROM parquet_schema(?) WHERE column_id > 0 GROUP BY file_name"
            ") GROUP BY layout ORDER BY files",
            [list(self.hour_of)],
        )
        return [files for (files,) in groups.fetchall()]

    def create_view(self, name: str, files: Sequence[str]) -> None:
        """Create view `name`: the rows of `files`, with the hour of each in the column `hour`."""
        parts = self.connection.read_parquet(list(files), hive_partitioning=False)
        parts.project("*, filename AS part_file").create_view(f"{name} parts")
        self.connection.execute(
            f'CREATE VIEW "{name}" AS SELECT parts.* EXCLUDE (part_file), hours.{HOUR} '  # noqa: S608 - own names
            f'FROM "{name} parts" AS parts LEFT JOIN hours ON hours.file = part_file'
        )


@contextmanager
def open_candidates(hour_of: Mapping[str, str]) -> Iterator[Candidates]:
    """Open a database of its own for the files of `hour_of` (file -> hour); it is gone when left."""
    database = f":memory:checks-{uuid4().hex}"
    with duckdb.connect(database, config=dict(CAUTIOUS)) as connection:
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute(f"CREATE TABLE hours (file VARCHAR, {HOUR} VARCHAR)")
        connection.execute("INSERT INTO hours SELECT unnest(?), unnest(?)", [list(hour_of), list(hour_of.values())])
        yield Candidates(database, connection, hour_of)
