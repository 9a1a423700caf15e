"""What every way to find JSON objects in a file yields: blocks of objects, each with the place where it stands.

What an object says is not known here.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import duckdb
import polars as pl
import pyarrow as pa

from goodput.collect.received import RefusedRow
from goodput.collect.stopped import Stopped
from goodput.collect.tabular.block import EXCERPT_CHARACTERS

BLOCK_ROWS = 2**17  # objects that are read together: a line may hold millions of small ones
_BATCH_ROWS = 2048  # DuckDB's threads share the work by record batch
_ELEMENTS = "SELECT json_extract(text, $path) AS text FROM texts"
_MEMBERS = """
    SELECT json_extract(text, $path) AS text, flatten(list_transform(around, lambda o: json_keys(o))) AS key
    FROM (SELECT text, json_extract(text, [$around]) AS around FROM texts)
"""
_MEMBERS_OF_SEVERAL = _MEMBERS.replace("[$around]", "$around")


@dataclass
class ObjectBlock:
    """Some consecutive objects of a file, and what stands between them and is none.

    `objects`: `line` BIGINT, `position` INTEGER within it, `text` VARCHAR, each text one JSON object. `checked` gives
    the block again where the texts only look like objects: asked for once one of them turns out to be none.
    """

    objects: pl.DataFrame
    refused: list[RefusedRow] = field(default_factory=list)
    checked: Callable[[], "ObjectBlock"] | None = None

    def parts(self) -> Iterator["ObjectBlock"]:
        """The block in parts that are read one after the other; whole where it may have to be asked for again."""
        if self.checked is not None or self.objects.height <= BLOCK_ROWS:
            yield self
            return
        for number, some in enumerate(self.objects.iter_slices(BLOCK_ROWS)):
            yield ObjectBlock(some, [] if number else self.refused)


class ObjectSource(Protocol):
    """A file being looked through for objects: iterate over its blocks, then look at how it ended."""

    @property
    def torn_tail_bytes(self) -> int:
        """Bytes of an unfinished last row."""

    @property
    def stopped(self) -> Stopped | None:
        """Why reading stopped short of the end, if it did."""

    def __iter__(self) -> Iterator[ObjectBlock]: ...


def read_ahead(blocks: Iterable[ObjectBlock]) -> Iterator[ObjectBlock]:
    """The blocks, each looked for while the one before it is read."""
    with ThreadPoolExecutor(1, thread_name_prefix="objects") as pool:
        coming = iter(blocks)
        awaited = pool.submit(next, coming, None)
        while (block := awaited.result()) is not None:
            awaited = pool.submit(next, coming, None)
            yield block


def objects_in(
    rows: pl.DataFrame, kinds: pl.Series, connection: duckdb.DuckDBPyConnection, refused: list[RefusedRow]
) -> ObjectBlock:
    """The objects of JSON texts (`line`, `text`): each itself, or the elements of an array; no other is a row."""
    found = whole_lines(rows)
    if (kinds == "OBJECT").all():
        return ObjectBlock(found, refused)
    for line, text in rows.filter(kinds == "VALUE").select("line", "text").iter_rows():
        refused.append(_not_an_object(line, 0, "JSON, but no object", text))
    members = elements(found.filter(kinds == "ARRAY"), "$", connection)
    is_object = members["text"].str.starts_with("{")
    for line, position, text in members.filter(~is_object).select("line", "position", "text").iter_rows():
        refused.append(_not_an_object(line, position, "an element of an array that is no object", text))
    whole = [found.filter(kinds == "OBJECT"), members.filter(is_object)]
    return ObjectBlock(pl.concat(whole).sort("line", "position"), refused)


def whole_lines(rows: pl.DataFrame) -> pl.DataFrame:
    """Texts (`line`, `text`) that are objects themselves."""
    return rows.select("line", pl.lit(0, pl.Int32).alias("position"), "text")


def query(connection: duckdb.DuckDBPyConnection, sql: str, texts: pl.Series, **parameters: object) -> pa.Table:
    """What a query gives over the table `texts` with the one column `text`."""
    table = pl.DataFrame({"text": texts}).to_arrow(compat_level=pl.CompatLevel.newest())  # without a copy
    connection.register("texts", pa.Table.from_batches(table.to_batches(_BATCH_ROWS), table.schema))
    return connection.sql(sql, params=parameters).to_arrow_table()


def elements(rows: pl.DataFrame, path: str, connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Each element of the arrays that stand at a path as a row; `position` counts them through each line, from 0."""
    found = query(connection, _ELEMENTS, rows["text"], path=f"{path}[*]")
    lists = rows.with_columns(pl.Series("text", found["text"]).cast(pl.List(pl.String)))
    members = lists.filter(pl.col("text").list.len() > 0).explode("text")
    return members.with_columns(position=pl.int_range(pl.len(), dtype=pl.Int32).over("line"))


def members(rows: pl.DataFrame, path: str, connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Each member of the objects that stand at a path, which ends in ".*", as a row, with its name as `key`."""
    around = path.removesuffix(".*")
    sql = _MEMBERS_OF_SEVERAL if "*" in around else _MEMBERS
    found = pl.DataFrame(query(connection, sql, rows["text"], path=path, around=around))
    lists = rows.with_columns(found.select(pl.col("text", "key").cast(pl.List(pl.String))))
    each = lists.filter(pl.col("text").list.len() > 0).explode("text", "key")
    return each.with_columns(position=pl.int_range(pl.len(), dtype=pl.Int32).over("line"))


def _not_an_object(line: int, position: int, reason: str, text: str) -> RefusedRow:
    return RefusedRow(line, position, None, "row_not_object", reason, text[:EXCERPT_CHARACTERS])
