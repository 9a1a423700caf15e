"""The provenance that `goodput explain` shows: the record from which SQL really takes each fact."""

from typing import Any

import pyarrow as pa
import pytest

from goodput.ask.provenance import FACTS, facts
from goodput.contracts import arrow_schema, contract
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import compute, connect

Row = dict[str, Any]
COMPUTED = {"ttft_s", "e2e_s", "reported_attempts"}  # from times and counts of all records
OUTCOMES = ("timeout", "error", "cancelled")
TYPES = {column.name: column.duckdb_type for column in contract("serving_records").columns}
CHAINS = [
    ("client",),
    ("engine",),
    ("client", "gateway"),
    ("client", "engine"),
    ("gateway", "engine"),
    ("gateway", "gateway"),
    ("engine", "engine"),
    ("client", "gateway", "engine"),
    ("client", "gateway", "gateway"),
    ("gateway", "engine", "engine"),
]


def _value(name: str, depth: int) -> object:
    """A value of the fact that no record of another depth has."""
    if name == "outcome":
        return OUTCOMES[depth]
    if name == "streamed":  # has two values: the outermost record's differs from the others'
        return depth == 0
    if TYPES[name] == "VARCHAR":
        return f"{name}-{depth}"
    return {"started_ns": 1_000, "first_token_ns": 5_000, "ended_ns": 9_000}.get(name, 100) + 7 * depth


def _records(layers: tuple[str, ...], reporting: set[int]) -> list[Row]:
    """Records of one attempt, the outermost first; those at other depths than `reporting` report when and if at all."""
    known = {"started_ns", "ended_ns", "outcome", "streamed"}
    return [
        {
            "record_id": f"r{depth}",
            "source_id": "source",
            "path": "spans.jsonl",
            "line": depth,
            "position": 0,
            "dialect": "otel_genai",
            "layer": layer,
            "attributes": "{}",
            **{name: _value(name, depth) for name in FACTS if depth in reporting or name in known},
        }
        for depth, layer in enumerate(layers)
    ]


def _merged(records: list[Row]) -> Row:
    """The attempt that SQL makes of the records."""
    chain = [
        {"record_id": record["record_id"], "head_id": "r0", "root_id": "r0", "depth": depth}
        for depth, record in enumerate(records)
    ]
    given = [{name: value for name, value in record.items() if name in TYPES} for record in records]
    with connect() as connection:
        connection.register("unique_records", pa.Table.from_pylist(given, schema=arrow_schema("serving_records")))
        connection.register("record_chains", pa.Table.from_pylist(chain))
        connection.execute("CREATE TEMP TABLE record_choices (record_id VARCHAR, choice_of VARCHAR)")
        connection.execute("CREATE TEMP TABLE named_replicas (epoch_hour BIGINT, name VARCHAR, replica VARCHAR)")
        connection.execute("CREATE TEMP TABLE replica_models (epoch_hour BIGINT, replica VARCHAR, model VARCHAR)")
        connection.execute("CREATE TEMP TABLE replica_pools (epoch_hour BIGINT, replica VARCHAR, pool VARCHAR)")
        for name in ("declared_names", "declared_models"):
            register(connection, name, as_rows(name))
        for name in ("linked_attempts", "recorded_attempts", "attempt_facts"):
            compute(connection, name)
        [attempt] = connection.table("attempt_facts").to_arrow_table().to_pylist()
    return dict(attempt)


@pytest.mark.parametrize("silent", [None, 0, 1, 2])
@pytest.mark.parametrize("layers", CHAINS, ids="-".join)
def test_a_fact_comes_from_the_record_that_it_is_taken_from(layers: tuple[str, ...], silent: int | None) -> None:
    records = _records(layers, set(range(len(layers))) - {silent})
    attempt = _merged(records)
    origins = {
        name: next(f"spans.jsonl:{record['line']}" for record in records if record.get(name) == attempt[name])
        for name in FACTS
        if attempt[name] is not None and name not in COMPUTED
    }
    if silent is None:
        assert set(origins) == set(FACTS) - COMPUTED
    # Where all records agree, only the order of authority says from which of them a fact comes.
    alike = [
        dict.fromkeys(FACTS)
        | record
        | {name: attempt[name] for name in FACTS if record.get(name) is not None and name not in COMPUTED}
        for record in records
    ]
    shown = {fact.fact: fact for fact in facts(attempt, alike)}
    for name, place in origins.items():
        fact = shown[f"{name.removesuffix('_ns')}_at" if name.endswith("_ns") else name]
        assert (fact.layer, fact.place) == (layers[int(place[-1])], place), name
