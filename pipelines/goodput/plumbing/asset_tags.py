"""What every asset says of itself to Dagster, from its contract: owners, kinds, column schema, description.

And the hourly partitions that the assets of event time share.
"""

from typing import Any

import dagster as dg

from goodput.plumbing.contracts import contract
from goodput.plumbing.hours import HOUR_FORMAT

OWNERS = ["team:goodput"]
# Telemetry of LLM serving is not older, and clocks may run ahead of this machine's.
HOURS = dg.HourlyPartitionsDefinition(start_date="2020-01-01T00", fmt=HOUR_FORMAT, end_offset=2 * 366 * 24)
IN_ONE_RUN = dg.BackfillPolicy.single_run()


def table_spec(table: str, stage: str, *, kinds: set[str], deps: list[str], partitioned: bool = False) -> dg.AssetSpec:
    """Asset of one table of the contracts."""
    agreed = contract(table)
    columns = [
        dg.TableColumn(
            column.name,
            column.duckdb_type,
            column.description,
            dg.TableColumnConstraints(nullable=not column.required),
        )
        for column in agreed.columns
    ]
    metadata: dict[str, Any] = {"dagster/column_schema": dg.TableSchema(columns)}
    return dg.AssetSpec(
        table,
        description=agreed.description,
        group_name=stage,
        owners=OWNERS,
        kinds=kinds,
        deps=deps,
        metadata=metadata,
        partitions_def=HOURS if partitioned else None,
    )
