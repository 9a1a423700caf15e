"""Incidents: alarms that begin together are one incident, reported once by the alarm that says most of it.

What makes the ttft of a pool slow makes its e2e slow, its goodput fall and its answers dear, and its KV cache is full
at the same time: whoever was paged for the first of these knows where to look, and finds the others there.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from goodput.monitor.panel import Labels
from goodput.monitor.rule_kind import rule_kind
from goodput.monitor.rule_series import RuleSeries, spans
from goodput.settings.metrics import symptoms_first

AFTER_S = 6 * 3600  # what outlasts the alarm that it belongs to by a little is no news
_TOGETHER_S = 12 * 3600  # one drift is found within hours in all that it moves, as the noise of each has it ...
_WHILE_IT_FIRES_S = 24 * 3600  # ... and what grows for longer moves more and more


@dataclass(frozen=True)
class Begun:
    """One time that an alarm fired: Unix seconds, without an end while it fires."""

    series: RuleSeries
    starts_s: int
    ends_s: int | None

    @property
    def is_ticket(self) -> bool:
        """Whether it pages nobody."""
        return self.series.severity != "page"

    @property
    def place(self) -> Mapping[str, str]:
        """Labels of the series."""
        return dict(self.series.labels)


@dataclass(frozen=True)
class Following:
    """An alarm that fired as a part of what `leader` reports, which holds it back as if that ended at `ends_s`."""

    begun: Begun
    leader: Begun
    ends_s: int | None

    @property
    def by(self) -> str:
        """The rule of the leader, with its series if that is another one."""
        mine, its = self.begun.series.labels, self.leader.series.labels
        where = () if mine == its else (f"{name}={value}" for name, value in its)
        return " ".join([self.leader.series.rule, *where])


def followings(every_series: Sequence[RuleSeries], reported_s: Callable[[Begun], float]) -> Iterator[Following]:
    """What follows an alarm that was reported, in order of time; `reported_s`: from when nothing else suppresses it.

    Of those that fire in the same window a page goes first, then what users notice, then what may be its cause.
    """
    leaders = _Leaders()
    for begun in sorted(_all_begun(every_series), key=_order):
        following = leaders.of(begun)
        if following is not None:
            leaders.follow(following)
            yield following
        elif (since_s := reported_s(begun)) < (math.inf if begun.ends_s is None else begun.ends_s):
            leaders.add(replace(begun, starts_s=int(since_s)))


def _all_begun(every_series: Sequence[RuleSeries]) -> Iterator[Begun]:
    for one in every_series:
        if rule_kind(one.kind).learns_baseline:
            yield from (Begun(one, starts_s, ends_s) for _, starts_s, ends_s in spans(one))


def _order(begun: Begun) -> tuple[int, bool, bool, int, Labels]:
    of_replica = "replica" in begun.place
    return begun.starts_s, begun.is_ticket, of_replica, symptoms_first(begun.series.metric), begun.series.labels


class _Leaders:
    """Alarms that were reported, found by their pool and by what fired in the same window elsewhere.

    What follows an alarm of another pool leads its own pool in that one's name: whoever was notified of one of the
    pools that slowed down at once was notified of what becomes of each.
    """

    def __init__(self) -> None:
        self._of_pool: dict[str | None, list[tuple[Begun, Begun]]] = {}
        self._at: dict[tuple[str | None, int], list[Begun]] = {}

    def add(self, begun: Begun) -> None:
        self._of_pool.setdefault(begun.place.get("pool"), []).append((begun, begun))
        self._at.setdefault((begun.series.metric, begun.starts_s), []).append(begun)

    def follow(self, following: Following) -> None:
        """Keep what follows an alarm elsewhere: until both are over."""
        begun, pool = following.begun, following.begun.place.get("pool")
        if pool != following.leader.place.get("pool"):
            here = replace(begun, ends_s=_later(begun.ends_s, following.ends_s))
            self._of_pool.setdefault(pool, []).append((here, following.leader))

    def of(self, begun: Begun) -> Following | None:
        """The alarm that whoever was notified of it needs no news of this one."""
        here = self._of_pool.get(begun.place.get("pool"), ())
        at_once = self._at.get((begun.series.metric, begun.starts_s), ())
        beside = (pair for pair in here if _one_place(begun, pair[0]) and _is_together(begun, pair[0]))
        elsewhere = ((other, other) for other in at_once if _alike(begun, other))
        found = (pair for some in (beside, elsewhere) for pair in some if pair[0].is_ticket <= begun.is_ticket)
        return next((Following(begun, leader, near.ends_s) for near, leader in found), None)


def _later(one_s: int | None, other_s: int | None) -> int | None:
    return None if one_s is None or other_s is None else max(one_s, other_s)


def _one_place(begun: Begun, other: Begun) -> bool:
    """Whether another alarm is about the same workload and replica, or about all of the pool's, in another metric."""
    mine, its = begun.place, other.place
    workload = its.get("workload") in {None, mine.get("workload")} or "workload" not in mine
    replica = its.get("replica") in {None, mine.get("replica")}
    return workload and replica and (begun.series.metric, mine) != (other.series.metric, its)


def _is_together(begun: Begun, other: Begun) -> bool:
    is_over = other.ends_s is not None and begun.starts_s >= other.ends_s + AFTER_S
    fires_still = other.ends_s is None or begun.starts_s < other.ends_s
    within_s = _WHILE_IT_FIRES_S if fires_still else _TOGETHER_S
    together_s = max(within_s, 2 * begun.series.grid.step_s)  # long windows see late what short ones saw
    return begun.starts_s - together_s <= other.starts_s <= begun.starts_s and not is_over


def _alike(begun: Begun, other: Begun) -> bool:
    """Whether it is the same metric of a like series: of another pool or workload, or of another replica."""
    return begun.place.keys() == other.place.keys() and begun.series.labels != other.series.labels
