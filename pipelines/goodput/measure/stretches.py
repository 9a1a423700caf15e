"""Stretches of event time that have to be computed again: what a run, or a sensor, asks the partitioned assets for.

What makes an hour or a cell stale is for the two `staleness` modules to say.
"""

from dataclasses import dataclass

from goodput.join.labels import note_label_hours
from goodput.join.samples import SampleInputs
from goodput.join.staleness import JoinInputs
from goodput.measure.charges import ChargeInputs
from goodput.measure.coverage import CoverageInputs
from goodput.measure.replicas import ReplicaInputs
from goodput.measure.staleness import MeasureInputs, stale_cells
from goodput.measure.waste import WasteInputs
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.held import held_inputs
from goodput.plumbing.hourly import stale_hours
from goodput.plumbing.hours import batches, neighbours
from goodput.plumbing.ledger import read_ledger
from goodput.plumbing.workspace import Workspace

_HOURS_A_RUN = 7 * 24


@dataclass(frozen=True)
class Stretch:
    """The first and the last hour to compute, and a fingerprint of what they would be computed from."""

    first: str
    last: str
    inputs: str


def stale_stretches(workspace: Workspace) -> list[Stretch]:
    """Stretches of at most a week that hold every stale hour and window, in order; held ones are left out."""
    join = JoinInputs(workspace.lake, workspace.settings, read_ledger(workspace.lake))
    note_label_hours(join)
    held = held_inputs(workspace.lake)
    due: dict[str, list[str]] = {}
    for inputs in (join, SampleInputs(join), CoverageInputs(join), ChargeInputs(join)):
        for hour in stale_hours(inputs):
            if (f"hour={hour}", inputs.of_hour(hour)) not in held:
                due.setdefault(hour, []).append(inputs.of_hour(hour))
    celled = (WasteInputs(join), MeasureInputs(join), ReplicaInputs(join))
    stale = [cell for inputs in celled for cell in stale_cells(inputs)]
    cells = [cell for cell in stale if (cell.name, cell.inputs) not in held]
    # an hour joined anew may change windows and charges before it, and coverage and charges of the hour after it
    touched = neighbours(due, join.reach + 1, 1) | {cell.hours[0] for cell in cells}
    wanted = {hour: [due.get(hour), *(cell.inputs for cell in cells if hour in cell.hours)] for hour in touched}
    return [
        Stretch(batch[0], batch[-1], fingerprint([(hour, wanted[hour]) for hour in batch]))
        for batch in batches(touched, _HOURS_A_RUN)
    ]
