"""Cuts the cost ledger of hours with more attempts than are charged at once: those of a replica stay together.

What replicas, pools and bills come to is computed before, over all attempts; what attempts cost in the shards; and what
is left, idle time above all, after. See docs/scale.md#an-hour-that-is-cut.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from goodput.measure.part_hours import load_with_part_hour
from goodput.plumbing.compute import compute_each, load, write_tables
from goodput.plumbing.graph import closure
from goodput.plumbing.node import APART, STORED, Batch, Parts, Shards
from goodput.plumbing.parameters import PARAMETERS, register
from goodput.plumbing.sql_files import compute, connect, define, parquet, quoted

_APART, _JUDGED = "sharded_attempts", "judged_attempts"
# What shards and what is united read of all attempts together.
_OF_ALL = (
    *("cost_pieces", "counter_steps", "model_bills", "named_costs", "pool_idle", "recorded_charges", "replica_costs"),
    *("replica_hours", "replica_time"),
)
_OF_SHARDS = ("attempt_costs", "model_charges", "named_pieces", "unplaced_time")


def _count(batch: Batch) -> int:
    """As many as the attempts of the hours take."""
    most = batch.settings.cluster.shard_records
    if most is None:
        return 1
    attempts: int = sum(pq.read_metadata(file).num_rows for file in batch.files("attempts", batch.hours))
    return math.ceil(attempts / most)


def _cut(batch: Batch, count: int, folder: Path) -> list[Batch]:
    """The batch of each shard: with its own attempts, and what is of all attempts, as inputs."""
    with connect() as connection:
        empty = load_with_part_hour(connection, batch)
        for name in ("model_weights", _JUDGED):
            compute(connection, name)
        define(connection, "ledger_pieces")  # of which bills of models read few columns, and only where there are any
        known = STORED.union(("model_weights", _JUDGED, "ledger_pieces"))
        compute_each(connection, batch.node.name, closure(_OF_ALL, known), empty)
        of_all = {name: _written(connection, name, folder) for name in ("model_weights", *_OF_ALL)}
        register(connection, "shard_count", pa.table([[count]], schema=PARAMETERS["shard_count"].schema))
        compute(connection, _APART)
        target = quoted(str(folder / APART))
        connection.execute(f"COPY (FROM {_APART}) TO {target} (FORMAT parquet, PARTITION_BY (shard))")
    prices = {"token_prices": batch.inputs["token_prices"]}
    inputs = {**{table: {} for table in batch.node.inputs}, **prices, **of_all}
    return [replace(batch, inputs={**inputs, _JUDGED: _of_shard(folder, number)}) for number in range(count)]


def _of_shard(folder: Path, number: int) -> Mapping[str, Sequence[str]]:
    return {"all": sorted(map(str, (folder / APART / f"shard={number}").glob("*.parquet")))}


def _charge(shard: Batch, folder: Path) -> None:
    """Charge the attempts of one shard."""
    with connect() as connection:
        empty = load_with_part_hour(connection, shard)  # of attempts their columns, where the shard has none
        compute(connection, _JUDGED)
        known = ("model_weights", *_OF_ALL)
        _read(connection, {name: files for name in (*known, _JUDGED) if (files := shard.files(name))})
        compute_each(connection, shard.node.name, closure(_OF_SHARDS, STORED.union(known, (_JUDGED,))), empty)
        for name in _OF_SHARDS:
            _written(connection, name, folder)


def _unite(batch: Batch, folder: Path, made: Sequence[Path]) -> Parts:
    """Write the tables of a batch from what is of all its attempts and what its shards have made."""
    with connect() as connection:
        load(connection, batch)
        _read(connection, {name: [str(folder / f"{name}.parquet")] for name in _OF_ALL})
        _read(connection, {name: [str(one / f"{name}.parquet") for one in made] for name in _OF_SHARDS})
        known = STORED.union(_OF_ALL, _OF_SHARDS)
        compute_each(connection, batch.node.name, closure(batch.node.tables, known), set())
        return write_tables(connection, batch, ())


def _written(connection: duckdb.DuckDBPyConnection, name: str, folder: Path) -> Mapping[str, Sequence[str]]:
    file = str(folder / f"{name}.parquet")
    connection.execute(f'COPY (FROM "{name}") TO {quoted(file)} (FORMAT parquet)')
    return {"all": [file]}


def _read(connection: duckdb.DuckDBPyConnection, files: Mapping[str, Iterable[str]]) -> None:
    for name, of_name in files.items():
        connection.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS FROM {parquet(of_name, alike=True)}')


LEDGER_IN_SHARDS = Shards(_count, _cut, _charge, _unite)
