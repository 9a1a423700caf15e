"""Gates as rows: all of them in order, and those that each workload sets, which users can ask."""

import polars as pl
import pyarrow as pa

from goodput.join.workloads import bounds
from goodput.plumbing.parameters import PARAMETERS
from goodput.settings.gates import COUNT_GATES, GATES, LATENCY_GATES
from goodput.settings.model import Settings, Workload


def gate_order() -> pa.Table:
    """One row per gate in the order in which verdicts are decided: gate, ordinal, bounds_load."""
    bounding = {name for name, gate in LATENCY_GATES.items() if gate.bounds_load}
    rows = [{"gate": gate, "ordinal": n, "bounds_load": gate in bounding} for n, gate in enumerate(GATES)]
    return pa.Table.from_pylist(rows, schema=PARAMETERS["gates"].schema)


def gate_rows(settings: Settings) -> pa.Table:
    """One row per workload and gate that is set, or one without a gate where none is.

    The bound of a latency gate is in seconds, of a gate on a count that count, of `quality` the least score.
    """
    rows = [
        {
            "workload": name,
            "gate": gate,
            "bound": bound,
            "on_missing": _on_missing(workload).get(gate) if gate else None,
            "unlabelled": workload.quality.unlabelled if workload.quality and gate == "quality" else None,
            "sampling": workload.quality.sampling if workload.quality and gate == "quality" else None,
            "unit": workload.unit,
            "unit_label": workload.unit_label,
        }
        for name, workload in settings.workloads.items()
        for gate, bound in (_gates(workload) or {None: None}).items()
    ]
    schema = PARAMETERS["workloads"].schema
    # by way of Polars: pyarrow alone would import pandas, for which a run with nothing new waits longest
    return pl.DataFrame(rows, schema=schema.names, orient="row", infer_schema_length=None).to_arrow().cast(schema)


def _on_missing(workload: Workload) -> dict[str, str]:
    return {gate: workload.on_missing.get(gate, "fail") for gate in LATENCY_GATES}


def _gates(workload: Workload) -> dict[str | None, float | None]:
    gates: dict[str | None, float | None] = {
        gate: bound for gate, bound in bounds(workload).items() if bound is not None
    }
    for name, gate in COUNT_GATES.items():
        bound = getattr(workload, gate.setting)
        if bound is not None:
            gates[name] = float(bound)
    if workload.quality is not None:
        gates["quality"] = workload.quality.min_score
    return gates
