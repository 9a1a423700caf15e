"""Rows of several small files, read at once: what costs the same for any number of rows is paid once for all of them.

A Collector that writes to a bucket, say, writes an object for each batch that it exports.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import polars as pl

from goodput.collect.otlp.framing import LINES_OF_A_FILE
from goodput.collect.received import Received


class Together(Received):
    """The rows of several files, whose lines are counted on from one to the next (`LINES_OF_A_FILE`).

    `of_each` has what is counted of each file, `tables` the rows of all of them. Rows that are refused are with those
    of their file once `settle` has been called.
    """

    file: ClassVar[pl.Expr] = (pl.col("line") // LINES_OF_A_FILE).alias("file")

    def __init__(self, files: int) -> None:
        super().__init__()
        self.of_each = [Received() for _ in range(files)]

    def read(self, lines: pl.Series) -> None:
        """Count rows by their lines."""
        for file, count in _counts(lines):
            self.of_each[file].rows_read += count

    def ignore(self, rule: str, rows: int | pl.Series) -> None:
        """Count rows that are left out by a rule, by their lines: of a bare number nobody would know whose they are."""
        assert not isinstance(rows, int)  # noqa: S101
        for file, count in _counts(rows):
            self.of_each[file].ignore(rule, count)

    def by_file(self, rows: pl.DataFrame) -> Iterator[tuple[int, Received, pl.DataFrame]]:
        """Of each file that has some of the rows (with their `line`) its number, what counts them, and the rows."""
        for (file,), mine in rows.group_by(self.file, maintain_order=True):
            number = int(str(file))
            yield number, self.of_each[number], mine

    def settle(self) -> None:
        """Note with each file which of its rows are refused, by its own lines."""
        for row in self.refused:
            file, line = divmod(row.line, LINES_OF_A_FILE)
            self.of_each[file].refused.append(replace(row, line=line))
        self.refused = []

    def table_of(self, table: str, names: pl.Series) -> pl.DataFrame:
        """The rows of a table by the lines of their files, whose names are `source_id`."""
        rows = self.tables[table]
        file = rows.select(self.file).to_series()
        return rows.with_columns(names.gather(file).alias("source_id"), line=pl.col("line") % LINES_OF_A_FILE)


def _counts(lines: pl.Series) -> Iterator[tuple[int, int]]:
    counted = (lines // LINES_OF_A_FILE).alias("file").value_counts()
    return ((int(file), int(count)) for file, count in counted.iter_rows())
