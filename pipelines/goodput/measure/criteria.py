"""What must hold at a load for it to lie below the knee: each gate's p99, and goodput as when unloaded.

Where they cease to hold is the work of `knee`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from goodput.measure.crossing import Array
from goodput.measure.knee import Counts, Sums

_FAILING_RATIO = 0.01  # of the requests on which a gate was measured: beyond it its p99 does not hold
_KEPT_RATIO = 0.95  # of the unloaded goodput ratio


@dataclass(frozen=True)
class Gate:
    """At most 1 % of the requests fail it: counts of each window."""

    name: str
    failing: Array
    judged: Array

    def counts(self, sums: Sums) -> Counts:
        """See `Criterion`."""
        failing = sums(self.failing)
        return failing, sums(self.judged), np.full(len(failing), _FAILING_RATIO)


@dataclass(frozen=True)
class Stratum:
    """Counts of one workload in each window, and how its requests without a label count."""

    policy: str
    accepted: Array
    need: Array
    labelled: Array

    def estimate(self, accepted: Array, need: Array, labelled: Array, pass_ratio: Array) -> Array:
        """Accepted requests, as the macro accepted_estimate has them; `pass_ratio` is NaN without a label."""
        most = accepted + need - labelled
        if self.policy == "estimate":
            by_labels = np.where(np.isnan(pass_ratio), most, need * pass_ratio)
        else:
            by_labels = accepted if self.policy == "fail" else most
        return np.where(need > 0, by_labels, accepted)


@dataclass(frozen=True)
class Goodput:
    """The goodput ratio is at least 0.95 of that of the lowest level; what is not accepted fails."""

    judged: Array
    strata: Sequence[Stratum]
    name = "goodput"

    @cached_property
    def failing(self) -> Array:
        """By the pass ratio of all windows: a window alone has few labels."""
        return self.judged - sum(
            (
                s.estimate(s.accepted, s.need, s.labelled, _ratio(s.accepted.sum(), s.labelled.sum()))
                for s in self.strata
            ),
            np.zeros(len(self.judged)),
        )

    def counts(self, sums: Sums) -> Counts:
        """See `Criterion`. Where a level has no label, the pass ratio is that of all levels."""
        ended = sums(self.judged)
        accepted = np.zeros_like(ended)
        for one in self.strata:
            counted = sums(one.accepted), sums(one.need), sums(one.labelled)
            of_all = _ratio(counted[0].sum(axis=1, keepdims=True), counted[2].sum(axis=1, keepdims=True))
            own = _ratio(counted[0], counted[2])
            accepted += one.estimate(*counted, np.where(np.isnan(own), of_all, own))
        unloaded = accepted[:, 0] / np.maximum(ended[:, 0], 1e-12)
        return np.maximum(ended - accepted, 0), ended, np.where(unloaded > 0, 1 - _KEPT_RATIO * unloaded, 0)


def _ratio(part: Array, whole: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(whole) > 0, np.divide(part, whole), np.nan)
