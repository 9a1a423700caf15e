"""Which partitions break which checks of their table's contract, found by DuckDB in one scan of their files.

Finding belongs here; what is reported of it, and files that cannot be read, are in audit.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import duckdb

from goodput.contracts import Contract, contract
from goodput.plumbing import interrupt
from goodput.plumbing.expectations.suite import COLUMNS, KEY, TYPES
from goodput.plumbing.parquet_layouts import BLIND_TO_NAN, files_by_layout
from goodput.plumbing.sql_files import MACROS, spilling, sql_file

_ROWS = "read_parquet(?, hive_partitioning = false)"


@dataclass(frozen=True)
class Suspect:
    """Files of one partition and one layout, and the names of the checks that they break or that cannot be run."""

    partition: str
    files: tuple[str, ...]
    checks: frozenset[str]


def find_suspects(table: str, parts: Mapping[str, Sequence[str]], *, check_by_check: bool = False) -> list[Suspect]:
    """Files among `parts` (partition -> Parquet files) that break the contract of `table`.

    With `check_by_check` each check of each partition is a query of its own: slow, but a rule that cannot be
    evaluated is then one more suspected check. Without, duckdb.Error is raised for it, as for an unreadable file.
    """
    partition_of = {file: partition for partition, files in parts.items() for file in files}
    found: list[Suspect] = []
    with _distrusting().cursor() as connection:
        for files in files_by_layout(connection, list(partition_of)):
            files_of: dict[str, list[str]] = {}
            for file in files:
                files_of.setdefault(partition_of[file], []).append(file)
            layout = _LayoutFiles(connection, contract(table), files_of)
            misshapen = layout.misshapen()
            found += layout.check_by_check(misshapen) if misshapen or check_by_check else layout.scan()
    return found


@cache
def _distrusting() -> duckdb.DuckDBPyConnection:
    """A database of its own, as its optimizers are: none of the process's other queries must go without."""
    connection = interrupt.stoppable(duckdb.connect(config=spilling()))
    connection.execute(f"SET GLOBAL disabled_optimizers = '{BLIND_TO_NAN}'")
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute(sql_file(MACROS).text.replace(" TEMP MACRO ", " MACRO "))
    return connection


@cache
def _agreed_types(table: str) -> dict[str, str]:
    """DuckDB's own words for the types of a contract's columns."""
    nulls = ", ".join(f'NULL::{column.duckdb_type} AS "{column.name}"' for column in contract(table).columns)
    with _distrusting().cursor() as connection:
        return _types(connection, f"SELECT {nulls}", [])


def _types(connection: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[Sequence[str]]) -> dict[str, str]:
    described = connection.execute(f"DESCRIBE {query}", parameters).fetchall()
    return {name: duckdb_type for name, duckdb_type, *_ in described}


@dataclass(frozen=True)
class _LayoutFiles:
    """Files of one layout, by their partition."""

    connection: duckdb.DuckDBPyConnection
    terms: Contract
    files_of: Mapping[str, Sequence[str]]

    def misshapen(self) -> frozenset[str]:
        """Which of the checks of columns and types the layout breaks; their order and spelling count."""
        wanted = _agreed_types(self.terms.name)
        found = _types(self.connection, f"SELECT * FROM {_ROWS}", [next(iter(self.files_of.values()))])  # noqa: S608
        broken = {COLUMNS: list(found) != list(wanted), TYPES: any(found[n] != wanted[n] for n in found if n in wanted)}
        return frozenset(check for check, is_broken in broken.items() if is_broken)

    def scan(self) -> Iterator[Suspect]:
        """Suspects by one look at all rows, which every check shares; keys are compared by their hash at first."""
        broken = {rule.name: f"count_if(NOT ({rule.holds})) > 0" for rule in self.terms.rules}
        if self.terms.primary_key:
            broken[KEY] = f"count(*) > count(DISTINCT {self._key_hash()})"
        partition_of = [name for name, files in self.files_of.items() for _ in files]
        partition = "list_extract(?, file_index::BIGINT + 1)"
        looked_at = self.connection.execute(
            f"SELECT {', '.join([partition, *broken.values()])} FROM {_ROWS} GROUP BY 1 ORDER BY 1",  # noqa: S608
            [partition_of, [file for files in self.files_of.values() for file in files]],
        )
        for name, *verdicts in looked_at.fetchall():
            checks = {check for check, is_broken in zip(broken, verdicts, strict=True) if is_broken}
            if KEY in checks and not self._any(self._same_key(), self.files_of[name]):
                checks.remove(KEY)
            if checks:
                yield Suspect(name, tuple(self.files_of[name]), frozenset(checks))

    def check_by_check(self, misshapen: frozenset[str]) -> Iterator[Suspect]:
        """Suspects by a query for each partition and check; what cannot be evaluated is suspect."""
        queries = {rule.name: f"SELECT 1 FROM {_ROWS} WHERE NOT ({rule.holds})" for rule in self.terms.rules}  # noqa: S608
        if self.terms.primary_key:
            queries[KEY] = self._same_key()
        for name, files in sorted(self.files_of.items()):
            checks = misshapen | {check for check, query in queries.items() if self._suspect(query, files)}
            if checks:
                yield Suspect(name, tuple(files), checks)

    def _same_key(self) -> str:
        return f"SELECT 1 FROM {_ROWS} GROUP BY {self._key()} HAVING count(*) > 1"  # noqa: S608 - from the contract

    def _key_hash(self) -> str:
        return f"hash({self._key()})"

    def _key(self) -> str:
        return ", ".join(f'"{name}"' for name in self.terms.primary_key)

    def _suspect(self, query: str, files: Sequence[str]) -> bool:
        try:
            return self._any(query, files)
        except duckdb.Error:
            return True

    def _any(self, query: str, files: Sequence[str]) -> bool:
        return bool(self.connection.execute(f"{query} LIMIT 1", [list(files)]).fetchall())
