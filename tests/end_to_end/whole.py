"""The whole pipeline without its orchestrator: quick enough to be run hundreds of times on random inputs."""

from collections import deque
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from goodput.conform.take_in import take_in
from goodput.plumbing.ledger import read_ledger

from goodput.join.compute import join_hours
from goodput.join.labels import note_label_hours
from goodput.join.samples import RELATIONS as SAMPLE_TABLES
from goodput.join.samples import SampleInputs, sample_hours
from goodput.join.staleness import TABLES, JoinInputs
from goodput.join.whole import CELL, WholeInputs
from goodput.measure.charges import ChargeInputs, charge_hours
from goodput.measure.compute import measure_cells
from goodput.measure.coverage import CoverageInputs, cover_hours
from goodput.measure.disruptions import BY_DAY, DisruptionInputs, cost_kinds, disrupt_days
from goodput.measure.frontier import frontier_inputs, write_frontier
from goodput.measure.gates import gate_rows
from goodput.measure.replicas import TABLES as REPLICA_TABLES
from goodput.measure.replicas import ReplicaInputs, measure_replicas
from goodput.measure.staleness import TABLES as MEASURED
from goodput.measure.staleness import MeasureInputs, stale_cells
from goodput.measure.waste import WasteInputs, write_waste
from goodput.plumbing.hourly import stale_hours
from goodput.plumbing.hours import batches
from goodput.plumbing.sql_files import connect
from goodput.plumbing.warehouse import publish
from goodput.plumbing.workspace import Workspace

RESTATED = ("computed_at", "revision")


def run_without_checks(config: Path) -> Workspace:
    """One run over the settings at `config`: take in, join, sample, cover, charge, measure, publish."""
    workspace = Workspace(config)
    lake = workspace.lake
    lake.open()
    take_in(workspace)
    make_whole(workspace)
    inputs = JoinInputs(lake, workspace.settings, read_ledger(lake))
    note_label_hours(inputs)
    for hours in batches(stale_hours(inputs), 24):
        join_hours(inputs, hours)
        for table in TABLES:
            for hour in hours:
                lake.promote("joined", table, f"hour={hour}")
    samples = SampleInputs(inputs)
    for hours in batches(stale_hours(samples), 24):
        sample_hours(samples, hours)
        for table in SAMPLE_TABLES:
            for hour in hours:
                lake.promote("joined", table, f"hour={hour}")
    coverage = CoverageInputs(inputs)
    for hours in batches(stale_hours(coverage), 24):
        cover_hours(coverage, hours)
        for hour in hours:
            lake.promote("measured", "coverage", f"hour={hour}")
    charge(inputs)
    measure(workspace)
    _watch(inputs)
    _disrupt(inputs)
    publish(lake, read_ledger(lake), gate_rows(workspace.settings))
    return workspace


def measure(workspace: Workspace) -> None:
    """Measure the cells that are stale, and the frontier."""
    lake = workspace.lake
    measured = MeasureInputs(JoinInputs(lake, workspace.settings, read_ledger(lake)))
    cells = stale_cells(measured)
    deque(measure_cells(measured, cells, datetime.now(UTC)), maxlen=0)
    for cell in cells:
        for name in MEASURED:
            lake.promote("measured", name, cell.name)
    write_frontier(measured, frontier_inputs(measured))
    lake.promote("measured", "frontier", CELL)


def charge(inputs: JoinInputs) -> None:
    """Charge and add up what is stale."""
    lake = inputs.lake
    charges = ChargeInputs(inputs)
    for hours in batches(stale_hours(charges), 24):
        charge_hours(charges, hours)
        for hour in hours:
            lake.promote("measured", "cost_ledger", f"hour={hour}")
    waste = WasteInputs(inputs)
    cells = stale_cells(waste)
    write_waste(waste, cells)
    for cell in cells:
        lake.promote("measured", "waste", cell.name)


def make_whole(workspace: Workspace) -> dict[str, int]:
    """Make what is stale of the tables that have no hours; rows by table."""
    lake = workspace.lake
    inputs = WholeInputs(lake, workspace.settings, read_ledger(lake))
    made = inputs.make(inputs.stale())
    for table in made:
        lake.promote("joined", table, CELL)
    return made


def _watch(inputs: JoinInputs) -> None:
    watched = ReplicaInputs(inputs)
    cells = stale_cells(watched)
    deque(measure_replicas(watched, cells), maxlen=0)
    for cell in cells:
        for table in REPLICA_TABLES:
            inputs.lake.promote("measured", table, cell.name)


def _disrupt(inputs: JoinInputs) -> None:
    disruptions = DisruptionInputs(inputs)
    days = disruptions.stale_days()
    disrupt_days(disruptions, days)
    for day in days:
        inputs.lake.promote("measured", BY_DAY, day)
    after = DisruptionInputs(inputs)
    for cell, made_from in after.stale_kinds().items():
        for table in cost_kinds(after, made_from):
            inputs.lake.promote("measured", table, cell)


def ask(workspace: Workspace, sql: str) -> pl.DataFrame:
    """What the published database answers."""
    with connect(str(workspace.lake.database), read_only=True) as connection:
        return pl.DataFrame(connection.sql(sql).to_arrow_table())


def table(workspace: Workspace, name: str, without: tuple[str, ...] = ()) -> pl.DataFrame:
    """A published relation in an order of its own."""
    rows = ask(workspace, f'SELECT * FROM "{name}"').drop(without)
    return rows.sort(pl.all().exclude(pl.List(pl.String)), nulls_last=True)
