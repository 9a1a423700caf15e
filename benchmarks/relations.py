"""Times what the measure stage makes against the plain scan of its inputs: of some attempts, and of four times as many.

The cost of each relation has to stay linear: four times the attempts of a week may take four times the work, and a
part of it is the week's own, of windows by replicas, which stays. Work is processor time, so that a busy machine
tells the same; every step is a process of its own.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.child import Ended, run_function
from benchmarks.made_lake import SETTINGS, make_lake
from benchmarks.table import Row, grown, peak_memory, times_as_long
from goodput.contracts import arrow_schema, contract
from goodput.measure.nodes import NODES
from goodput.plumbing.graph import closure, inputs_of
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import STORED, Context, Node
from goodput.plumbing.plan import execute
from goodput.plumbing.sql_files import connect, parquet, read_parts, sql_file, sql_names

ATTEMPTS = 20_000_000
GROWN_AT_MOST = 4.6  # four times, and what a busy machine adds
LEDGER_AT_MOST = 20
MEMORY_BELOW = 8 * 10**9


@dataclass(frozen=True)
class Step:
    """Relations that are made together: by a node of the plan, or as the database shows them."""

    relations: Sequence[str]
    node: Node | None = None

    def make(self, folder: Path) -> float:
        """Seconds of work that the relations take for the whole lake in `folder`; later steps read them there."""
        begun = time.process_time()
        lake = Lake(folder)
        if self.node is None:
            self._look(lake)
        else:
            blocked = execute(self.node, Context(lake, SETTINGS)).blocked
            assert not blocked, blocked
        return time.process_time() - begun

    def scan(self, folder: Path) -> float:
        """Seconds of work that one look at every value takes of the columns that the SQL names."""
        begun = time.process_time()
        texts = " ".join(sql_file(name).text for name in closure(self._by_sql, STORED))
        words = set(re.findall(r"\w+", texts))
        catalog = Lake(folder).catalog
        with connect() as connection:
            for table in self._inputs:
                files = catalog[table].all_files()
                named = [column.name for column in contract(table).columns if column.name in words]
                if files and named:
                    looks = ", ".join(f'bit_xor(hash("{name}"))' for name in named)
                    connection.sql(f"SELECT {looks} FROM {parquet(files)}").fetchall()
        return time.process_time() - begun

    @property
    def _by_sql(self) -> list[str]:
        return [name for name in self.relations if name in sql_names()]

    @property
    def _inputs(self) -> list[str]:
        return sorted(inputs_of(self._by_sql, STORED) & STORED)

    def _look(self, lake: Lake) -> None:
        with connect() as connection:
            for table in self._inputs:
                read_parts(connection, table, lake.catalog[table].all_files(), arrow_schema(table))
            for name in self._by_sql:
                connection.execute(f'CREATE TEMP TABLE "{name}" AS {sql_file(name).text}')


STEPS = {**{node.name: Step(node.tables, node) for node in NODES}, "sessions": Step(("sessions",))}


def rows(share: float) -> Iterator[Row]:
    """Every relation over `share` of the attempts beside a quarter of these."""
    attempts = round(ATTEMPTS * share)
    of_quarter, of_all = (dict(_took(count)) for count in (attempts // 4, attempts))
    for name, (made, scan) in of_all.items():
        what = f"{', '.join(STEPS[name].relations)}, {attempts / 1e6:g}M attempts"
        made_before, scan_before = of_quarter[name]
        yield grown(what, (made_before.said, made.said), (scan_before.said, scan.said), at_most=GROWN_AT_MOST)
    made, scan = of_all["cost_ledger"]
    what = f"cost_ledger, {attempts / 1e6:g}M attempts"
    yield times_as_long(what, made.said, "plain scan of its inputs", scan.said, at_most=LEDGER_AT_MOST)
    largest = max(of_all, key=lambda name: of_all[name][0].peak_bytes)
    what = f"{', '.join(STEPS[largest].relations)}, the most memory of them all"
    yield peak_memory(what, of_all[largest][0].peak_bytes, below_bytes=MEMORY_BELOW)


def _took(attempts: int) -> Iterator[tuple[str, tuple[Ended, Ended]]]:
    """Of each step what its making and its scan took, on a week of so many attempts."""
    with TemporaryDirectory(prefix="goodput-bench-") as folder:
        make_lake(attempts, Path(folder))
        for name in STEPS:
            made, scan = (
                run_function(__name__, f"STEPS['{name}'].{function}", Path(folder)) for function in ("make", "scan")
            )
            yield name, (made, scan)
