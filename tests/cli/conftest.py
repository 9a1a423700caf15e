"""A lake as it is published, filled with the requests of `cases`."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from cli.cases import GATES, ROWS, TABLES
from goodput.cli.main import main
from goodput.contracts import arrow_schema, contract
from goodput.plumbing.parameters import PARAMETERS


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a goodput.duckdb of the published shape: tables, views over Parquet, the gates."""
    root = tmp_path_factory.mktemp("lake")
    with duckdb.connect(root / "goodput.duckdb") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.begin()
        for name, rows in ROWS.items():
            connection.register("given", pa.Table.from_pylist(rows, schema=arrow_schema(name)))
            if name in TABLES:
                connection.execute(f'CREATE TABLE "{name}" AS FROM given')
            else:
                connection.execute(f"COPY (FROM given) TO '{root}/{name}.parquet'")
                connection.execute(f"CREATE VIEW \"{name}\" AS FROM read_parquet('{root}/{name}.parquet')")
            _comment(connection, name)
        connection.register("gates", pa.Table.from_pylist(GATES, schema=PARAMETERS["workloads"].schema))
        connection.execute("CREATE TABLE workloads AS FROM gates")
        connection.register("pruned_rows", PARAMETERS["pruned"].schema.empty_table())
        connection.execute("CREATE TABLE pruned AS FROM pruned_rows")
        connection.execute("CREATE SCHEMA stored")
        connection.execute("CREATE VIEW stored.source_ledger AS FROM sources")
        # an index that finds nothing, and no prices
        for name in {"id_hours", "cost_ledger", "cost_records", "token_prices"} - ROWS.keys():
            connection.register("given", arrow_schema(name).empty_table())
            connection.execute(f"CREATE TABLE stored.{name} AS FROM given")
        connection.commit()
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


@dataclass(frozen=True)
class Ended:
    """What one command printed, and the exit code it ended with."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def goodput(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Runs the command line from its entry point, in an empty folder and without a terminal."""
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, text: str = "", ask: bool = True) -> Ended:
        command = ["goodput", *arguments, *(("--lake", str(lake)) if ask else ())]
        monkeypatch.setattr(sys, "argv", command)
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Ended(int(ended.value.code or 0), printed.out, printed.err)

    return run
