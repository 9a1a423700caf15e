"""What every way to find JSON objects in a file yields: blocks of objects, each with the place where it stands.

What an object says is not known here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import duckdb
import polars as pl

from goodput.collect.received import RefusedRow
from goodput.collect.tabular.block import EXCERPT_CHARACTERS

_ELEMENTS = "SELECT json_extract(text, $path) AS text FROM arrays"


@dataclass
class ObjectBlock:
    """Some consecutive objects of a file, and what stands between them and is none.

    `objects`: `line` BIGINT, `position` INTEGER within it, `text` VARCHAR, each text one JSON object.
    """

    objects: pl.DataFrame
    refused: list[RefusedRow] = field(default_factory=list)


class ObjectSource(Protocol):
    """A file being looked through for objects: iterate over its blocks, then look at how it ended."""

    @property
    def torn_tail_bytes(self) -> int:
        """Bytes of an unfinished last row."""

    @property
    def stopped(self) -> str | None:
        """Why reading stopped short of the end, if it did."""

    def __iter__(self) -> Iterator[ObjectBlock]: ...


def objects_in(
    rows: pl.DataFrame, kinds: pl.Series, connection: duckdb.DuckDBPyConnection, refused: list[RefusedRow]
) -> ObjectBlock:
    """The objects of JSON texts (`line`, `text`): each itself, or the elements of an array; no other is a row."""
    found = rows.select("line", pl.lit(0, pl.Int32).alias("position"), "text")
    if (kinds == "OBJECT").all():
        return ObjectBlock(found, refused)
    others = ~kinds.is_in(["OBJECT", "ARRAY"])
    for line, text, kind in rows.with_columns(kind=kinds).filter(others).select("line", "text", "kind").iter_rows():
        refused.append(_not_an_object(line, 0, f"a JSON {kind.lower()}, no object", text))
    members = elements(found.filter(kinds == "ARRAY"), "$", connection)
    is_object = members["text"].str.starts_with("{")
    for line, position, text in members.filter(~is_object).select("line", "position", "text").iter_rows():
        refused.append(_not_an_object(line, position, "an element of an array that is no object", text))
    whole = [found.filter(kinds == "OBJECT"), members.filter(is_object)]
    return ObjectBlock(pl.concat(whole).sort("line", "position"), refused)


def elements(rows: pl.DataFrame, path: str, connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Each element of the arrays that stand at a path as a row; `position` counts them through each line, from 0."""
    connection.register("arrays", rows.select("text").to_arrow())
    found = connection.sql(_ELEMENTS, params={"path": f"{path}[*]"}).to_arrow_table()
    lists = rows.with_columns(pl.DataFrame(found)["text"].cast(pl.List(pl.String)))
    members = lists.filter(pl.col("text").list.len() > 0).explode("text")
    return members.with_columns(position=pl.int_range(pl.len(), dtype=pl.Int32).over("line"))


def _not_an_object(line: int, position: int, reason: str, text: str) -> RefusedRow:
    return RefusedRow(line, position, None, "row_not_object", reason, text[:EXCERPT_CHARACTERS])
