"""JSON lines to cells as text: what stands at the mapped keys; a dotted name leads into nested objects."""

import json
from collections.abc import Iterator, Sequence

import duckdb
import polars as pl

from goodput.collect.received import LandedFile, RefusedRow
from goodput.collect.stopped import Stopped
from goodput.collect.tabular.block import TextBlock, mapped_columns, refused_row, require_columns
from goodput.collect.tabular.content import Content, OnBytes
from goodput.collect.tabular.rows import RowCutter, TextRows
from goodput.plumbing.sql_files import connect_alone
from goodput.settings.columns import NEEDED
from goodput.settings.model import FileLimits
from goodput.settings.sources import TableSource

# Numbers come out as they stand in the line: nothing has gone through a float yet.
_CELLS = """
WITH typed AS (SELECT text, CASE WHEN json_valid(text) THEN json_type(text) END AS kind FROM lines)
SELECT kind, CASE WHEN kind = 'OBJECT' THEN json_extract_string(text, $paths) END AS cells FROM typed
"""
_ROWS_TO_LIST_KEYS_OF = 100


class JsonRows:
    """Rows of a JSON lines file; raises SourceRefused before the first block where no row has a needed key.

    Another mapped column may be absent, which is NULL: writers of JSON lines leave out what has no value.
    """

    def __init__(
        self,
        file: LandedFile,
        source: TableSource,
        limits: FileLimits,
        kept: Sequence[str],
        on_bytes: OnBytes | None = None,
    ) -> None:
        self._path = file.path
        self._wanted = list(dict.fromkeys([*mapped_columns(source), *kept]))
        self._needed = [source.columns[name].column for name in NEEDED[source.table] if name in source.columns]
        self._content = Content(file.content, limits, on_bytes)
        self._cutter = RowCutter(self._content, limits.max_line_bytes, _is_object)

    @property
    def torn_tail_bytes(self) -> int:
        """Bytes of an unfinished last row."""
        return self._cutter.torn_tail_bytes

    @property
    def stopped(self) -> Stopped | None:
        """Why reading stopped short of the end, if it did."""
        return self._content.stopped

    def __iter__(self) -> Iterator[TextBlock]:
        checked = False
        with connect_alone() as connection:
            for rows in self._cutter:
                block = self._block(rows, connection)
                if not checked and block.cells.height:
                    self._require_needed(block)
                    checked = True
                yield block

    def _block(self, rows: TextRows, connection: duckdb.DuckDBPyConnection) -> TextBlock:
        text = pl.Series(rows.text, dtype=pl.String).str.strip_chars()
        lines = pl.DataFrame({"text": text, "line": pl.Series(rows.line, dtype=pl.Int64)}).filter(text != "")
        connection.register("lines", lines.select("text").to_arrow())
        paths = [path for name in self._wanted for path in _paths(name)]
        found = pl.DataFrame(connection.sql(_CELLS, params={"paths": paths}).to_arrow_table())
        usable = (found["kind"] == "OBJECT").fill_null(value=False)
        good = lines.filter(usable)
        return TextBlock(
            cells=found.filter(usable).select(_cell(paths, name) for name in self._wanted),
            line=good["line"],
            emitted=good.select("text"),
            emitted_names=[],
            received=good["text"],
            refused=rows.refused + _refused(lines.with_columns(found["kind"]).filter(~usable)),
        )

    def _require_needed(self, block: TextBlock) -> None:
        absent = [name for name in self._needed if block.cells[name].is_null().all()]
        if not absent:
            return
        rows = [json.loads(row) for row in block.received.head(_ROWS_TO_LIST_KEYS_OF)]
        present = dict.fromkeys(key for row in rows for key in _keys(row))
        require_columns(self._path, absent, list(present))


def _paths(name: str) -> list[str]:
    """JSON pointers that a name may mean: a key that has dots in it, then a key within an object."""
    key = name.replace("~", "~0").replace("/", "~1")
    return list(dict.fromkeys([f"/{key}", "/" + key.replace(".", "/")]))


def _cell(paths: list[str], name: str) -> pl.Expr:
    found = [pl.col("cells").list.get(paths.index(path)) for path in _paths(name)]
    return pl.coalesce(found).replace("", None).alias(name)


def _keys(row: dict[str, object], prefix: str = "") -> Iterator[str]:
    for key, value in row.items():
        yield prefix + key
        if isinstance(value, dict):
            yield from _keys(value, f"{prefix}{key}.")


def _refused(lines: pl.DataFrame) -> list[RefusedRow]:
    refused = []
    for text, line, kind in lines.iter_rows():
        if kind is None:
            refused.append(refused_row(line, "row_not_json", "the line does not parse as JSON", text))
        else:
            refused.append(refused_row(line, "row_not_object", f"the line is a JSON {kind.lower()}, no object", text))
    return refused


def _is_object(row: bytes) -> bool:
    try:
        return isinstance(json.loads(row), dict)
    except (ValueError, RecursionError):
        return False
