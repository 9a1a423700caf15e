"""What telemetry shows of what engines counted: docs/semantics.md#coverage."""

from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

from oracle.counters import Point
from oracle.fleet import HOUR, Row, S
from oracle.latency import first_token
from oracle.replicas import Replicas
from oracle.slices import UNKNOWN

Key = tuple[int, str]  # hour since 1970, replica
COUNTERS = ("http_requests", "finished_requests")  # of as many, the first counts
LOW = Fraction(95, 100)
SENT = ("ok", "cancelled", "timeout")


class Coverage:
    """Replicas hour by hour."""

    def __init__(self, replicas: Replicas, attempts: list[Row]) -> None:
        self.replicas, self.samples = replicas, replicas.samples
        self.sampled = {(reading["at"] // HOUR, reading["replica"]) for reading in replicas.fleet.readings}
        self.pools: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for reading in replicas.fleet.readings:
            pools = self.pools[reading["at"] // HOUR][reading["replica"]]
            pools |= {reading["pool"]} - {None}
        self.ended: dict[Key, list[Row]] = defaultdict(list)
        self.unplaced: dict[int, list[Row]] = defaultdict(list)
        for attempt in attempts:
            if attempt["ended_at"] is not None:
                self._place(attempt)
        self.counted = {key: of for key in self.sampled if (of := self._counted(key))}
        self.missing = {key: self._missing(key) for key in self.counted}
        self.rows = {key: self._row(key) for key in self.sampled | self.ended.keys()}

    def _place(self, attempt: Row) -> None:
        key = (attempt["ended_at"] // HOUR, attempt["replica"])
        if attempt["replica"]:
            self.ended[key].append(attempt)
        if not attempt["engine_seen"] and key not in self.sampled and self._may_be_counted(attempt, key[0]):
            self.unplaced[key[0]].append(attempt)

    def _may_be_counted(self, attempt: Row, hour: int) -> bool:
        """Whether any replica with metrics may have served it: one of its pool, or one of no known pool."""
        of_replicas = self.pools[hour].values()
        return attempt["pool"] is None or any(not pools or attempt["pool"] in pools for pools in of_replicas)

    def _counted(self, key: Key) -> list[Point]:
        """Readings of the counter that counted the most in an hour."""
        read = {
            name: [p for p in self.samples.of(key[1], name) if p.at // HOUR == key[0] and p.increase is not None]
            for name in COUNTERS
        }
        known = [of for of in read.values() if of]
        return max(known, key=lambda of: sum(point.increase or 0 for point in of), default=[])

    def _compared(self, key: Key) -> list[Row]:
        """Attempts on a replica that the readings of its counter tell of."""
        points = self.counted[key]
        spans = {(point.at - (point.interval_ns or 0), point.at) for point in points}
        counts_starts = points[0].metric == "http_requests"
        found = []
        for attempt in self.replicas.attempts.get(key[1], []):
            if attempt["ended_at"] is None:
                continue
            first = first_token(attempt) is not None
            is_stream = first if attempt["streamed"] is None else attempt["streamed"]
            at = attempt["started_at"] if counts_starts and is_stream else attempt["ended_at"]
            if any(since < at <= until for since, until in spans):
                found.append(attempt)
        return found

    def _missing(self, key: Key) -> int:
        """What a counter counted beyond what was observed on its replica."""
        points = self.counted[key]
        counts_all = points[0].metric == "http_requests"
        observed = [a for a in self._compared(key) if a["engine_seen"] or counts_all or a["outcome"] == "ok"]
        return max(0, int(sum(point.increase or 0 for point in points)) - len(observed))

    def _row(self, key: Key) -> Row:
        ended, said = self.ended[key], [r for r in self.replicas.fleet.readings if r["replica"] == key[1]]
        named = [*ended, *(reading for reading in said if reading["at"] // HOUR == key[0])]
        found: Row = {name: _one({row[name] for row in named}) for name in ("pool", "model")}
        found["attempts_seen"] = sum(attempt["engine_seen"] for attempt in ended)
        found["attempts_without_engine"] = len(ended) - found["attempts_seen"]
        unknown = (
            "counter",
            "requests_counted",
            "counted_by_reason",
            "counted_s",
            "attempts_compared",
            "coverage_ratio",
        )
        return found | (
            self._told(key) if key in self.counted else dict.fromkeys((*unknown, "low_coverage", "requests_unobserved"))
        )

    def _told(self, key: Key) -> Row:
        points = self.counted[key]
        reasons: Counter[str] = Counter()
        for point in points:
            reasons[point.reason or ""] += int(point.increase or 0)
        counted = sum(reasons.values())
        compared = sum(attempt["engine_seen"] for attempt in self._compared(key))
        ratio = Fraction(compared, counted) if counted else None
        return {
            "counter": points[0].metric,
            "requests_counted": counted,
            "counted_by_reason": dict(reasons),
            "counted_s": Fraction(sum({p.at: p.interval_ns or 0 for p in points}.values()), S),
            "attempts_compared": compared,
            "coverage_ratio": ratio,
            "low_coverage": None if ratio is None else ratio < LOW,
            "requests_unobserved": self._unobserved(key),
        }

    def _unobserved(self, key: Key) -> int:
        """What is missing less this replica's share of what nothing places."""
        kinds = SENT if self.counted[key][0].metric == "http_requests" else ("ok",)
        unplaced = sum(
            attempt["outcome"] in kinds or (attempt["http_status"] == 200 and len(kinds) > 1)
            for attempt in self.unplaced[key[0]]
        )
        of_all = sum(missing for (hour, _), missing in self.missing.items() if hour == key[0])
        left = max(Fraction(0), 1 - Fraction(unplaced, of_all)) if of_all else Fraction(1)
        return _rounded(self.missing[key] * left)

    def tell(self, requests: list[Row]) -> None:
        """Give each request the coverage of its replica's hour, and its part of what nobody saw, in millionths."""
        unobserved = self._unobserved_by_request(requests)
        for row in requests:
            hour = None if row["ended_at"] is None else row["ended_at"] // HOUR
            ratio = self.rows.get((hour, row["replica"]), {}).get("coverage_ratio") if hour is not None else None
            row["coverage_ppm"] = None if ratio is None else _rounded(ratio * 10**6)
            row["unobserved_ppm"] = unobserved.get(row["request_key"])

    def _unobserved_by_request(self, requests: list[Row]) -> dict[str, int]:
        """What nobody saw, spread over the requests that ended in the pool and hour, in millionths."""
        ended: dict[tuple[int, str], list[Row]] = defaultdict(list)
        for row in requests:
            if row["ended_at"] is not None and row["verdict"] != "in_flight":
                ended[row["ended_at"] // HOUR, row["pool"] or UNKNOWN].append(row)
        missed: dict[tuple[int, str | None], int] = defaultdict(int)
        for (hour, _), row in self.rows.items():
            if row["requests_unobserved"] is not None:
                place = (hour, row["pool"])
                missed[place if place in ended else (hour, None)] += row["requests_unobserved"]
        found = {}
        for (hour, pool), of in ended.items():
            in_hour = sum(len(rows) for (at, _), rows in ended.items() if at == hour)
            if (hour, pool) in missed or (hour, None) in missed:
                each = Fraction(missed.get((hour, pool), 0), len(of)) + Fraction(missed.get((hour, None), 0), in_hour)
                found |= {row["request_key"]: _rounded(each * 10**6) for row in of}
        return found


def _one(named: set[Any]) -> Any:
    named -= {None}
    return named.pop() if len(named) == 1 else None


def _rounded(value: Fraction) -> int:
    """To the nearest whole number, halves away from zero."""
    return int(value + Fraction(1, 2))
