"""Run a table's suite on DuckDB over candidate Parquet files and say which hours break it, and how.

What is checked is in suite.py. No row is pulled into Python but the few that a failure names.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goodput.errors import HeldHour
from goodput.plumbing.contracts import contract
from goodput.plumbing.expectations.candidates import Candidates, open_candidates
from goodput.plumbing.expectations.failures import Failure, failures_of
from goodput.plumbing.expectations.suite import glance, great_expectations, suite

if TYPE_CHECKING:
    from great_expectations import ExpectationSuite, ValidationDefinition
    from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext
    from great_expectations.datasource.fluent.sql_datasource import SQLDatasource


def check_hours(table: str, parts: Mapping[str, Sequence[Path]]) -> list[HeldHour]:
    """Check the candidate rows of each hour against the contract of `table`; return the hours that break it.

    `parts` maps an hour ("2026-11-20T09") to its Parquet files. One look at all hours and all rules comes first;
    only where that fails is the suite run, on the hours together and then on each for what had failed. The primary
    key must be unique within an hour.
    """
    hour_of = {str(path): hour for hour, paths in parts.items() for path in paths}
    if not hour_of:
        return []
    context = _context()
    held: dict[str, list[str]] = {}
    with open_candidates(hour_of) as candidates:
        source = _source(context, candidates)
        for number, files in enumerate(candidates.by_layout(), start=1):
            name = table if number == 1 else f"{table} layout {number}"
            for hour, failures in _Layout(table, name, files, candidates, context, source).broken():
                held.setdefault(hour, []).extend(failure.sentence for failure in failures)
    return [HeldHour(table, hour, tuple(held[hour])) for hour in sorted(held)]


def _context() -> "EphemeralDataContext":
    gx = great_expectations()
    types = gx.data_context.types.base
    config = types.DataContextConfig(
        store_backend_defaults=types.InMemoryStoreBackendDefaults(),
        data_docs_sites={},
        progress_bars=types.ProgressBarsConfig(globally=False),
        analytics_enabled=False,
    )
    context: EphemeralDataContext = gx.get_context(project_config=config, mode="ephemeral")
    return context


def _source(context: "EphemeralDataContext", candidates: Candidates) -> "SQLDatasource":
    from sqlalchemy.dialects import registry  # noqa: PLC0415 - as slow to import as what needs it

    registry.register("duckdb.checks", "goodput.plumbing.expectations.duckdb_dialect", "CheckDialect")
    return context.data_sources.add_sql("duckdb", connection_string=f"duckdb+checks:///{candidates.database}")


@dataclass(frozen=True)
class _Layout:
    """Files of one layout, and what they are called."""

    table: str
    name: str
    files: Sequence[str]
    candidates: Candidates
    context: "EphemeralDataContext"
    source: "SQLDatasource"

    def broken(self) -> Iterator[tuple[str, list[Failure]]]:
        """Hours that break the suite, with what each of them breaks."""
        self.candidates.create_view(self.name, self.files)
        if self._validation(self.name, glance(self.table)).run(result_format="BOOLEAN_ONLY").success:
            return
        together = self._failures(self.name, suite(self.table))
        files_of: dict[str, list[str]] = {}
        for file in self.files:
            files_of.setdefault(self.candidates.hour_of[file], []).append(file)
        for hour, files in files_of.items():
            alone = together if len(files_of) == 1 else self._alone(hour, files, together)
            if alone:
                yield hour, alone

    def _alone(self, hour: str, files: Sequence[str], together: Sequence[Failure]) -> list[Failure]:
        """Failures of one hour in those checks that the hours together had failed."""
        checks = {failure.check for failure in together}
        kept = [item for item in suite(self.table).expectations if (item.meta or {})["check"] in checks]
        view = f"{self.name} {hour}"
        self.candidates.create_view(view, files)
        return self._failures(view, great_expectations().ExpectationSuite(view, expectations=kept))

    def _failures(self, view: str, expected: "ExpectationSuite") -> list[Failure]:
        shown = {
            "result_format": "COMPLETE",
            "unexpected_index_column_names": list(contract(self.table).primary_key),
        }
        return failures_of(self._validation(view, expected).run(result_format=shown))

    def _validation(self, view: str, expected: "ExpectationSuite") -> "ValidationDefinition":
        expected.name = f"{view}: {expected.name}"
        rows = self.source.add_table_asset(expected.name, table_name=f'"{view}"')
        validation = great_expectations().ValidationDefinition(
            name=expected.name,
            data=rows.add_batch_definition_whole_table("rows"),
            suite=self.context.suites.add(expected),
        )
        return self.context.validation_definitions.add(validation)
