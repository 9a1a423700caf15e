"""What reading a source file yields: frames in canonical words, and an account of every row that is in none of them.

Only the shapes that all readers share belong here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

import polars as pl

from goodput.collect.held import HeldFile, Readable
from goodput.collect.stopped import Stopped

_NO_WORDS = re.compile(r"[-+0-9.,:eETZ/ %$]{0,40}")
UNCLAIMED = "unclaimed"  # reader of a file that no source in the settings claims: its content decides


@dataclass(frozen=True)
class LandedFile:
    """One file of the landing zone and how it is to be read."""

    path: Path
    landing: Path
    reader: str  # "otlp" or "objects", or the name of a source in the settings; UNCLAIMED until it is opened
    captures: dict[str, str] = field(default_factory=dict)  # columns that the path itself gives
    held: HeldFile | None = None  # where it is held at what it was, whatever lies at its path by now
    place: tuple[str, str] | None = None  # of an object: its landing zone, and its key there; `path` is a copy of it

    @property
    def content(self) -> Readable:
        """What to open for its bytes."""
        return self.held or self.path

    @property
    def relative_path(self) -> str:
        """Path below the landing folder, with forward slashes; the name alone where the landing path is the file."""
        if self.place:
            return self.place[1]
        if self.path == self.landing:
            return self.path.name
        return self.path.relative_to(self.landing).as_posix()

    @property
    def landing_name(self) -> str:
        """The landing path, or the address of the landing zone of an object."""
        return self.place[0] if self.place else str(self.landing)

    @property
    def named(self) -> Path:
        """A path with the names that it has where it landed."""
        return Path("/".join(self.place)) if self.place else self.path


@dataclass(frozen=True)
class RefusedRow:
    """One row that cannot be used: where it stands, the rule that it breaks, what is wrong with it."""

    line: int
    position: int
    table_name: str | None
    rule: str
    reason: str
    excerpt: str | None


def found(text: str) -> str:
    """A cell as the reason of a refusal tells of it: a number or time as it is, of other text the length alone."""
    return repr(text) if _NO_WORDS.fullmatch(text) else f"text of {len(text)} characters"


@dataclass
class Received:
    """One block of a source file.

    `tables` maps names of conformed tables to frames that hold some of the contract's columns
    (`line` and `position` always, `source_id` never). `rows_read` counts every row of the block, whatever became of it.
    `file` is the number of the file that a row is of: there is but one.
    """

    file: ClassVar[pl.Expr] = pl.lit(0).alias("file")

    rows_read: int = 0
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)  # rule -> rows
    refused: list[RefusedRow] = field(default_factory=list)
    unknown_metrics: dict[str, int] = field(default_factory=dict)  # name without suffixes -> readings

    def read(self, lines: pl.Series) -> None:
        """Count rows by their lines."""
        self.rows_read += len(lines)

    def ignore(self, rule: str, rows: int | pl.Series) -> None:
        """Count rows that are left out by a rule: how many there are, or their lines."""
        count = rows if isinstance(rows, int) else len(rows)
        if count:
            self.ignored[rule] = self.ignored.get(rule, 0) + count

    def by_file(self, rows: pl.DataFrame) -> "Iterator[tuple[int, Received, pl.DataFrame]]":
        """Of each file that has some of the rows (with their `line`) its number, what counts them, and the rows."""
        yield 0, self, rows

    def leave_out_metrics(self, readings: pl.DataFrame) -> None:
        """Count readings of metrics that are not read: `name` without suffixes, `readings`, `left_out` (by rule)."""
        for name, count, left_out in readings.select("name", "readings", "left_out").iter_rows():
            self.ignore("metric_left_out" if left_out else "metric_unknown", count)
            if not left_out:
                self.unknown_metrics[name] = self.unknown_metrics.get(name, 0) + count

    def add(self, table: str, rows: pl.DataFrame) -> None:
        """Put rows to those that the table has; two dialects need not give the same columns."""
        before = self.tables.get(table)
        self.tables[table] = rows if before is None else pl.concat([before, rows], how="diagonal_relaxed")


class SourceReading(Protocol):
    """A file being read: iterate over its blocks, then look at how it ended. Iterating may raise SourceRefused."""

    torn_tail_bytes: int  # an unfinished last row: read when the file has grown
    stopped: Stopped | None  # why reading stopped short of the end, if it did

    def __iter__(self) -> Iterator[Received]: ...
