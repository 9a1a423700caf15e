"""What Python registers for SQL to read: declared wholly, and of one shape."""

import re

import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema, contract_names
from goodput.plumbing.graph import closure, inputs_of, relation
from goodput.plumbing.parameters import PARAMETERS, register
from goodput.plumbing.sql_files import compute, connect, sql_file, sql_names

STORED = frozenset(contract_names())
_ASKED = re.compile(r"\$(\w+)")
TOGETHER = {"attempts", "requests", "session_hours", "quality_labels"}  # they read more of each other than is stored
OF_LAKES = {
    "common_groupings",
    "federated_goodput",
    "lake_groupings",
    "published_until",
    "shared_replicas",
    "shared_sources",
    "unknown_settings",
    "unlike_gates",
    "unlike_groupings",
    "unlike_settings",
}  # each row says of which lake it is


def test_what_sql_reads_and_neither_the_lake_nor_sql_gives_is_what_is_declared() -> None:
    read = {name for file in sql_names() for name in relation(file).reads}
    assert read - sql_names() - STORED == set(PARAMETERS)


@pytest.mark.parametrize("name", PARAMETERS)
def test_each_says_what_it_holds(name: str) -> None:
    said = PARAMETERS[name].description
    assert len(said.split()) > 5
    assert said.endswith(".")
    assert len(set(PARAMETERS[name].schema.names)) == len(PARAMETERS[name].schema) > 0


def test_rows_take_the_declared_types() -> None:
    with connect() as connection:
        register(connection, "grains", pa.table({"window_s": [300]}))
        assert connection.sql("SELECT window_s, typeof(window_s) FROM grains").fetchall() == [(300, "INTEGER")]


@pytest.mark.parametrize("rows", [{"hour": [1]}, {"epoch_hour": [1], "hour": [1]}, {"epoch_hour": ["x"]}, {}])
def test_rows_of_another_shape_are_refused(rows: dict[str, list[object]]) -> None:
    with connect() as connection, pytest.raises((ValueError, pa.ArrowException)):
        register(connection, "target_hours", pa.table(rows))


@pytest.mark.parametrize("file", sorted(sql_names()))
def test_a_relation_is_computed_of_columns_that_are_declared(file: str) -> None:
    if sql_file(file).header.get("kind") == "macro":
        return  # its parameters are none of SQL's until it is called
    stored = STORED - TOGETHER if file in TOGETHER else STORED
    with connect() as connection:
        for name in inputs_of([file], stored):
            rows = _empty(name)
            if file in OF_LAKES and name in STORED | {"workloads", "settings"}:
                rows = rows.append_column("lake", pa.array([], pa.string()))
            connection.register(name, rows)
        for dimension in ("workload", "model", "pool", "route"):
            connection.execute(f"CREATE TEMP TYPE {dimension}_code AS ENUM ()")
        asked = set(_ASKED.findall(sql_file(file).text))
        for name in closure([file], stored):
            if name != file or not asked:
                compute(connection, name)
        if asked:  # a question is no relation until its values are known
            connection.execute(sql_file(file).text, dict.fromkeys(asked))


def _empty(name: str) -> pa.Table:
    schema = PARAMETERS[name].schema if name in PARAMETERS else arrow_schema(name)
    if name == "attempts":
        schema = schema.append(pa.field("part_hour", pa.int64()))  # the ledger is told where each attempt lay
    return schema.empty_table()
