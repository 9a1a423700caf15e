"""What replicas were and cost in one step of the ledger: docs/semantics.md#what-a-replica-costs."""

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise

from oracle.fleet import HOUR, S
from oracle.replicas import RANKS, Replicas, period, usd_in
from oracle.spans import Span, length, overlap, union, within


class Step:
    """What each replica of a fleet was and cost in one step of the ledger."""

    def __init__(self, replicas: Replicas, span: Span) -> None:
        self.replicas = replicas
        self.span = span
        self.seen = {name: within(spans, [span]) for name, spans in replicas.seen.items()}
        self.busy = {name: within(spans, [span]) for name, spans in replicas.busy.items()}
        self.hour = span[0] // HOUR
        self.known = replicas.known(self.hour)
        own, pooled, _ = replicas.charged(self.hour)
        self.own = [(row, name) for row, name in own if overlap(period(row), span)]
        self.pooled = [(row, pool) for row, pool in pooled if overlap(period(row), span)]

    def up(self, name: str) -> list[Span]:
        """Time in which a replica was seen or a record names it."""
        named = [period(row) for row, own in self.own if own == name]
        return union([*self.seen[name], *within(union(named), [self.span])])

    def moments(self) -> list[Span]:
        """The step cut wherever a period or the sight of a replica begins or ends."""
        edges = {*self.span}
        edges |= {at for row, _ in (*self.own, *self.pooled) for at in period(row)}
        edges |= {at for spans in self.seen.values() for span in spans for at in span}
        inside = sorted(at for at in edges if self.span[0] <= at <= self.span[1])
        return list(pairwise(inside))

    def charges(self) -> tuple[dict[str, Fraction | None], dict[str, Fraction]]:
        """USD of each replica (None: not priced), and USD of pools in which nobody was seen."""
        rated = {name: self.replicas.rate(name, self.hour)[0] is not None for name in self.known}
        usd: dict[str, Fraction | None] = {name: Fraction(0) if rated[name] else None for name in self.known}
        unseen: dict[str, Fraction] = defaultdict(Fraction)
        for moment in self.moments():
            for name in self.known:
                price = self._price(name, moment)
                if price is not None:
                    usd[name] = (usd[name] or Fraction(0)) + price
            for pool in {pool for _, pool in self.pooled if not self._there(pool, moment)}:
                records = [row for row, of in self.pooled if of == pool and overlap(period(row), moment)]
                best = next((rank for rank in RANKS if any(row["basis"] == rank for row in records)), None)
                unseen[pool] += sum(usd_in(row, [moment]) for row in records if row["basis"] == best)
        return usd, unseen

    def _there(self, pool: str | None, moment: Span) -> list[str]:
        return [name for name in self.replicas.of_pool(pool, self.hour) if within(self.seen[name], [moment])]

    def _price(self, name: str, moment: Span) -> Fraction | None:
        """USD of a replica in a moment by the best basis; None where nothing prices it."""
        pool = self.known[name].pool
        there = self._there(pool, moment)
        named = [row for row, of in self.own if of == name and overlap(period(row), moment)]
        pooled = [row for row, of in self.pooled if of == pool and overlap(period(row), moment)]
        for rank in RANKS:
            own = [usd_in(row, [moment]) for row in named if row["basis"] == rank]
            shared = [usd_in(row, [moment]) / len(there or [name]) for row in pooled if row["basis"] == rank]
            if name in there and (own or shared):
                return sum([*own, *shared], Fraction(0))
            if named and (own or shared):  # a record of the pool covers each of its replicas, seen or not
                return sum(own, Fraction(0))
        rate, gpus = self.replicas.rate(name, self.hour)
        if rate is None or name not in there:
            return None
        return rate * gpus * Fraction(length([moment]), S)
