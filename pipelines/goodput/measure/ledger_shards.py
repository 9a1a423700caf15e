"""Cuts the cost ledger of hours with more attempts than are charged at once: those of a replica stay together.

What replicas, pools and bills come to is computed before, over all attempts; what attempts cost in the shards; and what
is left, idle time above all, after. See docs/scale.md#an-hour-that-is-cut.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from goodput.measure.part_hours import load_with_part_hour
from goodput.plumbing import shard_files
from goodput.plumbing.compute import compute_each, load, write_tables
from goodput.plumbing.graph import closure
from goodput.plumbing.node import STORED, Batch, Parts, Shards
from goodput.plumbing.sql_files import compute, connect, define

_JUDGED, _SHARDED = "judged_attempts", "sharded_attempts"
# What shards read of all attempts together, and but for the weights what is united.
_OF_ALL = (
    *("cost_pieces", "counter_steps", "model_bills", "named_costs", "pool_idle", "recorded_charges", "replica_costs"),
    *("replica_hours", "source_charges"),
)
_WEIGHTS = "model_weights"
_OF_SHARDS = ("attempt_costs", "model_charges", "named_pieces", "unplaced_time")


def _count(batch: Batch) -> int:
    """As many as the attempts of the hours take."""
    return shard_files.count_shards(batch, batch.files("attempts", batch.hours))


def _cut(batch: Batch, count: int, folder: Path) -> list[Batch]:
    """The batch of each shard: with its own attempts, and what is of all attempts, as inputs."""
    with connect() as connection:
        empty = load_with_part_hour(connection, batch)
        for name in (_WEIGHTS, _JUDGED):
            compute(connection, name)
        define(connection, "ledger_pieces")  # of which bills of models read few columns, and only where there are any
        known = STORED.union((_WEIGHTS, _JUDGED, "ledger_pieces"))
        compute_each(connection, batch.node.name, closure(_OF_ALL, known), empty)
        of_all = {name: shard_files.write(connection, name, folder) for name in (_WEIGHTS, *_OF_ALL)}
        shards = shard_files.write_apart(connection, {_JUDGED: _SHARDED}, count, folder)
    prices = {"token_prices": batch.inputs["token_prices"]}
    inputs = {**{table: {} for table in batch.node.inputs}, **prices, **of_all}
    return [replace(batch, inputs={**inputs, **own}) for own in shards]


def _charge(shard: Batch, folder: Path) -> None:
    """Charge the attempts of one shard."""
    with connect() as connection:
        empty = load_with_part_hour(connection, shard)  # of attempts their columns, where the shard has none
        compute(connection, _JUDGED)
        known = (_WEIGHTS, _JUDGED, *_OF_ALL)
        for name in known:
            if files := shard.files(name):
                shard_files.view(connection, name, files)
        compute_each(connection, shard.node.name, closure(_OF_SHARDS, STORED.union(known)), empty)
        for name in _OF_SHARDS:
            shard_files.write(connection, name, folder)


def _unite(batch: Batch, cuts: Sequence[Path], made: Sequence[Path]) -> Parts:
    """Write the tables of a batch from what is of all its attempts and what its shards have made."""
    with connect() as connection:
        load(connection, batch)
        shard_files.read(connection, _OF_ALL, cuts)
        shard_files.read(connection, _OF_SHARDS, made)
        known = STORED.union(_OF_ALL, _OF_SHARDS)
        compute_each(connection, batch.node.name, closure(batch.node.tables, known), set())
        return write_tables(connection, batch, ())


LEDGER_IN_SHARDS = Shards(_count, _cut, _charge, _unite)
