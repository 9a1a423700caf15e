"""Points of the catalog's metrics, read from the published database. A value that is not known gives no point."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb

from goodput.export.catalog import SOURCES, ExportedMetric, Source, attribute
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import MACROS, compute, sql_file

_NS = 10**9
_WINDOW = "window_s"


@dataclass(frozen=True, order=True)
class Window:
    """A window that lies wholly inside observed telemetry; sorts by its end."""

    end: datetime
    window_s: int
    start: datetime

    @property
    def end_ns(self) -> int:
        """The instant of its values, in Unix nanoseconds."""
        return int(self.end.timestamp()) * _NS


@dataclass(frozen=True)
class Point:
    """One value of a metric. `at_ns`, Unix nanoseconds, is the end of its window; None: of the state as it is."""

    metric: ExportedMetric
    value: float
    attributes: tuple[tuple[str, str | int], ...]
    at_ns: int | None


def whole_windows(connection: duckdb.DuckDBPyConnection) -> list[Window]:
    """All windows that can leave the lake, by their ends."""
    compute(connection, "whole_windows")
    found = connection.execute("SELECT window_end, window_s, window_start FROM whole_windows").fetchall()
    return sorted(Window(*row) for row in found)


def newest(windows: Sequence[Window]) -> list[Window]:
    """Of each length the one that ended last."""
    return sorted({window.window_s: window for window in sorted(windows)}.values())


def choose(connection: duckdb.DuckDBPyConnection, windows: Sequence[Window]) -> None:
    """Make these the windows of which points are read; `whole_windows` comes before."""
    rows = ({"window_start": window.start, "window_s": window.window_s} for window in windows)
    register(connection, "exported_windows", as_rows("exported_windows", *rows))
    connection.execute(sql_file(MACROS).text)
    compute(connection, "exported_slices")


def points(connection: duckdb.DuckDBPyConnection, *, of_windows: bool) -> Iterator[Point]:
    """Points of the windows that were chosen, or of the state, in the order of the catalog."""
    for source in SOURCES:
        if source.of_windows is of_windows:
            yield from _of_source(connection, source)


def _of_source(connection: duckdb.DuckDBPyConnection, source: Source) -> Iterator[Point]:
    found = connection.execute(f"SELECT * FROM ({sql_file(source.relation).text}) ORDER BY ALL")  # noqa: S608
    names = [column[0] for column in found.description]
    for values in found.fetchall():
        row = dict(zip(names, values, strict=True))
        keys = (_WINDOW, *source.keys) if source.of_windows else source.keys
        attributes = tuple((attribute(key), row[key]) for key in keys if row[key] is not None)
        at_ns = (int(row["window_start"].timestamp()) + row[_WINDOW]) * _NS if source.of_windows else None
        for metric in source.metrics:
            value = row[metric.column]
            if value is not None and math.isfinite(value):
                yield Point(metric, value, attributes, at_ns)
