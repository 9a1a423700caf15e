"""When replicas were up and busy, and what they cost: docs/semantics.md#what-a-replica-costs, #busy-time."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cached_property

from oracle.fleet import HOUR, Fleet, Row, S, exact
from oracle.spans import Span, overlap, union

RANKS = ("billing", "allocation", "rate_card")


class Replicas:
    """The replicas that telemetry knows, by their names."""

    def __init__(self, fleet: Fleet, attempts: list[Row]) -> None:
        self.fleet = fleet
        self.attempts: dict[str, list[Row]] = defaultdict(list)
        for attempt in attempts:
            if attempt["replica"]:
                self.attempts[attempt["replica"]].append(attempt)
        self.sampled: dict[str, list[int]] = defaultdict(list)
        self.pools: dict[str, str | None] = dict.fromkeys(self.attempts)
        for reading in fleet.readings:
            self.sampled[reading["replica"]].append(reading["at"])
            self.pools[reading["replica"]] = reading["pool"]
        for name, own in self.attempts.items():
            told = {attempt["pool"] for attempt in own if attempt["pool"]}
            self.pools[name] = told.pop() if len(told) == 1 else self.pools[name]
        pause = int(exact(fleet.settings.get("staleness_s", 300)) * S)  # type: ignore[operator]
        self.seen = {name: union(self._signs(name), pause) for name in self.pools}

    @cached_property
    def busy(self) -> dict[str, list[Span]]:
        """When each replica had an attempt in flight."""
        return {name: union(spans_of(self.attempts.get(name, []))) for name in self.pools}

    def is_sampled(self, name: str, at_ns: int) -> bool:
        """Whether metrics of a replica were read in the hour of a moment."""
        return any(at // HOUR == at_ns // HOUR for at in self.sampled.get(name, []))

    def is_ours(self, name: str, at_ns: int) -> bool:
        """Whether an engine itself shows a replica in the hour of a moment, by its metrics or by its records."""
        shown = spans_of(attempt for attempt in self.attempts.get(name, []) if attempt["engine_seen"])
        hour = at_ns // HOUR
        is_recorded = any(begin // HOUR <= hour <= max(end - 1, begin) // HOUR for begin, end in shown)
        return is_recorded or self.is_sampled(name, at_ns)

    def _signs(self, name: str) -> Iterable[Span]:
        yield from spans_of(self.attempts.get(name, []))
        yield from ((at, at) for at in self.sampled.get(name, []))

    def of_pool(self, pool: str | None) -> list[str]:
        """Names of the replicas of a pool."""
        return sorted(name for name, own in self.pools.items() if own == pool and pool is not None)

    @cached_property
    def charged(self) -> tuple[list[tuple[Row, str]], list[tuple[Row, str]], list[Row]]:
        """Records that are a replica's, records that are a pool's (each with its name), and those of neither."""
        records = [row for row in self.fleet.cost_records if row["basis"] in RANKS and not names_request(row)]
        own = [(row, row["replica"]) for row in records if row.get("replica") in self.pools]
        named = {self.pools[replica] for _, replica in own}
        pooled, others = [], []
        for row in records:
            pool = row.get("pool")
            is_for_pool = row.get("replica") is None or pool not in named
            if row.get("replica") in self.pools:
                continue
            if pool in self.pools.values() and pool is not None and is_for_pool:
                pooled.append((row, pool))
            else:
                others.append(row)
        return own, pooled, others

    def rate(self, name: str) -> tuple[Fraction | None, Fraction]:
        """USD per GPU second by the settings, and GPUs, of a replica; a replica is one GPU where no rate matches."""
        for rate in self.fleet.settings.get("rates", {}).values():
            named = {"pool": self.pools[name] or "", "replica": name}
            if all(any(fnmatchcase(named[key], glob) for glob in rate.get(key, ["*"])) for key in named):
                gpus = exact(rate.get("gpus_per_replica", 1)) or Fraction(1)
                return (exact(rate["usd_per_gpu_hour"]) or Fraction(0)) / 3600, gpus
        return None, Fraction(1)


def names_request(record: Row) -> bool:
    """Whether a cost record names a request or a session."""
    return bool(record.get("request_key") or record.get("session_id"))


def spans_of(attempts: Iterable[Row]) -> Iterable[Span]:
    """The time of attempts; one that was never seen to end takes none."""
    return ((a["started_at"], a["started_at"] if a["ended_at"] is None else a["ended_at"]) for a in attempts)


def period(record: Row) -> Span:
    """When what a record charges was used."""
    return record["period_start"], record["period_end"]


def usd_in(record: Row, spans: Sequence[Span]) -> Fraction:
    """What a record charges in some stretches: it is spent evenly over its period."""
    begin, end = period(record)
    inside = sum(overlap((begin, end), span) for span in spans)
    return exact(record["amount_usd"]) * Fraction(inside, end - begin)  # type: ignore[operator]
