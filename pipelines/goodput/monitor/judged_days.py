"""What days of series were judged to be, by all that they were judged from: a later evaluation judges only the others.

A day is found again by a hash of its own windows and of those that were its history, so that late data, an acceptance
or an episode that is history no more makes it another day. To lose all of it costs time, never a verdict.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from goodput.monitor.control_chart import ControlChart
from goodput.monitor.grid import Floats, Grid, Ints
from goodput.monitor.inputs import Inputs
from goodput.monitor.method import METHOD
from goodput.plumbing.fingerprint import fingerprint

Keys = npt.NDArray[np.uint64]
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_PLACES = np.arange(1, 7, dtype=np.uint64) * _SPREAD
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class JudgedDays:
    """Blocks of days x parts x windows, by chart and key; `stored` are those of an earlier evaluation.

    Only days that are asked for again are kept.
    """

    def __init__(self, stored: Mapping[str, npt.NDArray[Any]] | None = None) -> None:
        self._stored = dict(stored or {})
        self._kept: dict[str, list[tuple[Keys, Floats]]] = {}
        self.grown = False

    def find(self, chart: str, keys: Keys) -> tuple[Ints, Floats]:
        """Which of these days are known (positions in `keys`), and what they were judged to be."""
        known, blocks = self._stored.get(f"{chart}_keys"), self._stored.get(f"{chart}_days")
        if known is None or blocks is None or not _are_judged(known, blocks):
            return np.empty(0, dtype=np.int64), np.empty((0, 1, 1))
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        found = np.flatnonzero(known[at] == keys)
        days: Floats = blocks[at[found]]
        self._keep(chart, keys[found], days)
        return found, days

    def add(self, chart: str, keys: Keys, days: Floats) -> None:
        """Keep days that were judged now."""
        self.grown = self.grown or bool(len(keys))
        self._keep(chart, keys, days)

    def _keep(self, chart: str, keys: Keys, days: Floats) -> None:
        if len(keys):
            self._kept.setdefault(chart, []).append((keys, days))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All that this evaluation asked for, as arrays by name for the next one."""
        found: dict[str, npt.NDArray[Any]] = {}
        for chart, kept in self._kept.items():
            keys, first = np.unique(np.concatenate([keys for keys, _ in kept]), return_index=True)
            found[f"{chart}_keys"] = keys
            found[f"{chart}_days"] = np.concatenate([days for _, days in kept])[first]
        return found


def _are_judged(keys: Any, days: Any) -> bool:
    """Whether arrays of a file have the shape of what `JudgedDays.arrays` wrote, with a day at least."""
    is_shaped = all(isinstance(array, np.ndarray) for array in (keys, days)) and (keys.ndim, days.ndim) == (1, 3)
    return is_shaped and (keys.dtype, days.dtype) == (np.uint64, np.float64) and 0 < len(keys) == len(days)


class Identified:
    """Days of series by what they are judged from: hashes of 64 bits, series x days."""

    def __init__(self, inputs: Inputs, chart: ControlChart) -> None:
        self.inputs, self.chart = inputs, chart
        self.name = fingerprint(METHOD, repr(chart), chart.parts, inputs.floor, inputs.grid.step_s)

    def keys(self, rows: Ints, days: Ints, history: slice) -> Keys:
        """Keys of series, each on one day, judged by windows `history`."""
        first, until = history.start // self._grid.a_day, history.stop // self._grid.a_day
        past = self._until[rows, until] - self._until[rows, first]
        return _mixed(past ^ _mixed(self._days[rows, days] + _SPREAD))

    @property
    def _grid(self) -> Grid:
        return self.inputs.grid

    @cached_property
    def _days(self) -> Keys:
        inputs, grid = self.inputs, self._grid
        windows = _bits(inputs.remembered.astype(np.float64)) ^ inputs.calendar.classes.astype(np.uint64)
        parts = (inputs.values, inputs.age_h, inputs.requests, inputs.body, inputs.events, inputs.trials)
        for place, part in enumerate(parts):
            if part is not None:
                windows = _mixed((windows + _PLACES[place]) ^ _bits(part))
        of_day = windows.reshape(len(windows), grid.days, grid.a_day)
        of_day = _mixed(of_day + np.arange(grid.a_day, dtype=np.uint64) * _SPREAD).sum(axis=2, dtype=np.uint64)
        number = np.arange(grid.days, dtype=np.uint64) + np.uint64(grid.start_s // 86400)
        return _mixed(of_day ^ _mixed(number * _SPREAD))

    @cached_property
    def _until(self) -> Keys:
        """Sums of the hashes of all days before each one."""
        sums = np.zeros((len(self._days), self._grid.days + 1), dtype=np.uint64)
        np.cumsum(self._days, axis=1, dtype=np.uint64, out=sums[:, 1:])
        return sums


def _bits(values: Floats) -> Keys:
    return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)


def _mixed(values: Keys) -> Keys:
    """The finaliser of SplitMix64: every bit of the result depends on every bit of the value."""
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return values ^ (values >> np.uint64(31))
