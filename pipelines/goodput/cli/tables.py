"""`goodput tables`: the relations that can be asked and their columns, as the database describes them."""

from typing import Annotated

import duckdb
import typer

from goodput.ask.cells import plain
from goodput.ask.database import published
from goodput.ask.relations import described, relations
from goodput.cli.options import Config, LakeRoot
from goodput.cli.render import console, table, until_reader_leaves


def tables(
    relation: Annotated[str | None, typer.Argument(help="Describe the columns of this one.")] = None,
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """List what can be asked: tables, views and functions, or the columns of one with types, units and meanings.

    Rows are counted of tables, which are in the database itself; views read the lake's Parquet files, and functions
    answer for what they are given.

    Example:
      goodput tables
      goodput tables goodput
    """
    with until_reader_leaves(), published(config, lake, of_several=True) as connection:
        if relation is None:
            _print_relations(connection)
        else:
            _print_columns(connection, relation)


def _print_relations(connection: duckdb.DuckDBPyConnection) -> None:
    out = console()
    found = [(row["relation"], row["kind"], row["rows"], row["comment"]) for row in relations(connection)]
    out.print(table(("relation", "kind", "rows", "what it holds"), found, out.width))


def _print_columns(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    comment, columns = described(connection, name)
    out = console()
    if comment:
        out.print(plain(comment))
        out.print()
    found = [tuple(row.values()) for row in columns]
    out.print(table(("column", "type", "unit", "meaning"), found, out.width, fold_at=16))
