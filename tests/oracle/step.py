"""What replicas were and cost in one step of the ledger: docs/semantics.md#what-a-replica-costs."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from oracle.fleet import HOUR, Row, S
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
        rated = (name for name in self.known if replicas.rate(name, self.hour)[0] is not None)
        self.usd: dict[str, Fraction | None] = {**dict.fromkeys(self.known), **dict.fromkeys(rated, Fraction(0))}
        self.for_pool = dict.fromkeys(self.known, Fraction(0))  # USD of what is charged for their pool
        self.doubt = dict.fromkeys(self.known, Fraction(0))  # USD that others may have borne, had they been up unseen
        self.paid: list[tuple[str, Row, Fraction]] = []  # replica, record that pays for it, USD
        self.unseen: list[tuple[str, Row, Fraction]] = []  # pool of which no replica was seen, record, USD
        self.added: list[tuple[str | None, Row, Fraction]] = []  # pool of a replica that nothing prices, record, USD
        self._charge()

    def up(self, name: str) -> list[Span]:
        """Time in which a replica was seen or a record prices it."""
        named = [period(row) for row, own in self.own if own == name and covers(row)]
        return union([*self.seen[name], *within(union(named), [self.span])])

    def time(self) -> Iterator[Row]:
        """What replica time cost, by what is charged for each replica and for its pool."""
        for name, usd in self.usd.items():
            if usd is not None:
                pooled, gpus = self.for_pool[name], self.replicas.rate(name, self.hour)[1]
                row: Row = {"pool": self.known[name].pool, "replica": name, "own": usd - pooled, "pooled": pooled}
                yield row | {"gpu_s": gpus * Fraction(length(self.up(name)), S)}
        for pool, _, usd in self.unseen:
            yield {"pool": pool, "replica": None, "own": Fraction(0), "pooled": usd, "gpu_s": Fraction(0)}

    def moments(self) -> list[Span]:
        """The step cut wherever a period or the sight of a replica begins or ends."""
        edges = {*self.span}
        edges |= {at for row, _ in (*self.own, *self.pooled) for at in period(row)}
        edges |= {at for spans in self.seen.values() for span in spans for at in span}
        inside = sorted(at for at in edges if self.span[0] <= at <= self.span[1])
        return list(pairwise(inside))

    def _charge(self) -> None:
        for moment in self.moments():
            for name in self.known:
                for record, usd in self._price(name, moment):
                    self.usd[name] = (self.usd[name] or Fraction(0)) + usd
                    if record is not None and all(record is not row for row, _ in self.own):
                        self.for_pool[name] += usd
                    self.paid += [] if record is None else [(name, record, usd)]
                    if usd and record is not None and all(record is not row for row, _ in self.own):
                        self.doubt[name] += abs(usd) * (1 - self._seen_part(self.known[name].pool, moment))
            for pool in {pool for _, pool in self.pooled if not self._there(pool, moment)}:
                records = [row for row, of in self.pooled if of == pool and overlap(period(row), moment)]
                for record in counting(records):
                    self.unseen.append((pool, record, usd_in(record, [moment])))
        self._leave_unpriced()

    def _leave_unpriced(self) -> None:
        """What credits and taxes charge prices no replica: where nothing else does, it is overhead of its pool."""
        priced = {name for name in self.known if self.replicas.rate(name, self.hour)[0] is not None}
        priced |= {name for name, record, _ in self.paid if covers(record)}
        for name in self.known.keys() - priced:
            self.added += [(self.known[name].pool, record, usd) for of, record, usd in self.paid if of == name]
            self.usd[name], self.for_pool[name], self.doubt[name] = None, Fraction(0), Fraction(0)
        self.paid = [paid for paid in self.paid if paid[0] in priced]

    def _seen_part(self, pool: str | None, moment: Span) -> Fraction:
        """Of the replicas of a pool that may have been up in a moment, those that were seen."""
        there = self._there(pool, moment)
        unsampled = [name for name in self.replicas.of_pool(pool, self.hour) if not self.known[name].is_sampled]
        return Fraction(len(there), len({*there, *unsampled}))

    def _there(self, pool: str | None, moment: Span) -> list[str]:
        return [name for name in self.replicas.of_pool(pool, self.hour) if within(self.seen[name], [moment])]

    def _price(self, name: str, moment: Span) -> list[tuple[Row | None, Fraction]]:
        """USD of a replica in a moment by the best basis, each with its record, or None: a rate; empty: no price."""
        pool = self.known[name].pool
        there = self._there(pool, moment)
        named = [row for row, of in self.own if of == name and overlap(period(row), moment)]
        pooled = [row for row, of in self.pooled if of == pool and overlap(period(row), moment)]
        # a record of the pool covers each of its replicas, seen or not
        counted = counting([*named, *pooled])
        found: list[tuple[Row | None, Fraction]] = [
            (row, usd_in(row, [moment]) / (1 if row in named else len(there)))
            for row in counted
            if row in named or name in there
        ]
        rate, gpus = self.replicas.rate(name, self.hour)
        if rate is not None and name in there and not any(covers(row) for row in counted):
            found.append((None, rate * gpus * Fraction(length([moment]), S)))
        if any(covers(row) for row in named) and not found:
            found.append((named[0], Fraction(0)))  # displaced: it costs nothing, which is known
        return found


def covers(record: Row) -> bool:
    """Whether a record prices what it is for."""
    return record.get("category") not in {"Credit", "Tax", "Adjustment"}


def counting(records: list[Row]) -> list[Row]:
    """Of some records those of the best basis that covers, and what credits and taxes of no worse one add."""
    ranked = [(RANKS.index(row["basis"]), covers(row), row) for row in records]
    best = min((rank for rank, is_price, _ in ranked if is_price), default=len(RANKS) - 1)
    return [row for rank, _, row in ranked if rank <= best]
