"""Pages of Great Expectations that show whether what the lake holds keeps its contracts: part of `goodput verify`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from goodput.cli.render import console
from goodput.errors import ContractsBroken
from goodput.plumbing.catalog import Part

if TYPE_CHECKING:
    from goodput.plumbing.lake import Lake
    from goodput.plumbing.workspace import Progress


def write_contract_pages(folder: Path, lake: "Lake", parts: Iterable[tuple[str, Part]], progress: "Progress") -> None:
    """Check `parts` by the suites of their tables, of those that users see, and write Data Docs into `folder`.

    Raises ContractsBroken once they are written, NotDataDocs and PagesUnwritable.
    """
    from goodput.plumbing.expectations.data_docs import DataDocs  # noqa: PLC0415  (imports Great Expectations)

    of_tables = sorted(_by_table(parts).items())
    pages = DataDocs()
    for table, files in progress.track(of_tables, "checking contracts", len(of_tables)):
        lake.store.fetch(path for paths in files.values() for path in paths)
        pages.check(table, files)
    page = pages.write(folder)
    console().print(f"{len(of_tables):,} table(s) checked against their contracts: {page}", soft_wrap=True)
    if pages.broken:
        raise ContractsBroken(pages.broken, page)


def _by_table(parts: Iterable[tuple[str, Part]]) -> dict[str, dict[str, list[Path]]]:
    from goodput.nodes import NODES  # noqa: PLC0415  (slow to import)

    audited = {table for node in NODES for table in node.audited}
    found: dict[str, dict[str, list[Path]]] = {}
    for table, part in parts:
        if table in audited:
            found.setdefault(table, {}).setdefault(part.partition, []).append(part.path)
    return found
