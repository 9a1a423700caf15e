"""Times what the measure stage makes against the plain scan of its inputs: of some attempts, and of four times as many.

The cost of each relation has to stay linear: four times the attempts of a week may take four times the work, and a
part of it is the week's own, of windows by replicas, which stays. Work is processor time, so that a busy machine
tells the same; every step is a process of its own.
"""

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from goodput.join.staleness import JoinInputs
from goodput.measure.charges import ChargeInputs, charge_hours
from goodput.measure.compute import measure_cells
from goodput.measure.staleness import TABLES as WINDOWED
from goodput.measure.staleness import MeasureInputs, stale_cells
from goodput.measure.waste import WasteInputs, write_waste
from goodput.plumbing.hourly import stale_hours

from benchmarks.child import Ended, run_function
from benchmarks.made_lake import inputs_of_lake, make_lake
from benchmarks.table import Row, grown, peak_memory, times_as_long
from goodput.measure import disruptions, replicas
from goodput.measure.coverage import CoverageInputs, cover_hours
from goodput.measure.frontier import frontier_inputs, write_frontier
from goodput.plumbing.contracts import arrow_schema, contract, contract_names
from goodput.plumbing.graph import closure
from goodput.plumbing.hours import batches
from goodput.plumbing.lake import Lake
from goodput.plumbing.sql_files import connect, parquet, read_parts, sql_file

ATTEMPTS = 20_000_000
GROWN_AT_MOST = 4.6  # four times, and what a busy machine adds
LEDGER_AT_MOST = 20
MEMORY_BELOW = 8 * 10**9


@dataclass(frozen=True)
class Step:
    """Relations that are made together: how, and of which tables of which layer."""

    relations: Sequence[str]
    work: Callable[[JoinInputs], None]
    reads: Sequence[tuple[str, str]]

    def make(self, folder: Path) -> float:
        """Seconds of work that the relations take for the whole lake in `folder`; they are published there."""
        begun = time.process_time()
        inputs = inputs_of_lake(folder)
        self.work(inputs)
        taken_s = time.process_time() - begun
        for table in self.relations:
            for part in (folder / "candidate" / table).glob("*/part.parquet"):
                inputs.lake.promote("measured", table, part.parent.name)
        return taken_s

    def scan(self, folder: Path) -> float:
        """Seconds of work that one look at every value takes of the columns that the SQL names."""
        begun = time.process_time()
        words = set(
            re.findall(r"\w+", " ".join(sql_file(name).text for name in closure(self.relations, contract_names())))
        )
        with connect() as connection:
            for layer, table in self.reads:
                files = [str(path) for paths in Lake(folder).parts(layer, table).values() for path in paths]
                named = [column.name for column in contract(table).columns if column.name in words]
                looks = ", ".join(f'bit_xor(hash("{name}"))' for name in named)
                connection.sql(f"SELECT {looks} FROM {parquet(files)}").fetchall()
        return time.process_time() - begun


def _cover(inputs: JoinInputs) -> None:
    covered = CoverageInputs(inputs)
    for hours in batches(stale_hours(covered), 24):
        cover_hours(covered, hours)


def _charge(inputs: JoinInputs) -> None:
    charged = ChargeInputs(inputs)
    for hours in batches(stale_hours(charged), 24):
        charge_hours(charged, hours)


def _waste(inputs: JoinInputs) -> None:
    wasted = WasteInputs(inputs)
    write_waste(wasted, stale_cells(wasted))


def _measure(inputs: JoinInputs) -> None:
    measured = MeasureInputs(inputs)
    deque(measure_cells(measured, stale_cells(measured), datetime.now(UTC)), maxlen=0)


def _frontier(inputs: JoinInputs) -> None:
    measured = MeasureInputs(inputs)
    write_frontier(measured, frontier_inputs(measured))


def _watch(inputs: JoinInputs) -> None:
    watched = replicas.ReplicaInputs(inputs)
    deque(replicas.measure_replicas(watched, stale_cells(watched)), maxlen=0)


def _disrupt(inputs: JoinInputs) -> None:
    found = disruptions.DisruptionInputs(inputs)
    disruptions.disrupt_days(found, found.stale_days())


def _cost_kinds(inputs: JoinInputs) -> None:
    found = disruptions.DisruptionInputs(inputs)
    for made_from in found.stale_kinds().values():
        disruptions.cost_kinds(found, made_from)


def _sessions(inputs: JoinInputs) -> None:
    with connect() as connection:
        for table in ("session_hours", "requests"):
            files = [str(path) for paths in inputs.lake.parts("joined", table).values() for path in paths]
            read_parts(connection, table, files, arrow_schema(table))
        connection.execute(f"CREATE TEMP TABLE sessions AS {sql_file('sessions').text}")


STEPS = {
    "coverage": Step(("coverage",), _cover, (("joined", "attempts"), ("joined", "replica_samples"))),
    "ledger": Step(
        ("cost_ledger",), _charge, (("joined", "attempts"), ("joined", "requests"), ("joined", "replica_samples"))
    ),
    "waste": Step(("waste",), _waste, (("measured", "cost_ledger"),)),
    "windows": Step(
        WINDOWED,
        _measure,
        (("joined", "requests"), ("joined", "attempts"), ("measured", "coverage"), ("measured", "waste")),
    ),
    "frontier": Step(("frontier",), _frontier, (("measured", "load_windows"), ("measured", "goodput"))),
    "replicas": Step(replicas.TABLES, _watch, (("joined", "attempts"), ("joined", "replica_samples"))),
    "disruptions": Step((disruptions.BY_DAY,), _disrupt, (("measured", "goodput"), ("measured", "cache_by_replica"))),
    "kinds": Step(disruptions.BY_KIND, _cost_kinds, (("measured", "goodput"), ("measured", "cache_by_replica"))),
    "sessions": Step(("sessions",), _sessions, (("joined", "session_hours"), ("joined", "requests"))),
}


def rows(share: float) -> Iterator[Row]:
    """Every relation over `share` of the attempts beside a quarter of these."""
    attempts = round(ATTEMPTS * share)
    of_quarter, of_all = (dict(_took(count)) for count in (attempts // 4, attempts))
    for name, (made, scan) in of_all.items():
        what = f"{', '.join(STEPS[name].relations)}, {attempts / 1e6:g}M attempts"
        made_before, scan_before = of_quarter[name]
        yield grown(what, (made_before.said, made.said), (scan_before.said, scan.said), at_most=GROWN_AT_MOST)
    made, scan = of_all["ledger"]
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
