"""What every asset says of itself to Dagster, from its contract: owners, kinds, column schema, description.

And what the assets of event time share: hourly partitions, and that they compute of those asked for what is due.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import dagster as dg

from goodput.plumbing.checked import check_spec, publishable
from goodput.plumbing.contracts import contract
from goodput.plumbing.hourly import Hourly, all_hours, stale_hours
from goodput.plumbing.hours import HOUR_FORMAT, batches

OWNERS = ["team:goodput"]
# Telemetry of LLM serving is not older, and clocks may run ahead of this machine's.
HOURS = dg.HourlyPartitionsDefinition(start_date="2020-01-01T00", fmt=HOUR_FORMAT, end_offset=2 * 366 * 24)
IN_PARQUET = frozenset({"parquet", "duckdb"})
HOURS_AT_ONCE = 24

Results = Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]


class Redo(dg.Config):
    """Whether hours whose inputs have not changed are computed again too."""

    force: bool = False


def hourly_asset(
    name: str, stage: str, tables: Sequence[str], deps: list[str], description: str
) -> Callable[[Callable[..., Results]], dg.AssetsDefinition]:
    """Decorate what computes the asked hours of some tables, and checks them, as one asset per table."""
    return dg.multi_asset(
        name=name,
        specs=[table_spec(table, stage, deps=deps, partitioned=True) for table in tables],
        check_specs=[check_spec(table) for table in tables],
        partitions_def=HOURS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        description=f"{description} What its inputs have not changed for is left alone.",
    )


def whole_asset(
    name: str, stage: str, deps: dict[str, list[str]], description: str
) -> Callable[[Callable[..., Results]], dg.AssetsDefinition]:
    """Decorate what computes and checks tables that have no hours (table -> what it is made from) as assets."""
    return dg.multi_asset(
        name=name,
        specs=[table_spec(table, stage, deps=made_from) for table, made_from in deps.items()],
        check_specs=[check_spec(table) for table in deps],
        description=description,
    )


def due_hours(inputs: Hourly, context: dg.AssetExecutionContext, tables: Sequence[str], redo: Redo) -> dict[str, str]:
    """Cells to compute of the hours asked for, with what they are made from: those that are stale, or all of them.

    Left out are those that checks of `tables` hold back for the same inputs.
    """
    asked = set(context.partition_keys)
    due = [hour for hour in (all_hours(inputs) if redo.force else stale_hours(inputs)) if hour in asked]
    return publishable(inputs.lake, {f"hour={hour}": inputs.of_hour(hour) for hour in due}, tables)


def in_batches(cells: Iterable[str]) -> list[list[str]]:
    """The hours of cells, as many together as are computed at once."""
    return list(batches((cell.removeprefix("hour=") for cell in cells), HOURS_AT_ONCE))


def table_spec(
    table: str, stage: str, *, deps: list[str], kinds: Collection[str] = IN_PARQUET, partitioned: bool = False
) -> dg.AssetSpec:
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
        kinds=set(kinds),
        deps=deps,
        metadata=metadata,
        partitions_def=HOURS if partitioned else None,
    )
