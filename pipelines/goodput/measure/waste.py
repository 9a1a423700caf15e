"""How a batch of `waste` is added up; the arithmetic is sql/measure/waste/."""

import pyarrow as pa

from goodput.measure.hourly_sums import hourly_sums
from goodput.plumbing.node import Batch, Context
from goodput.plumbing.parameters import as_rows

HOURLY_SUMS = hourly_sums(
    ("step_costs", "weighed_costs", "ended_requests", "asked_sessions", "step_names", "step_values")
)


def waste_options(_context: Context, batch: Batch) -> pa.Table:
    """Whether the hours of the batch are added up each by itself."""
    return as_rows("waste_options", {"is_by_hour": bool(batch.large)})
