"""Relations in files of the folders that a batch is cut in: what shards read, what they make, and what is united.

See docs/scale.md#an-hour-that-is-cut.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import heapreplace
from pathlib import Path

import duckdb
import pyarrow as pa

from goodput.plumbing.node import APART, Batch
from goodput.plumbing.parameters import PARAMETERS, register
from goodput.plumbing.part_rows import row_count
from goodput.plumbing.sql_files import compute, parquet, quoted

Connection = duckdb.DuckDBPyConnection
Files = Mapping[str, Sequence[str]]  # as the inputs of a batch are


def count_shards(batch: Batch, files: Iterable[str]) -> int:
    """In how many shards the rows of some files are cut, by the settings of the batch."""
    most = batch.settings.cluster.shard_records
    return 1 if most is None else math.ceil(sum(row_count(Path(file)) for file in files) / most)


def write_apart(
    connection: Connection, relations: Mapping[str, str], count: int, folder: Path
) -> list[dict[str, Files]]:
    """Write relations whose rows say their shard of `count`, by the names that shards read; the files of each shard."""
    register(connection, "shard_count", pa.table([[count]], schema=PARAMETERS["shard_count"].schema))
    (folder / APART).mkdir()
    for name, relation in relations.items():
        compute(connection, relation)
        target = quoted(str(folder / APART / name))
        connection.execute(f"COPY (FROM {relation}) TO {target} (FORMAT parquet, PARTITION_BY (shard))")
    return [{name: _of_shard(folder / APART / name, number) for name in relations} for number in range(count)]


def _of_shard(folder: Path, number: int) -> Files:
    return {"all": sorted(map(str, (folder / f"shard={number}").glob("*.parquet")))}


def write(connection: Connection, name: str, folder: Path, where: str = "true") -> Files:
    """Write a relation, or its rows where an SQL condition holds; its file."""
    file = str(folder / f"{name}.parquet")
    connection.execute(f'COPY (FROM "{name}" WHERE {where}) TO {quoted(file)} (FORMAT parquet)')
    return {"all": [file]}


def read(connection: Connection, names: Iterable[str], folders: Sequence[Path]) -> None:
    """Make relations views of what was written of them to some folders."""
    for name in names:
        view(connection, name, [str(folder / f"{name}.parquet") for folder in folders])


def view(connection: Connection, name: str, files: Sequence[str]) -> None:
    """Make a relation a view of files that one of these functions wrote."""
    connection.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS FROM {parquet(files, alike=True)}')


def dealt(files: Files, count: int) -> list[Files]:
    """Files of an input dealt to so many portions, the largest first, each to the one that has the fewest rows."""
    rows = {file: row_count(Path(file)) for of_one in files.values() for file in of_one}
    held = [(0, number) for number in range(count)]
    portion_of = {}
    for file in sorted(rows, key=lambda file: -rows[file]):
        has, number = held[0]
        heapreplace(held, (has + rows[file], number))
        portion_of[file] = number
    return [
        {partition: [file for file in of_one if portion_of[file] == number] for partition, of_one in files.items()}
        for number in range(count)
    ]


def merged(portions: Sequence[Batch]) -> Batch:
    """The batch of a shard with what was cut for it of each portion."""
    first = portions[0]
    inputs = {
        table: {
            partition: list(dict.fromkeys(file for one in portions for file in one.inputs[table].get(partition, ())))
            for partition in by_partition
        }
        for table, by_partition in first.inputs.items()
    }
    return replace(first, inputs=inputs)
