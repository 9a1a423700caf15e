"""What an accepted request costs at each load: docs/semantics.md#frontier."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from oracle.disruption_rows import Estimate, named
from oracle.fleet import Fleet, Row
from oracle.points import WORKLOAD, Judged
from oracle.rates import Rate, blend
from oracle.slices import Key
from oracle.together import Together

Paid = tuple[Fraction | None, Row, Key]  # cost, row of goodput and its key


@dataclass(frozen=True)
class Ended:
    """What ended in a window, and what the window cost."""

    accepted: int
    judged: dict[str, Judged]
    usd: Fraction


def price(fleet: Fleet, windows: Sequence[Sequence[Paid]]) -> Row:
    """Cost per accepted request of windows of which cost and accepted requests are known, or why there is none."""
    paid = [of for of in windows if all(usd is not None for usd, _, _ in of)]
    known = [_ended(fleet, of) for of in paid if all(row["goodput_rps"] is not None for _, row, _ in of)]
    together = Together(fleet, known)
    units = [(0, together.accepted(own), own.usd) for own in known]
    rate = Rate(units, together.reach(of_these=False))  # type: ignore[arg-type]
    found = blend([(rate, Fraction(1))])
    if found.low is None:
        found = Estimate(found.value, None, None)
    reasons = {
        "cost_unknown": not paid,
        "labels_not_drawn": not known,
        "nothing_accepted": found.value is None,
        "single_window": found.low is None,
    }
    why = next((name for name, holds in reasons.items() if holds), None)
    return named("cost_per_accepted", "_usd", found) | {"no_cost_interval": why}


def _ended(fleet: Fleet, of: Sequence[Paid]) -> Ended:
    judged = {
        key[WORKLOAD]: Judged(row["need_label"], row["labelled"], row["accepted"])
        for _, row, key in of
        if row["need_label"] and key[WORKLOAD] in fleet.workloads
    }
    usd = sum((usd for usd, _, _ in of if usd is not None), Fraction(0))
    return Ended(sum(row["accepted"] for _, row, _ in of), judged, usd)
