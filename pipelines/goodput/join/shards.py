"""Cuts what is joined at once into shards that a machine can hold: the same SQL over each gives the same tables.

What may belong together stays together: rows of one trace, and traces that an id, a label or the time of two records
links, which are connected components of `shard_links`. What looks over all rows is computed before, by hour
(`emitter_facts`), or after, from what the shards have made. See docs/scale.md#an-hour-that-is-cut.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa

from goodput.contracts import contract
from goodput.plumbing import shard_files
from goodput.plumbing.compute import compute_each, load, write_tables
from goodput.plumbing.graph import closure
from goodput.plumbing.hours import epoch_hour, hour_label
from goodput.plumbing.node import STORED, Batch, Parts, Shards
from goodput.plumbing.parameters import PARAMETERS, register
from goodput.plumbing.sql_files import compute, connect

_SHARDED = {"serving_records": "sharded_records", "span_links": "sharded_links", "label_records": "sharded_labels"}
_COMPONENTS = "shard_components"
_FROM_ALL = ("session_hours", "source_rows")  # of which rows of several shards are one
_FOR_THOSE = ("record_copies", "any_session")


def _count(batch: Batch) -> int:
    """As many as the records of the hours and those beside them take."""
    return shard_files.count_shards(batch, batch.files("serving_records"))


def _divide(batch: Batch, most: int, folder: Path) -> list[Batch]:
    """The batch with portions of its rows, as many as `most` or as it has files, and what they are cut by."""
    with connect() as connection:
        load(connection, batch)
        _register_components(connection)
        components = shard_files.write(connection, _COMPONENTS, folder)
    count = max(1, min(most, len(batch.files("serving_records"))))
    dealt = [shard_files.dealt(batch.inputs[table], count) for table in _SHARDED]
    portions = [dict(zip(_SHARDED, tables, strict=True)) for tables in zip(*dealt, strict=True)]
    return [replace(batch, inputs={**batch.inputs, **own, _COMPONENTS: components}) for own in portions]


def _cut(portion: Batch, count: int, folder: Path) -> list[Batch]:
    """The batch of each shard: with its own rows as inputs, in files below a folder, in place of the lake's."""
    with connect() as connection:
        load(connection, portion)
        shard_files.view(connection, _COMPONENTS, portion.files(_COMPONENTS))
        shards = shard_files.write_apart(connection, _SHARDED, count, folder)
    return [replace(portion, inputs={**portion.inputs, **own}) for own in shards]


def hours_alone(batch: Batch) -> list[str]:
    """Hours of a batch that are to be joined each by itself: what is linked to their rows lies beyond the hours that
    they are made from, where other hours of the batch would show it (docs/semantics.md#how-far-an-hour-sees).
    """
    with connect() as connection:
        load(connection, batch)
        _register_components(connection)
        compute(connection, "linked_afar")
        found = connection.sql("SELECT epoch_hour FROM linked_afar").fetchall()
    return sorted({hour_label(hour) for (hour,) in found} & {*batch.partitions})


def _register_components(connection: duckdb.DuckDBPyConnection) -> None:
    for name in closure(("shard_links",), STORED):
        compute(connection, name)
    links = connection.sql("SELECT place, id FROM shard_links").to_arrow_table()
    register(connection, _COMPONENTS, components(links))


def components(links: pa.Table) -> pa.Table:
    """Connected components of places: each of `place` and `id` of the links with the least place of its component."""
    if not links.num_rows:
        return PARAMETERS[_COMPONENTS].schema.empty_table()
    # Both take a third of a second to import, which a run that joins nothing, or links nothing, need not wait for.
    import numpy as np  # noqa: PLC0415
    from scipy.sparse import coo_array  # type: ignore[import-untyped]  # noqa: PLC0415
    from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]  # noqa: PLC0415

    ends = [links.column(name).to_numpy() for name in ("place", "id")]
    places, numbers = np.unique(np.concatenate(ends), return_inverse=True)
    first, second = np.split(numbers, 2)
    graph = coo_array((np.ones(len(first), np.int8), (first, second)), shape=(len(places), len(places)))
    count, labels = connected_components(graph, directed=False)
    least = np.full(count, len(places))
    np.minimum.at(least, labels, np.arange(len(places)))
    return pa.table([places, places[least[labels]]], schema=PARAMETERS[_COMPONENTS].schema)


def _join(shard: Batch, folder: Path) -> None:
    """Join one shard, and write what is the shard's own of its tables and what `_FROM_ALL` reads."""
    own = [table for table in shard.node.tables if table not in _FROM_ALL]
    hours = ", ".join(str(epoch_hour(hour)) for hour in shard.hours)
    with connect() as connection:
        empty = load(connection, shard)
        compute_each(connection, shard.node.name, closure((*own, *_FOR_THOSE), STORED), empty)
        for table in own:
            shard_files.write(connection, table, folder, f"{contract(table).partitioned_by} IN ({hours})")
        for name in _FOR_THOSE:
            shard_files.write(connection, name, folder)


def _unite(batch: Batch, _cuts: Sequence[Path], made: Sequence[Path]) -> Parts:
    """Write the tables of a batch from what its shards have made."""
    own = [table for table in batch.node.tables if table not in _FROM_ALL]
    with connect() as connection:
        load(connection, batch)
        shard_files.read(connection, (*own, *_FOR_THOSE), made)
        for name in _FROM_ALL:
            compute(connection, name)
        return write_tables(connection, batch, ())


HOURS_IN_SHARDS = Shards(_count, _cut, _join, _unite, _divide)
