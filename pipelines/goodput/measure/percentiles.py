"""Of values that are held, or of counts of them: which of the two the percentiles of a batch are made from.

See docs/semantics.md#percentiles.
"""

from typing import Literal

import pyarrow as pa

from goodput.plumbing.node import Batch, Context
from goodput.plumbing.parameters import as_rows
from goodput.settings.model import Settings

Percentiles = Literal["exact", "counted"]


def partition_size(_context: Context, batch: Batch) -> pa.Table:
    """How large the largest partition of the batch is."""
    return as_rows("partition_size", {"rows": max(batch.sizes.values(), default=0)})


def size_options(settings: Settings) -> pa.Table:
    """How many rows of a partition are held at once."""
    return as_rows("size_options", {"max_exact_requests": settings.max_exact_requests})


def percentiles_of(batch: Batch) -> Percentiles:
    """How the percentiles of a batch are made; a large partition is a batch of its own."""
    return "counted" if batch.large else "exact"
