"""The ledger of small fleets computed second by second in plain Python: what sql/measure/cost_ledger/ is held against.

All times are whole seconds after START_S. It shares nothing with the SQL but docs/semantics.md#money.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from goodput.settings.model import Work

STEP_S = 300
HOUR_S = 3600
STALE_S = 300
WEIGHTS = Work()
RANKS = ("billing", "allocation", "rate_card")


@dataclass(frozen=True)
class Try:
    """One attempt; `bucket` is where its own work goes."""

    name: str
    bucket: str
    start: int
    end: int
    replica: str | None = None
    pool: str | None = None
    model: str = "m"
    tokens: tuple[int, int, int] | None = (100, 0, 10)  # input, cached, output
    recomputed: int | None = 0
    drafts: tuple[int, int] | None = (0, 0)  # drafted, accepted


@dataclass(frozen=True)
class Record:
    """One cost record."""

    usd: float
    start: int
    end: int
    replica: str | None = None
    pool: str | None = None
    model: str | None = None
    basis: str = "billing"
    request_key: str | None = None
    category: str | None = None  # of the charge


@dataclass(frozen=True)
class Fleet:
    """A small fleet: tries, times at which replicas were sampled without a gap, records, USD per second by pool."""

    tries: Sequence[Try] = ()
    sampled: Sequence[tuple[str, str, int, int]] = ()  # replica, pool, from, to
    records: Sequence[Record] = ()
    rates: dict[str, float] = field(default_factory=dict)
    price: tuple[float, float] | None = None  # of the model `api`: USD by input token, output token


def ledger(fleet: Fleet, hours: int) -> dict[tuple[int, str | None, str], float]:
    """USD by (window, pool, bucket) in the hours after START_S."""
    found: dict[tuple[int, str | None, str], float] = defaultdict(float)
    pool_of = _pools(fleet)
    seen = {replica: _seen(fleet, replica) for replica in {replica for replica, _ in pool_of}}
    for window in range(0, hours * HOUR_S, STEP_S):
        known = {replica: pool for (replica, _), pool in pool_of.items()}  # all of it lies within a day
        seconds = range(window, window + STEP_S)
        here = {replica: [s for s in seconds if s in seen[replica]] for replica in known}
        for record in fleet.records:
            usd = record.usd * _overlap(record, window)
            level = _level(fleet, record, known, window)
            if level == "none" or (level == "pool" and record.pool not in known.values()):
                found[window, record.pool, "unattributed"] += usd
            elif level == "pool":
                live = {s for r in known if known[r] == record.pool for s in here[r]}
                found[window, record.pool, "idle"] += usd * _alone(record, window, live)
        for replica, pool in known.items():
            _share(fleet, replica, pool, window, here, known, found)
        for attempt in fleet.tries:
            if attempt.replica is None and attempt.tokens and fleet.price and attempt.model == "api":
                usd = attempt.tokens[0] * fleet.price[0] + attempt.tokens[2] * fleet.price[1]
                found[window, attempt.pool, attempt.bucket] += usd * _part(attempt, window)
    return {key: usd for key, usd in found.items() if usd}


def _share(  # noqa: PLR0917
    fleet: Fleet,
    replica: str,
    pool: str,
    window: int,
    here: dict[str, list[int]],
    known: dict[str, str],
    found: dict[tuple[int, str | None, str], float],
) -> None:
    own = [record for record in fleet.records if record.replica == replica]
    pooled = [r for r in fleet.records if r.pool == pool and _level(fleet, r, known, window) == "pool"]
    mates = [r for r in known if known[r] == pool]
    seconds = range(window, window + STEP_S)
    covered = {s for record in own + pooled for s in seconds if record.start <= s < record.end}
    usd = sum(record.usd * _overlap(record, window) for record in own)
    for record in pooled:
        for s in here[replica]:
            if record.start <= s < record.end:  # spent evenly, and shared by whoever is seen
                usd += record.usd / (record.end - record.start) / sum(s in here[r] for r in mates)
        if record.start == record.end and here[replica]:
            usd += record.usd * _overlap(record, window) * len(here[replica]) / sum(len(here[r]) for r in mates)
    usd += fleet.rates.get(pool, 0.0) * len([s for s in here[replica] if s not in covered])
    up = {s for s in seconds if s in here[replica] or any(r.start <= s < r.end for r in own)}
    tries = [t for t in fleet.tries if t.replica == replica and _part(t, window)]
    busy = {s for s in seconds if any(t.start <= s < t.end for t in tries)}
    busy_usd = usd * len(busy) / len(up) if up else 0.0
    found[window, pool, "idle"] += usd - busy_usd
    works = {t.name: work * _part(t, window) for t, work in ((t, sum(_work(t))) for t in tries)}
    total = sum(works.values())
    for attempt in tries:
        part = busy_usd * works[attempt.name] / total if total else 0.0
        whole, redone, vain = sum(_work(attempt)), _work(attempt)[1], _vain(attempt)
        found[window, pool, attempt.bucket] += part * (1 - (redone + vain) / whole)
        found[window, pool, "preemption"] += part * redone / whole
        found[window, pool, "speculation"] += part * vain / whole


def _alone(record: Record, window: int, live: set[int]) -> float:
    """Share of a record's money in a window that is spent while none of the pool's replicas is seen."""
    inside = range(max(record.start, window), min(record.end, window + STEP_S))
    return sum(s not in live for s in inside) / len(inside) if inside else float(not live)


def _level(fleet: Fleet, record: Record, known: dict[str, str], window: int) -> str:
    """What a record is for: its replica if telemetry knows it, its pool if none of the pool's bills names a replica."""
    hour = window // HOUR_S * HOUR_S
    if record.replica is None:
        return "pool" if record.pool else "none"
    if record.replica in known:
        return "replica"
    in_hour = [r for r in fleet.records if any(_overlap(r, hour + s) for s in range(0, HOUR_S, STEP_S))]
    named = any(r.replica in known and r.pool == record.pool for r in in_hour)
    return "pool" if record.pool in known.values() and not named else "none"


