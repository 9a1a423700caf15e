"""What a fleet amounts to, computed once for all relations."""

from functools import cached_property

from oracle import ledger, points, prices, waste, windows
from oracle.counters import Samples
from oracle.coverage import Coverage
from oracle.disrupted import Disruption, disruptions
from oracle.fleet import Fleet, Row, S
from oracle.frontier import Frontier
from oracle.kind_rows import Kinds
from oracle.kinds import Week
from oracle.loads import Loads
from oracle.slices import Key, Slices
from oracle.state import States
from oracle.verdicts import judged_requests

NEVER = (0, 0)


class Truth:
    """What a fleet amounts to, computed once."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        starts = [record["started_at"] for record in fleet.records]
        self.until_ns = max([*starts, *(record["ended_at"] for record in fleet.records if record.get("ended_at"))])
        self.from_ns = min(starts)
        self.attempts, self.requests = judged_requests(fleet, self.until_ns)

    @cached_property
    def account(self) -> ledger.Ledger:
        """The ledger with who paid for it."""
        return ledger.Ledger(self.fleet, self.attempts, self.requests, (self.from_ns, self.until_ns))

    @cached_property
    def ledger(self) -> list[Row]:
        """Rows of the ledger."""
        return self.account.rows

    @cached_property
    def samples(self) -> Samples:
        """Readings of engines."""
        return self.account.replicas.samples

    @cached_property
    def states(self) -> States:
        """Replicas by window."""
        return States(self.fleet, self.account.replicas)

    @cached_property
    def coverage(self) -> Coverage:
        """What telemetry shows of what engines counted."""
        return Coverage(self.account.replicas, self.attempts)

    @cached_property
    def slices(self) -> Slices:
        """To which slices rows belong."""
        return Slices(self.fleet, self.requests)

    @cached_property
    def waste(self) -> waste.Waste:
        """What relation waste holds."""
        return waste.Waste(self.fleet, self.ledger, self.requests, self.slices)

    @cached_property
    def windows(self) -> dict[Key, windows.Window]:
        """What each window and slice counts."""
        self.coverage.tell(self.requests)
        return windows.windows(self.fleet, self.requests, self.slices)

    @cached_property
    def goodput(self) -> dict[Key, Row]:
        """Rows of relation goodput, also of windows in which nothing ended: a replica was live, or money was spent."""
        observed, carriers = (self.from_ns, self.until_ns), self.waste.carriers
        shown = self.windows.keys() | carriers.keys()
        found = {}
        for key in shown | self.waste.spent:
            window, span = self.windows.get(key, windows.Window()), observed if key in shown else NEVER
            found[key] = windows.goodput(self.fleet, key, window, carriers.get(key, set()), span)
        return {key: row | windows.bounds(row, key[1]) for key, row in found.items()}

    @cached_property
    def points(self) -> list[points.Point]:
        """What pools did in base windows."""
        paid = prices.replica_time(self.account.time, min(self.fleet.settings["windows_s"]) * S)
        return points.points(
            self.fleet, self.goodput, self.waste, self.states, (self.from_ns, self.until_ns), paid=paid
        )

    @cached_property
    def disruptions(self) -> list[Disruption]:
        """What operations did to their pools."""
        return disruptions(self.fleet, self.points, self.states, (self.from_ns, self.until_ns))

    @cached_property
    def kinds(self) -> Kinds:
        """What kinds of operations cost."""
        return Kinds(Week(self.fleet, self.points, self.disruptions, self.until_ns))

    @cached_property
    def frontier(self) -> Frontier:
        """Goodput by load."""
        loads = Loads(self.fleet, self.attempts, self.requests, (self.from_ns, self.until_ns))
        return Frontier(
            self.fleet, loads, self.goodput, {key: waste.all_cost(self.waste.costs(key)) for key in self.goodput}
        )
