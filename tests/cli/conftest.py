"""A lake as it is published, filled with the requests of `cases`."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from cli.cases import GATES, ROWS, TABLES
from goodput.plumbing.contracts import arrow_schema, contract


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a goodput.duckdb of the published shape: tables, views over Parquet, the gates."""
    root = tmp_path_factory.mktemp("lake")
    with duckdb.connect(root / "goodput.duckdb") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, rows in ROWS.items():
            connection.register("given", pa.Table.from_pylist(rows, schema=arrow_schema(name)))
            if name in TABLES:
                connection.execute(f'CREATE TABLE "{name}" AS FROM given')
            else:
                connection.execute(f"COPY (FROM given) TO '{root}/{name}.parquet'")
                connection.execute(f"CREATE VIEW \"{name}\" AS FROM read_parquet('{root}/{name}.parquet')")
            _comment(connection, name)
        connection.register("gates", pa.Table.from_pylist(GATES))
        connection.execute("CREATE TABLE workloads AS FROM gates")
    return root


def _comment(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    agreed = contract(name)
    kind = "TABLE" if name in TABLES else "VIEW"
    connection.execute(f'COMMENT ON {kind} "{name}" IS {_quoted(agreed.description)}')
    for column in agreed.columns:
        text = column.description if column.unit is None else f"{column.description} [{column.unit}]"
        connection.execute(f'COMMENT ON COLUMN "{name}"."{column.name}" IS {_quoted(text)}')


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def goodput(lake: Path, tmp_path: Path) -> Run:
    """Runs the command line as its users do, in an empty folder and without a terminal."""

    def run(*arguments: str, text: str | None = None, ask: bool = True) -> "subprocess.CompletedProcess[str]":
        program = "import sys; sys.argv[0] = 'goodput'; from goodput.cli.main import main; main()"
        command = [sys.executable, "-c", program, *arguments, *(("--lake", str(lake)) if ask else ())]
        unset = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "FORCE_COLOR"}}
        return subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=unset,
            timeout=60,
        )

    return run
