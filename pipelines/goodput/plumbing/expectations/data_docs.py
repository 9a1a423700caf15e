"""Great Expectations' Data Docs: validations of tables as a folder of HTML pages."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goodput.plumbing.expectations.validation import open_context

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult


def write_data_docs(folder: Path, results: Sequence["ExpectationSuiteValidationResult"]) -> Path:
    """Write a page for each of `results`, and an index of them, into `folder`; return the path of the index.

    Pages that are in the folder already stay, and the index lists them no more: hand over all that it is to list.
    """
    context = open_context()
    from great_expectations.data_context.types.resource_identifiers import (  # noqa: PLC0415 - takes seconds
        ExpectationSuiteIdentifier,
        ValidationResultIdentifier,
    )

    index = folder.absolute() / "index.html"
    for result in results:
        key = ValidationResultIdentifier(
            ExpectationSuiteIdentifier(result.suite_name), result.meta["run_id"], result.batch_id
        )
        context.validation_results_store.store_validation_results(result, key)
    context.add_data_docs_site(
        "data_docs",
        {
            "class_name": "SiteBuilder",
            "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(index.parent)},
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        },
    )
    context.build_data_docs()
    return index
