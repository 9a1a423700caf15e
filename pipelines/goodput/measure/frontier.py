"""Computes `frontier` from the measured load windows: one small part, made again when one of them changes.

The arithmetic is sql/measure/frontier/; the load windows are `windows`' work.
"""

import polars as pl

from goodput.join.whole import CELL
from goodput.join.workloads import workload_rows
from goodput.measure.staleness import MeasureInputs
from goodput.plumbing.contracts import arrow_schema, contract, contract_names
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.graph import closure, relation
from goodput.plumbing.lake import inputs_of, write_parquet
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import compute, connect, read_parts

_FROM = ("load_windows", "goodput")


def frontier_inputs(inputs: MeasureInputs) -> str:
    """Fingerprint of what the part must be made from."""
    texts = [relation(name).meaning for name in closure(["frontier"], contract_names())]
    parts = {
        table: {cell: inputs_of(paths[0]) for cell, paths in inputs.lake.parts("measured", table).items()}
        for table in _FROM
    }
    return fingerprint(texts, str(contract("frontier")), parts, inputs.join.rules)


def write_frontier(inputs: MeasureInputs, made_from: str) -> int:
    """Write the candidate of `frontier`; its rows."""
    with connect() as connection:
        for table in _FROM:
            files = [str(path) for paths in inputs.lake.parts("measured", table).values() for path in paths]
            read_parts(connection, table, files, arrow_schema(table))
        register(connection, "workload_rules", workload_rows(inputs.join.settings))
        for name in closure(["frontier"], contract_names()):
            compute(connection, name)
        found = connection.sql("FROM frontier").to_arrow_table()
    schema = arrow_schema("frontier")
    rows = pl.DataFrame(found.select(schema.names).cast(schema)).sort(contract("frontier").primary_key)
    write_parquet(inputs.lake.part("candidate", "frontier", CELL), rows.to_arrow().cast(schema), inputs=made_from)
    return rows.height
