"""Of values that are held, or of counts of them: which of the two the percentiles of a batch are made from.

See docs/semantics.md#percentiles.
"""

from typing import Literal

import pyarrow as pa

from goodput.plumbing.node import Batch, Context
from goodput.plumbing.parameters import as_rows

Percentiles = Literal["exact", "counted"]


def partition_size(_context: Context, batch: Batch) -> pa.Table:
    """Whether the batch is a partition that has more rows than are held at once."""
    return as_rows("partition_size", {"is_large": bool(batch.large)})


def percentiles_of(batch: Batch) -> Percentiles:
    """How the percentiles of a batch are made; a large partition is a batch of its own."""
    return "counted" if batch.large else "exact"
