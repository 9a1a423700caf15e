"""Blocking contract checks before a computed cell counts: what fails is held back, the last good part stays."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from goodput.errors import HeldHour
from goodput.plumbing.expectations.run import check_hours
from goodput.plumbing.held import held_inputs, note_held
from goodput.plumbing.lake import Lake


def check_spec(table: str) -> dg.AssetCheckSpec:
    """The check of one table's contract; its failure stops what comes after it."""
    return dg.AssetCheckSpec(
        "contract",
        asset=table,
        blocking=True,
        description=f"Great Expectations suite of schemas/{table}.yaml, run in DuckDB over every new part.",
    )


def publishable(lake: Lake, cells: Mapping[str, str], tables: Sequence[str]) -> dict[str, str]:
    """The cells (cell -> fingerprint of its inputs) that a check does not already hold back for the same inputs."""
    held = set().union(*(held_inputs(lake, table) for table in tables))
    return {cell: inputs for cell, inputs in cells.items() if (cell, inputs) not in held}


def checked(  # noqa: PLR0913  (what was computed, where it goes and what of it is checked)
    lake: Lake,
    tables: Sequence[str],
    cells: Mapping[str, str],
    *,
    layer: str,
    rows: Mapping[str, int],
    beside: Sequence[str] = (),
    unchecked: Sequence[str] = (),
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Check the candidates of `cells`, put the good ones in place and report both for every table.

    A cell that breaks one table's contract is held back for all of them, and for what is computed `beside` them, so
    that they never disagree.
    """
    failures = {table: check_hours(table, {c: [lake.part("candidate", table, c)] for c in cells}) for table in tables}
    for table in tables:
        note_held(lake, [table], cells, failures[table])
    bad = {failure.hour for failed in failures.values() for failure in failed}
    for cell in cells:
        for table in (*tables, *beside, *unchecked):
            if cell not in bad or table in unchecked:
                lake.promote(layer, table, cell)
    for table in tables:
        yield dg.MaterializeResult(
            asset_key=table,
            metadata={"dagster/row_count": rows[table], "computed": len(cells), "held": len(bad)},
        )
        yield _result(table, failures[table])


def _result(table: str, failed: Sequence[HeldHour]) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=table,
        check_name="contract",
        passed=not failed,
        metadata={"held": dg.MetadataValue.json({failure.hour: list(failure.failures) for failure in failed})},
    )
