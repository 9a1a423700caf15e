"""What each replica was like in each window: docs/semantics.md#cache-and-replicas."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from oracle.counters import Point
from oracle.fleet import Fleet, Row, exact, seconds
from oracle.quantiles import quantile
from oracle.replicas import Replicas
from oracle.slices import window_of, windows_between
from oracle.spans import Span, length, within

Key = tuple[int, int, str]  # window in Unix seconds, its length, replica
HALF, P95, P99 = Fraction(1, 2), Fraction(95, 100), Fraction(99, 100)


class States:
    """Replicas by window."""

    def __init__(self, fleet: Fleet, replicas: Replicas) -> None:
        self.fleet, self.replicas, self.samples = fleet, replicas, replicas.samples
        self.ended: dict[Key, list[Row]] = defaultdict(list)
        for name, attempts in replicas.attempts.items():
            for attempt in attempts:
                for window_s in fleet.settings["windows_s"] if attempt["ended_at"] is not None else ():
                    self.ended[window_of(attempt["ended_at"], window_s), window_s, name].append(attempt)
        self.read = self._by_window(self.samples.points)
        self.keys = {
            (start, window_s, name)
            for name, spans in replicas.seen.items()
            for window_s in fleet.settings["windows_s"]
            for begin, end in spans
            for start in windows_between(begin, end, window_s)
        }
        self.gauges = {key: self._held(of) for key, of in self.samples.series.items() if of[0].kind == "gauge"}

    def _by_window(self, points: Iterable[Point]) -> dict[Key, list[Point]]:
        found: dict[Key, list[Point]] = defaultdict(list)
        for point in points:
            for window_s in self.fleet.settings["windows_s"]:
                found[window_of(point.at, window_s), window_s, point.replica].append(point)
        return found

    def _held(self, points: list[Point]) -> list[tuple[Point, Span]]:
        """Each reading with how long it holds: until the next one, if that comes in time."""
        ends = [
            after.at if after.at - point.at <= self.samples.stale_ns else point.at for point, after in pairwise(points)
        ]
        return [(point, (point.at, end)) for point, end in zip(points, [*ends, points[-1].at], strict=True)]

    def rises(self, key: Key, metric: str) -> Fraction | None:
        """What a counter of a replica rose by in a window; None where nothing tells."""
        told = [p.increase for p in self.read[key] if p.metric == metric and p.increase is not None]
        return sum(map(Fraction, told), Fraction(0)) if told else None

    def pool(self, key: Key) -> str | None:
        """The pool that the attempts of a window name, else the readings."""
        named = {attempt["pool"] for attempt in self.ended[key]} - {None} or self._said(key, "pool")
        return named.pop() if len(named) == 1 else None

    def model(self, key: Key) -> str | None:
        """The one model of the attempts and readings of a window."""
        named = ({attempt["model"] for attempt in self.ended[key]} | self._said(key, "model")) - {None}
        return named.pop() if len(named) == 1 else None

    def _said(self, key: Key, name: str) -> set[str]:
        start, window_s, replica = key
        return {
            reading[name]
            for reading in self.fleet.readings
            if reading["replica"] == replica and window_of(reading["at"], window_s) == start
        }

    def windows(self) -> dict[Key, Row]:
        """Rows of relation replica_windows."""
        return {key: self._window(key) for key in self.keys}

    def _window(self, key: Key) -> Row:
        start, window_s, name = key
        span = (start * 10**9, (start + window_s) * 10**9)
        kv = self._gauge(key, "kv_usage_ratio")
        queue = [q for attempt in self.ended[key] if (q := exact(attempt["queue_s"])) is not None]
        pace = [
            t
            for attempt in self.ended[key]
            if attempt["outcome"] == "ok" and (t := exact(attempt["tpot_s"])) is not None
        ]
        gauges = {word: self._gauge(key, f"{word}_requests") for word in ("running", "waiting")}
        return {
            "pool": self.pool(key),
            "model": self.model(key),
            "up_s": seconds(length(within(self.replicas.seen[name], [span]))),
            "busy_s": seconds(length(within(self.replicas.busy[name], [span]))),
            "attempts": len(self.ended[key]),
            **{f"{word}_kv_usage_ratio": kv[word] for word in ("mean", "max", "p99", "last")},
            "kv_capacity_tokens": self._gauge(key, "kv_capacity_tokens")["last"],
            **{f"{word}_{name}_requests": of[word] for name, of in gauges.items() for word in ("mean", "max")},
            "p50_queue_s": quantile(queue, HALF),
            "p95_queue_s": quantile(queue, P95),
            "n_queue": len(queue),
            "p50_tpot_s": quantile(pace, HALF),
            "n_tpot": len(pace),
            **{count: self._counted(key, count) for count in ("preemptions", "recomputed_tokens")},
            **self._context(key),
            "restarts": self._restarts(key),
            "appeared": any(span[0] <= begin < span[1] for begin, _ in self.replicas.seen[name]),
            "stale": self._is_stale(key, span) if kv["last"] is not None else None,
        }

    def _context(self, key: Key) -> Row:
        """Input that is reported, and how much of it came in long contexts."""
        given = [n for attempt in self.ended[key] if (n := attempt["input_tokens"]) is not None]
        long = sum(n for n in given if n >= self.fleet.settings.get("long_context_tokens", 8192))
        return {
            "input_tokens": sum(given) if given else None,
            "n_input": len(given),
            "long_input_tokens": long if given else None,
            "long_context_ratio": Fraction(long, sum(given)) if sum(given) else None,
        }

    def _counted(self, key: Key, name: str) -> Any:
        """The engine's own count, else what attempts report."""
        rise = self.rises(key, name)
        reported = [attempt[name] for attempt in self.ended[key] if attempt[name] is not None]
        return rise if rise is not None else sum(reported) if reported else None

    def _restarts(self, key: Key) -> int | None:
        counters = [p for p in self.read[key] if p.kind == "counter" and p.layer == "engine"]
        resets = Counter((point.metric, point.reason) for point in counters if point.reset)
        return max(resets.values(), default=0) if counters else None

    def _gauge(self, key: Key, metric: str) -> dict[str, Any]:
        """A gauge over the readings that were made in a window or hold in it."""
        start, window_s, name = key
        span = (start * 10**9, (start + window_s) * 10**9)
        held = [
            (point, inside)
            for point, (at, until) in self.gauges.get((name, metric, None), [])
            if (inside := min(until, span[1]) - max(at, span[0])) > 0 or span[0] <= at < span[1]
        ]
        values = [Fraction(str(point.value)) for point, _ in held]
        time = sum(inside for _, inside in held)
        area = sum(value * inside for value, (_, inside) in zip(values, held, strict=True))
        return {
            "mean": area / time if time else sum(values) / len(values) if values else None,
            "max": max(values, default=None),
            "p99": quantile(values, P99),
            "last": values[-1] if values else None,
        }

    def _is_stale(self, key: Key, span: Span) -> bool:
        """Whether the gauge read the same three times or more, over half of staleness_s, each time while it served."""
        name, stale_ns = key[2], self.samples.stale_ns
        served = [p for p in self.samples.of(name, "kv_usage_ratio") if self._serves(name, p.at)]
        for last in served:
            lately = [p for p in served if last.at - stale_ns <= p.at <= last.at]
            alike = len({p.value for p in lately}) == 1
            is_long = 2 * (last.at - lately[0].at) >= stale_ns
            if span[0] <= last.at < span[1] and alike and len(lately) >= 3 and is_long:
                return True
        return False

    def _serves(self, name: str, at: int) -> bool:
        return any(begin <= at < end for begin, end in self.replicas.busy[name])

    def caches(self) -> dict[Key, Row]:
        """Rows of relation cache_by_replica."""
        return {key: self._cache(key) for key in self.keys}

    def _cache(self, key: Key) -> Row:
        attempts = self.ended[key]
        both = [a for a in attempts if a["input_tokens"] is not None and a["cached_input_tokens"] is not None]
        given, cached = (
            sum(a[name] for a in both) if both else None for name in ("input_tokens", "cached_input_tokens")
        )
        own = Fraction(cached, given) if given else None
        queried, hit, counted = self._engine_cache(key)
        least = exact(self.fleet.settings.get("cache_hit_min_ratio", 0.5))
        ttft: dict[bool, list[Fraction]] = {True: [], False: []}
        for attempt in both:
            if attempt["outcome"] == "ok" and attempt["ttft_s"] is not None and attempt["input_tokens"]:
                is_hit = Fraction(attempt["cached_input_tokens"], attempt["input_tokens"]) >= least  # type: ignore[operator]
                ttft[is_hit].append(attempt["ttft_s"])
        return {
            "pool": self.pool(key),
            "model": self.model(key),
            "attempts": len(attempts),
            "lookups": sum(a["input_tokens"] > 0 for a in both),
            "input_tokens": given,
            "cached_input_tokens": cached,
            "attempts_hit_ratio": own,
            "hit_ratio": own if counted is None else counted,
            "hit_ratio_from": "counters" if counted is not None else "attempts" if own is not None else None,
            "looked_up_tokens": given if counted is None or queried is None else queried,
            "engine_queried_tokens": queried,
            "engine_hit_tokens": hit,
            "engine_hit_ratio": counted,
            "reconciliation_gap": None if own is None or counted is None else own - counted,
            **dict(_times(ttft)),
        }

    def _engine_cache(self, key: Key) -> tuple[Any, Any, Any]:
        """Tokens looked up and found, and the share that was found, by the engine's own counters."""
        hit, asked = self.rises(key, "prefix_cache_hit_tokens"), self.rises(key, "prefix_cache_queried_tokens")
        asked = self.rises(key, "input_tokens") if asked is None else asked
        if hit is not None and asked is not None:
            return asked, hit, hit / asked if asked else None
        found, missed = (self.rises(key, f"prefix_cache_{word}_blocks") for word in ("hit", "missed"))
        if found is None or missed is None:
            return None, None, None
        return None, None, found / (found + missed) if found + missed else None


def _times(ttft: dict[bool, list[Fraction]]) -> Iterator[tuple[str, Any]]:
    for is_hit, word in ((True, "hit"), (False, "miss")):
        yield f"p50_ttft_{word}_s", quantile(ttft[is_hit], HALF)
        yield f"p95_ttft_{word}_s", quantile(ttft[is_hit], P95)
        yield f"n_ttft_{word}", len(ttft[is_hit])
