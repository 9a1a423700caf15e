"""The gates of each workload as a table that users can ask: workload, gate, bound."""

import pyarrow as pa

from goodput.join.workloads import bounds
from goodput.settings.model import Settings, Workload


def gate_rows(settings: Settings) -> pa.Table:
    """One row per workload and gate that is set; the bound of a latency gate in seconds, of `retries` a count."""
    rows = [
        {"workload": name, "gate": gate, "bound": bound}
        for name, workload in settings.workloads.items()
        for gate, bound in _gates(workload).items()
    ]
    schema = pa.schema([("workload", pa.string()), ("gate", pa.string()), ("bound", pa.float64())])
    return pa.Table.from_pylist(rows, schema=schema)


def _gates(workload: Workload) -> dict[str, float | None]:
    gates: dict[str, float | None] = {gate: bound for gate, bound in bounds(workload).items() if bound is not None}
    if workload.retry_budget is not None:
        gates["retries"] = float(workload.retry_budget)
    if workload.quality is not None:
        gates["quality"] = workload.quality.min_score
    return gates
