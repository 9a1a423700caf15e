"""Which windows are alike: the hour of the day and whether it is a day of work, in the settings' time zone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from goodput.monitor.grid import Flags, Floats, Grid, Ints

CLASSES = 48  # 24 hours of days of work, then 24 of days off


@dataclass(frozen=True)
class Calendar:
    """Class of every window (0..47) and whether it counts as history at all."""

    classes: Ints
    counts: Flags


def calendar(
    grid: Grid,
    time_zone: str = "UTC",
    days_off: Sequence[date] = (),
    excluded: Sequence[tuple[int, int]] = (),
) -> Calendar:
    """Classes of a grid's windows; `days_off` are like a weekend, `excluded` spans (Unix seconds) are no history."""
    import polars as pl  # noqa: PLC0415  (kinds of rules are imported with the settings, where it is not needed)

    starts = grid.start_s + grid.step_s * np.arange(grid.windows)
    local = pl.from_epoch(pl.Series(starts), time_unit="s").dt.replace_time_zone("UTC").dt.convert_time_zone(time_zone)
    off = (local.dt.weekday() > 5) | local.dt.date().is_in(list(days_off))
    classes = local.dt.hour().cast(pl.Int64) + 24 * off.cast(pl.Int64)
    counts = np.ones(grid.windows, dtype=np.bool_)
    for from_s, until_s in excluded:
        counts &= (starts + grid.step_s <= from_s) | (starts >= until_s)
    return Calendar(classes.to_numpy(), counts)


def by_class(values: Floats, classes: Ints) -> Floats:
    """Values (series x windows) as series x 48 x as many as the fullest class has, NaN where a class has fewer."""
    sizes = np.bincount(classes, minlength=CLASSES)
    columns = np.full((CLASSES, max(int(sizes.max()), 1)), values.shape[1])
    order = np.argsort(classes, kind="stable")
    within = np.arange(len(classes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    columns[classes[order], within] = order
    padded = np.concatenate([values, np.full((len(values), 1), np.nan)], axis=1)
    return np.asarray(padded[:, columns])
