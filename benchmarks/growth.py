"""Times the join and the ledger of one hour that is cut into shards, at one, four and sixteen times the requests.

The work has to grow with the requests, and the memory of a task not at all. Each size is a process of its own with one
thread, and with so much memory for DuckDB as a shard needs: cutting and uniting, which see the whole hour, spill.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from benchmarks.child import run_function
from benchmarks.made_lake import FIRST_HOUR, Parts
from benchmarks.table import Row, peak_memory, times_as_long
from goodput.contracts import arrow_schema, contract
from goodput.join.nodes import JOIN, REPLICA_NAMES
from goodput.measure.nodes import COST_LEDGER, KNOWN_REPLICAS
from goodput.plumbing.assembly import assemble
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import hour_label
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Batch, Context
from goodput.plumbing.node import Parts as PartsMade
from goodput.plumbing.part_writer import ROWS_A_GROUP
from goodput.plumbing.runner import InProcess
from goodput.plumbing.sharded import in_shards
from goodput.plumbing.sql_files import connect, limit, parquet
from goodput.plumbing.work import ComputedBatch
from goodput.settings.cluster import Cluster
from goodput.settings.model import Settings, Workload

REQUESTS = 200_000  # one shard
SHARD_REQUESTS = 200_000
RECORDS_A_REQUEST = 2
TIMES = (1, 4, 16)
DUCKDB_MEMORY = {"join": "3GB", "ledger": "1GB"}
MEMORY_BELOW = {"join": 5 * 10**9, "ledger": 2 * 10**9}
HOUR = hour_label(FIRST_HOUR)
_SQL = (Path(__file__).parent / "records_of_an_hour.sql").read_text()


def rows(share: float) -> Iterator[Row]:
    """CPU of each size beside as many times that of the smallest, and the most memory."""
    taken: dict[tuple[str, int], tuple[float, int]] = {}
    for times in TIMES:
        with TemporaryDirectory(prefix="goodput-bench-") as name:
            folder = Path(name)
            requests = round(REQUESTS * share) * times
            (folder / "size").write_text(f"{requests} {round(SHARD_REQUESTS * share) * RECORDS_A_REQUEST}")
            run_function(__name__, "make", folder)
            for what in DUCKDB_MEMORY:
                ended = run_function(__name__, what, folder)
                tried_again = len(range(1, requests, 50))
                assert ended.said == requests - tried_again, f"{ended.said} requests, not {requests - tried_again}"
                taken[what, times] = ended.cpu_s, ended.peak_bytes
    for what in DUCKDB_MEMORY:
        one_s, _ = taken[what, 1]
        for times in TIMES[1:]:
            cpu_s, peak_bytes = taken[what, times]
            of = f"{what} of an hour of {REQUESTS * share * times / 1e6:g}M requests in shards"
            beside = f"{times} x that of {REQUESTS * share:,.0f}"
            yield times_as_long(of, cpu_s, beside, times * one_s, at_most=1.15)
            yield peak_memory(f"{of}: most memory", peak_bytes, below_bytes=MEMORY_BELOW[what])


def make(folder: Path) -> None:
    """Write the records of the hour."""
    requests, _ = map(int, (folder / "size").read_text().split())
    lake = Lake(folder / "lake")
    with connect() as connection:
        sql = _SQL.replace("$hour", str(FIRST_HOUR)).replace("$requests", str(requests))
        connection.execute(f"CREATE TEMP VIEW made AS {sql}")
        there = set(connection.table("made").columns)
        columns = ", ".join(
            f'"{column.name}"' if column.name in there else f'NULL::{column.duckdb_type} AS "{column.name}"'
            for column in contract("serving_records").columns
        )
        found = connection.sql(f"SELECT {columns} FROM made").to_arrow_reader(ROWS_A_GROUP)
        schema = arrow_schema("serving_records")
        with lake.part_writer("serving_records", HOUR, fingerprint(HOUR), schema) as writer:
            for batch in found:
                writer.write(pa.Table.from_batches([batch]).cast(schema))
    lake.catalog["serving_records"].replace({HOUR: (writer.part,)})
    Parts(lake).commit()


def join(folder: Path) -> int:
    """Join them as the plan would; how many requests there are."""
    context, partitions = _context(folder, "join"), {HOUR: fingerprint(HOUR)}
    _commit(context, REPLICA_NAMES.compute(assemble(context, REPLICA_NAMES, partitions)))
    return _commit(context, _in_shards(assemble(context, JOIN, partitions)))["requests"]


def ledger(folder: Path) -> int:
    """Charge their attempts as the plan would; how many requests have any."""
    context, partitions = _context(folder, "ledger"), {HOUR: fingerprint(HOUR)}
    _commit(context, KNOWN_REPLICAS.compute(assemble(context, KNOWN_REPLICAS, partitions)))
    _commit(context, _in_shards(assemble(context, COST_LEDGER, partitions)))
    files = context.lake.catalog["cost_ledger"].all_files()
    with connect() as connection:
        sql = f"SELECT count(DISTINCT request_key) FROM {parquet(files)}"
        ((requests,),) = connection.sql(sql).fetchall()
    return int(requests)


def _context(folder: Path, what: str) -> Context:
    _, shard_records = map(int, (folder / "size").read_text().split())
    limit(1, DUCKDB_MEMORY[what], folder / "spill")
    settings = Settings(workloads={"chat": Workload(ttft_s=1.0)}, cluster=Cluster(shard_records=shard_records))
    return Context(Lake(folder / "lake"), settings)


def _in_shards(batch: Batch) -> PartsMade:
    ((_, done),) = in_shards([batch], InProcess())
    assert isinstance(done, ComputedBatch), done.reason
    return done.parts


def _commit(context: Context, parts: PartsMade) -> dict[str, int]:
    """Make the parts count; how many rows the hour has of each table."""
    for table, of_table in parts.items():
        context.lake.catalog[table].replace({HOUR: (of_table[HOUR],)})
    return {table: of_table[HOUR].rows for table, of_table in parts.items()}
