"""Base windows by what arrived in them, and the load of the replicas at work: docs/semantics.md#frontier."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import floor, log10

from oracle.disrupted import Disruption
from oracle.fleet import DAY, Fleet, Row, S, exact, seconds
from oracle.points import Judged
from oracle.slices import UNKNOWN, window_of, windows_between
from oracle.spans import Span

Group = tuple[str, str, str]  # workload, pool, route
PLACE = {"pool": 1, "route": 2}


@dataclass
class Arrived:
    """Requests of a workload, pool and route that arrived in one base window."""

    requests: list[Row] = field(default_factory=list)
    replicas: set[str] = field(default_factory=set)  # whose attempts were under way

    def on(self, replica: str) -> Fraction:
        """Arrivals that a replica carried: those that it answered, and its part of those that none of them did."""
        answered = [row["replica"] for row in self.requests if row["replica"] in self.replicas]
        return answered.count(replica) + Fraction(len(self.requests) - len(answered), len(self.replicas))


@dataclass(frozen=True)
class Load:
    """What arrived in one base window for a route or pool, and what its replicas carried."""

    at: int  # nanoseconds
    lasts_s: int
    requests: list[Row]
    replicas: int
    of_others: Fraction
    declared: Fraction | None

    @property
    def carried(self) -> Fraction:
        """Arrivals, those of others on its replicas included; in a sweep the intervals between them."""
        n = len(self.requests)
        return (n + self.of_others) * (1 if self.declared is None else Fraction(n - 1, n))

    @property
    def replica_time_s(self) -> Fraction:
        """Time of all replicas; in a sweep from the first to the last arrival."""
        times = [row["arrived_at"] // 1000 * 1000 for row in self.requests]
        span = self.lasts_s if self.declared is None else seconds(max(times) - min(times))
        return max(self.replicas, 1) * Fraction(span)

    @cached_property
    def judged(self) -> dict[str, Judged]:
        """Requests by workload that need a label, have one, and passed."""
        found: dict[str, Judged] = {}
        for row in self.requests:
            if row["needs_label"]:
                own = Judged(1, int(row["pass_quality"] is not None), int(row["verdict"] == "accepted"))
                found[row["workload"]] = found.get(row["workload"], Judged()) + own
        return found

    @property
    def accepted(self) -> int:
        """Requests with that verdict."""
        return sum(row["verdict"] == "accepted" for row in self.requests)

    @property
    def ended(self) -> int:
        """Requests that are over."""
        return sum(row["verdict"] != "in_flight" for row in self.requests)


class Loads:
    """Base windows of the last 7 days, by route and by pool."""

    def __init__(self, fleet: Fleet, attempts: Iterable[Row], requests: Iterable[Row], observed: Span) -> None:
        self.base_s = min(fleet.settings["windows_s"])
        arrived: dict[int, dict[Group, Arrived]] = defaultdict(lambda: defaultdict(Arrived))
        for row in requests:
            at = window_of(row["arrived_at"], self.base_s)
            if at * S >= observed[0] and (at + self.base_s) * S <= observed[1]:
                arrived[at * S][_group(row)].requests.append(row)
        for row in attempts:
            last = row["started_at"] if row["ended_at"] is None else row["ended_at"]
            for at in windows_between(row["started_at"], last, self.base_s) if row["replica"] else ():
                if _group(row) in arrived.get(at * S, {}):
                    arrived[at * S][_group(row)].replicas.add(row["replica"])
        newest = max(arrived, default=0)
        self.arrived = {at: groups for at, groups in arrived.items() if at > newest - 7 * DAY}

    def of(self, slice_: str) -> dict[str, list[Load]]:
        """Windows of each route or pool in their order."""
        found: dict[str, list[Load]] = defaultdict(list)
        for at, groups in sorted(self.arrived.items()):
            carried: dict[str, dict[str, Fraction]] = defaultdict(
                lambda: defaultdict(Fraction)
            )  # by replica, then name
            for group, own in groups.items():
                for replica in own.replicas:
                    carried[replica][group[PLACE[slice_]]] += own.on(replica)
            for name in sorted({group[PLACE[slice_]] for group in groups}):
                mine = [own for group, own in groups.items() if group[PLACE[slice_]] == name]
                rows = [row for own in mine for row in own.requests]
                replicas = {replica for own in mine for replica in own.replicas}
                others = sum((n for on in replicas for of, n in carried[on].items() if of != name), Fraction(0))
                found[name].append(Load(at, self.base_s, rows, len(replicas), others, _declared(rows)))
        return found

    def is_disrupted(self, slice_: str, name: str, load: Load, disruptions: Iterable[Disruption]) -> bool:
        """Whether an operation disrupted a pool that served a window of a route or pool."""
        pools = {group[1] for group in self.arrived[load.at] if group[PLACE[slice_]] == name}
        ends = load.at + load.lasts_s * S
        return any(
            ends > one.at and (load.at < one.end[1] or load.at <= one.at) and (one.pool is None or one.pool in pools)
            for one in disruptions
        )


def _group(row: Row) -> Group:
    return row["workload"], row["pool"] or UNKNOWN, row["route"] or UNKNOWN


def _declared(rows: list[Row]) -> Fraction | None:
    rates = {row["offered_rps"] for row in rows}
    return exact(rates.pop()) if len(rates) == 1 else None


def load_rps(load: Load, alike: list[Load]) -> Fraction:
    """Arrivals per second and replica: of a declared rate those of all of its windows together."""
    together = [load] if load.declared is None else [one for one in alike if one.declared == load.declared]
    time_s = sum(one.replica_time_s for one in together)
    if time_s:
        return sum((one.carried for one in together), Fraction(0)) / time_s
    return (load.declared or Fraction(0)) / max(load.replicas, 1)


def bin_of(rps: Fraction) -> int:
    """Twenty bins to a decade."""
    return floor(20 * log10(rps) + 1e-9)


def by_bin(loads: list[Load], of: Callable[[Load], Fraction]) -> dict[int, list[Load]]:
    """Windows of each load."""
    found: dict[int, list[Load]] = defaultdict(list)
    for load in loads:
        found[bin_of(of(load))].append(load)
    return dict(sorted(found.items()))
