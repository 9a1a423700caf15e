"""`goodput query`: one SQL question to the published database."""

import io
import sys
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import duckdb
import typer
from rich.console import Console
from rich.text import Text

from goodput.ask.database import published
from goodput.ask.formats import Format, batches, destination, write_csv, write_json, write_parquet
from goodput.ask.question import no_question
from goodput.cli.options import Config, LakeRoot
from goodput.cli.render import MAX_ROWS, console, table, until_reader_leaves
from goodput.errors import QueryFailed

_NOTHING = "There is no SQL in this question."


def query(  # noqa: PLR0913, PLR0917  (typer makes an option of each)
    sql: Annotated[
        str,
        typer.Argument(metavar="SQL", help="What to ask, in DuckDB's SQL; - reads it from standard input."),
    ],
    config: Config = None,
    lake: LakeRoot = None,
    format: Annotated[
        Format | None,
        typer.Option("--format", help="Without it: as the name of --output ends, else a table."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write to this file instead of standard output."),
    ] = None,
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, help="Rows of a table that are shown.")] = MAX_ROWS,
) -> None:
    """Ask the published database a question in SQL; nothing can be changed.

    A table is for reading: numbers to 4 significant digits, times in UTC. The other formats keep every digit.

    Example:
      goodput query "select verdict, count(*) from requests group by verdict"
      goodput query "from requests where ttft_s > 1" --output slow.csv
    """
    text = sys.stdin.read() if sql == "-" else sql
    written = format or _by_name(output)
    if written is Format.parquet and output is None and sys.stdout.isatty():
        raise typer.BadParameter("parquet is not for a terminal: name a file with --output", param_hint="--format")
    with until_reader_leaves(), published(config, lake, of_several=True) as connection:
        _check(connection, text)
        if written is Format.table and output is None:
            _print_table(connection, text, max_rows, console())
            return
        with destination(output) as stream:
            if written is Format.table:
                drawn = io.StringIO()
                _print_table(connection, text, max_rows, console(drawn))
                stream.write(drawn.getvalue().encode())
            else:
                _write(connection, text, written, stream)


def _check(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    kind = no_question(connection.extract_statements(sql))
    if kind is not None:
        raise QueryFailed(f"{kind} is no question: only SELECT is answered. --output FILE writes an answer to a file.")


def _by_name(output: Path | None) -> Format:
    ending = output.suffix.removeprefix(".") if output else ""
    return Format(ending) if ending in list(Format) else Format.table


def _print_table(connection: duckdb.DuckDBPyConnection, sql: str, max_rows: int, out: Console) -> None:
    columns = _execute(connection, sql)
    found = connection.fetchmany(max_rows + 1)
    shown = found[:max_rows]
    out.print(table([column[0] for column in columns], shown, out.width))
    out.print(Text(f"{len(shown)} row{'' if len(shown) == 1 else 's'}", style="dim"))
    if len(found) > max_rows:
        out.print(f"There are more: only the first {max_rows} are shown. Raise --max-rows, or use --format csv.")


def _write(connection: duckdb.DuckDBPyConnection, sql: str, written: Format, stream: BinaryIO) -> None:
    if written is Format.parquet:
        relation = connection.sql(sql)
        if relation is None:
            raise QueryFailed(_NOTHING)
        write_parquet(relation, stream)
        return
    columns = _execute(connection, sql)
    names = [column[0] for column in columns]
    if written is Format.csv:
        write_csv(names, [column[1].id for column in columns], batches(connection), stream)
    else:
        write_json(names, batches(connection), stream)


def _execute(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    connection.execute(sql)
    columns = connection.description
    if not columns:
        raise QueryFailed(_NOTHING)
    return list(columns)
