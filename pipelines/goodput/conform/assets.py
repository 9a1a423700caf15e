"""Stage 2 as assets: every new source read into rows that keep their contract, what does not put in quarantine."""

from collections.abc import Iterator

import dagster as dg

from goodput.conform.take_in import TABLES, take_in
from goodput.plumbing.asset_tags import table_spec
from goodput.plumbing.workspace import Workspace


@dg.multi_asset(
    name="take_in",
    specs=[table_spec(table, "conform", kinds={"parquet", "polars"}, deps=["landing"]) for table in TABLES],
    description="Reads what is new in the landing zone and closes with the ledger.",
)
def conformed(workspace: dg.ResourceParam[Workspace]) -> Iterator[dg.MaterializeResult[None]]:
    """Read every source that the ledger does not know."""
    taken = take_in(workspace)
    for table in TABLES:
        yield dg.MaterializeResult(
            asset_key=table,
            metadata={
                "dagster/row_count": taken.rows[table],
                "sources_read": taken.read,
                "sources_refused": taken.refused,
                "sources_unchanged": taken.unchanged,
                "sources_superseded": taken.superseded,
            },
        )
