"""When replicas were up and busy, and what they cost: docs/semantics.md#what-a-replica-costs, #busy-time."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cache

from oracle.counters import Samples
from oracle.fleet import HOUR, Fleet, Row, S, exact
from oracle.spans import Span, overlap, union

DAY_H = 24
RANKS = ("billing", "allocation", "rate_card")


@dataclass(frozen=True)
class Known:
    """What telemetry shows of a replica in an hour."""

    pool: str | None
    by_engine: bool  # by its metrics or its engine's own records, not by its callers alone
    is_sampled: bool


class Replicas:
    """The replicas that telemetry knows, by their names."""

    def __init__(self, fleet: Fleet, attempts: list[Row], records: list[Row]) -> None:
        self.fleet = fleet
        self.attempts: dict[str, list[Row]] = defaultdict(list)
        for attempt in attempts:
            if attempt["replica"]:
                self.attempts[attempt["replica"]].append(attempt)
        self.sampled: dict[str, list[int]] = defaultdict(list)
        for reading in fleet.readings:
            self.sampled[reading["replica"]].append(reading["at"])
        self.names = sorted({*self.attempts, *self.sampled})
        self.shown = {name: self._shown(name) for name in self.names}
        hours = [hour for of in self.shown.values() for hour in of]
        self.observed = range(min(hours, default=0), max(hours, default=-1) + 1)
        pause = int(exact(fleet.settings.get("staleness_s", 300)) * S)  # type: ignore[operator]
        self.samples = Samples(fleet)
        self.seen = {name: self._life(name, pause) for name in self.names}
        self.busy = {name: union(self._served(name)) for name in self.names}
        self.records = [row for row in records if not is_overhead(row) and not names_request(row)]

    def _shown(self, name: str) -> dict[int, Known]:
        """By hour, what attempts under way in it and readings show of a replica."""
        signs: dict[int, list[tuple[str | None, bool, bool]]] = defaultdict(list)
        for attempt in self.attempts.get(name, []):
            ((begin, end),) = spans_of([attempt])
            for hour in range(begin // HOUR, max(end - 1, begin) // HOUR + 1):
                signs[hour].append((attempt["pool"], attempt["engine_seen"], False))
        for reading in self.fleet.readings:
            if reading["replica"] == name:
                signs[reading["at"] // HOUR].append((reading["pool"], True, True))
        return {hour: _known(of) for hour, of in signs.items()}

    def _life(self, name: str, pause_ns: int) -> list[Span]:
        """When it was up: between signs of life, unless its process began anew between two of them."""
        outages = self.samples.outages.get(name, [])
        found: list[Span] = []
        for begin, end in union(self._signs(name)):
            gap = (found[-1][1], begin) if found else None
            if gap is None or gap[1] - gap[0] > pause_ns or any(overlap(gap, outage) for outage in outages):
                found.append((begin, end))
            else:
                found[-1] = (found[-1][0], end)
        return found

    def _signs(self, name: str) -> Iterable[Span]:
        yield from self._served(name)
        yield from ((at, at) for at in self.sampled.get(name, []))

    def _served(self, name: str) -> Iterable[Span]:
        """When attempts show life: of those that no engine recorded and nobody was answered, outages are none of it."""
        for attempt in self.attempts.get(name, []):
            ((begin, end),) = spans_of([attempt])
            crossed = [
                outage
                for outage in self.samples.outages.get(name, [])
                if begin < outage[1] and end > outage[0] and not attempt["engine_seen"] and attempt["outcome"] != "ok"
            ]
            # it waited for the process that was there when it began, or for the one after the outage in which it began
            cut_begin = max([begin, *(until for since, until in crossed if since < begin)])
            cut_end = min([end, *(since for since, _ in crossed if since >= begin)])
            if cut_begin <= cut_end:
                yield cut_begin, cut_end

    @cache  # noqa: B019 - as long as its fleet
    def known(self, hour: int) -> dict[str, Known]:
        """Replicas of an hour: those that telemetry shows, and those that bills name and that it shows within a day."""
        found = {name: of[hour] for name, of in self.shown.items() if hour in of}
        billed = [row for row in self.records if overlap(period(row), (hour * HOUR, hour * HOUR + HOUR))]
        for name in {row["replica"] for row in billed if row.get("replica") in self.shown} - found.keys():
            near = _nearest(self.shown[name], hour)
            if near is not None and hour in self.observed:
                found[name] = near
        return found

    def knows_pool(self, pool: str | None, hour: int) -> bool:
        """Whether telemetry shows a pool within a day of an hour, and something before and after it."""
        return hour in self.observed and any(
            known.pool == pool and abs(at - hour) <= DAY_H for of in self.shown.values() for at, known in of.items()
        )

    def of_pool(self, pool: str | None, hour: int) -> list[str]:
        """Names of the replicas of a pool in an hour."""
        return sorted(name for name, known in self.known(hour).items() if known.pool == pool and pool is not None)

    @cache  # noqa: B019 - as long as its fleet
    def charged(self, hour: int) -> tuple[list[tuple[Row, str]], list[tuple[Row, str]], list[Row]]:
        """Records of an hour that are a replica's, that are a pool's (each with its name), and those of neither."""
        records = [row for row in self.records if overlap(period(row), (hour * HOUR, hour * HOUR + HOUR))]
        own = [(row, row["replica"]) for row in records if self._is_named(row, hour)]
        named = {row.get("pool") for row, _ in own}
        pooled, others = [], []
        for row in records:
            pool = row.get("pool")
            if self._is_named(row, hour):
                continue
            if self.knows_pool(pool, hour) and pool is not None and (row.get("replica") is None or pool not in named):
                pooled.append((row, pool))
            else:
                others.append(row)
        return own, pooled, others

    def _is_named(self, record: Row, hour: int) -> bool:
        """Whether a record names a replica; where engines of the pool show themselves, callers alone name none."""
        known = self.known(hour).get(record.get("replica") or "")
        engines = (self.known(hour)[name].by_engine for name in self.of_pool(record.get("pool"), hour))
        return known is not None and (known.by_engine or not any(engines))

    def rate(self, name: str, hour: int) -> tuple[Fraction | None, Fraction]:
        """USD per GPU second by the settings, and GPUs, of a replica; a replica is one GPU where no rate matches."""
        known = self.known(hour).get(name)
        named = {"pool": (known and known.pool) or "", "replica": name}
        for rate in self.fleet.settings.get("rates", {}).values() if known else ():
            if all(any(fnmatchcase(named[key], glob) for glob in rate.get(key, ["*"])) for key in named):
                gpus = exact(rate.get("gpus_per_replica", 1)) or Fraction(1)
                return (exact(rate["usd_per_gpu_hour"]) or Fraction(0)) / 3600, gpus
        return None, Fraction(1)


def _known(signs: list[tuple[str | None, bool, bool]]) -> Known:
    """What signs of one hour (pool, whether of the engine, whether a reading) show together."""
    pool = next((pool for pool, *_ in signs if pool is not None), None)
    return Known(pool, any(by_engine for _, by_engine, _ in signs), any(reading for *_, reading in signs))


def _nearest(shown: dict[int, Known], hour: int) -> Known | None:
    """What a replica was in the nearest hour before, else after, if any is within a day."""
    if all(abs(at - hour) > DAY_H for at in shown):
        return None
    before, after = [at for at in shown if at <= hour], [at for at in shown if at >= hour]
    return replace(shown[max(before) if before else min(after)], is_sampled=False)


def names_request(record: Row) -> bool:
    """Whether a cost record names a request or a session."""
    return bool(record.get("request_key") or record.get("session_id"))


def is_overhead(record: Row) -> bool:
    """Whether a cost record that names no request is for requests, not for what serves them."""
    serves = any(record.get(name) for name in ("replica", "pool", "model"))
    return record["basis"] == "overhead" or (
        not serves and any(record.get(name) for name in ("workload", "route", "tenant"))
    )


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
