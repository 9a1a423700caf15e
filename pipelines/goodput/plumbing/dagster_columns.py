"""The columns of a table as Dagster shows them: types and meanings, and of which other columns SQL computes each."""

from collections.abc import Sequence

import dagster as dg

from goodput.contracts import contract
from goodput.plumbing.column_lineage import Lineage, column_lineage
from goodput.plumbing.stored_assets import StoredAsset


def schema_of(table: str) -> dg.TableSchema:
    """Columns by the contract of a table."""
    agreed = contract(table)
    return dg.TableSchema(
        [
            dg.TableColumn(
                column.name,
                column.duckdb_type,
                column.description,
                dg.TableColumnConstraints(nullable=not column.required, unique=agreed.primary_key == (column.name,)),
            )
            for column in agreed.columns
        ]
    )


def lineage_of(asset: StoredAsset) -> dict[str, dg.TableColumnLineage]:
    """Metadata of an event: the lineage of an asset's columns, which Dagster+ draws; nothing where SQL makes none."""
    deps = {
        column: [dg.TableColumnDep(asset_key=table, column_name=name) for table, name in of]
        for column, of in _made(asset).items()
    }
    return {"dagster/column_lineage": dg.TableColumnLineage(deps)} if deps else {}


def lineage_table(asset: StoredAsset) -> dict[str, dg.MarkdownMetadataValue]:
    """Metadata of a definition: the same as a table, which every edition of the UI shows."""
    lines = [f"| `{column}` | {_listed(of)} |" for column, of in _made(asset).items()]
    text = "\n".join(["| column | computed of |", "|---|---|", *lines])
    return {"column_lineage": dg.MetadataValue.md(text)} if lines else {}


def _listed(of: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"`{table}.{name}`" for table, name in of)


def _made(asset: StoredAsset) -> Lineage:
    return column_lineage(asset.node, asset.name) if asset.node else {}
