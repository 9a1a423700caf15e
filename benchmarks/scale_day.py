"""A day of runs, simulated: tasks of each stage on the workers, what one process does beside them, late rows, failures.

Runs follow each other as cron starts them, and each takes the hours that have ended: ingest, then the stages of the
plan, each of which waits for the one before. Parts lie in an object store, and in a folder that all machines share: the
run's process alone speaks to the store. What things cost is measured, in `scale_stages`; `scale_model` prints.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from heapq import heapreplace
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.scale_stages import (
    BARRIERS,
    COMMIT_S,
    IN_SHARDS,
    INGEST_CORE_S,
    INGEST_CORES,
    LANDED_BYTES,
    RECORD_BYTES,
    RUN_CORE_S,
    Stage,
)

INGEST, OWN, CORES = "ingest", "the run's own process", "cores"
HOUR, DAY, KEY = "an hour is one task", "a day is one task", "the largest key"
WAITS = (INGEST, OWN, CORES, HOUR, DAY, KEY)
DAY_H, HOUR_S = 24, 3600
_BEGIN_H, _COUNTED_H, _END_H = 48, 120, 144  # two days to be late from, three to fall into step, the one that counts
_REQUESTS_A_BLOCK = 150_000  # written by ingest at once: 300,000 rows (conform/batch.py)
_REQUESTS_A_FILE, _HOURS_READ = 1_000_000, 5  # of merged parts, two records a request (conform/compaction.py)
_SHARE_BYTES, _SHARES = 8 * 2**20, 4  # landed bytes that are worth a share; shares of a worker (conform/reading.py)
_AT_ONCE = 8  # requests to the store (plumbing/object_store/bucket.py)
_LEASE_S = 20.0  # between its renewals (plumbing/object_store/lease.py)
_RUN_READS, _RUN_WRITES = 8, 40  # of any run: docs/scale.md; parts, commits and small files of what has no hours
Floats = npt.NDArray[np.float64]


def assumed(default: float | None, meaning: str) -> Any:
    """A field with what is assumed and what that means."""
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Assumed:
    """What is assumed of traffic, machines and store; every field is an option of `scale_model`.

    Raises ValueError where a day cannot go so.
    """

    machines: int = assumed(4, "machines of workers")
    cores: int = assumed(16, "workers of a machine, one for each core")
    core_speed: float = assumed(1.0, "times as fast as the cores that were measured")
    worker_bytes: float = assumed(8e9, "memory of a worker")
    spill: float = assumed(2.0, "times that memory that a task may take, as it spills: the join ran with 0.57")
    shard_requests: int | None = assumed(None, "requests of a shard of an hour; without it hours are not cut")
    exact_requests: float = assumed(5e6, "requests of a day that are held at once: of more each hour is a task")
    day_at_end: int = assumed(0, "1: what is made of a whole day waits for its end")
    peak_to_mean: float = assumed(1.5, "requests of the busiest hour by those of the mean one, 1 to 2")
    largest_key: float = assumed(0.001, "share of an hour's requests that one key links: they stay together")
    late_share: float = assumed(0.001, "share of requests that land after the run of their hour")
    late_h: int = assumed(2, "runs with which they land, evenly")
    failure: float = assumed(0.01, "probability that a try of a task fails, at its end")
    spread: float = assumed(0.25, "sigma of the lognormal by which tasks vary")
    run_growth: float = assumed(
        1.5, "times a run's own work on a short history: benchmarks.history allows 90 days so much"
    )
    grace_s: float = assumed(600.0, "from an hour's end to its run")
    latency_s: float = assumed(0.03, "median of a request to the store")
    latency_sigma: float = assumed(0.6, "sigma of its lognormal")
    store_bytes_s: float = assumed(1e9, "bytes a second between a machine and the store")
    object_bytes: float = assumed(64e6, "a landed object")
    seed: int = assumed(1, "of what is drawn")

    def __post_init__(self) -> None:
        if not 1 <= self.peak_to_mean <= 2:
            raise ValueError(f"peak_to_mean is {self.peak_to_mean}: give 1 to 2, as no hour has fewer than no requests")
        if not 1 <= self.late_h <= _BEGIN_H:
            raise ValueError(f"late_h is {self.late_h}: give 1 to {_BEGIN_H}, the hours before the first run")

    @property
    def workers(self) -> int:
        """Workers of all machines."""
        return self.machines * self.cores


@dataclass(frozen=True)
class Partition:
    """An hour or a day that is due in a stage: requests of its tasks, the largest first, and what that one is."""

    stage: Stage
    requests: Floats
    largest: str

    @property
    def core_s(self) -> Floats:
        """Core seconds of each task where nothing varies or fails."""
        return self.stage.task_core_s + self.stage.core_s * self.requests

    @property
    def memory_bytes(self) -> float:
        """Memory of the largest task."""
        wanted = self.stage.task_bytes + self.stage.memory_bytes * float(self.requests[0])
        return min(wanted, self.stage.most_bytes)


@dataclass(frozen=True)
class Simulated:
    """What a day took.

    `delays_s`: of each hour's numbers after its end. `is_behind`: its runs take longer than a day. `path_s`: what runs
    waited for. `memory_bytes`: of the largest task of a stage, with what it is. `reads` and `writes`: of the store.
    """

    delays_s: Sequence[float]
    is_behind: bool
    path_s: Mapping[str, float]
    worker_core_s: float
    own_core_s: float
    memory_bytes: Mapping[tuple[str, str], float]
    reads: float
    writes: float


def simulate(requests_a_day: float, given: Assumed) -> Simulated:
    """Four days of runs, of which the last counts."""
    chance = np.random.default_rng(given.seed)
    hourly = np.tile(traffic(requests_a_day, given.peak_to_mean), _END_H // DAY_H)
    runs: list[tuple[float, Run]] = []  # each with its share in the day that counts
    ended_s = np.zeros(_END_H)
    hour, free_s = _BEGIN_H, 0.0
    while hour < _END_H:
        tick = max(hour + 1, math.ceil((free_s - given.grace_s) / HOUR_S))
        hours = range(hour, min(tick, _END_H))
        run = Run(hours, hourly, given, chance)
        free_s = tick * HOUR_S + given.grace_s + run.duration_s
        ended_s[hour : hours.stop] = free_s
        runs.append((sum(one >= _COUNTED_H for one in hours) / len(hours), run))
        hour = hours.stop
    delays_s = ended_s - HOUR_S * np.arange(1, _END_H + 1)
    counted = [(share, run) for share, run in runs if share]

    def total(of: Callable[[Run], float]) -> float:
        return sum(share * of(run) for share, run in counted)

    path_s = {name: total(partial(Run.waited_s, name=name)) for name in WAITS}
    return Simulated(
        delays_s=delays_s[_COUNTED_H:].tolist(),
        is_behind=sum(path_s.values()) > DAY_H * HOUR_S,
        path_s=path_s,
        worker_core_s=total(lambda run: run.worker_core_s),
        own_core_s=total(lambda run: run.own_core_s),
        memory_bytes=reduce(or_, (run.memory_bytes for _, run in counted)),
        reads=total(lambda run: run.reads),
        writes=total(lambda run: run.writes),
    )


def traffic(requests_a_day: float, peak_to_mean: float) -> Floats:
    """Requests of each hour of a day."""
    turn = 2 * np.pi * (np.arange(DAY_H) - 14) / DAY_H
    return requests_a_day / DAY_H * (1 + (peak_to_mean - 1) * np.cos(turn))


def barriers(given: Assumed) -> Iterator[tuple[Stage, ...]]:
    """Stages that wait for each other; where hours are cut, with what is before and after the shards."""
    for stages in BARRIERS:
        around = [IN_SHARDS[stage] for stage in stages if stage in IN_SHARDS and given.shard_requests is not None]
        yield from ((stage,) for before, _ in around for stage in before)
        yield stages
        yield from ((after,) for _, after in around)


def cut(requests: float, given: Assumed) -> tuple[Floats, str]:
    """Requests of the shards of an hour, the largest first, and what that is."""
    shard = given.shard_requests
    if shard is None or requests <= shard:
        return np.array([requests]), HOUR
    linked = given.largest_key * requests
    first = max(linked, shard)
    others = math.ceil((requests - first) / shard)
    rest = np.full(others, (requests - first) / max(others, 1))
    return np.concatenate([[first], rest]), KEY if linked > shard else CORES


def due(stage: Stage, changed: Iterable[int], hourly: Floats, newest: int, given: Assumed) -> list[Partition]:
    """The partitions of a stage that new rows of some hours make due; hours count from the first of `hourly`."""
    if stage.is_of_day:
        is_over = newest % DAY_H == DAY_H - 1
        waiting = {newest // DAY_H} if given.day_at_end and not is_over else set()
        days = sorted({hour // DAY_H for hour in changed} - waiting)
        so_far = [hourly[day * DAY_H : min((day + 1) * DAY_H, newest + 1)] for day in days]
        wanted = [hours for hours in so_far if _is_of(stage, float(hours.sum()), given)]
        if stage.is_by_hour:
            return [Partition(stage, np.sort(hours)[::-1], HOUR) for hours in wanted]
        return [Partition(stage, np.array([hours.sum()]), DAY) for hours in wanted]
    around = {hour + off for hour in changed for off in range(-stage.before, stage.after + 1)}
    sizes = [float(hourly[hour]) for hour in sorted(around) if 0 <= hour <= newest]
    if stage.cuts:
        sizes = [size for size in sizes if size > (given.shard_requests or math.inf)]
    if stage.is_in_portions:
        return [Partition(stage, *_portions(size, given.workers // len(sizes))) for size in sizes]
    return [Partition(stage, *(cut(size, given) if stage.is_cut else (np.array([size]), HOUR))) for size in sizes]


def _portions(requests: float, workers: int) -> tuple[Floats, str]:
    """Requests of the portions in which an hour is cut, and what these are: no more of them than files."""
    files = max(_HOURS_READ, requests / _REQUESTS_A_FILE)
    portions = max(1, min(workers, int(files)))
    return np.full(portions, requests / portions), CORES if portions > 1 else HOUR


def _is_of(stage: Stage, requests: float, given: Assumed) -> bool:
    """Whether a stage is for a day of so many requests."""
    return stage.of == "all" or (stage.of == "large") == (requests > given.exact_requests)


def makespan_s(durations_s: Floats, workers: int) -> float:
    """When the last task ends, where the worker that is free first takes the next."""
    if len(durations_s) <= workers:
        return float(durations_s.max(initial=0.0))
    free_s = [0.0] * workers
    for duration_s in durations_s.tolist():
        heapreplace(free_s, free_s[0] + duration_s)
    return max(free_s)


class Run:
    """One run over the hours that have ended since the last, and what it takes, as `Simulated` has it."""

    def __init__(self, hours: range, hourly: Floats, given: Assumed, chance: np.random.Generator) -> None:
        self.path_s = dict.fromkeys(WAITS, 0.0)
        self.worker_core_s = self.own_core_s = self.reads = self.writes = 0.0
        self.memory_bytes: Counter[tuple[str, str]] = Counter()  # of which a union has the larger ones
        self._given, self._chance = given, chance
        late = self._late(hours, hourly)
        self._ingest(float(hourly[hours].sum() * (1 - given.late_share) + late.sum()))
        changed = [*np.flatnonzero(late).tolist(), *hours]
        for stages in barriers(given):
            partitions = [one for stage in stages for one in due(stage, changed, hourly, hours[-1], given)]
            if partitions:
                self._compute(partitions)
        own_core_s = RUN_CORE_S * given.run_growth / given.core_speed
        self.own_core_s += own_core_s
        self.path_s[OWN] += own_core_s + self._waits_s(_RUN_WRITES)
        self.reads += _RUN_READS
        self.writes += _RUN_WRITES + self.duration_s / _LEASE_S

    @property
    def duration_s(self) -> float:
        """From its beginning to its end."""
        return sum(self.path_s.values())

    def waited_s(self, name: str) -> float:
        """For one thing."""
        return self.path_s[name]

    def _late(self, hours: range, hourly: Floats) -> Floats:
        """Rows of each hour that land only now."""
        late, before = np.zeros(len(hourly)), np.arange(1, self._given.late_h + 1)
        share = self._given.late_share / self._given.late_h
        for hour in hours:
            late[hour - before] += self._chance.poisson(hourly[hour - before] * share)
        return late

    def _ingest(self, requests: float) -> None:
        """Objects are fetched by the run's process, to tell what is new, and read by workers where that is worth it."""
        landed_bytes = requests * LANDED_BYTES
        objects = math.ceil(landed_bytes / self._given.object_bytes)
        most_bytes = max(_SHARE_BYTES, self._given.object_bytes, landed_bytes / (_SHARES * self._given.workers))
        shares = max(1, math.ceil(landed_bytes / most_bytes)) if self._given.workers > 1 else 1
        blocks = max(shares, math.ceil(requests / _REQUESTS_A_BLOCK))
        plain_s = np.full(shares, requests * INGEST_CORE_S / self._given.core_speed / shares)
        if shares > 1:
            busy_s, even_s = self._tasks(plain_s)[1:]
            self.path_s[CORES] += even_s
            self.path_s[INGEST] += busy_s - even_s
            self.reads += objects  # once more, by the workers
        else:
            core_s = float(plain_s[0] * self._varied(blocks).mean())
            self.own_core_s += core_s
            self.path_s[INGEST] += core_s / INGEST_CORES
        moved_s = requests * (LANDED_BYTES + RECORD_BYTES) / self._given.store_bytes_s
        self.path_s[INGEST] += moved_s + self._waits_s(objects + blocks) / _AT_ONCE
        self.reads += objects
        self.writes += blocks

    def _tasks(self, plain_s: Floats) -> tuple[Floats, float, float]:
        """Durations of tasks on the workers, when the last ends, and when it would if all had as much to do."""
        tries = self._chance.geometric(1 - self._given.failure, len(plain_s))
        durations_s = plain_s * self._varied(len(plain_s)) * tries
        self.worker_core_s += float(durations_s.sum())
        return durations_s, makespan_s(durations_s, self._given.workers), float(durations_s.sum()) / self._given.workers

    def _compute(self, partitions: Sequence[Partition]) -> None:
        """The tasks of stages that need not wait for each other, while this process commits what is done."""
        plain_s = np.concatenate([one.core_s for one in partitions]) / self._given.core_speed
        durations_s, busy_s, even_s = self._tasks(plain_s)
        self.path_s[CORES] += even_s
        self.path_s[_longest(partitions, durations_s)] += busy_s - even_s
        for one in partitions:
            self.memory_bytes |= Counter({(one.stage.name, one.largest): math.ceil(one.memory_bytes)})
        commits = sum(one.stage.tables for one in partitions)
        parts = sum(one.stage.tables * len(one.requests) for one in partitions)
        moved_bytes = sum(one.stage.stored_bytes * float(one.requests.sum()) for one in partitions)
        core_s = commits * COMMIT_S / self._given.core_speed
        waits_s = self._waits_s(commits) + self._waits_s(parts) / _AT_ONCE + moved_bytes / self._given.store_bytes_s
        own_s, last_s = core_s + waits_s, (core_s + waits_s) / len(partitions)
        self.own_core_s += core_s
        self.path_s[OWN] += max(last_s, own_s + float(durations_s.min()) - busy_s)
        self.writes += commits + parts

    def _varied(self, many: int) -> Floats:
        """Factors of mean 1."""
        sigma = self._given.spread
        return self._chance.lognormal(-(sigma**2) / 2, sigma, many)

    def _waits_s(self, requests: int) -> float:
        """What so many requests to the store take one after another."""
        if not self._given.latency_s:
            return 0.0
        return float(self._chance.lognormal(math.log(self._given.latency_s), self._given.latency_sigma, requests).sum())


def _longest(partitions: Sequence[Partition], durations_s: Floats) -> str:
    """What the longest task is."""
    at = int(durations_s.argmax())
    for one in partitions:
        if at < len(one.requests):
            return one.largest if at == 0 else CORES
        at -= len(one.requests)
    raise AssertionError("a task is of a partition")
