"""What each attempt really cost: the rule of the truth, simple enough to be stated in one sentence.

A node's price for the seconds in which its process was busy is shared among the process's attempts by work: tokens
prefilled (recomputed ones included), a tenth of those cached, five times those generated, half of those drafted.
Idle time belongs to no attempt.
"""

from collections import defaultdict
from typing import Final

from goodput.simulate.fleet.fleet import Served
from goodput.simulate.fleet.gateway import Attempt
from goodput.simulate.fleet.job import Job
from goodput.simulate.fleet.replica import Incarnation
from goodput.simulate.story import NODE_USD_PER_H

CACHED_WEIGHT: Final = 0.1
DECODE_WEIGHT: Final = 5.0
DRAFT_WEIGHT: Final = 0.5


def work(job: Job) -> float:
    """Return the work that an engine did for a job, in weighted tokens."""
    return (
        job.prefilled_tokens
        + CACHED_WEIGHT * job.cached_tokens
        + DECODE_WEIGHT * job.generated
        + DRAFT_WEIGHT * job.draft_tokens
    )


def attempt_costs_usd(served: Served) -> dict[Attempt, float]:
    """Return the cost of every attempt that reached an engine."""
    attempts = [one for exchange in served.exchanges for one in exchange.attempts if one.job is not None]
    total: dict[Incarnation, float] = defaultdict(float)
    done = {attempt: work(attempt.job) for attempt in attempts if attempt.job is not None}
    for attempt, units in done.items():
        total[attempt.incarnation] += units
    return {
        attempt: units / total[attempt.incarnation] * _busy_usd(attempt.incarnation) if units else 0.0
        for attempt, units in done.items()
    }


def _busy_usd(incarnation: Incarnation) -> float:
    return incarnation.engine.counters.busy_s / 3600.0 * NODE_USD_PER_H[incarnation.pool]
