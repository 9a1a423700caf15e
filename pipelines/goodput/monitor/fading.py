"""Sums over the last windows in which what lies further back counts for less: an exponential average, cut off.

A window that is not known does not age the others; those before a long gap do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goodput.monitor.grid import Flags, Floats, Ints


@dataclass(frozen=True)
class Fading:
    """A window keeps `kept` of its part at each later one that is known, for `taps` of them and `reach` in all."""

    kept: float
    taps: int
    reach: int

    def sums(self, parts: Sequence[Floats], known: Flags) -> list[Floats]:
        """The sums of each of `parts`, series x windows, that are 0 where a window is not `known`."""
        order = np.argsort(~known, axis=1, kind="stable")  # windows that are known, moved together
        packed = [np.take_along_axis(part, order, axis=1) for part in parts]
        totals = [self._unbroken(part) for part in packed]
        # What a gap cuts short is summed tap by tap: a matter of the window alone, so that later runs do the same.
        cut = np.take_along_axis(known, order, axis=1) & self._reaches_too_far(order)
        rows = np.flatnonzero(cut.any(axis=1))
        if len(rows):
            for total, near in zip(totals, self._near([part[rows] for part in packed], order[rows]), strict=True):
                total[rows] = np.where(cut[rows], near, total[rows])
        return [_unpacked(total, order) for total in totals]

    def _reaches_too_far(self, order: Ints) -> Flags:
        earliest = np.maximum(np.arange(order.shape[1]) - self.taps + 1, 0)
        far: Flags = order - order[:, earliest] > self.reach
        return far

    def _unbroken(self, packed: Floats) -> Floats:
        """Sums over as many windows as there are taps, made of sums over 1, 2, 4 ... of them."""
        total, summed = np.zeros_like(packed), packed
        for bit in range(self.taps.bit_length()):
            span = 1 << bit
            if self.taps & span:
                total = self._with_those_before(summed, total, span)
            if self.taps >> (bit + 1):
                summed = self._with_those_before(summed, summed, span)
        return total

    def _with_those_before(self, summed: Floats, before: Floats, span: int) -> Floats:
        """Sums over `span` windows, with what sums `before` these keep."""
        found = summed.copy()
        found[:, span:] += self.kept**span * before[:, :-span]
        return found

    def _near(self, packed: Sequence[Floats], order: Ints) -> list[Floats]:
        """The same sums, tap by tap, without windows that lie beyond the reach."""
        totals = [np.zeros_like(part) for part in packed]
        for back in range(min(self.taps, order.shape[1])):
            until = order.shape[1] - back
            near = order[:, back:] - order[:, :until] <= self.reach
            for total, part in zip(totals, packed, strict=True):
                total[:, back:] += np.where(near, self.kept**back * part[:, :until], 0.0)
        return totals


def _unpacked(packed: Floats, order: Ints) -> Floats:
    spread = np.empty_like(packed)
    np.put_along_axis(spread, order, packed, axis=1)
    return spread
