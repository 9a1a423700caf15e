"""Great Expectations' Data Docs: validations of tables as a folder of HTML pages."""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from goodput.errors import NotDataDocs, PagesUnwritable
from goodput.plumbing.expectations.failures import failed_checks
from goodput.plumbing.expectations.validation import expectations_results, open_context

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult

INDEX = "index.html"
_MEMBERS = frozenset({INDEX, "static", "validations", "expectations"})


@dataclass
class DataDocs:
    """Validations of tables, and by table the names of the checks that failed."""

    results: list["ExpectationSuiteValidationResult"] = field(default_factory=list)
    broken: dict[str, list[str]] = field(default_factory=dict)

    def check(self, table: str, files: Mapping[str, Sequence[Path]]) -> None:
        """Validate the files of a table, by partition. Raises duckdb.Error where one cannot be read."""
        found = expectations_results(table, files)
        self.results += found
        if checks := set[str]().union(*map(failed_checks, found)):
            self.broken[table] = sorted(checks)

    def write(self, folder: Path) -> Path:
        """Write a page for each validation; return the path of their index. Raises as `write_data_docs` does."""
        return write_data_docs(folder, self.results)


def check_data_docs(folder: Path) -> None:
    """Make sure that pages may take the place of `folder`. Raises NotDataDocs where it holds anything else."""
    try:
        found = {path.name for path in folder.iterdir()} if folder.exists() else set()
    except OSError as error:
        raise PagesUnwritable(folder, error) from error
    if found and not {INDEX, "static"} <= found <= _MEMBERS:
        raise NotDataDocs(folder)


def write_data_docs(folder: Path, results: Sequence["ExpectationSuiteValidationResult"]) -> Path:
    """Write a page for each of `results`, and an index of them, into `folder`; return the path of the index.

    Pages of an earlier call in the same folder are replaced, once the new ones are complete. Raises NotDataDocs where
    the folder holds anything else, and PagesUnwritable.
    """
    check_data_docs(folder)
    target = folder.absolute()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise PagesUnwritable(folder, error) from error
    try:
        _build(beside / "new", results)
        if target.exists():
            target.rename(beside / "old")
        (beside / "new").rename(target)
    except OSError as error:
        raise PagesUnwritable(folder, error) from error
    finally:
        with suppress(OSError):  # what went wrong is the better error
            shutil.rmtree(beside)
    return folder / INDEX


def _build(folder: Path, results: Sequence["ExpectationSuiteValidationResult"]) -> None:
    context = open_context()
    from great_expectations.data_context.types.resource_identifiers import (  # noqa: PLC0415 - takes seconds
        ExpectationSuiteIdentifier,
        ValidationResultIdentifier,
    )

    for result in results:
        key = ValidationResultIdentifier(
            ExpectationSuiteIdentifier(result.suite_name), result.meta["run_id"], result.batch_id
        )
        context.validation_results_store.store_validation_results(result, key)
    context.add_data_docs_site(
        "data_docs",
        {
            "class_name": "SiteBuilder",
            "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder)},
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        },
    )
    context.build_data_docs()
