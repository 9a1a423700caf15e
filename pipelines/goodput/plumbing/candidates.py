"""Writes computed rows hour by hour as candidates, which count once they are checked. Nothing is computed here."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from goodput.plumbing.hours import epoch_hour
from goodput.plumbing.lake import Lake, write_each, write_parquet

HOUR = "hour"  # column of the rows: hours from the Unix epoch


def write_candidates(lake: Lake, table: str, rows: pa.Table, inputs: Mapping[str, str]) -> int:
    """Write the candidate part of each hour of `inputs` (label -> fingerprint), an empty one too; how many rows.

    `rows` are in order of their column `hour`, which is not written. Raises LakeUnwritable.
    """
    hours = sorted(inputs)
    numbers = [epoch_hour(hour) for hour in hours]
    in_hours = rows.column(HOUR).to_numpy()
    edges = zip(np.searchsorted(in_hours, numbers), np.searchsorted(in_hours, numbers, side="right"), strict=True)
    kept = rows.drop_columns(HOUR)

    def write(part: tuple[str, tuple[int, int]]) -> None:
        hour, (first, end) = part
        path = lake.part("candidate", table, f"hour={hour}")
        write_parquet(path, kept.slice(first, end - first), inputs=inputs[hour])

    write_each(write, zip(hours, edges, strict=True))
    return int(rows.num_rows)
