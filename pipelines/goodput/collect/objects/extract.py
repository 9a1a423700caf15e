"""Reads what stands at paths of JSON objects as typed columns, all paths of an object in one parse.

What the columns mean is the dialects' work.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import and_

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from goodput.collect.kept import attributes_json
from goodput.collect.objects.block import query
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.values import coalesce
from goodput.settings.dialects import json_path

_FOUND = "SELECT json_extract_string(text, $paths) AS found FROM texts"


@dataclass
class Typed:
    """Columns by path, and of each row the first path whose value cannot be read as the wanted type, if any."""

    columns: pl.DataFrame
    unreadable: pl.Series


def texts_at(objects: pl.Series, paths: Sequence[str], connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """A String column per path: a plain value as it stands, an object or array as its JSON; NULL where nothing is."""
    if not objects.len():
        return pl.DataFrame(schema=dict.fromkeys(paths, pl.String))
    found = query(connection, _FOUND, objects, paths=list(paths))["found"]
    flat = pl.Series(pc.list_flatten(found.combine_chunks()), dtype=pl.String)
    return pl.DataFrame([flat.gather_every(len(paths), place).alias(path) for place, path in enumerate(paths)])


def kept_attributes(objects: pl.DataFrame, names: Sequence[str], connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """`line`, `position` and `attributes` of objects: what stands at the names, each a key or a way inwards."""
    paths = {name: [f'$."{name}"', *filter(None, [json_path(name)])] for name in names}
    texts = texts_at(objects["text"], list(dict.fromkeys(chain(*paths.values()))), connection)
    values = {name: pl.coalesce(pl.col(path) for path in found) for name, found in paths.items()}
    attributes = texts.with_columns(attributes_json(values).alias("attributes"))["attributes"]
    return objects.select("line", "position").with_columns(attributes)


def typed(texts: pl.DataFrame, wanted: Sequence[Wanted], unset: Sequence[str] = ("",)) -> Typed:
    """The texts as their types, each wanted path a column; a text that is one of `unset` is no value."""
    columns: list[pl.Series] = []
    unreadable: pl.Expr = pl.lit(None, pl.String)
    is_set = reduce(and_, (pl.all() != nothing for nothing in unset))
    given = texts.select(item.key for item in wanted).with_columns(pl.when(is_set).then(pl.all()))
    for item in wanted:
        text = given[item.key]
        column = _read(text, item.type).alias(item.key)
        columns.append(column)
        if column.null_count() > text.null_count():
            bad = (column.is_null() & text.is_not_null()).alias("bad")
            unreadable = pl.coalesce(unreadable, pl.when(bad).then(pl.lit(item.key)))
    found = given.select(unreadable.alias("unreadable"))["unreadable"]
    return Typed(pl.DataFrame(columns), found if found.len() == texts.height else found.new_from_index(0, texts.height))


def _read(text: pl.Series, wanted: str) -> pl.Series:
    if wanted == "string":
        return text
    strings = text.to_arrow().cast(pa.string())
    values = coalesce({"stringValue": strings}, wanted, len(text))
    if wanted == "int" and values.null_count > strings.null_count:  # JSON knows one kind of number: 12.0 is 12
        doubles = coalesce({"stringValue": strings}, "float", len(text))
        values = pc.coalesce(values, coalesce({"doubleValue": doubles}, "int", len(text)))
    return pl.Series(values)