def _work(attempt: Try) -> tuple[float, float, float]:
    assert attempt.tokens is not None
    given, cached, output = attempt.tokens
    drafted = attempt.drafts[0] if attempt.drafts else 0
    return (
        (given - cached) * WEIGHTS.prefill_weight + cached * WEIGHTS.cached_weight + output * WEIGHTS.decode_weight,
        (attempt.recomputed or 0) * WEIGHTS.prefill_weight,
        drafted * WEIGHTS.draft_weight,
    )


def _vain(attempt: Try) -> float:
    drafted, accepted = attempt.drafts or (0, 0)
    return (drafted - accepted) * WEIGHTS.draft_weight


def _part(attempt: Try, window: int) -> float:
    """Share of an attempt in a window; one of no duration is wholly where it begins."""
    if attempt.start == attempt.end:
        return float(window <= attempt.start < window + STEP_S)
    inside = min(attempt.end, window + STEP_S) - max(attempt.start, window)
    return max(0, inside) / (attempt.end - attempt.start)


def _overlap(record: Record, window: int) -> float:
    if record.start == record.end:
        return float(window <= record.start < window + STEP_S)
    return max(0, min(record.end, window + STEP_S) - max(record.start, window)) / (record.end - record.start)


def _pools(fleet: Fleet) -> dict[tuple[str, int], str]:
    """Pool of each replica that telemetry knows, by hour."""
    return {(replica, hour): pool for replica, pool, hour in _known(fleet)}


def _known(fleet: Fleet) -> Iterator[tuple[str, str, int]]:
    for t in fleet.tries:
        if t.replica is not None:
            for s in range(t.start, max(t.end, t.start + 1)):
                yield t.replica, t.pool or "", s // HOUR_S
    for replica, pool, start, end in fleet.sampled:
        yield from ((replica, pool, s // HOUR_S) for s in samples(start, end))


def samples(start: int, end: int) -> list[int]:
    """When a replica that is sampled from `start` to `end` is read: every minute and at the end."""
    return sorted({*range(start, end, 60), end})


def _seen(fleet: Fleet, replica: str) -> set[int]:
    """Seconds in which the replica was up: between signs of life no further apart than STALE_S."""
    signs = [(t.start, t.end) for t in fleet.tries if t.replica == replica]
    signs += [(m, m) for name, _, start, end in fleet.sampled if name == replica for m in samples(start, end)]
    seen: set[int] = set()
    latest: int | None = None
    for start, end in sorted(signs):
        begun = latest if latest is not None and start - latest <= STALE_S else start
        seen |= set(range(begun, end))
        latest = end if latest is None else max(latest, end)
    return seen
